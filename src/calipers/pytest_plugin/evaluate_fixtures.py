"""What the fixtures `evaluate` and `evaluate_case` are: an evaluation that the session takes note of.

Called, they block until the evaluation is done, in ordinary and in async tests alike, and all of them share one event loop; for async
tests another thread runs it (see `calipers.process.loop`). What a task shares with an async test (a client, a lock) belongs to the test's
own event loop; `await evaluate.on_loop(...)` stays on that one.

`on_loop` needs the event loop of asyncio: a test that anyio runs on trio has none.

Ctrl-C or SIGTERM ends an evaluation early, and then the session: what was measured until then is kept.
"""

import ast
import copy
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from textwrap import dedent
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from calipers.data.case import Case
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.errors import CalipersError, InvalidOptionError, UnassertedWarning
from calipers.files.project import find_project
from calipers.models.prices import set_prices
from calipers.process.interrupt import held_back
from calipers.process.loop import check_asyncio
from calipers.pytest_plugin.session import Session
from calipers.report.report import Report
from calipers.run.dataset import Dataset, EvaluateOptions
from calipers.run.task import Invokable, TaskLike

if TYPE_CHECKING:
    import pytest

NOT_FOR_ONE = frozenset({"repeat", "keep"})
"""Options of `Dataset.evaluate` that make no sense for one attempt."""

_FIXTURES = frozenset({"evaluate", "evaluate_case"})
_SHOWING = frozenset({"print", "pprint", "len", "str", "repr", "list", "sorted", "sum", "type"})
"""Functions that can be given a report and assert nothing."""
_ASSERTING = ("assert", "raises", "fail", "warns")
"""Parts of the names of functions that do."""

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
        with unlost(self._session):
            try:
                report = dataset.evaluate_sync(task, **self._with_defaults(options))
            except CalipersError as error:
                raise error.with_traceback(None) from None  # a mistake in the call: where is no news, what is
            self._session.evaluated = True
            return kept(self._session, report)

    async def on_loop(
        self,
        dataset: Dataset[InputsT, OutputT, Any],
        task: Callable[[InputsT], Awaitable[OutputT]] | Callable[[InputsT], OutputT] | Invokable,
        **options: Unpack[EvaluateOptions],
    ) -> Report:
        """The same on the event loop of an async test."""
        __tracebackhide__ = True
        on_asyncio("evaluate.on_loop")
        with unlost(self._session):
            try:
                report = await dataset.evaluate(task, **self._with_defaults(options))
            except CalipersError as error:
                raise error.with_traceback(None) from None
            self._session.evaluated = True
            return kept(self._session, report)

    def __repr__(self) -> str:
        return "<evaluate(dataset, task)>"

    def _with_defaults(self, options: EvaluateOptions) -> EvaluateOptions:
        if options.get("keep", "all") != "all":
            raise InvalidOptionError(
                "the session sums up every attempt, so evaluate() keeps all of them: for more than memory holds, call "
                "dataset.evaluate_sync(task, keep='failed')"
            )
        return {**defaults(self._session), **options}


def with_cases(dataset: Dataset[Any, Any, Any], cases: list[Case[Any, Any, Any]]) -> Dataset[Any, Any, Any]:
    """The dataset with these of its cases; tools fail in them as in all. Claims about whole reports are not made about some cases."""
    some = copy.copy(dataset)
    some.cases = cases
    some.report_evaluators = []
    return some


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
        item: "pytest.Item",
    ) -> None:
        self._items = {case.name or "": item}
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
        with unlost(self._session):
            try:
                report = self._alone().evaluate_sync(task, **self._with_defaults(options))
            except CalipersError as error:
                raise error.with_traceback(None) from None
            self._session.evaluated = True
            return _only(kept(self._session, report, items=self._items))

    async def on_loop(
        self, task: TaskLike, **options: Unpack[EvaluateOptions]
    ) -> ReportCase | ReportCaseFailure:
        """The same on the event loop of an async test."""
        __tracebackhide__ = True
        on_asyncio("evaluate_case.on_loop")
        with unlost(self._session):
            try:
                report = await self._alone().evaluate(task, **self._with_defaults(options))
            except CalipersError as error:
                raise error.with_traceback(None) from None
            self._session.evaluated = True
            return _only(kept(self._session, report, items=self._items))

    def _alone(self) -> Dataset[Any, Any, Any]:
        """The dataset with no other case. Claims about whole reports are not made about one case."""
        return with_cases(self._dataset, [self._case])

    def __repr__(self) -> str:
        return f"<evaluate_case(task) for {self._case.name!r:.100}>"

    def _with_defaults(self, options: EvaluateOptions) -> EvaluateOptions:
        if refused := options.keys() & NOT_FOR_ONE:
            raise InvalidOptionError(
                f"evaluate_case makes one attempt and takes no {', '.join(sorted(refused))}: for more attempts, give "
                "the marker task= and repeat=, or use evaluate(dataset, task, repeat=...)"
            )
        return {**defaults(self._session), **self._options, **options}


