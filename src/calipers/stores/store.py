"""Where runs are kept: the contract of every store.

A store takes attempts batch by batch, and gives them back as records, as cells, or as a report. `append` is one
transaction: a batch is stored whole or not at all. An attempt that is appended twice is stored once; the later one replaces
the earlier one with its cells.

Every method may be called from any thread.
"""

import logging
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from calipers.data.argument_checks import check_choice
from calipers.data.budget import Side, Spent
from calipers.data.human_label import HumanLabel
from calipers.data.record import name_results
from calipers.data.result_names import Names
from calipers.errors import StoreError, StoreUnavailableError
from calipers.report.report import Report
from calipers.report.summary import Totals

from .blobs import PackedText
from .evaluator_slots import EvaluatorSlots, scored_places
from .packing import Record, facts_of, pack, unpack
from .run_info import RunInfo, RunProgress, State, Status, StoredEvaluator
from .run_report import (
    KEEPS,
    Counted,
    EvaluatorsInRecords,
    bare_report,
    check_whole,
    count,
    labels_at,
    not_all_judged,
    put_in,
    unjudged_by,
)
from .standings import standings
from .stored_attempt import Known, Parts, StoredAttempt, StoredCell
from .stored_passport import StoredPassport

if TYPE_CHECKING:
    from calipers.comparison.evaluator_changes import KnownEvaluators
    from calipers.gate.looks import Look

Redact: TypeAlias = Callable[[Any], Any]
"""Takes plain data and returns what may be written of it."""

_BATCH = 1000
"""Attempts of a whole report that are written at once."""


class NameTakenError(StoreError):
    """An evaluator cannot be added to a run, since another one has its name."""


