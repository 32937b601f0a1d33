"""The attempts a run has to make, in order: each case once, or `repeat` times; and the journal that knows of earlier ones.

Cases may come from any iterable and are read one at a time, so a dataset larger than memory runs. An unnamed case is
called `Case <n>` after its place, or with a suffix if another case has that name. A name that is taken, an item that is
no case, or an invalid evaluator costs that item alone: it is recorded as a failure.

A run that is stored asks its journal for the work, which comes with what earlier runs know of it, and hands it every finished
attempt. Stores implement it (`calipers.stores.journal`).
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

import msgspec

from calipers.data.attempt import Attempt
from calipers.data.budget import Side, Spent
from calipers.data.case import Case, not_a_case
from calipers.data.evaluator import Expectation
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result_names import unique
from calipers.data.reuse import Recalled, Reuse
from calipers.errors import InvalidCaseError
from calipers.process.interrupt import is_interrupt
from calipers.report.report import Report
from calipers.scoring.evaluator_plan import Plan, make_plan

REMEMBERED_NAMES = 100_000
"""How many names of a lazy dataset are remembered to notice duplicates; memory must not grow with a file's length."""


class Work(msgspec.Struct):
    """One attempt to make. A journal fills in what it knows before the work begins."""

    position: int
    """Its place in the report."""
    case: Case[Any, Any, Any]
    name: str
    case_name: str
    repeat_index: int
    plan: Plan
    problem: BaseException | None = None
    """Why it cannot be made."""
    recalled: Recalled | None = None
    """What an earlier run knows of it; `None` if it is to be made."""
    case_key: bytes | None = None
    """What a journal knows the case's content by; `None` without a journal, or where it cannot be known."""
    case_code: dict[str, str] | None = None
    """Digests of the code in what the case holds, by the names of classes and functions; `None` if it holds none, empty
    if the code cannot be known."""
    attempt_key: bytes | None = None
    """What a journal finds attempts of this work by in other runs; `None` if that is not known."""
    usage: dict[str, int | float] = {}
    """What the models used that were asked for the case itself."""


def work_items(cases: Iterable[Any], plan: Plan, *, repeat: int = 1) -> Iterator[Work]:
    """The attempts for the cases, in order."""
    # A list is all there: its own names come first, and they were checked for duplicates when the run began.
    is_list = isinstance(cases, list)
    taken: set[str] | None = None if is_list else set()
    """Names that another case may not have; of a list, once that is asked."""
    position = 0
    for number, case in enumerate(cases, 1):
        problem: BaseException | None = None
        if not isinstance(case, Case):
            # A reader of files hands on what is wrong with a line in the line's place.
            problem = case if isinstance(case, Exception) else not_a_case(case, number)
            case = Case(inputs=None if isinstance(case, Exception) else case)  # noqa: PLW2901 - something to show in the report
        name = case.name
        if name is None or not is_list:
            if taken is None:
                taken = {case.name for case in cases if isinstance(case, Case) and case.name is not None}
            if name is None:
                name = unique(f"Case {number}", taken)
            elif name in taken:
                problem = InvalidCaseError(f"duplicate case name: {name!r}")
                name = unique(f"{name} (item {number})", taken)
            if len(taken) < REMEMBERED_NAMES:
                taken.add(name)
        case_plan = plan
        if case.evaluators or case.turns:
            try:
                case_plan = make_plan(case.own_evaluators, extend=plan)
            except BaseException as error:
                if is_interrupt(error):
                    raise
                problem = error
        if repeat == 1:
            yield Work(position, case, name, name, 1, case_plan, problem)
            position += 1
            continue
        for again in range(1, repeat + 1):
            full = f"{name} [{again}/{repeat}]"
            yield Work(position, case, full, name, again, case_plan, problem)
            position += 1


@runtime_checkable
class LiveCases(Protocol):
    """Cases that follow from what came of earlier ones, as those of a search do: an iterable that also says when it has the next one."""

    @property
    def is_sample(self) -> bool:
        """Whether each is drawn as any other, so that their rates tell something about more of them."""
        ...

    def begin(self, seed: int, recorded: Iterable[ReportCase | ReportCaseFailure]) -> None:
        """Told before the first case is asked for.

        Args:
            seed: of the run.
            recorded: what a run that is resumed has of earlier cases, without outputs and results; none where a run begins.
        """
        ...

    async def another(self) -> bool:
        """Whether there is another case, as soon as that is known. If so, it is what the iterator gives next."""
        ...

    def end(self) -> None:
        """Make no more cases: one of them will not be tried."""
        ...

    def __iter__(self) -> Iterator[Case[Any, Any, Any]]:
        """The cases."""
        ...


