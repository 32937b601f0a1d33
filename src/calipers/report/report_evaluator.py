"""The report evaluator: an object that makes a claim about a whole report, once all attempts are judged.

Subclass `ReportEvaluator`, usually as a dataclass, and write `evaluate(ctx)`, sync or async. Any object with
`evaluate(ctx)` will do, and so will a function whose parameters are named for what it needs: `report`, `ctx`, `name` or
`metadata`.

Report evaluators run one after the other, and each may look at the analyses before it (`ctx.report.analyses`). One that
raises, or returns what is no analysis, is recorded in `report.report_evaluator_failures`; the others still run. The report that they
look at is without attempts under faults of the agent's tools, unless they say that they see those (`sees_faults`).

A rollout metric among the evaluators is a report evaluator too: its `aggregate_metrics` gets what `compute_metrics`
returned for each attempt, before the report evaluators run. So is an evaluator with a method `analyse_report(report, name)`, which gets the
report and the name that its own results have, and returns one analysis, which is called by that name, or `None`.
"""

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, TypeAlias

import msgspec

from calipers.data.argument_checks import did_you_mean
from calipers.data.evaluator import Evaluator, changed_fields
from calipers.data.evaluator_styles import RolloutEvaluator
from calipers.data.jsonable import safe_repr
from calipers.data.result import EvaluatorFailure, EvaluatorSpec, describe_error
from calipers.data.result_names import unique
from calipers.errors import InvalidOutputError, NotAnEvaluatorError
from calipers.process.interrupt import is_cancelled_by_caller, is_interrupt, outlast
from calipers.process.user_code import settled
from calipers.report.analysis import Aggregate, Analysis, checked
from calipers.report.report import Report
from calipers.scoring.evaluator_plan import Plan, PlannedEvaluator

ReportEvaluatorOutput: TypeAlias = Analysis | Sequence[Analysis]
"""What a report evaluator may return: one analysis or a list of them, which may be empty."""

_SHAPES = """A report evaluator is:
  1. a ReportEvaluator, or any object with evaluate(ctx)
  2. a function whose parameters are named for what it needs: report, ctx, name, metadata"""


class ReportEvaluatorContext(msgspec.Struct, kw_only=True):
    """All that a report evaluator may look at."""

    name: str
    """The run's name."""
    report: Report
    """Every attempt with its results, and the analyses made so far; attempts under faults only for those who see them."""
    metadata: dict[str, Any] | None = None
    """What the caller noted about the run."""

    @property
    def experiment_metadata(self) -> dict[str, Any] | None:
        """The same as `metadata`, which cases have too."""
        return self.metadata


class ReportEvaluator(ABC):
    """Makes a claim about a whole report. A subclass implements `evaluate` and is usually a dataclass."""

    judges_reports: ClassVar[bool] = True
    """Tells it from an evaluator of attempts, which has the same method."""
    sees_faults: ClassVar[bool] = False
    """Whether its report has the attempts under faults of the agent's tools (`ReportCase.fault`), too."""

    @abstractmethod
    def evaluate(
        self, ctx: ReportEvaluatorContext
    ) -> ReportEvaluatorOutput | Awaitable[ReportEvaluatorOutput]:
        """One analysis of the report, or a list of them."""

    async def evaluate_async(self, ctx: ReportEvaluatorContext) -> ReportEvaluatorOutput:
        """The output of `evaluate`, awaited if it has to be."""
        output = self.evaluate(ctx)
        return await output if inspect.isawaitable(output) else output

    def get_default_evaluation_name(self) -> str:
        """What a failure of it is called: the `evaluation_name` field if it holds a name, else the class's name."""
        given = getattr(self, "evaluation_name", None)
        return given if isinstance(given, str) and given else type(self).__name__

    @classmethod
    def get_serialization_name(cls) -> str:
        """What files call this type of report evaluator."""
        return cls.__name__

    def as_spec(self) -> EvaluatorSpec:
        """The type's name and the arguments that differ from their defaults."""
        return EvaluatorSpec(self.get_serialization_name(), changed_fields(self))


class InjectedReportEvaluator(ReportEvaluator):
    """A function or method whose parameters are read from the context by name."""

    def __init__(self, function: Callable[..., Any], name: str, wanted: Sequence[str]) -> None:
        self.function = function
        self.name = name
        self.wanted = wanted
        """The parameters to pass by name; none at all for the context as the only argument."""

    def evaluate(self, ctx: ReportEvaluatorContext) -> Any:
        """What the function returns."""
        if not self.wanted:
            return self.function(ctx)
        return self.function(**{name: _SOURCES[name](ctx) for name in self.wanted})

    def get_default_evaluation_name(self) -> str:
        """The name of the function or of the object's class."""
        return self.name

    def as_spec(self) -> EvaluatorSpec:
        """The name alone: a function has no arguments of its own."""
        return EvaluatorSpec(self.name)

    def __repr__(self) -> str:
        return f"as_report_evaluator({self.function!r})"