class Store(ABC):
    """Keeps runs. `open_store(url)` makes one.

    A writer may pass the `generation` of its run, which `begin_run` and `resume_run` return. If the run was resumed elsewhere
    since, nothing is written, and a StoreError says so: an owner that was silent for too long must not write beside its
    successor.
    """

    url: str
    """Where it is, without any password."""
    can_lack_values: bool = False
    """Whether attempts are given without those large values that cannot be read where they were moved to: `unread` says why, and they
    are only to be shown. Otherwise that is an error, since a judge must not be shown a text of ours."""
    lacked: int = 0
    """How many large values could not be read so far."""

    # ------------------------------------------------------------------ writing

    @abstractmethod
    def begin_run(self, run: RunInfo) -> RunInfo:
        """Store a run without attempts, and return it with id, time, environment and owner filled in.

        A run that has an id was made elsewhere: it keeps the id, and gets nothing of this machine.

        Raises:
            StoreError: there is a run of that id.
        """

    @abstractmethod
    def add_evaluators(
        self,
        run: str,
        evaluators: Sequence[StoredEvaluator],
        *,
        instead: bool = False,
        alone: bool = False,
        generation: int | None = None,
    ) -> list[int]:
        """Add evaluators to a run, and return their places. One that is there already keeps its place.

        Args:
            run: its id.
            evaluators: to add.
            instead: they supersede shared evaluators of their names, unless these are certainly the same. The store gives no
                cells of superseded evaluators.
            alone: refuse names that other evaluators of the run have.
            generation: of the run; default: any.

        Raises:
            NameTakenError: with `alone`, another evaluator has the name. Nothing was added.
        """

    @abstractmethod
    def supersede(self, run: str, places: Iterable[int], *, generation: int | None = None) -> None:
        """Leave evaluators of a run out of its report. Their cells are kept, for `find` and for their return."""

    @abstractmethod
    def append(
        self,
        run: str,
        attempts: Sequence[StoredAttempt] = (),
        cells: Sequence[StoredCell] = (),
        *,
        generation: int | None = None,
    ) -> None:
        """Store finished attempts and cells, all or nothing, and renew the heartbeat of the run.

        Raises:
            StoreUnavailableError: it cannot be written now, but may be later (a full disk, a lost server).
            StoreError: it cannot be written at all, or the run was taken over.
        """

    @abstractmethod
    def remove_attempts(self, run: str, positions: Iterable[int], *, generation: int | None = None) -> None:
        """Remove attempts of a run with their cells, all or nothing; positions without one are ignored."""

    @abstractmethod
    def beat(self, run: str, *, generation: int | None = None) -> None:
        """Say that the run's owner is alive."""

    def keep_spent(self, run: str, spent: Mapping[Side, Spent], *, generation: int | None = None) -> None:  # noqa: B027 - it may be left out
        """Keep what a run with a budget has spent so far, also in attempts that are not stored, and renew its heartbeat.

        A store that does not keep it knows only what stored attempts tell when a killed run goes on.
        """

    def spent(self, run: str) -> dict[Side, Spent]:  # noqa: ARG002 - others need it
        """What was last kept of what a run has spent; empty if nothing was."""
        return {}

    @abstractmethod
    def resume_run(self, run: str) -> RunInfo:
        """Make this process the owner of a run that is over or abandoned, and mark it as running, in the next generation.

        Raises:
            StoreError: another process runs it, or another thread of this one.
        """

    @abstractmethod
    def finish_run(
        self,
        run: str,
        *,
        status: Status = "finished",
        report: Report | None = None,
        ended_at: str | None = None,
        generation: int | None = None,
    ) -> RunInfo:
        """Mark a run as over, and keep what its report says besides its attempts.

        `ended_at` is ISO 8601 in UTC; default: now.
        """

    @abstractmethod
    def delete_run(self, run: str, *, labels: bool = False) -> None:
        """Remove a run. What other runs share with it stays.

        Raises:
            StoreError: people labelled it, and `labels` does not say that their work may be lost. Nothing was removed.
        """

    @abstractmethod
    def prune(self) -> int:
        """Remove what no run uses any more, also what was moved elsewhere, free its space, and return how many blobs were removed."""

    @abstractmethod
    def add_look(self, question: str, look: "Look", *, after: int) -> bool:
        """Note that a gate has looked at a run. Looks stay when their run is deleted.

        Args:
            question: what the look was at (`calipers.gate.looks`).
            look: to note.
            after: how many looks at the question there were before.

        Returns:
            False if another look was noted meanwhile: then this one is not.
        """

    @abstractmethod
    def add_labels(self, labels: Sequence[HumanLabel]) -> None:
        """Store what people said of attempts, all or nothing. What a person said of the same before is replaced.

        Labels change nothing in the report of their run.

        Raises:
            StoreError: there is no such run, or no attempt in that place.
        """

    @abstractmethod
    def remove_label(self, run: str, position: int, *, question: str, person: str) -> bool:
        """Remove what a person said of an attempt; returns whether there was something.

        Raises:
            StoreError: there is no such run.
        """

    @abstractmethod
    def add_passport(self, passport: StoredPassport) -> None:
        """Keep what a check of a judge found, beside what earlier ones found. It belongs to no run."""

    @abstractmethod
    def remove_passports(self, identity: str) -> int:
        """Remove the passports of a judge, and return how many."""

    @abstractmethod
    def keep_model_answer(self, key: bytes, answer: bytes) -> None:
        """Keep what a model answered. An answer that is there stays.

        A store that redacts keeps none, since hooks cannot look into an answer, and neither does one that is only read.
        """

    @abstractmethod
    def remove_model_answers(self, *, before: str | None = None, keys: Iterable[bytes] | None = None) -> int:
        """Remove answers, and return how many.

        Args:
            before: only those that were kept before this moment: ISO 8601, UTC.
            keys: only those of these keys.
        """

    @abstractmethod
    def add_index_parts(self, run: str, build: str, parts: Mapping[tuple[str, int], bytes]) -> None:
        """Keep parts of an index of a run: what a reader made of its attempts to find them quickly. A part that is there is replaced.

        An index changes nothing in a run, and can be made again at any time. It goes with its run.

        Args:
            run: its id.
            build: tells one index of the run from another.
            parts: by name and number.

        Raises:
            StoreError: there is no such run.
        """

    @abstractmethod
    def remove_index(self, run: str, *, but: str | None = None) -> None:
        """Remove the parts of all indexes of a run; `but` is the build of one that stays.

        Raises:
            StoreError: there is no such run.
        """

    # ------------------------------------------------------------------ reading

    @abstractmethod
    def changes(self, run: str) -> int:
        """How often attempts, results or evaluators of a run were written or removed: the same number means the same attempts.

        Raises:
            StoreError: there is no such run.
        """

    @abstractmethod
    def index_builds(self, run: str) -> list[str]:
        """The builds of a run's indexes, in alphabetical order. Parts of one may be missing, as long as it is being written.

        Raises:
            StoreError: there is no such run.
        """

    @abstractmethod
    def index_parts(
        self, run: str, build: str, name: str, numbers: Sequence[int] | None = None
    ) -> dict[int, bytes]:
        """The parts of one name, by number; with `numbers`, only those. Missing ones are left out.

        Raises:
            StoreError: there is no such run.
        """

    @abstractmethod
    def labels(
        self, *, run: str | None = None, question: str | None = None, person: str | None = None
    ) -> list[HumanLabel]:
        """What people said, in the order of runs, positions, questions and persons.

        Args:
            run: only of the run of this id.
            question: only in answer to this question.
            person: only by this person.

        Raises:
            StoreError: there is no such run.
        """

    @abstractmethod
    def passports(self, identity: str | None = None) -> list[StoredPassport]:
        """The passports, the newest first; with an identity, those of that judge."""

    @abstractmethod
    def model_answer(self, key: bytes) -> bytes | None:
        """What a model answered; `None` if it is not known."""

    @abstractmethod
    def looks(self, question: str | None = None) -> "list[Look]":
        """The looks at one question (`calipers.gate.looks`), or at all of them, the first one first."""

    @abstractmethod
    def runs(
        self,
        *,
        name: str | None = None,
        dataset_name: str | None = None,
        status: State | None = None,
        ids: Collection[str] | None = None,
        limit: int | None = None,
    ) -> list[RunInfo]:
        """The runs, newest first: in the order in which the store began them, whatever the clock said.

        A run that was made elsewhere stands where its id puts it. The status "running" includes abandoned runs, and
        "abandoned" finds only those. Of `ids`, those that are not there are left out.

        Raises:
            InvalidOptionError: `status` or `limit` is not valid.
        """

    @abstractmethod
    def progress(self) -> list[RunProgress]:
        """How far each run has come, in the order of `runs`: little is read of each, and nothing is decoded that may be large."""

    @abstractmethod
    def run(self, which: str) -> RunInfo:
        """One run: by its id, the beginning of its id, its name (the newest of that name), or `latest`.

        Raises:
            StoreError: there is none, or several ids begin so.
        """

    @abstractmethod
    def revision(self, run: str, *, judging: bool = True) -> str:
        """Changes whenever a report of the run may say something else: by attempts, results, labels, its end, or the passport of a judge.

        Args:
            run: its id.
            judging: False: labels and passports do not count.

        Raises:
            RunMissingError: there is no such run.
        """

    @abstractmethod
    def attempts(
        self,
        run: str,
        *,
        after: int = -1,
        name: str | None = None,
        failed: bool | None = None,
        parts: Parts = True,
    ) -> Iterator[StoredAttempt]:
        """The attempts of a run in order, read a page at a time.

        Args:
            run: its id.
            after: only those at later positions.
            name: only those of this name, or of the case of this name.
            failed: only those whose task failed (True) or finished (False).
            parts: False leaves `given`, `output` and `trace` empty, which is several times faster; "given" leaves the last two empty.
        """

    @abstractmethod
    def cells(self, run: str, *, evaluator: int | None = None, after: int = -1) -> Iterator[StoredCell]:
        """The cells of a run, or of one of its evaluators, by position, read a page at a time."""

    @abstractmethod
    def judged(
        self,
        run: str,
        *,
        after: int = -1,
        failed: bool | None = None,
        parts: Parts = True,
        longest_trace: int | None = None,
    ) -> Iterator[tuple[StoredAttempt, list[StoredCell]]]:
        """The attempts of a run in order, each with its cells, read a page at a time.

        Args:
            run: its id.
            after: a position; the attempts behind it are read.
            failed: only those whose task failed, or only the others.
            parts: what of an attempt is read.
            longest_trace: characters; a longer trace is left where it is, and `trace` is the reference to it: see `packed_trace`.
        """

    @abstractmethod
    def judged_at(
        self, run: str, positions: Sequence[int], *, traces: bool = True, longest_trace: int | None = None
    ) -> Iterator[tuple[StoredAttempt, list[StoredCell]]]:
        """Attempts at some positions, in order, each with its cells.

        Args:
            run: its id.
            positions: of the attempts; those without one are left out.
            traces: False leaves `trace` empty, which may be by far the largest part.
            longest_trace: as of `judged`.
        """

    def packed_trace(self, run: str, position: int) -> PackedText | None:
        """The text of an attempt's trace, to be read in pieces; `None` if it has none, or is not there.

        Raises:
            StoreError: there is no such run.
        """
        for attempt, _ in self.judged_at(run, [position]):
            return None if attempt.trace is None else PackedText.of(attempt.trace)
        return None

    @abstractmethod
    def done(self, run: str) -> list[range]:
        """The positions of the stored attempts, as ranges in order."""

    @abstractmethod
    def find(self, keys: Iterable[bytes], *, failed: bool = False) -> dict[bytes, Known]:
        """What any run knows about the attempts of these keys; with `failed`, failed attempts count too."""

    def size(self) -> int | None:
        """Bytes that the store takes where it is, without those that are free for what comes next; `None` if that is not known."""
        return None

    def run_sizes(self) -> dict[str, int]:
        """For each run about how many bytes are free when it and all older ones are gone; empty if that is not known.

        A large value that several runs have counts for the newest of them.
        """
        return {}

    # ------------------------------------------------------------------ reports

    def totals(self, run: str) -> Totals:
        """What all attempts of a run say together; counted on the first call, then kept with the run."""
        return self.counted(run).totals

    def counted(self, run: str) -> Counted:
        """What was counted of a run: its totals, and what else takes a look at every attempt; kept like them."""
        return self._count(self._info(run))

    def kept_counts(self, run: str) -> Counted | None:
        """What was counted of a run; `None` if that has yet to be done."""
        return self._read_counted(run)[0]

    def report(self, run: str, *, keep: str = "all") -> Report:
        """A run as a report.

        Args:
            run: as in `Store.run`.
            keep: "all" attempts; only the first thousand "failed" ones, with exact totals of all; or "none" of them.

        Raises:
            InvalidOptionError: `keep` is none of these.
            StoreError: there is no such run.
        """
        check_choice("keep", keep, KEEPS)
        info = self.run(run)
        report = bare_report(info)
        scored = scored_places(info.evaluators)
        unjudged: Mapping[str, int] = {}
        names = Names(info.columns)
        if keep == "all":
            found = self.judged(info.id)
        else:
            counted = self._count(info)
            names = Names(info.columns, shared=counted.shared_keys)
            report.totals, unjudged = counted.totals, counted.unjudged
            found = self.judged_at(info.id, counted.not_passed) if keep == "failed" else iter(())
        people = self.labels_by_position(info.id) if keep != "none" else {}
        for attempt, cells in found:
            record = unpack(attempt, cells, info.evaluators, scored=scored, names=names)
            record.human_labels = people.get(attempt.position, ())
            if report.shard is not None:
                record.position = attempt.position
            put_in(report, record)
        if names.changes:
            name_results(report.cases, names)
        if keep == "all":
            unjudged = Counter(name for case in report.cases for name in unjudged_by(case))
        report.incomplete = report.incomplete or not_all_judged(report, unjudged)
        report.passports = standings(self, info.evaluators)
        return report

    def labels_by_position(self, run: str) -> dict[int, tuple[HumanLabel, ...]]:
        """What people said of the attempts of a run, by their positions."""
        found: dict[int, list[HumanLabel]] = {}
        for label in self.labels(run=run):
            found.setdefault(label.position, []).append(label)
        return {position: tuple(labels) for position, labels in found.items()}

    def names(self, info: RunInfo) -> Names:
        """The names of a run's results, for reading some attempts, or all as a stream."""
        columns = info.columns
        return Names(columns, shared=self._count(info).shared_keys if len(columns) > 1 else ())

    def known_evaluators(self, run: str) -> "KnownEvaluators":
        """The evaluators behind the results of a run, by name: shared ones, and those of single cases."""
        from calipers.comparison.evaluator_changes import KnownEvaluators

        info = self.run(run)
        shared = {one.name: one for one in info.evaluators if one.shared and not one.superseded}
        own: dict[str, dict[str, StoredEvaluator]] = {}
        if any(not one.shared for one in info.evaluators):
            for attempt in self.attempts(info.id, parts=False):
                for place in facts_of(attempt).evaluators or ():
                    one = info.evaluators[place]
                    if not (one.shared or one.superseded):
                        own.setdefault(attempt.case_name, {})[one.name] = one
        return KnownEvaluators(shared, own)

    def add_report(self, report: Report, *, parameters: Mapping[str, Any] | None = None) -> RunInfo:
        """Store a whole report as a run that is over.

        Raises:
            StoreError: it is not a report, or does not hold every attempt of its run.
        """
        if not isinstance(report, Report):
            raise StoreError(f"only a Report can be stored as a run, got {report!r:.100}")
        check_whole(report)
        records: list[Record] = [*report.cases, *report.failures]
        in_records = EvaluatorsInRecords()
        places = [in_records.of(record) for record in records]
        run = self.begin_run(
            RunInfo(
                name=report.name,
                dataset_name=report.dataset_name,
                parameters=dict(parameters or {}),
                repeat=report.repeat,
                seed=report.seed,
                total=len(records),
                metadata=report.metadata,
                started_at=report.started_at or "",
                evaluators=in_records.evaluators(),
            )
        )
        for start in range(0, len(records), _BATCH):
            packed = [
                pack(records[position], position, EvaluatorSlots(run.evaluators, places[position]))
                for position in range(start, min(start + _BATCH, len(records)))
            ]
            self.append(
                run.id, [attempt for attempt, _ in packed], [cell for _, cells in packed for cell in cells]
            )
        status: Status = "finished" if report.came_to_end else "interrupted"
        finished = self.finish_run(run.id, status=status, report=report)
        self.add_labels(
            [label for place, record in enumerate(records) for label in labels_at(record, run.id, place)]
        )
        return finished

    def _count(self, run: RunInfo) -> Counted:
        """The counts of a run, made now if there are none."""
        kept, changes = self._read_counted(run.id)
        if kept is not None:
            return kept
        counted = count(lambda failed: self.judged(run.id, failed=failed, parts=False), run.evaluators)
        self._keep_counted(run.id, counted, changes)
        return counted

    @abstractmethod
    def _info(self, run: str) -> RunInfo:
        """The run of an id."""

    @abstractmethod
    def _read_counted(self, run: str) -> tuple[Counted | None, int]:
        """The counts of a run, if nothing was appended since; and how often something was appended."""

    @abstractmethod
    def _keep_counted(self, run: str, counted: Counted, changes: int) -> None:
        """Keep the counts with a run, unless something was appended since."""

    # ------------------------------------------------------------------ life

    @abstractmethod
    def close(self) -> None:
        """Close the connection. What was appended is stored whether a store is closed or not."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"


# ---------------------------------------------------------------------- a store that is unavailable

_T = TypeVar("_T")

PATIENCE = 60.0
"""Seconds for which a store is tried again, unless the pace of a run says otherwise."""
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
_log = logging.getLogger("calipers.stores")


def patiently(call: Callable[[], _T], *, patience: float = PATIENCE) -> _T:
    """What a call returns; while the store is unavailable, the call is made again at longer and longer intervals.

    The call must be a whole transaction, or only read: it may have succeeded when the answer was lost, and is made again.

    Raises:
        StoreUnavailableError: the store is still unavailable after `patience` seconds.
    """
    begun = monotonic()
    pause = _FIRST_PAUSE
    while True:
        try:
            found = call()
        except StoreUnavailableError as error:
            if monotonic() - begun + pause > patience:
                raise
            if pause == _FIRST_PAUSE:
                _log.warning("%s. Trying again for %g s", error, patience)
            threading.Event().wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        else:
            if pause > _FIRST_PAUSE:
                _log.warning("the store can be used again")
            return found
