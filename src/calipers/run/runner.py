"""Cases in, records out: one run of a task over a dataset.

Workers pull cases; there is no `asyncio` task per case. An async task runs in a few workers on the event loop: a
new worker is added only when the others are all waiting, so that a thousand slow calls get a thousand workers and a
million instant ones get a handful. A blocking task runs in threads that loop over the cases themselves (see
`workers.py`), so that no case pays for a hop between threads.

What goes wrong is data: a task that raises, times out, exits or cancels itself becomes a `ReportCaseFailure`, and the
other cases go on. Ctrl-C ends the run early; what is finished is kept, and the run says that it is incomplete.
"""

import asyncio
import copy
import math
import os
import random
import threading
import types
from asyncio import current_task
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from contextvars import copy_context
from inspect import isawaitable
from itertools import groupby
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, cast, get_args, runtime_checkable

import msgspec

from calipers.data.argument_checks import (
    check_choice,
    check_flag,
    check_function,
    check_mapping,
    check_number,
    check_whole_number,
)
from calipers.data.attempt import Attempt, begin, noting, waited_by
from calipers.data.budget import Budget
from calipers.data.case import Case
from calipers.data.context import EvaluatorContext
from calipers.data.hopeless import WAYS_OUT, hopeless
from calipers.data.infrastructure import is_infrastructure
from calipers.data.lifecycle import CaseLifecycle, LifecycleFactory, RunHook, RunHooks
from calipers.data.record import (
    Failure,
    ReportCase,
    ReportCaseFailure,
    hide_secrets,
    may_hold_secrets,
    name_results,
    told_calls,
)
from calipers.data.result import Hopeless, describe_error
from calipers.data.result_names import Names
from calipers.data.retry import Retry, RetryFunctions
from calipers.data.reuse import Recalled
from calipers.errors import AttemptTimeoutError, InvalidOptionError, TaskContractError
from calipers.process.interrupt import Signal, is_interrupt, take_back
from calipers.process.user_code import (
    ENDED,
    STEP_SECONDS,
    call_in_thread,
    going_on,
    isolated,
    own_exit,
    settled,
)
from calipers.report.incomplete import Incomplete
from calipers.report.shard import Shard
from calipers.report.summary import Tally
from calipers.run.call_limit import AttemptLimit, Limits
from calipers.run.ledger import GivenUp, Ledger
from calipers.run.place import Engine, Place
from calipers.run.task import Task, promised_coroutine, settle, with_captured_spans
from calipers.run.work import Journal, LiveCases, Work, WorkQueue
from calipers.scoring.scoring import TASK, Hold, Scoring, within
from calipers.spans import SpanCapture, SpanRecorder, SpanTree, usage_metrics

if TYPE_CHECKING:
    from calipers.run.sharded_work import ShardedWork

# ---------------------------------------------------------------------- ending a run early
#
# The rule is asked after every attempt, so what it computes has to allow many looks (`calipers.stats.sequential`), and the
# order of the cases must have nothing to do with their results. So cases begin in a random order that follows from the seed,
# the attempts at one case together, and the rule hears of them in that order: those that finish first may be the easy ones.
# Attempts in flight when the rule has decided are finished and kept.

StopRule: TypeAlias = Callable[[ReportCase | ReportCaseFailure], str | None]
"""Given each finished attempt in turn, says why no more are needed, or `None`."""


@runtime_checkable
class ForeseeingRule(Protocol):
    """A rule that looks at what is about to be run, and refuses what it could never decide before it costs anything."""

    def check_run(self, cases: Sequence[Any], evaluators: Sequence[str]) -> None:
        """Refuse, or note, what is about to be run.

        Args:
            cases: of the dataset.
            evaluators: the names of those that judge every case.

        Raises:
            InvalidOptionError: the rule is not made for these cases.
        """
        ...


class EarlyStop:
    """Asks a rule about the attempts of one run."""

    def __init__(self, rule: StopRule) -> None:
        self._rule = rule
        self._begun: deque[int] = deque()
        self._finished: dict[int, ReportCase | ReportCaseFailure] = {}
        self.heard = 0
        """Attempts that the rule has heard of."""
        self.why: str | None = None
        """Why no more are needed."""

    def follow(self, items: Iterator[Work]) -> Iterator[Work]:
        """The same items; each one that is taken has begun."""
        for work in items:
            self._begun.append(work.position)
            yield work

    @property
    def unheard(self) -> list[str]:
        """The names of finished attempts that the rule has not heard of."""
        return [record.name for record in self._finished.values()]

    def finished(self, position: int, record: ReportCase | ReportCaseFailure) -> bool:
        """Take in a finished attempt; whether no more are needed."""
        self._finished[position] = record
        while self.why is None and self._begun and self._begun[0] in self._finished:
            self.heard += 1
            self.why = self._rule(self._finished.pop(self._begun.popleft()))
        return self.why is not None