_SOURCES: dict[str, Callable[[ReportEvaluatorContext], Any]] = {
    "ctx": lambda ctx: ctx,
    "context": lambda ctx: ctx,
    "report": lambda ctx: ctx.report,
    "name": lambda ctx: ctx.name,
    "metadata": lambda ctx: ctx.metadata,
}


def as_report_evaluator(x: Any) -> ReportEvaluator:
    """A report evaluator made of `x`.

    Raises:
        NotAnEvaluatorError: `x` has none of the shapes; the message names what was found and what is accepted.
    """
    if isinstance(x, ReportEvaluator):
        return x
    if inspect.isclass(x):
        raise NotAnEvaluatorError(
            f"{x.__name__} is a class, not a report evaluator: make one with {x.__name__}(...)"
        )
    if isinstance(x, Evaluator) or callable(getattr(x, "compute_metrics", None)):
        raise NotAnEvaluatorError(
            f"{x!r} judges single attempts, not a whole report: pass it in evaluators=[...]\n{_SHAPES}"
        )
    method = getattr(x, "evaluate", None)
    if callable(method):
        return InjectedReportEvaluator(method, type(x).__name__, _wanted(method, x, only_is_context=True))
    if callable(x):
        return InjectedReportEvaluator(x, _name_of(x), _wanted(x, x))
    raise NotAnEvaluatorError(
        f"{x!r} is not a report evaluator: it has no evaluate method and cannot be called.\n{_SHAPES}"
    )


def check_report_evaluators(evaluators: Sequence[Any]) -> list[Any]:
    """The report evaluators as a list, each of a known shape: a wrong one is named where it was written.

    Raises:
        NotAnEvaluatorError: one of them has none of the shapes.
    """
    if isinstance(evaluators, str) or not isinstance(evaluators, Sequence):
        raise NotAnEvaluatorError(
            f"report_evaluators must be a list of report evaluators, got {evaluators!r}"
        )
    for evaluator in evaluators:
        as_report_evaluator(evaluator)
    return list(evaluators)


