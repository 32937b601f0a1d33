"""Every style of evaluator becomes one shape: `as_evaluator(x)`.

The five styles:

1. a function whose parameters are named for what it needs (`output`, `expected_output`, `trace`, `ctx`, …);
2. an `Evaluator`, or any object with `evaluate(ctx)`;
3. any object with `evaluate(expected, actual)`;
4. any object with `evaluate(test_case, trace)`;
5. a rollout metric with `compute_metrics(graph)` and `aggregate_metrics(all_metrics)`.

Sync or async, each. What a style asks for decides where it applies: if an attempt lacks what a required parameter
names (no trace, no expectation, no tool calls, no rollout graph), the evaluator is skipped with that reason. A
parameter with a default keeps its default instead. What a `functools.partial` has bound stays as it was bound.

`expected` is the expected output, and `actual` is of its kind: tool calls where the case expects tool calls, and the
output where it expects anything else. Where a case states expected tool calls and no output, they are the tool calls.
"""

import dataclasses
import functools
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

from calipers.data.context import NO_TOOL_CALLS, EvaluatorContext, are_tool_calls, rollout_of
from calipers.data.evaluator import Evaluator, Expectation, changed_fields, declared_range
from calipers.data.evaluator_output import EvaluatorOutput
from calipers.data.jsonable import safe_repr
from calipers.data.result import EvaluatorSpec, Skipped
from calipers.errors import (
    InvalidRolloutError,
    NotAnEvaluatorError,
    NotApplicableError,
    SpanTreeRecordingError,
)

from .argument_checks import did_you_mean

_EvaluatorT = TypeVar("_EvaluatorT")
Output: TypeAlias = EvaluatorOutput | Awaitable[EvaluatorOutput]

_SHAPES = """Calipers accepts:
  1. a function whose parameters are named for what it needs, such as (output, expected_output) or (ctx)
  2. an Evaluator, or any object with evaluate(ctx)
  3. any object with evaluate(expected, actual)
  4. any object with evaluate(test_case, trace)
  5. a rollout metric with compute_metrics(graph) and aggregate_metrics(all_metrics)"""


def as_evaluator(x: Any, *, name: str | None = None) -> Evaluator[Any, Any, Any]:
    """An evaluator made of `x`, whichever of the five styles it has.

    Args:
        x: a function or an object in one of the accepted styles.
        name: what to call its result; default: what `x` says, else its class's or function's name.

    Raises:
        NotAnEvaluatorError: `x` has none of the shapes; the message names what was found and what is accepted.
    """
    if inspect.isclass(x):
        raise NotAnEvaluatorError(_about_class(x))
    if getattr(x, "judges_reports", False):
        raise NotAnEvaluatorError(f"{_shown(x)} judges whole reports: put it into report_evaluators=[...]")
    called = _name_of(x) if name is None else name
    if not isinstance(called, str) or not called:
        raise NotAnEvaluatorError(
            f"the results of {_shown(x)} need a non-empty string as their name, got {called!r}"
        )
    if isinstance(x, RolloutEvaluator):
        return x if name is None else RolloutEvaluator(x.origin, name)
    if isinstance(x, Evaluator):
        wanted = _parameters_of_method(x.evaluate, x)
        takes_context = len(wanted) == 1 and wanted[0].source is _CONTEXT.source
        return x if takes_context and name is None else InjectedEvaluator(x.evaluate, x, called, wanted)
    if _has(x, "compute_metrics") and _has(x, "aggregate_metrics"):
        return RolloutEvaluator(x, called)
    if _has(x, "evaluate"):
        return InjectedEvaluator(x.evaluate, x, called, _parameters_of_method(x.evaluate, x))
    if callable(x):
        return InjectedEvaluator(x, x, called, _parameters(x, x))
    raise NotAnEvaluatorError(
        f"{_shown(x)} is not an evaluator: it has no evaluate method and cannot be called{_found(x)}.\n{_SHAPES}"
    )


def checked_evaluators(evaluators: Sequence[_EvaluatorT]) -> list[_EvaluatorT]:
    """The evaluators as a list, each of a known shape: a wrong one is named where it was written, not in the run."""
    if isinstance(evaluators, str) or not isinstance(evaluators, Sequence):
        raise NotAnEvaluatorError(f"evaluators must be a list of evaluators, got {evaluators!r}")
    for evaluator in evaluators:
        as_evaluator(evaluator)
    return list(evaluators)


# What a parameter may ask for. Each reads the context and gives the value, or says what the attempt lacks.