def in_random_order(items: Iterator[Work], seed: int) -> Iterator[Work]:
    """The work in a random order of its cases; each piece keeps its place in the report."""
    cases = [list(attempts) for _, attempts in groupby(items, key=lambda work: work.case_name)]
    random.Random(f"order of cases {seed}").shuffle(cases)  # noqa: S311 - no secret
    for attempts in cases:
        yield from attempts


DEFAULT_CONCURRENCY = 100
"""Async attempts in flight unless `max_concurrency` says otherwise."""
HOPELESS_IN_A_ROW = 4
"""So many attempts in a row that found the key wrong, or the host gone, end a run."""
AUTO_CONCURRENCY = 1000
"""And with `max_concurrency="auto"`, which begins with few."""
AUTO_THREADS = 128
DEFAULT_THREADS = 32
"""Blocking attempts in flight unless `max_concurrency` says otherwise."""
_LOOK_SECONDS = 0.5
"""A thread that waits for room in the budget looks this often whether the run was stopped."""
FAIR_SECONDS = 0.01
"""A worker whose cases never wait gives the event loop a turn this often."""

Record: TypeAlias = ReportCase | ReportCaseFailure
Keep: TypeAlias = Literal["all", "failed"]
"""Which attempts a report keeps."""
_UNCHANGING = (str, int, float, bytes, type(None))
"""Inputs that need no copy for each repeat."""
KEPT_FAILED = 1000
"""How many attempts that did not pass are kept where only those are."""


_forks = 0
"""How many forks lie between this process and the first one that imported this module."""