def _wanted(function: Callable[..., Any], x: Any, *, only_is_context: bool = False) -> list[str]:
    """The parameters to pass by name; none at all if the only one, whatever its name, is to get the context."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise NotAnEvaluatorError(
            f"{x!r} does not tell its parameters: wrap it in a function such as `def claim(report): ...`\n{_SHAPES}"
        ) from None
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = {name: parameter for name, parameter in parameters.items() if parameter.kind not in variadic}
    if only_is_context and len(named) == 1 and not named.keys() & _SOURCES.keys():
        return []
    for name, parameter in named.items():
        if name not in _SOURCES and parameter.default is inspect.Parameter.empty:
            hint = did_you_mean(name, _SOURCES)
            raise NotAnEvaluatorError(f"{x!r} asks for {name!r}{hint}, which no report has.\n{_SHAPES}")
    wanted = [name for name in named if name in _SOURCES]
    if not wanted:
        raise NotAnEvaluatorError(f"{x!r} takes nothing that a report evaluator can look at.\n{_SHAPES}")
    return wanted


def _name_of(function: Any) -> str:
    inner = getattr(function, "func", function)  # a functools.partial is called after what it wraps
    name = getattr(inner, "__name__", None) or type(inner).__name__
    return "function" if name == "<lambda>" else str(name)


# ---------------------------------------------------------------------- running them


async def run_report_evaluators(
    report: Report, evaluators: Iterable[Any], plan: Plan, *, keep_secrets: bool = False
) -> None:
    """Add to the report what its rollout metrics and report evaluators find, and which of them failed."""
    run = partial(_run, report, keep_secrets=keep_secrets)
    clean = report.without_faults()
    for planned in plan.evaluators:
        if isinstance(planned.evaluator, RolloutEvaluator):
            await run(planned.name, planned.source, partial(_aggregate, clean, planned))
        elif analyses_reports(planned.evaluator):
            await run(planned.name, planned.source, partial(_analysed, clean, planned))
    taken = set(plan.names)
    for x in evaluators:
        name, spec = type(x).__name__, EvaluatorSpec(type(x).__name__)
        try:
            evaluator = as_report_evaluator(x)
            name = unique(evaluator.get_default_evaluation_name(), taken)
            spec = evaluator.as_spec().without_secrets()
        except BaseException as error:
            if is_interrupt(error):
                raise
            report.report_evaluator_failures.append(_failure(name, spec, error))
            continue
        taken.add(name)
        seen = report if evaluator.sees_faults else clean
        ctx = ReportEvaluatorContext(name=report.name, report=seen, metadata=report.metadata)
        await run(name, spec, partial(evaluator.evaluate_async, ctx))


def names_of_analysts(evaluators: Iterable[Any], plan: Plan) -> Iterator[str]:
    """What those are called that look at a whole report."""
    for planned in plan.evaluators:
        if isinstance(planned.evaluator, RolloutEvaluator) or analyses_reports(planned.evaluator):
            yield planned.name
    taken = set(plan.names)
    for x in evaluators:
        taken.add(name := unique(as_report_evaluator(x).get_default_evaluation_name(), taken))
        yield name


def analyses_reports(evaluator: Any) -> bool:
    """Whether an evaluator of attempts also has something to say of the whole report."""
    return callable(getattr(evaluator, "analyse_report", None))


async def _analysed(report: Report, planned: PlannedEvaluator) -> list[Analysis]:
    """What an evaluator makes of all its results, under its name; nothing if it says nothing."""
    found = planned.evaluator.analyse_report(report, planned.name)  # type: ignore[attr-defined]
    return [] if found is None else [msgspec.structs.replace(found, title=planned.name)]


async def _run(
    report: Report,
    name: str,
    spec: EvaluatorSpec,
    evaluate: Callable[[], Awaitable[Any]],
    *,
    keep_secrets: bool,
) -> None:
    """Add all that one report evaluator found, or the record of its failure."""
    asked = asyncio.ensure_future(settled(evaluate))
    try:
        found, error = await outlast(asked)
    except asyncio.CancelledError as cancelled:
        if not asked.cancelled() or is_cancelled_by_caller():
            raise
        found, error = None, cancelled
    analyses: list[Analysis] = []
    if error is None:
        try:
            several = found if isinstance(found, list | tuple) else [found]
            analyses = [checked(analysis, keep_secrets=keep_secrets) for analysis in several]
        except BaseException as wrong:
            error = wrong
    if error is None:
        report.analyses.extend(analyses)
        return
    if is_interrupt(error):
        raise error
    report.report_evaluator_failures.append(_failure(name, spec, error))


def _failure(name: str, spec: EvaluatorSpec, error: BaseException) -> EvaluatorFailure:
    kind, message, stack = describe_error(error)
    return EvaluatorFailure(
        name=name, error_type=kind, error_message=message, error_stacktrace=stack, source=spec
    )


async def _aggregate(report: Report, planned: PlannedEvaluator) -> list[Analysis]:
    """What a rollout metric makes of all its rollouts; nothing at all where there was no rollout to judge."""
    assert isinstance(planned.evaluator, RolloutEvaluator)
    originals: list[Any] = []
    bare = 0
    left_out = Counter[str]()
    for case in report.cases:
        results = [result for result in case.results if result.evaluator == planned.name]
        if results and results[0].original is not None:
            originals.append(results[0].original)
        bare += bool(results) and results[0].original is None
        left_out["failed"] += any(failure.name == planned.name for failure in case.evaluator_failures)
        for skip in case.skipped:
            if skip.key_of is None and skip.name == planned.name:
                # A rollout in which nothing happened has metrics all the same, and belongs to every share of rollouts.
                if skip.original is None:
                    left_out["skipped"] += 1
                else:
                    originals.append(skip.original)
    if bare:
        raise InvalidOutputError(
            f"compute_metrics of {safe_repr(planned.evaluator.origin):.200} gave {bare} attempts no metrics object "
            "with `overall` and `per_turn`, so aggregate_metrics has nothing to combine: return an object with these two"
        )
    if not originals:
        return []
    data = planned.evaluator.aggregate(originals)
    if inspect.isawaitable(data):
        data = await data
    left_out["failed"] += sum(planned.name in failure.not_run for failure in report.failures)
    why = ", ".join(f"{count} {what}" for what, count in left_out.items() if count)
    total = len(originals) + left_out.total()
    note = f"{left_out.total()} of {total} attempts are not in it: {why}" if why else None
    return [Aggregate(title=planned.name, data=data, note=note)]