class _Lacking(NamedTuple):
    """Stands for a value that an attempt does not have."""

    reason: str


_NO_TRACE = _Lacking(
    "the attempt has no trace: wrap the agent in calipers.agents.FunctionAdapter, "
    "or record what it does with calipers.agents.TraceRecorder"
)


def _expected_output(ctx: EvaluatorContext) -> Any:
    return ctx.expected_output if ctx.has_expected_output else _Lacking("the case states no expected output")


def _trace(ctx: EvaluatorContext) -> Any:
    return _NO_TRACE if ctx.trace is None else ctx.trace


def _tool_calls(ctx: EvaluatorContext) -> Any:
    calls = ctx.tool_calls
    return _Lacking(NO_TOOL_CALLS) if calls is None else calls


def _expected(ctx: EvaluatorContext) -> Any:
    if not ctx.has_expected_output and ctx.expected_tool_calls is not None:
        return ctx.expected_tool_calls
    expected = _expected_output(ctx)
    return list(expected) if isinstance(expected, tuple) and are_tool_calls(expected) else expected


def _expected_tool_calls(ctx: EvaluatorContext) -> Any:
    calls = ctx.expected_tool_calls
    return _Lacking("the case states no expected tool calls") if calls is None else calls


def _actual(ctx: EvaluatorContext) -> Any:
    if not ctx.has_expected_output and ctx.expected_tool_calls is not None:
        return _tool_calls(ctx)
    if ctx.has_expected_output and not are_tool_calls(ctx.expected_output):
        return ctx.output
    output: Any = ctx.output
    if are_tool_calls(output) and (output or ctx.expected_output):
        return list(output)  # rather than those of a trace: the expected output speaks of the output
    calls = ctx.tool_calls
    if calls is not None:
        return calls
    if ctx.expected_output or ctx.trace is not None:
        return _Lacking(NO_TOOL_CALLS)
    return output


def _graph(ctx: EvaluatorContext) -> Any:
    try:
        graph = rollout_of(ctx.output)
    except InvalidRolloutError as error:
        return _Lacking(f"the attempt is no rollout that can be read: {error}")
    return _Lacking("the attempt is no rollout: its output has no `children`") if graph is None else graph


def _nothing(_: EvaluatorContext) -> Any:
    return _Lacking("no attempt has it")


def _span_tree_if_recorded(ctx: EvaluatorContext) -> Any:
    try:
        return ctx.span_tree
    except SpanTreeRecordingError as error:
        return _Lacking(str(error))


_SOURCES: dict[str, Callable[[EvaluatorContext], Any]] = {
    "ctx": lambda ctx: ctx,
    "context": lambda ctx: ctx,
    "output": lambda ctx: ctx.output,
    "expected_output": _expected_output,
    "expected_tool_calls": _expected_tool_calls,
    "inputs": lambda ctx: ctx.inputs,
    "metadata": lambda ctx: ctx.metadata,
    "name": lambda ctx: ctx.name,
    "duration": lambda ctx: ctx.duration,
    "metrics": lambda ctx: ctx.metrics,
    "attributes": lambda ctx: ctx.attributes,
    "results": lambda ctx: ctx.results,
    "seed": lambda ctx: ctx.seed,
    # One that insists on spans turns their recording on, so that it fails rather than skips if there are none.
    "span_tree": lambda ctx: ctx.span_tree,
    "trace": _trace,
    "tool_calls": _tool_calls,
    "expected": _expected,
    "actual": _actual,
    "test_case": lambda ctx: ctx if ctx.case is None else ctx.case,
    "case": lambda ctx: ctx if ctx.case is None else ctx.case,
    "graph": _graph,
}

_BEYOND = frozenset(_SOURCES[name] for name in ("ctx", "context", "results", "seed", "test_case", "case"))
"""What leads to more than the attempt; a case stands in for a context that has none."""

_HOLDS_CASE = frozenset(_SOURCES[name] for name in ("ctx", "context", "test_case", "case"))
"""What has the expectations of the case in it."""

_READS: Final[dict[str, tuple[Expectation, ...]]] = {
    "expected_output": ("expected_output",),
    "expected_tool_calls": ("expected_tool_calls",),
    "expected": ("expected_output", "expected_tool_calls"),
}
"""Which expectations a parameter holds, by its name."""

_REQUIRED: Final[Any] = inspect.Parameter.empty


class _Parameter(NamedTuple):
    """One parameter to fill from the context."""

    name: str
    source: Callable[[EvaluatorContext], Any]
    default: Any = _REQUIRED
    by_position: bool = False


