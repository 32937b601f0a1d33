"""One evaluator of a run, ready to be called, and the plan of those that judge an attempt.

Evaluators have their names before anything runs: those of the dataset first, so that a column means the same in every
case, whatever evaluators a single case adds. A name that is taken gets `_2`, `_3`, and so on. What the results of a
mapping are called is known later; see `calipers.data.result_names`.
"""

import inspect
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, get_args

from calipers.data.case import Case
from calipers.data.evaluator import Evaluator, Expectation, make_ready
from calipers.data.evaluator_styles import InjectedEvaluator, RolloutEvaluator, as_evaluator
from calipers.data.hopeless import hopeless
from calipers.data.infrastructure import is_infrastructure
from calipers.data.jsonable import are_plain
from calipers.data.result import EvaluationResult, EvaluatorFailure, EvaluatorSpec, Scalar, describe_error
from calipers.data.result_names import Names, unique
from calipers.data.user_turn import TurnEvaluator
from calipers.errors import NotAnEvaluatorError
from calipers.process.interrupt import is_interrupt

_FREQUENT_LABELS = 100
"""Labels of an evaluator that are kept to be shared, and the length they may have."""

_NOTHING: frozenset[str] = frozenset()
_NOTHING_UNREAD: frozenset[Expectation] = frozenset()
_EXPECTATIONS: frozenset[Expectation] = frozenset(get_args(Expectation))


class PlannedEvaluator:
    """One evaluator of a run, ready to be called, under the name it has in this run."""

    __slots__ = (
        *(
            "evaluate",
            "evaluator",
            "false",
            "is_async",
            "is_harmless",
            "is_judge",
            "labels",
            "looks",
            "may_look",
        ),
        "name",
        *("needs", "reads", "shares", "source", "true", "version"),
    )

    def __init__(self, evaluator: Evaluator[Any, Any, Any], name: str) -> None:
        self.evaluator = evaluator
        self.evaluate: Callable[[Any], Any] = evaluator.evaluate
        self.name = name
        spec = evaluator.as_spec()
        if not isinstance(spec, EvaluatorSpec):
            raise NotAnEvaluatorError(f"as_spec of {evaluator!r} must give an EvaluatorSpec, got {spec!r}")
        self.source = spec.without_secrets()
        version = evaluator.get_evaluator_version()
        self.version = None if version is None else str(version)
        called = evaluator.function if isinstance(evaluator, InjectedEvaluator) else evaluator.evaluate
        self.is_async: bool = inspect.iscoroutinefunction(called)
        """Whether it has to be waited for, as far as its definition tells, or as it has shown."""
        self.may_look = not isinstance(evaluator, InjectedEvaluator) or evaluator.may_look
        """Whether it has the context itself, and so may look beyond the attempt."""
        self.looks = self.may_look and (
            (
                isinstance(evaluator, InjectedEvaluator)
                and any(p.name == "results" for p in evaluator.parameters)
            )
            or _mentions(getattr(called, "__code__", None), "results")
        )
        """Whether it looks at earlier results, as far as its code tells, or as it has shown."""
        self.is_harmless = _is_harmless(evaluator)
        """Whether it is one of Calipers' own, which change nothing, and asks no other one."""
        self.shares = self.is_harmless or not self.may_look
        """Whether it can do without a context of its own."""
        self.reads = _reads(evaluator)
        """Which expectations of a case it reads; `None`: not known."""
        self.is_judge = bool(getattr(getattr(evaluator, "origin", evaluator), "is_judge", False))
        """Whether it says that it asks a model."""
        self.needs = evaluator.needs_expectations()
        # Results are immutable, so a bare True or False of one evaluator is one object in the whole report.
        self.true = self.bare(True)
        self.false = self.bare(False)
        self.labels: dict[str, EvaluationResult] = {}

    def result(self, name: str, **fields: Any) -> EvaluationResult:
        """A result of this evaluator."""
        return EvaluationResult(
            name=name, evaluator=self.name, source=self.source, evaluator_version=self.version, **fields
        )

    def bare(self, value: Scalar) -> EvaluationResult:
        """The result of a value without a reason."""
        return EvaluationResult(
            name=self.name,
            value=value,
            evaluator=self.name,
            source=self.source,
            evaluator_version=self.version,
        )

    def label(self, value: str) -> EvaluationResult:
        """The result of a label; a frequent label is one object in the whole report."""
        found = self.labels.get(value)
        if found is None:
            found = self.bare(value)
            if len(self.labels) < _FREQUENT_LABELS and len(value) < _FREQUENT_LABELS:
                self.labels[value] = found
        return found

    def failure(self, error: BaseException) -> EvaluatorFailure:
        """The record of this evaluator not finishing."""
        kind, message, stack = describe_error(error)
        return EvaluatorFailure(
            name=self.name,
            error_type=kind,
            error_message=message,
            error_stacktrace=stack,
            source=self.source,
            infrastructure=is_infrastructure(error),
            hopeless=hopeless(error),
        )