def on_asyncio(what: str) -> None:
    """Refuse to await an evaluation where there is no event loop of asyncio."""
    __tracebackhide__ = True
    check_asyncio(
        what,
        "call evaluate(dataset, task) or evaluate_case(task), which block and have an event loop of their own, or run the test on "
        "asyncio (with anyio: a fixture anyio_backend that returns 'asyncio')",
    )


@contextmanager
def unlost(session: Session) -> Iterator[None]:
    """Hold back a Ctrl-C or SIGTERM that comes when the run of the block is over until the session has taken note of it.

    From then on, a SIGTERM ends the session as Ctrl-C does.
    """
    __tracebackhide__ = True
    session.hear_sigterm()
    with held_back():
        yield


def kept(
    session: Session,
    report: Report,
    *,
    items: "Mapping[str, pytest.Item] | None" = None,
    apart: str | None = None,
) -> Report:
    """The report, once the session has taken note of it (`Session.keep`)."""
    session.keep(report.to_dict(), items=items, apart=apart)
    if report.interrupted_by is not None:
        raise KeyboardInterrupt
    return report


def defaults(session: Session) -> EvaluateOptions:
    """The options of every evaluation of a session that does not say otherwise."""
    project = find_project(session.config.invocation_params.dir)
    set_prices(project.prices)
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


def warn_if_unasserted(item: "pytest.Function") -> None:
    """Warn of a test that evaluated and could not have failed by what came of it."""
    if not may_assert(item.function):
        item.warn(
            UnassertedWarning(
                f"{item.name} evaluates and asserts nothing, so it passes whatever was measured: use assert_passed or assert_rate of "
                "calipers.testing, or the fixture gate"
            )
        )


def may_assert(function: Callable[..., Any]) -> bool:
    """Whether a test could fail by what it evaluates, as far as its source says.

    It can by an `assert` or a `raise`, and by any function that is given what was evaluated. A test that does not name the
    fixtures itself leaves it to others, and one without a source is not known: both may.
    """
    try:
        tree = ast.parse(dedent(inspect.getsource(inspect.unwrap(function))))
    except (OSError, TypeError, SyntaxError):
        return True
    body = [node for part in tree.body for node in ast.walk(part)]
    if not any(isinstance(node, ast.Name) and node.id in _FIXTURES for node in body):
        return True
    if any(isinstance(node, ast.Assert | ast.Raise) for node in body):
        return True
    measured = _measured_names(body)
    return any(isinstance(node, ast.Call) and _may_fail(node, measured) for node in body)


def _measured_names(body: list[ast.AST]) -> set[str]:
    """The names that stand for what was evaluated, or for a part of it."""
    names, before = set(_FIXTURES), 0
    while len(names) > before:
        before = len(names)
        for node in body:
            value = getattr(node, "value", None) or getattr(node, "iter", None)
            targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
            if isinstance(value, ast.AST) and names & _names_in(value):
                names |= {name for target in targets if target is not None for name in _names_in(target)}
    return names


def _may_fail(call: ast.Call, measured: set[str]) -> bool:
    name = ast.unparse(call.func)
    if any(part in name.lower() for part in _ASSERTING):
        return True
    if name in _SHOWING or name.partition(".")[0] in _FIXTURES:
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(measured & _names_in(each) for each in given)


def _names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
