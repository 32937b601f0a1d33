"""A run that traces are received into: each is an attempt, stored when it is complete, and judged then. `ReceivedRun`, `ArrivalJudge`.

What was acknowledged is in the spool until it is stored, so a process that is killed loses nothing: `unfinished_runs` finds the runs
that such processes left behind, with what waits in their spools put back.

A trace of OpenTelemetry is an attempt, or several if its agents name several conversations. Spans of which no convention is known, and that belong to no
run of an agent, make no attempt: they are counted, and told at the end.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any, Final

import msgspec

from calipers.errors import StoreError
from calipers.run.runner import Options
from calipers.scoring.evaluator_plan import prepare
from calipers.spans.recordings import traces_of
from calipers.spans.tree import SpanNode
from calipers.stores.evaluator_slots import EvaluatorSlots
from calipers.stores.packing import facts_of, pack
from calipers.stores.rescoring import Rescoring
from calipers.stores.reuse import OutputType
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store, patiently
from calipers.stores.stored_attempt import StoredAttempt

from .attempt_name import AttemptNames
from .otlp_request import read_body
from .recorded_traces import KIND, is_silent, trace_record
from .request_spool import RequestSpool, kept_ids, read_spool
from .trace_inbox import Item, OpenTrace, TraceInbox, log_key

_BEAT: Final = 10.0
"""Seconds between signs of life."""
_MOST_NOTES: Final = 20
_NO_SLOTS: Final = EvaluatorSlots((), ())


class Received(msgspec.Struct):
    """What came, and what became of it."""

    spans: int = 0
    """That came in time, also those that make no attempt; those that came twice count once."""
    attempts: int = 0
    """Stored by this process."""
    without_conversation: int = 0
    """Traces in which no agent and no request to a model was found."""
    without_answer: int = 0
    """Attempts that show no answer of the agent."""
    rejoined: int = 0
    """Traces that were stored again, since more spans came."""
    late: int = 0
    """Spans that came too late to be joined to their traces."""
    notes: list[str] = []
    """What could not be read, in words; at most twenty."""


class ReceivedRun:
    """A run in a store, with the spool and the inbox of what is not stored yet."""

    def __init__(self, store: Store, info: RunInfo, spool: RequestSpool, *, wait: float) -> None:
        self.store = store
        self.info = info
        self.spool = spool
        self.inbox = TraceInbox(wait=wait)
        self.received = Received()
        self.replacing = threading.Lock()
        """Held while attempts that are stored are replaced or judged."""
        self._names = AttemptNames(getattr(store, "redact", ()))
        self._next = max((places.stop for places in store.done(info.id)), default=0)
        self._beaten = monotonic()
        self._silent: set[int] = set()
        """The positions of attempts that show no answer."""

    @classmethod
    def begin(cls, store: Store, folder: Path, *, name: str | None, wait: float) -> "ReceivedRun":
        """A new run, with its spool in a folder of its own inside `folder`."""
        info = store.begin_run(_new_run(name))
        return cls(store, info, RequestSpool(folder / info.id), wait=wait)

    def sweep(self, now: float, *, at_once: bool = False) -> list[int]:
        """Store the traces that are complete, or all; the positions of their attempts."""
        stored: list[int] = []
        while due := self.inbox.due(now, at_once=at_once):
            stored += self._keep(due)
        if now - self._beaten > _BEAT:
            self._beaten = now
            patiently(lambda: self.store.beat(self.info.id, generation=self.info.generation))
        return stored

    def _keep(self, traces: Sequence[OpenTrace]) -> list[int]:
        attempts: list[StoredAttempt] = []
        gone: list[int] = []
        again = any(trace.places for trace in traces)
        for trace in traces:
            made = self._attempts(trace)
            gone += [position for position, _ in trace.places[len(made) :]]
            self.received.attempts += max(0, len(made) - len(trace.places))
            self.received.without_conversation += not made
            trace.places = tuple((attempt.position, attempt.name) for attempt in made)
            attempts += made
        run, generation = self.info.id, self.info.generation
        with self.replacing if again else nullcontext():
            patiently(lambda: self.store.append(run, attempts, generation=generation))
            if gone:
                patiently(lambda: self.store.remove_attempts(run, gone, generation=generation))
        self.spool.mark_kept(trace.trace_id for trace in traces)
        self.inbox.taken(traces)
        self._silent.difference_update(gone)
        self.received.without_answer = len(self._silent)
        self.received.spans = self.inbox.spans
        self.received.rejoined = self.inbox.rejoined
        self.received.late = sum(self.inbox.late.values())
        return [attempt.position for attempt in attempts]

    def _attempts(self, trace: OpenTrace) -> list[StoredAttempt]:
        spans = list(trace.spans.values())
        if trace.logs:  # they become events of the spans, and might have to do so again
            spans = [replace(span) for span in spans]
        found: list[StoredAttempt] = []
        for number, conversation in enumerate(traces_of(spans, trace.logs.values(), self._note)):
            is_there = number < len(trace.places)
            record = trace_record(conversation, {})
            position = self._next
            if is_there:
                position, record.name = trace.places[number]
            else:
                record.name = self._names.name_of(record)
                self._next += 1
            (self._silent.add if is_silent(conversation) else self._silent.discard)(position)
            found.append(pack(record, position, _NO_SLOTS)[0])
        return found

    def _note(self, words: str) -> None:
        if len(self.received.notes) < _MOST_NOTES and words not in self.received.notes:
            self.received.notes.append(words)

    def replay(self) -> None:
        """Put what waits in the spool into the inbox: what an earlier process acknowledged, and did not store."""
        places: dict[int, list[tuple[int, str]]] = {}
        taken: list[str] = []
        for attempt in self.store.attempts(self.info.id, parts=False):
            taken.append(attempt.case_name)
            written = facts_of(attempt).trace_id
            if written is not None:
                places.setdefault(int(written, 16), []).append((attempt.position, attempt.name))
        self._names = AttemptNames(getattr(self.store, "redact", ()), taken)
        traces: dict[int, OpenTrace] = {}
        done: set[int] = set()
        whole: set[int] = set()
        """Traces that are stored and of which the spool still has what they were stored with."""
        for entry in read_spool(self.spool.folder):
            if entry.kind == "K":
                kept = kept_ids(entry)
                done.update(kept)
                whole.update(each for each in kept if each in traces)
                continue
            seen: Counter[tuple[Any, ...]] = Counter()
            for item in read_body(entry.kind, entry.body).items:
                _put_back(traces, item, entry.segment, seen)
                done.discard(item.trace_id)
        for trace_id, trace in traces.items():
            trace.places = tuple(places.get(trace_id, ()))
            if trace_id in done:
                continue
            if trace.places and trace_id not in whole and not trace.has_root:
                self.inbox.late[trace_id] = len(trace.spans)  # what it had before is gone
            else:
                self.inbox.reopen(trace)

    def finish(self) -> RunInfo | None:
        """Mark the run as over, and remove the spool; `None`: nothing was stored, and the run is not kept."""
        self.received.late = sum(self.inbox.late.values())
        info: RunInfo | None = None
        if self._next:
            info = self.store.finish_run(self.info.id, generation=self.info.generation)
        else:
            self.store.delete_run(self.info.id)
        self.spool.remove()
        return info


def _new_run(name: str | None) -> RunInfo:
    return RunInfo(name=name or KIND, metadata={"received": "OTLP"}, seed=None, keeps_settings=True)


def _put_back(traces: dict[int, OpenTrace], item: Item, segment: int, seen: Counter[tuple[Any, ...]]) -> None:
    trace = traces.setdefault(item.trace_id, OpenTrace(item.trace_id, segment))
    if isinstance(item, SpanNode):
        trace.spans[item.span_id] = item
        trace.has_root = trace.has_root or item.parent_span_id is None
    else:
        trace.logs[log_key(item, seen)] = item


def unfinished_runs(store: Store, folder: Path, *, wait: float) -> Iterator[ReceivedRun]:
    """The runs of processes that were killed, with what they had acknowledged and not stored."""
    for place in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not place.is_dir():
            continue
        try:
            info = store.run(place.name)
        except StoreError:  # it was deleted since, or is in another store
            info = store.begin_run(_new_run(None))
        else:
            if info.status == "running" and not info.is_abandoned():
                continue
            info = store.resume_run(info.id)
        run = ReceivedRun(store, info, RequestSpool(place), wait=wait)
        run.replay()
        yield run


class ArrivalJudge:
    """Judges attempts of a run as they are stored, in a thread of its own."""

    def __init__(
        self, run: ReceivedRun, evaluators: Sequence[Any], options: Options, *, tell: Callable[[str], Any]
    ) -> None:
        """A judge of a run.

        Args:
            run: whose attempts are judged.
            evaluators: of any style.
            options: `evaluator_timeout`, `retry_evaluators` and `max_concurrency` are looked at.
            tell: is told at once if judging fails.
        """
        self.judged = 0
        """Judgements that were made."""
        self.error: BaseException | None = None
        self._run = run
        self._evaluators = evaluators
        self._options = options
        self._tell = tell
        self._waiting: list[int] = []
        self._ended = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="calipers-judge", daemon=True)
        self._thread.start()

    def add(self, positions: Sequence[int]) -> None:
        """Have the attempts at some positions judged."""
        with self._changed:
            self._waiting += positions
            self._changed.notify()

    def finish(self) -> None:
        """Wait until all are judged."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.run(prepare(self._evaluators))
                rescoring = Rescoring(
                    self._run.store, self._run.info, self._evaluators, None, OutputType(None)
                )
                while positions := self._next():
                    with self._run.replacing:
                        runner.run(rescoring.judge_all(self._options, positions=positions))
                    self.judged = rescoring.counts.cells_computed
        except BaseException as error:
            self.error = error
            self._tell(
                f"judging ended: {error}; traces are still kept, and `calipers score {self._run.info.id}` judges them"
            )

    def _next(self) -> list[int]:
        """The positions that wait; none when all is over."""
        with self._changed:
            while not self._waiting and not self._ended:
                self._changed.wait()
            found, self._waiting = self._waiting, []
            return found