class Unread:
    """Counts the cases that state an expectation which none of their evaluators reads, as work on them begins."""

    def __init__(self) -> None:
        self.counts: dict[Expectation, int] = {}
        """Such cases, by what they expect."""

    def follow(self, items: Iterator[Work]) -> Iterator[Work]:
        """The items, each case counted once. A case without evaluators is not judged at all, which is said elsewhere."""
        for work in items:
            if work.repeat_index == 1 and work.plan.unread and work.plan.evaluators:
                self._count(work.case, work.plan.unread)
            yield work

    def _count(self, case: Case[Any, Any, Any], unread: frozenset[Expectation]) -> None:
        if case.has_expected_output and "expected_output" in unread:
            self.counts["expected_output"] = self.counts.get("expected_output", 0) + 1
        if case.expected_tool_calls is not None and "expected_tool_calls" in unread:
            self.counts["expected_tool_calls"] = self.counts.get("expected_tool_calls", 0) + 1


class WorkQueue:
    """Hands out work to several threads, one item at a time, and stops on request."""

    def __init__(self, items: Iterator[Work]) -> None:
        self._items = items
        self._lock = threading.Lock()
        self._closed = False
        self.handed_out = 0
        """Items on which work has begun."""
        self.broken: BaseException | None = None
        """What the dataset raised while its cases were read."""

    def follow(self, follower: Callable[[Iterator[Work]], Iterator[Work]]) -> None:
        """Pass the items through a function as they are handed out; call it before the first one is."""
        self._items = follower(self._items)

    def next(self) -> Work | None:
        """The next item, or `None` when there is no more."""
        with self._lock:
            if self._closed:
                return None
            try:
                for item in self._items:
                    self.handed_out += 1
                    return item
            except BaseException as error:
                if is_interrupt(error):
                    raise
                self.broken = error
                self._closed = True
            return None

    def take_back(self) -> None:
        """Note that an item which was handed out is not begun after all."""
        with self._lock:
            self.handed_out -= 1

    def close(self) -> None:
        """Hand out nothing more."""
        self._closed = True


class Setup(msgspec.Struct, kw_only=True, frozen=True):
    """What a run is about to do."""

    task: Any
    """As it was passed to `Dataset.evaluate`."""
    task_name: str
    name: str
    """Of the run."""
    plan: Plan
    """The evaluators that judge every attempt."""
    dataset_name: str | None = None
    total: int | None = None
    """Attempts to make; `None` if the dataset does not tell its length."""
    one_by_one: bool = False
    """Whether a case may follow from what came of earlier ones, so that none can be looked at before its turn."""
    repeat: int = 1
    seed: int = 0
    lifecycle: Any = None
    """What makes the hooks around each attempt; `None` if there are none."""
    plugins: Any = None
    """Who is told when the run and its attempts begin and end; `None` if no one is."""
    options: dict[str, Any] = {}
    """Limits and the like, as plain data, to be kept with the run."""
    metadata: dict[str, Any] | None = None


class Journal(Protocol):
    """Knows what earlier runs did, and keeps what this one does."""

    name: str
    """Of the run: what it was called when it was begun."""
    seed: int
    """The seed of the run."""
    recalls: bool
    """Whether it may know some of the attempts from an earlier run."""

    def spent(self) -> Mapping[Side, Spent]:
        """What the earlier parts of the run have spent, as far as is known."""
        ...

    def follow(self, spent: Callable[[], Mapping[Side, Spent]]) -> None:
        """Keep what the run has spent, in all its parts, also in attempts that never end. Called once, before `prepared`."""
        ...

    def prepared(self, items: Iterator[Work]) -> Iterator[Work]:
        """The work in its order, each with what is known of it. Called once; read by one thread at a time."""
        ...

    def append(self, work: Work, attempt: Attempt, record: ReportCase | ReportCaseFailure) -> None:
        """Note a finished attempt. Called on the event loop, in the order attempts finish.

        Raises:
            CalipersError: nothing more can be kept.
        """
        ...

    def recorded(self) -> Iterator[ReportCase | ReportCaseFailure]:
        """What the run that is resumed has, without outputs and results; nothing of a run that begins."""
        ...

    def finish(self, report: Report | None, *, broken: bool = False) -> Reuse:
        """Note that the run is over, and say how much of it was reused.

        Args:
            report: what the run says; `None`: it has no report.
            broken: whether that is due to an error, rather than to a caller who does not wait for it any more.

        Raises:
            CalipersError: not all of it could be kept.
        """
        ...

    def ended_late(self) -> None:
        """Note that a blocking call of the task has ended that was given up. Called in its thread, maybe after `finish`."""
        ...


Keeping: TypeAlias = Callable[[Setup], Journal]
"""Opens the journal of a run."""
