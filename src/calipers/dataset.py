"""Named cases and the evaluators they share.

A dataset made from a list checks it at once: every item a `Case`, no name twice. One made from any other iterable is
lazy: cases are read while they run, so that more fit than memory holds, and a bad item becomes a recorded failure.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic

from .case import Case, checked_evaluators
from .context import InputsT, MetadataT, OutputT
from .errors import InvalidCaseError
from .evaluator import EvaluatorLike
from .lifecycle import LifecycleFactory
from .retry import Retry

if TYPE_CHECKING:
    from .evaluation import Progress
    from .report import Report


class Dataset(Generic[InputsT, OutputT, MetadataT]):
    """Cases, and the evaluators that judge all of them."""

    name: str | None
    cases: Iterable[Case[InputsT, OutputT, MetadataT]]
    """A list, or the lazy iterable the dataset was made from."""
    evaluators: list[EvaluatorLike[InputsT, OutputT, MetadataT]]
    """Judge every case, after the case's own evaluators."""
    report_evaluators: list[Any]
    """Make claims about the whole report; see `calipers.evaluators.ReportEvaluator`."""

    def __init__(
        self,
        *,
        cases: Iterable[Case[InputsT, OutputT, MetadataT]],
        evaluators: Sequence[EvaluatorLike[InputsT, OutputT, MetadataT]] = (),
        report_evaluators: Sequence[Any] = (),
        name: str | None = None,
    ) -> None:
        if isinstance(cases, Sequence):
            cases = list(cases)
            _check_cases(cases)
        elif not isinstance(cases, Iterable):
            raise InvalidCaseError(f"cases must be an iterable of Case, got {cases!r}")
        self.name = name
        self.cases = cases
        self.evaluators = checked_evaluators(evaluators)
        self.report_evaluators = list(report_evaluators)
        self._used_up = False

    def add_case(
        self,
        case: Case[InputsT, OutputT, MetadataT] | None = None,
        **fields: Any,
    ) -> None:
        """Add a case: a `Case`, or the keyword arguments of one."""
        cases = self._list("add a case to")
        added = Case(**fields) if case is None else case
        _check_cases([*cases, added])
        cases.append(added)

    def add_evaluator(
        self, evaluator: EvaluatorLike[InputsT, OutputT, MetadataT], *, specific_case: str | None = None
    ) -> None:
        """Add an evaluator for every case, or for the one of the given name."""
        checked_evaluators([evaluator])
        if specific_case is None:
            self.evaluators.append(evaluator)
            return
        for case in self._list("look a case up in"):
            if case.name == specific_case:
                case.evaluators.append(evaluator)
                return
        raise InvalidCaseError(f"no case of this dataset is called {specific_case!r}")

    async def evaluate(
        self,
        task: Callable[[InputsT], Awaitable[OutputT]] | Callable[[InputsT], OutputT],
        *,
        name: str | None = None,
        metadata: dict[str, Any] | None = None,
        max_concurrency: int | None = None,
        task_timeout: float | None = None,
        evaluator_timeout: float | None = None,
        retry: Retry | None = None,
        repeat: int = 1,
        lifecycle: LifecycleFactory | None = None,
        seed: int | None = None,
        progress: "bool | Progress" = True,
    ) -> "Report":
        """Run the task over every case, judge each attempt, and report.

        Args:
            task: the thing under test: a function of a case's inputs, sync or async. A sync one runs in threads.
            name: of the run; default: the task's name.
            metadata: anything to keep with the report.
            max_concurrency: attempts in flight at once; default: 100, or 32 for a sync task.
            task_timeout: seconds a task may take before it counts as failed.
            evaluator_timeout: seconds an evaluator may take; sync evaluators then run in threads.
            retry: when to call a failed task again.
            repeat: how often to attempt each case.
            lifecycle: hooks around each attempt: a `CaseLifecycle` class, or a function of a case that makes one.
            seed: from which all randomness of the run follows; default: drawn, and kept in the report.
            progress: show a bar on a terminal; or an object that shows progress its own way.
        """
        from .evaluation import draw_seed, evaluate
        from .runner import Options

        options = Options(
            max_concurrency=max_concurrency,
            task_timeout=task_timeout,
            evaluator_timeout=evaluator_timeout,
            retry=retry,
            repeat=repeat,
            lifecycle=lifecycle,
            seed=draw_seed() if seed is None else seed,
        )
        if progress is True:
            from .views.progress import show_progress as shown
        return await evaluate(
            self._readable(),
            task,
            evaluators=self.evaluators,
            report_evaluators=self.report_evaluators,
            options=options,
            name=name,
            dataset_name=self.name,
            metadata=metadata,
            progress=shown if progress is True else progress or None,
        )

    def evaluate_sync(
        self,
        task: Callable[[InputsT], Awaitable[OutputT]] | Callable[[InputsT], OutputT],
        **options: Any,
    ) -> "Report":
        """`evaluate` for code that is not async; takes the same options."""
        from .evaluation import run_sync

        return run_sync(lambda: self.evaluate(task, **options))

    def _list(self, purpose: str) -> list[Case[InputsT, OutputT, MetadataT]]:
        if not isinstance(self.cases, list):
            raise InvalidCaseError(f"cannot {purpose} a lazy dataset: make it from a list of cases")
        return self.cases

    def _readable(self) -> Iterable[Case[InputsT, OutputT, MetadataT]]:
        """The cases; an iterator can be read only once."""
        if isinstance(self.cases, Iterator):
            if self._used_up:
                raise InvalidCaseError(
                    "the cases of this dataset came from an iterator, which has been read: "
                    "make the dataset from a list, or from an object that can be iterated again"
                )
            self._used_up = True
        return self.cases

    def __repr__(self) -> str:
        size = f"{len(self.cases)} cases" if isinstance(self.cases, list) else "lazy cases"
        return f"Dataset(name={self.name!r}, {size}, {len(self.evaluators)} evaluators)"


def _check_cases(cases: Sequence[Any]) -> None:
    """Every item a `Case`, no name twice."""
    names: set[str] = set()
    for number, case in enumerate(cases, 1):
        if not isinstance(case, Case):
            raise InvalidCaseError(f"item {number} of the dataset is not a Case: {case!r}")
        if case.name is not None and case.name in names:
            raise InvalidCaseError(f"duplicate case name: {case.name!r}")
        if case.name is not None:
            names.add(case.name)
