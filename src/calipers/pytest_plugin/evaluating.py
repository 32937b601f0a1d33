"""What the fixtures `evaluate` and `evaluate_case` are: an evaluation that the session takes note of.

Called, they block until the evaluation is done, in ordinary and in async tests alike, and all of them share one event loop; for async
tests another thread runs it (see `calipers.loop`). What a task shares with an async test (a client, a lock) belongs to the test's
own event loop; `await evaluate.on_loop(...)` stays on that one.

Ctrl-C or SIGTERM ends an evaluation early, and then the session: what was measured until then is kept.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, Unpack

from calipers.case import Case
from calipers.dataset import Dataset, EvaluateOptions
from calipers.errors import CalipersError, InvalidOptionError
from calipers.project import find_project
from calipers.pytest_plugin.session import Session
from calipers.record import ReportCase, ReportCaseFailure
from calipers.report import Report
from calipers.task import Invokable, TaskLike

NOT_FOR_ONE = frozenset({"repeat", "keep"})
"""Options of `Dataset.evaluate` that make no sense for one attempt."""

InputsT = TypeVar("InputsT")
OutputT = TypeVar("OutputT")


class Evaluate:
    """The fixture `evaluate`: runs a task over a dataset and gives the report.

    def test_capitals(evaluate):
        report = evaluate(dataset, agent, repeat=3)
        assert_rate(report, at_least=0.9)
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def __call__(
        self,
        dataset: Dataset[InputsT, OutputT, Any],
        task: Callable[[InputsT], Awaitable[OutputT]] | Callable[[InputsT], OutputT] | Invokable,
        **options: Unpack[EvaluateOptions],
    ) -> Report:
        """The report of the task on the dataset.

        Args:
            dataset: cases and evaluators.
            task: the thing under test.
            **options: those of `Dataset.evaluate`; the seed and the plugins are those of the session unless they are given
                here.
        """
        __tracebackhide__ = True
        try:
            report = dataset.evaluate_sync(task, **self._with_defaults(options))
        except CalipersError as error:
            raise error.with_traceback(None) from None  # a mistake in the call: where is no news, what is
        return kept(self._session, report, whole_test=False)

    async def on_loop(
        self,
        dataset: Dataset[InputsT, OutputT, Any],
        task: Callable[[InputsT], Awaitable[OutputT]] | Callable[[InputsT], OutputT] | Invokable,
        **options: Unpack[EvaluateOptions],
    ) -> Report:
        """The same on the event loop of an async test."""
        __tracebackhide__ = True
        try:
            report = await dataset.evaluate(task, **self._with_defaults(options))
        except CalipersError as error:
            raise error.with_traceback(None) from None
        return kept(self._session, report, whole_test=False)

    def __repr__(self) -> str:
        return "<evaluate(dataset, task)>"

    def _with_defaults(self, options: EvaluateOptions) -> EvaluateOptions:
        if options.get("keep", "all") != "all":
            raise InvalidOptionError(
                "the session sums up every attempt, so evaluate() keeps all of them: for more than memory holds, call "
                "dataset.evaluate_sync(task, keep='failed')"
            )
        return {**defaults(self._session), **options}


class EvaluateCase:
    """The fixture `evaluate_case`: makes one attempt at the case of the test, judged by the dataset's evaluators.

    @pytest.mark.calipers(dataset)
    def test_capital(case, evaluate_case):
        record = evaluate_case(agent)
        assert_passed(record)
    """

    def __init__(
        self,
        session: Session,
        dataset: Dataset[Any, Any, Any],
        case: Case[Any, Any, Any],
        options: EvaluateOptions,
    ) -> None:
        self._session = session
        self._dataset = dataset
        self._case = case
        self._options = options

    def __call__(self, task: TaskLike, **options: Unpack[EvaluateOptions]) -> ReportCase | ReportCaseFailure:
        """The record of one attempt.

        Args:
            task: the thing under test.
            **options: those of `Dataset.evaluate` without `repeat` and `keep`; they come before those of the marker.
        """
        __tracebackhide__ = True
        try:
            report = self._alone().evaluate_sync(task, **self._with_defaults(options))
        except CalipersError as error:
            raise error.with_traceback(None) from None
        return _only(kept(self._session, report, whole_test=True))

    async def on_loop(
        self, task: TaskLike, **options: Unpack[EvaluateOptions]
    ) -> ReportCase | ReportCaseFailure:
        """The same on the event loop of an async test."""
        __tracebackhide__ = True
        try:
            report = await self._alone().evaluate(task, **self._with_defaults(options))
        except CalipersError as error:
            raise error.with_traceback(None) from None
        return _only(kept(self._session, report, whole_test=True))

    def repeatedly(self, task: TaskLike, repeat: int) -> Report:
        """The report of several attempts."""
        options: EvaluateOptions = {**self._with_defaults({}), "repeat": repeat}
        return kept(self._session, self._alone().evaluate_sync(task, **options), whole_test=True)

    def _alone(self) -> Dataset[Any, Any, Any]:
        """The dataset with no other case. Claims about whole reports are not made about one case."""
        return Dataset(cases=[self._case], evaluators=self._dataset.evaluators, name=self._dataset.name)

    def __repr__(self) -> str:
        return f"<evaluate_case(task) for {self._case.name!r:.100}>"

    def _with_defaults(self, options: EvaluateOptions) -> EvaluateOptions:
        if refused := options.keys() & NOT_FOR_ONE:
            raise InvalidOptionError(
                f"evaluate_case makes one attempt and takes no {', '.join(sorted(refused))}: for more attempts, give "
                "the marker task= and repeat=, or use evaluate(dataset, task, repeat=...)"
            )
        return {**defaults(self._session), **self._options, **options}


def kept(session: Session, report: Report, *, whole_test: bool) -> Report:
    """The report, once the session has taken note of it.

    Raises:
        KeyboardInterrupt: the run was ended by Ctrl-C or SIGTERM, which is meant for the whole session.
    """
    session.keep(report.to_dict(), whole_test=whole_test)
    if report.interrupted_by is not None:
        raise KeyboardInterrupt
    return report


def defaults(session: Session) -> EvaluateOptions:
    """The options of every evaluation of a session that does not say otherwise."""
    project = find_project(session.config.invocation_params.dir)
    return {
        "seed": session.seed,
        "progress": False,
        "plugins": session.plugins,
        "max_concurrency": project.max_concurrency,
        "task_timeout": project.task_timeout,
        "evaluator_timeout": project.evaluator_timeout,
    }


def _only(report: Report) -> ReportCase | ReportCaseFailure:
    records: list[ReportCase | ReportCaseFailure] = [*report.cases, *report.failures]
    return records[0]