_CONTEXT = _Parameter("ctx", _SOURCES["ctx"], by_position=True)


class _Adapter(Evaluator[Any, Any, Any]):
    """What all evaluators made of something else have in common."""

    origin: Any
    name: str

    def get_default_evaluation_name(self) -> str:
        """The name given, else that of the function or object."""
        return self.name

    def get_evaluator_version(self) -> str | None:
        """The origin's version, if it states one."""
        version = self.origin.get_evaluator_version() if _has(self.origin, "get_evaluator_version") else None
        return None if version is None else str(version)

    def as_spec(self) -> EvaluatorSpec:
        """The origin's own spec, else its name and arguments."""
        spec = self.origin.as_spec() if _has(self.origin, "as_spec") else None
        return (
            spec
            if isinstance(spec, EvaluatorSpec)
            else EvaluatorSpec(_type_name(self.origin), _arguments(self.origin), declared_range(self.origin))
        )

    def __repr__(self) -> str:
        return f"as_evaluator({self.origin!r})"


class InjectedEvaluator(_Adapter):
    """A function or method whose parameters are read from the context by name."""

    def __init__(
        self, function: Callable[..., Any], origin: Any, name: str, parameters: list[_Parameter]
    ) -> None:
        self.function = function
        self.origin = origin
        self.name = name
        self.parameters = parameters
        self.may_look = any(p.source in _BEYOND for p in parameters)
        """Whether it may look beyond the attempt: at earlier results, at the seed."""
        self.is_pair = any(p.name == "actual" for p in parameters)
        """Whether it compares two things, of which either may be nothing that it can judge."""
        asks = bool(getattr(origin, "needs_spans", False))
        self.reads: frozenset[Expectation] | None = None
        """The expectations that its parameters ask for; `None`: not known, for one of them holds the case or the context."""
        if not any(p.source in _HOLDS_CASE for p in parameters):
            self.reads = frozenset(each for p in parameters for each in _READS.get(p.name, ()))
        # Here the class-wide promise depends on the function at hand.
        self.needs_spans = asks or any(p.name == "span_tree" and p.default is _REQUIRED for p in parameters)  # type: ignore[misc]

    def needs_expectations(self) -> frozenset[Expectation]:
        """What the origin says, and what parameters without a default ask for."""
        says = self.origin.needs_expectations() if _has(self.origin, "needs_expectations") else ()
        wanted = (p.name for p in self.parameters if p.default is _REQUIRED)
        return frozenset((*says, *(each for name in wanted for each in _READS.get(name, ()))))

    def evaluate(self, ctx: EvaluatorContext) -> Output:
        """Call the function with what it asks for, or say what the attempt lacks."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for name, source, default, by_position in self.parameters:
            value = source(ctx)
            if type(value) is _Lacking:
                if default is _REQUIRED:
                    return Skipped(value.reason)
                value = default
            if by_position:
                positional.append(value)
            else:
                named[name] = value
        try:
            found = self.function(*positional, **named)
        except NotApplicableError as error:
            return Skipped(str(error))
        return _or_skipped(found) if self.is_pair and inspect.isawaitable(found) else cast("Output", found)


async def _or_skipped(found: Any) -> Any:
    """What an evaluator gives, or that it was skipped, since it does not apply."""
    try:
        return await found
    except NotApplicableError as error:
        return Skipped(str(error))


class RolloutEvaluator(_Adapter):
    """A rollout metric: `compute_metrics` judges an attempt, `aggregate_metrics` the whole report."""

    skips = True
    """Whether a rollout that it does not apply to is skipped; else it is a failure."""

    def __init__(self, origin: Any, name: str) -> None:
        self.origin = origin
        self.name = name

    def evaluate(self, ctx: EvaluatorContext) -> Output:
        """The metrics of one rollout."""
        graph = _graph(ctx)
        if type(graph) is _Lacking:
            return Skipped(graph.reason)
        try:
            found = self.origin.compute_metrics(graph)
        except NotApplicableError as error:
            if not self.skips:
                raise
            return Skipped(str(error))
        return _or_skipped(found) if self.skips and inspect.isawaitable(found) else cast("Output", found)

    def aggregate(self, all_metrics: list[Any]) -> Any:
        """The metrics of all rollouts together, as the origin combines them."""
        return self.origin.aggregate_metrics(all_metrics)


# ---------------------------------------------------------------------- parameters


def _parameters_of_method(method: Callable[..., Any], x: Any) -> list[_Parameter]:
    """The parameters of an `evaluate` method; its only one, or the only required one, may have any name."""
    signature = _signature(method, x)
    required = [name for name, parameter in signature.items() if parameter.default is _REQUIRED]
    alone = list(signature) if len(signature) == 1 else required
    return _parameters(method, x, context=alone[0] if len(alone) == 1 else None)


def _parameters(function: Callable[..., Any], x: Any, *, context: str | None = None) -> list[_Parameter]:
    """What to read from the context for each parameter that can be filled.

    They go by position as far as possible: a decorator may hide the names behind `*args`, never the positions.
    """
    found: list[_Parameter] = []
    unbroken = True
    known = False
    for name, parameter in _signature(function, x).items():
        source = _source(name, parameter, context)
        only_by_position = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
        by_name = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        if source is not None:
            known = True
            by_position = only_by_position or (unbroken and not by_name)
            found.append(_Parameter(name, source, parameter.default, by_position))
        elif parameter.default is _REQUIRED:
            raise NotAnEvaluatorError(_about_parameter(name, x))
        elif only_by_position:  # has its default, and holds the place of those behind it
            found.append(_Parameter(name, _nothing, parameter.default, by_position=True))
        else:
            unbroken = False
    if not known:
        raise NotAnEvaluatorError(
            f"{_shown(x)} takes none of the things an evaluator can look at: {', '.join(sorted(_SOURCES))}.\n{_SHAPES}"
        )
    return found


def _source(
    name: str, parameter: inspect.Parameter, context: str | None
) -> Callable[[EvaluatorContext], Any] | None:
    if name == "span_tree" and parameter.default is not _REQUIRED:
        return _span_tree_if_recorded
    return _SOURCES.get("ctx" if name == context and name not in _SOURCES else name)


def _signature(function: Callable[..., Any], x: Any) -> dict[str, inspect.Parameter]:
    """The parameters that are free to be filled, by name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise NotAnEvaluatorError(
            f"{_shown(x)} does not tell its parameters, so nothing can be passed to them: wrap it in a function such "
            f"as `def check(output): ...`\n{_SHAPES}"
        ) from None
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    bound = function.keywords if isinstance(function, functools.partial) else {}
    return {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind not in variadic and name not in bound
    }