def _count_fork() -> None:
    global _forks  # noqa: PLW0603 - it is a fact about the process
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to run."""

    max_concurrency: int | Literal["auto"] | None = None
    """Attempts in flight; `None` is 100 for an async task and 32 for a blocking one, "auto" as many as servers take the calls of."""
    task_timeout: float | None = None
    """Seconds a task may take; a case may allow more or less (`Case.timeout`)."""
    evaluator_timeout: float | None = None
    """Seconds each evaluator may take; with it, synchronous evaluators run in threads."""
    retry: Retry | RetryFunctions | None = None
    retry_evaluators: Retry | RetryFunctions | None = None
    """When to ask an evaluator again that raised an exception."""
    repeat: int = 1
    """How often to attempt each case."""
    lifecycle: LifecycleFactory | None = None
    plugins: RunHooks | None = None
    """Told when the run and its attempts begin and end."""
    seed: int = 0
    keep: Keep = "all"
    """Which attempts to keep; with "failed", the first thousand that did not pass, and exact totals of all."""
    keep_secrets: bool = False
    """Whether records tell what looks like a secret in traces, spans, attributes, reasons, analyses and metadata."""
    on_record: Callable[[Record], None] | None = None
    """Called with each finished attempt, in the order they finish."""
    stop_when: StopRule | None = None
    """Asked after each attempt whether enough is known; the cases are then begun in a random order."""
    selection: Mapping[str, Any] | None = None
    """How the cases were chosen from those of a larger dataset, to be kept with a stored run."""
    engine: Engine | None = None
    """Where attempts run; `None`: in this process."""
    budget: Budget | None = None
    """What the run may spend; the cases of a list are then begun in a random order."""
    shard: Shard | None = None
    """Which part of the cases is run; `None`: all of them."""

    def __post_init__(self) -> None:
        check_concurrency(self.max_concurrency)
        check_whole_number("repeat", self.repeat, at_least=1)
        for name in ("task_timeout", "evaluator_timeout"):
            check_number(name, getattr(self, name), above=0, at_most=math.inf, of="seconds", or_none=True)
        for name in ("lifecycle", "on_record", "stop_when"):
            check_function(name, getattr(self, name), or_none=True)
        if isinstance(self.plugins, type) or not isinstance(self.plugins, RunHooks | None):
            raise InvalidOptionError(f"plugins must be a PluginManager, got {self.plugins!r}")
        check_mapping("selection", self.selection, or_none=True)
        if isinstance(self.engine, type) or not isinstance(self.engine, Engine | None):
            raise InvalidOptionError(
                f"engine must be an engine, such as ProcessEngine(), got {self.engine!r}"
            )
        if not isinstance(self.budget, Budget | None):
            raise InvalidOptionError(
                f"budget must be a Budget, such as Budget(cost=5.0), got {self.budget!r:.200}"
            )
        if not isinstance(self.shard, Shard | None):
            raise InvalidOptionError(f"shard must be a Shard, such as Shard(3, 8), got {self.shard!r}")
        check_choice("keep", self.keep, get_args(Keep))
        check_flag("keep_secrets", self.keep_secrets)
        check_whole_number("seed", self.seed)
        for name in ("retry", "retry_evaluators"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Retry | RetryFunctions):
                raise InvalidOptionError(f"{name} must be a Retry, such as Retry(attempts=3), got {value!r}")


def check_concurrency(given: Any) -> None:
    """Check how many attempts are to be in flight.

    Raises:
        InvalidOptionError: it is neither a number from 1, nor "auto", nor `None`.
    """
    if isinstance(given, str) and given != "auto":
        raise InvalidOptionError(
            f'max_concurrency must be a whole number from 1, or "auto", got {given!r:.200}'
        )
    if given != "auto":
        check_whole_number("max_concurrency", given, at_least=1, or_none=True)


def keep_spans(attempt: Attempt, capture: SpanCapture) -> None:
    """Give an attempt its spans, once their block is left, and the metrics they tell of; what the task counted itself stands."""
    attempt.take_usage()
    attempt.spans = capture.tree_or_error
    if isinstance(attempt.spans, SpanTree):
        for name, amount in usage_metrics(attempt.spans).items():
            attempt.metrics.setdefault(name, amount)


class Run:
    """The state of one run: what is to do, what is done, and how to do one attempt."""

    turns: AttemptLimit | None = None
    """How many attempts are in flight, where that adapts itself; `None`: it is a number."""

    def __init__(
        self,
        task: Task,
        queue: WorkQueue,
        scoring: Scoring,
        spans: SpanRecorder | Exception,
        options: Options,
        journal: Journal | None = None,
        names: Names | None = None,
    ) -> None:
        self.task = task
        self.names = Names() if names is None else names
        self._changes = 0
        """Changes of names that the tally has followed."""
        self.queue = queue
        self.scoring = scoring
        self.journal = journal
        self.on_record = options.on_record
        self.early_stop = None if options.stop_when is None else EarlyStop(options.stop_when)
        self.recorder = spans if isinstance(spans, SpanRecorder) else None
        scoring.tells_texts = scoring.tells_texts or self.recorder is not None
        self.no_spans = None if isinstance(spans, SpanRecorder) else spans
        """Why no spans are recorded: the error that reading them raises."""
        self.options = options
        self.announces = options.plugins is not None and options.plugins.listens(
            "on_test_start", "on_test_end"
        )
        """Whether a plugin has hooks for single attempts."""
        self.records: list[Record | None] = []
        """What is kept, each in its place; with `keep="failed"`, in the order they finished."""
        self.tally = Tally() if options.keep == "failed" else None
        self.shows_teardown = False
        """Whether an attempt is kept only because the clean-up after it failed."""
        self.finished = 0
        self.failed = 0
        """Finished attempts that did not pass."""
        self.stopped: Incomplete | None = None
        """Why the run ended early."""
        self.stopping = False
        self.place: Place | None = None
        """Where an engine calls the task; `None`: here."""
        self.sharded: ShardedWork | None = None
        """Leaves out the work of other shards; `None` if this is no shard."""
        self.prices_elsewhere: list[str] = []
        """Prices of models by which calls were counted there."""
        self.ledger = None if options.budget is None else Ledger(options.budget)
        """Keeps the run to its budget; `None`: it has none."""
        self.limits = Limits(sees_all=options.max_concurrency == "auto")
        """Limits that the calls of the run share."""
        self.in_vain = self._judged_in_vain = 0
        """Calls of the task in a row that found what no call can escape; and judgements."""
        self.give_up: Callable[[], None] | None = None
        """Gives up the calls in flight."""
        self.in_random_order = False
        """Whether cases are begun in a random order."""
        self.live: LiveCases | None = None
        """The cases, where they follow from what came of earlier ones."""
        self._taking = asyncio.Lock()
        self.make = self.work if self.ledger is None else self.afforded
        """Makes one attempt, and judges it."""
        self.is_direct = (
            task.is_async
            and self.recorder is None
            and self.ledger is None
            and options.retry is None
            and options.task_timeout is None
            and options.engine is None
        )
        """Whether a task is called once, here, and for as long as it likes, unless its case says otherwise."""
        self._forks = _forks

    def at_most(self, usually: int, automatic: int) -> int:
        """Attempts in flight at most, unless the options say so by a number."""
        given = self.options.max_concurrency
        if given == "auto":
            if self.options.engine is None or self.task.is_async:
                self.turns = self.limits.attempts(automatic)
            return automatic
        return given or usually

    @property
    def at_once_elsewhere(self) -> int | None:
        """Attempts in flight where an engine makes them; `None`: as many as suit it."""
        given = self.options.max_concurrency
        if given == "auto":
            return AUTO_CONCURRENCY if self.task.is_async else None
        return given

    def attempt(self, work: Work) -> Attempt:
        """A fresh attempt for the work."""
        return Attempt(
            work.case,
            work.case.inputs if self.options.repeat == 1 else _copied(work.case.inputs),
            work.name,
            work.case_name,
            work.repeat_index,
            self.options.seed,
            {},
            {},
            function=self.task.function,
            spans=self.no_spans,
            recalled=work.recalled,
            usage=dict(work.usage) if work.usage else {},
        )

    def leave_child(self) -> None:
        """End this process if it is a child: a task or evaluator forked and let it return, and it must not go on with the run."""
        if _forks != self._forks:
            os._exit(70)

    def keep(self, position: int, record: Record) -> None:
        """Put a finished record in its place."""
        if _forks != self._forks:
            self.leave_child()
        if self.names.changes:
            self._name_again(record)
        if self.sharded is not None:
            record.position = position
        passed = record.passed
        self.finished += 1
        if passed is False:
            self.failed += 1
        if self.on_record is not None:
            self._tell(record)
        records = self.records
        if self.tally is not None:
            self.tally.add(record)
            if (passed is False and self.failed <= KEPT_FAILED) or self._shows_failed_teardown(record):
                records.append(record)
        elif position == len(records):
            records.append(record)
        else:
            if position > len(records):
                records.extend([None] * (position + 1 - len(records)))
            records[position] = record
        if self.early_stop is not None:
            self._ask(self.early_stop, position, record)
        if type(record) is ReportCase:
            is_hopeless = record.evaluator_failures and self._is_hopeless(record)
            self._judged_in_vain = self._judged_in_vain + 1 if is_hopeless else 0

    def _is_hopeless(self, record: ReportCase) -> bool:
        """Whether no judge of further attempts can succeed; ends the run where one attempt after another has found that."""
        for failure in record.evaluator_failures:
            if failure.hopeless is not None:
                if self._judged_in_vain + 1 >= HOPELESS_IN_A_ROW:
                    self.end_hopeless(failure.hopeless, failure.error_message)
                return True
        return False

    def _notice(self, error: BaseException | None) -> None:
        """Note how a call of the task ended, and end the run if one after another has found that nothing can succeed."""
        if error is None:
            self.in_vain = 0
        elif (why := self.tried(error)) is not None:
            self.end_hopeless(why, describe_error(error)[1])

    def tried(self, error: BaseException) -> Hopeless | None:
        """Note how a call of the task failed; what is wrong, if one after another has found that nothing can succeed."""
        why = hopeless(error)
        self.in_vain = 0 if why is None else self.in_vain + 1
        if self.in_vain < HOPELESS_IN_A_ROW:
            return None
        self.queue.close()  # at once: threads do not wait for the event loop
        return why

    def end_hopeless(self, why: Hopeless, said: str) -> None:
        """End the run: nothing can succeed."""
        if self.stopping:
            return
        reason = f"ended early ({said:.300}: {WAYS_OUT[why]}, and resume the run)"
        self.stopped = self.stopped or Incomplete("hopeless", reason)
        self.queue.close()
        if self.give_up is not None:
            asyncio.get_running_loop().call_soon(self.give_up)  # the attempt that found it is to be kept

    def _name_again(self, *records: Record | None) -> None:
        """Name results that were named before all was known, those that are counted too."""
        name_results([record for record in records if isinstance(record, ReportCase)], self.names)
        if self.tally is not None and self._changes != self.names.changes:
            self.tally.rename(self.names)
            self._changes = self.names.changes

    def settle_names(self) -> None:
        """Give all results that are kept the names that they have in the whole run."""
        if self.names.changes:
            self._name_again(*self.records)

    def _shows_failed_teardown(self, record: Record) -> bool:
        """Whether this is the first passed attempt after which the clean-up failed."""
        if record.teardown_failure is None or record.passed is False or self.shows_teardown:
            return False
        self.shows_teardown = True
        return True

    def _tell(self, record: Record) -> None:
        """Hand the record to `on_record`. If that fails (a full disk, say), no new work begins, and nothing is lost."""
        assert self.on_record is not None
        try:
            self.on_record(record)
        except BaseException as error:
            if is_interrupt(error):
                raise
            _, message, _ = describe_error(error)
            self.stopped = Incomplete("failed", f"on_record failed ({message})")
            self.on_record = None
            self.queue.close()

    def _ask(self, early_stop: EarlyStop, position: int, record: Record) -> None:
        """Begin nothing more if the rule has heard enough, or cannot be asked any more."""
        try:
            enough = early_stop.finished(position, record)
        except BaseException as error:
            if is_interrupt(error):
                raise
            _, message, _ = describe_error(error)
            self.stopped = self.stopped or Incomplete("failed", f"stop_when failed ({message})")
            self.early_stop, enough = None, True
        if enough:
            self.queue.close()

    async def next_live(self, live: LiveCases) -> Work | None:
        """The next piece of work, once it is known what it is; `None` when there is no more.

        What it cost to make the case belongs to what its attempt costs.
        """
        async with self._taking:
            with noting() as notes:
                another = await live.another()
            work = self.queue.next() if another else None
            if work is not None and notes.usage:
                work.usage = notes.usage
            return work

    def interrupt(self, by: Signal) -> None:
        """End the run early, by a signal."""
        self.stopped = self.stopped or Incomplete("interrupted", f"interrupted by {by}", by=by)
        self.stop()

    def stop(self) -> None:
        """Hand out no more work. A cancellation from now on is our own."""
        self.stopping = self.scoring.stopping = True
        self.queue.close()

    # ------------------------------------------------------------------ the budget

    def spends(self, work: Work) -> bool:
        """Whether the work is expected to spend something."""
        return work.recalled is None and work.problem is None

    async def admits(self, ledger: Ledger, work: Work) -> bool:
        """Whether work that was taken may begin, as soon as there is room for it in the budget; if not, it is left."""
        if not self.spends(work):
            return True
        try:
            while (admitted := ledger.admit()) is None:
                await ledger.room()
        except BaseException:
            self.queue.take_back()
            raise
        return admitted or self._leave(ledger)

    def admits_in_thread(self, ledger: Ledger, work: Work, stopped: threading.Event) -> bool:
        """The same in a thread, until the run is stopped."""
        if not self.spends(work):
            return True
        while (admitted := None if stopped.is_set() else ledger.admit()) is None:
            if stopped.is_set():
                self.queue.take_back()
                return False
            ledger.wait_in_thread(_LOOK_SECONDS)
        return admitted or self._leave(ledger)

    def _leave(self, ledger: Ledger) -> bool:
        """Leave work that was taken; other work may be known from an earlier run, and costs nothing."""
        self.queue.take_back()
        self.stopped = self.stopped or ledger.incomplete
        if self.journal is None or not self.journal.recalls:
            self.queue.close()
        return False

    async def afforded(
        self,
        work: Work,
        attempt: Attempt | None = None,
        called_at: float | None = None,
        me: "asyncio.Task[Any] | None" = None,
    ) -> Record:
        """Make one attempt within the budget.

        Raises:
            GivenUp: it wanted to spend more than there is.
        """
        ledger = self.ledger
        assert ledger is not None
        if attempt is None:
            attempt = self.attempt(work)
        try:
            with ledger.opened(attempt, admitted=self.spends(work)) as account:
                account.check()
                record = await self.work(work, attempt, called_at, me)
                made = attempt.recalled is None
                account.settle(record, made=made, asked=None if made else attempt.asked or ())
                account.check()
        except GivenUp:
            self.stopped = self.stopped or ledger.incomplete
            raise
        return record

    # ------------------------------------------------------------------ one attempt

    async def work(
        self,
        work: Work,
        attempt: Attempt | None = None,
        called_at: float | None = None,
        me: "asyncio.Task[Any] | None" = None,
    ) -> Record:
        """Make one attempt on the event loop and judge it.

        Args:
            work: what is to be done.
            attempt: where to put what comes of it; default: a new one.
            called_at: when a thread called the task, if one has.
            me: the worker, if it is known; to ask for it takes a call of the system.
        """
        start = perf_counter() if called_at is None else called_at
        if attempt is None:
            attempt = self.attempt(work)
        lifecycle = self.options.lifecycle
        record: Record
        try:
            if attempt.recalled is not None:
                record = await self.recall(attempt, attempt.recalled, work)
            elif work.problem is not None:
                attempt.error = work.problem
                record = self.failure(attempt, work, start)
            elif lifecycle is not None:
                record = await self._with_lifecycle(attempt, work, start, lifecycle)
            else:
                if called_at is None:
                    is_direct = self.is_direct and work.case.timeout is None
                    left = self._called(attempt, start) if is_direct else self.execute(attempt)
                    if left is not None:
                        await left
                    if is_direct and (attempt.error is not None or self.in_vain):
                        self._notice(attempt.error)
                if attempt.error is None:
                    judged = self.scoring.judged(attempt, work.plan, self.scoring.context(attempt))
                    record = judged if isinstance(judged, ReportCase) else await judged
                    record.total_duration = perf_counter() - start
                else:
                    record = self.failure(attempt, work, start)
        except asyncio.CancelledError as error:
            if self.stopping:
                raise
            attempt.error = error
            record = self.failure(attempt, work, start)
        if me is None:
            me = current_task()
        if me is not None and me.cancelling() and not self.stopping:
            record = await self._uncancelled(me, attempt, work, record)
        if not self.options.keep_secrets and (
            self.scoring.tells_texts or type(record) is not ReportCase or may_hold_secrets(record)
        ):
            self._hide_secrets(attempt, record)
        return record

    def _hide_secrets(self, attempt: Attempt, record: Record) -> None:
        """Take what looks like a secret out of what is told of an attempt that has been judged."""
        attempt.hidden = hide_secrets(record)
        if self.journal is not None and isinstance(spans := attempt.spans, SpanTree):
            attempt.spans = spans.without_secrets()
            attempt.hidden = attempt.hidden or attempt.spans is not spans

    async def _uncancelled(
        self, me: "asyncio.Task[Any]", attempt: Attempt, work: Work, record: Record
    ) -> Record:
        """Take back what cancelled this worker, and was not us; what no code has felt yet is a failure of this attempt."""
        attempt.error = await take_back(me)
        if attempt.error is None or record.passed is False:
            return record
        return self.failure(attempt, work, perf_counter() - record.total_duration)

    def note_down(self, work: Work, attempt: Attempt, record: Record) -> None:
        """Note a finished attempt in the journal, unless that has failed before. If it fails, no new work begins."""
        self.leave_child()
        if self.journal is None:
            return
        try:
            self.journal.append(work, attempt, record)
        except BaseException as error:
            if is_interrupt(error):
                raise
            _, message, _ = describe_error(error)
            self.stopped = self.stopped or Incomplete("failed", f"the journal failed ({message})")
            self.journal = None
            self.queue.close()

    async def recall(self, attempt: Attempt, recalled: Recalled, work: Work) -> Record:
        """The record of an attempt that an earlier run made, judged by those evaluators that have not judged it yet."""
        known = recalled.record
        if isinstance(known, ReportCaseFailure):
            return known
        self.scoring.tells_texts = True
        start = perf_counter()
        attempt.output, attempt.metrics, attempt.attributes = known.output, known.metrics, known.attributes
        attempt.duration, attempt.tries, attempt.trace = known.task_duration, known.tries, known.trace
        attempt.trace_id, attempt.span_id, attempt.spans = known.trace_id, known.span_id, recalled.spans
        record = await self.scoring.score(attempt, work.plan, self.scoring.context(attempt))
        record.teardown_failure = known.teardown_failure
        record.total_duration = known.total_duration + (perf_counter() - start if attempt.asked else 0.0)
        return record

    async def announced(self, work: Work) -> Record:
        """Make one attempt and judge it, and tell the plugins when it begins and ends."""
        details = {"test_name": work.name, "case": work.case, "repeat_index": work.repeat_index}
        await self._tell_plugins("on_test_start", **details)
        try:
            attempt = self.attempt(work)
            record = await self.make(work, attempt)
            self.note_down(work, attempt, record)
        except GeneratorExit:  # nothing can be awaited any more
            raise
        except BaseException:
            await self._tell_plugins("on_test_end", **details, record=None)
            raise
        else:
            await self._tell_plugins("on_test_end", **details, record=record)
            return record

    async def _tell_plugins(self, hook: RunHook, **details: Any) -> None:
        assert self.options.plugins is not None
        try:
            await self.options.plugins.dispatch(hook, **details)
        except asyncio.CancelledError:
            if self.stopping:
                raise
        me = asyncio.current_task()
        if me is not None and me.cancelling() and not self.stopping:
            await take_back(me)
            reason = f"{hook} of a plugin cancelled the tasks of the run"
            self.stopped = self.stopped or Incomplete("failed", reason)

    def failure(self, attempt: Attempt, work: Work, start: float) -> ReportCaseFailure:
        """The record of an attempt that did not finish."""
        case = attempt.case
        assert attempt.error is not None
        kind, message, stack = describe_error(attempt.error)
        attempt.take_usage()
        return ReportCaseFailure(
            name=attempt.name,
            inputs=attempt.inputs,
            metadata=case.metadata,
            expected_output=case.expected_output,
            error_type=kind,
            error_message=message,
            error_stacktrace=stack,
            infrastructure=is_infrastructure(attempt.error),
            hopeless=hopeless(attempt.error),
            not_run=work.plan.awaiting(case),
            task_duration=attempt.duration,
            total_duration=perf_counter() - start,
            source_case_name=attempt.case_name if attempt.name is not attempt.case_name else None,
            cluster=case.cluster,
            tags=case.tags,
            fault=case.fault,
            tries=attempt.tries,
            has_expected_output=case.has_expected_output,
            expected_tool_calls=None
            if case.expected_tool_calls is None
            else told_calls(case.expected_tool_calls),
            trace_id=attempt.trace_id,
            span_id=attempt.span_id,
            trace=with_captured_spans(attempt, attempt.trace_so_far),
            metrics=dict(attempt.metrics),
            attributes=dict(attempt.attributes),
        )

    def timeout(self, case: Case[Any, Any, Any]) -> float | None:
        """Seconds the task may take for a case: what the case says, else what the run says."""
        return self.options.task_timeout if case.timeout is None else case.timeout

    def late(self, case: Case[Any, Any, Any]) -> AttemptTimeoutError:
        """The error of a task that took too long."""
        said = (
            f"task_timeout={self.options.task_timeout:g} s"
            if case.timeout is None
            else f"the timeout of its case, {case.timeout:g} s"
        )
        return AttemptTimeoutError(f"the task exceeded {said}")

    def ends(self, error: BaseException) -> bool:
        """Whether what an attempt raised is meant for the run: Ctrl-C, a cancellation of ours, the end of the event loop or the budget."""
        return (
            is_interrupt(error)
            or issubclass(type(error), GeneratorExit | GivenUp)  # the error may not say its own class
            or (self.stopping and issubclass(type(error), asyncio.CancelledError))
        )

    def broken_off(self, work: Work, error: GeneratorExit) -> Record:
        """The record of an attempt whose coroutines were closed under it.

        That happens where code under test waits for something that ended with `GeneratorExit`.
        """
        attempt = self.attempt(work)
        attempt.error = own_exit(error)
        record = self.failure(attempt, work, perf_counter())
        self.note_down(work, attempt, record)
        return record

    def _note(self, seconds: float) -> None:
        self.scoring.note(TASK, seconds, is_async=True)

    def _called(self, attempt: Attempt, start: float) -> Coroutine[Any, Any, None] | None:
        """Call the task once, where no one else has a say; what is left to be awaited, if it does not end at once."""
        outcome: list[Any] = []
        try:
            stepped, context = _call_into(outcome, self.task, attempt), copy_context()
            waiting = context.run(next, stepped, ENDED)
            attempt.duration = spent = perf_counter() - start
            if spent > STEP_SECONDS:
                self._note(spent)
            if waiting is not ENDED:
                return self._gone_on(attempt, start, outcome, going_on(stepped, waiting, context, self._note))
            settle(attempt, outcome[0])
        except GeneratorExit as error:  # no one closes this call: the task has raised it itself
            attempt.error, attempt.duration = own_exit(error), perf_counter() - start
        except BaseException as error:
            if self.ends(error):
                raise
            attempt.error, attempt.duration = error, perf_counter() - start
        if _forks != self._forks:
            self.leave_child()
        return None

    async def _gone_on(
        self, attempt: Attempt, start: float, outcome: list[Any], rest: Awaitable[None]
    ) -> None:
        """Await the rest of a call that was begun."""
        try:
            await rest
            settle(attempt, outcome[0])
        except BaseException as error:
            if self.ends(error):
                raise
            attempt.error = error
        if _forks != self._forks:
            self.leave_child()
        attempt.duration = perf_counter() - start - waited_by(attempt)
        if self.limits.by_name:
            self.limits.end_calls_of(attempt)

    async def execute(self, attempt: Attempt) -> None:
        """Call the task from the event loop until it succeeds or its tries are used up."""
        retry = self.options.retry
        timeout = self.timeout(attempt.case)
        while True:
            begin(attempt)
            start = perf_counter()
            if self.place is not None:
                await self._call_at(self.place, attempt, timeout, start)
            else:
                try:
                    coroutine = self._coroutine(attempt)
                    if timeout is None:
                        output = await isolated(coroutine, copy_context(), self._note)
                    else:
                        hold = Hold(self.scoring, TASK, is_async=True, whose=attempt)
                        watched = isolated(coroutine, copy_context(), hold.note)
                        output = await within(timeout, watched, self.late(attempt.case), hold.others)
                    settle(attempt, output)
                except BaseException as error:
                    if self.ends(error):
                        raise
                    attempt.error = error
                if _forks != self._forks:
                    self.leave_child()
                attempt.duration = perf_counter() - start - waited_by(attempt)
            if self.limits.by_name:  # what was left behind, or forgot to end a call
                self.limits.end_calls_of(attempt)
            if attempt.account is not None:
                attempt.account.check()
            spent = attempt.earlier + attempt.duration
            if attempt.error is None or retry is None or not retry.again(attempt.error, attempt.tries, spent):
                self._notice(attempt.error)
                return
            pause = retry.pause(attempt.tries, attempt.derived_seed(), attempt.error, spent)
            await asyncio.sleep(pause)
            attempt.tries += 1
            attempt.earlier = spent + pause

    async def _call_at(self, place: Place, attempt: Attempt, seconds: float | None, start: float) -> None:
        """Have the task called where an engine runs it."""
        try:
            in_time = await place.call(attempt, seconds)
        except asyncio.CancelledError as error:
            if self.stopping:
                raise
            attempt.error = error
            return
        if not in_time:
            attempt.error = self.late(attempt.case)
            attempt.duration = perf_counter() - start - waited_by(attempt)

    def _coroutine(self, attempt: Attempt) -> Coroutine[Any, Any, Any]:
        inputs = attempt.inputs
        task = self.task
        coroutine = _called_inside(task, inputs) if task.is_async else _hop(task, inputs)
        return coroutine if self.recorder is None else self._traced(self.recorder, attempt, coroutine)

    async def _traced(
        self, recorder: SpanRecorder, attempt: Attempt, coroutine: Coroutine[Any, Any, Any]
    ) -> Any:
        """Await a task's coroutine while its spans are collected."""
        capture = recorder.attempt(attempt.name)
        try:
            with capture:
                attempt.trace_id, attempt.span_id = capture.trace_id, capture.span_id
                return await coroutine
        finally:
            keep_spans(attempt, capture)

    # ------------------------------------------------------------------ hooks

    async def _with_lifecycle(
        self, attempt: Attempt, work: Work, start: float, factory: LifecycleFactory
    ) -> Record:
        hooks: CaseLifecycle[Any, Any, Any] | None = None
        record: Record | None = None
        try:
            made: CaseLifecycle[Any, Any, Any] = await _or_raise(factory, work.case)
            hooks = made
            await _or_raise(made.setup)
            await self.execute(attempt)
            if attempt.error is None:
                ctx = await _prepared(made, self.scoring.context(attempt))
                record = await self.scoring.score(attempt, work.plan, ctx)
        except GeneratorExit:  # nothing can be awaited any more
            raise
        except BaseException as error:
            if self.ends(error):
                # Also on cancellation: what setup opened, teardown closes.
                await self._teardown(hooks, record)
                raise
            attempt.error = error
        if record is None:
            record = self.failure(attempt, work, start)
        broken = await self._teardown(hooks, record)
        record.teardown_failure = broken
        record.total_duration = perf_counter() - start
        return record

    async def _teardown(
        self, hooks: CaseLifecycle[Any, Any, Any] | None, record: Record | None
    ) -> Failure | None:
        """Run the clean-up hook; what it raises becomes data."""
        if hooks is None:
            return None
        _, error = await settled(hooks.teardown, record)
        if error is None:
            return None
        if self.ends(error):
            raise error
        kind, message, stack = describe_error(error)
        return Failure(error_type=kind, error_message=message, error_stacktrace=stack)