def _is_harmless(evaluator: Any) -> bool:
    try:
        return type(evaluator).__module__.startswith("calipers.evaluators.") and are_plain(
            *vars(evaluator).values()
        )
    except TypeError:  # it has slots
        return False


def _reads(evaluator: Evaluator[Any, Any, Any]) -> frozenset[Expectation] | None:
    if isinstance(evaluator, InjectedEvaluator):
        return evaluator.reads
    # A turn has an expectation of its own, and a rollout metric is given the rollout alone.
    if isinstance(evaluator, RolloutEvaluator | TurnEvaluator):
        return frozenset()
    is_own = type(evaluator).__module__.startswith("calipers.evaluators.")
    return evaluator.needs_expectations() if is_own else None


def _mentions(code: Any, name: str) -> bool:
    """Whether a function, or one inside of it, has an attribute or a global of that name."""
    if not isinstance(code, types.CodeType):
        return False
    return name in code.co_names or any(_mentions(inner, name) for inner in code.co_consts)


class Plan:
    """The evaluators of an attempt, in the order they run."""

    __slots__ = ("evaluators", "names", "needs_spans", "nothing_noted", "results", "unread")

    def __init__(self, evaluators: Sequence[PlannedEvaluator], results: Names | None = None) -> None:
        self.evaluators = tuple(evaluators)
        self.names = tuple(planned.name for planned in evaluators)
        self.results = Names() if results is None else results
        """What results are called; the plans of a run share it."""
        self.results.meet(self.names)
        self.needs_spans = any(planned.evaluator.needs_spans for planned in evaluators)
        self.unread = _EXPECTATIONS
        """Expectations that no evaluator reads, as far as is known."""
        for planned in evaluators:
            self.unread = _NOTHING_UNREAD if planned.reads is None else self.unread - planned.reads
        self.nothing_noted = dict.fromkeys(self.names, _NOTHING)
        """What is noted of most attempts: every evaluator was asked, and none looked beyond the attempt."""

    def awaiting(self, case: Case[Any, Any, Any]) -> tuple[str, ...]:
        """The names of the evaluators that would have judged the case, as far as it tells; others are taken to."""
        stated: set[Expectation] = {"expected_output"} if case.has_expected_output else set()
        if case.expected_tool_calls is not None:
            stated.add("expected_tool_calls")
        return tuple(
            planned.name for planned in self.evaluators if not planned.needs or planned.needs & stated
        )


def make_plan(evaluators: Iterable[Any], extend: Plan | None = None) -> Plan:
    """A plan for evaluators of any style; with `extend`, they run before that plan's and yield it the names."""
    taken = set(extend.names) if extend else set()
    planned: list[PlannedEvaluator] = []
    for x in evaluators:
        try:
            evaluator = as_evaluator(x)
            planned.append(
                PlannedEvaluator(evaluator, unique(evaluator.get_default_evaluation_name(), taken))
            )
        except Exception:
            raise
        except BaseException as error:
            if is_interrupt(error):
                raise
            raise NotAnEvaluatorError(
                f"an evaluator of type {type(x).__name__} cannot be asked for its name: {describe_error(error)[1]}"
            ) from error
        taken.add(planned[-1].name)
    return Plan([*planned, *extend.evaluators], extend.results) if extend else Plan(planned)


async def prepare(evaluators: Iterable[Any]) -> None:
    """Await `before_run` of each evaluator that has it, once, before anything is paid for."""
    seen: set[int] = set()
    for each in evaluators:
        hook = getattr(type(each), "before_run", None)
        if hook is None or hook is Evaluator.before_run or id(each) in seen:
            continue
        seen.add(id(each))
        await make_ready(each)