# ---------------------------------------------------------------------- names and descriptions


def _has(x: Any, method: str) -> bool:
    return callable(getattr(x, method, None))


def _name_of(x: Any) -> Any:
    """What the results of an object or function are called."""
    if _has(x, "get_default_evaluation_name"):
        return x.get_default_evaluation_name()
    for attribute in ("evaluation_name", "name"):
        given = getattr(x, attribute, None)
        if isinstance(given, str) and given:
            return given
    return _type_name(x)


def _type_name(x: Any) -> str:
    while isinstance(x, functools.partial):  # called after what it wraps
        x = x.func
    name = getattr(x, "__name__", None) or type(x).__name__
    return "function" if name == "<lambda>" else str(name)


def _arguments(x: Any) -> dict[str, Any]:
    """What an object or a partial was made with, so that two of a kind can be told apart."""
    if isinstance(x, functools.partial):
        try:
            return dict(inspect.signature(x.func).bind_partial(*x.args, **x.keywords).arguments)
        except (TypeError, ValueError):
            return dict(x.keywords)
    return changed_fields(x) if dataclasses.is_dataclass(x) else {}


def _shown(x: Any) -> str:
    text = safe_repr(x)
    return text if len(text) <= 200 else text[:200] + "…"


def _found(x: Any) -> str:
    """What an object of no known shape has to offer."""
    if type(x).__module__ == "builtins":
        return ""  # the methods of a string are well known
    methods = [name for name in dir(type(x)) if not name.startswith("_") and _has(type(x), name)]
    return f" (it has {', '.join(methods[:8])})" if methods else ""


def _about_class(x: type) -> str:
    if (
        hasattr(x, "evaluate")
        or hasattr(x, "compute_metrics")
        or any("__call__" in c.__dict__ for c in x.__mro__)
    ):
        return f"{x.__name__} is a class, not an evaluator: make one with {x.__name__}(...)"
    return f"{x.__name__} is a class, and its objects are no evaluators either.\n{_SHAPES}"


def _about_parameter(name: str, x: Any) -> str:
    hint = did_you_mean(name, _SOURCES)
    if name == "self":
        hint = " (is it a method? Take it from an object, not from the class)"
    return (
        f"{_shown(x)} asks for {name!r}{hint}, which no attempt has. A parameter may be named: "
        f"{', '.join(sorted(_SOURCES))}; any other needs a default.\n{_SHAPES}"
    )