async def _called_inside(task: Task, inputs: Any) -> Any:
    """Call an async task where this is awaited, so that what it does before it returns its awaitable stays in that context."""
    return await promised_coroutine(task, inputs)


def _call_as_generator(outcome: list[Any], task: Task, attempt: Attempt) -> Generator[Any, Any, None]:
    """Call an async task, and keep what it returns.

    The attempt is the current one in the context of this call alone: outside of it, evaluators have their notes.
    """
    begin(attempt)
    coroutine: Any = promised_coroutine(task, attempt.inputs)
    outcome.append((yield from coroutine))


_call_into: Final[Callable[[list[Any], Task, Attempt], Generator[Any, Any, None]]] = cast(
    "Any", types.coroutine(_call_as_generator)
)


async def _prepared(hooks: CaseLifecycle[Any, Any, Any], ctx: EvaluatorContext[Any, Any, Any]) -> Any:
    """The context as the hook returns it."""
    prepared = await _or_raise(hooks.prepare_context, ctx)
    if not isinstance(prepared, EvaluatorContext):
        raise TaskContractError(f"prepare_context must return the context, got {prepared!r}")
    return prepared


def _copied(inputs: Any) -> Any:
    """Inputs of its own for each repeat, so that a task which changes them does not change the next attempt."""
    if issubclass(type(inputs), _UNCHANGING):  # by its type: an object may lie about its class
        return inputs
    try:
        return copy.deepcopy(inputs)
    except Exception:  # some things, such as open connections, have no copy: then there is but one
        return inputs


async def _or_raise(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a hook gives."""
    value, error = await settled(function, *arguments)
    if error is not None:
        raise error
    return value


async def _hop(task: Task, inputs: Any) -> Any:
    """Call a blocking task in a thread, for runs whose hooks need the event loop around every case."""
    value = await call_in_thread(task.function, inputs)
    return await value if isawaitable(value) else value
