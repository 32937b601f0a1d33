"""Every style of evaluator becomes one shape: `as_evaluator(x)`.

The five styles:

1. a function whose parameters are named for what it needs (`output`, `expected_output`, `trace`, `ctx`, …);
2. an `Evaluator`, or any object with `evaluate(ctx)`;
3. any object with `evaluate(expected, actual)`;
4. any object with `evaluate(test_case, trace)`;
5. a rollout metric with `compute_metrics(graph)` and `aggregate_metrics(all_metrics)`.

Sync or async, each. What a style asks for decides where it applies: if an attempt lacks what a required parameter
names (no trace, no expectation, no tool calls, no rollout graph), the evaluator is skipped with that reason. A
parameter with a default keeps its default instead.

`expected` and `actual` speak of tool calls when the attempt has them or the case expects them, and of the outputs
otherwise.
"""

import difflib
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias, cast

from .context import EvaluatorContext
from .errors import NotAnEvaluatorError
from .evaluator import Evaluator
from .output import EvaluatorOutput
from .result import EvaluatorSpec, Skipped
from .trace import ToolCall

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
    if isinstance(x, Evaluator):
        return x if name is None else InjectedEvaluator(x.evaluate, x, name, [_CONTEXT])
    if inspect.isclass(x):
        raise NotAnEvaluatorError(
            f"{x.__name__} is a class, not an evaluator: make one with {x.__name__}(...)"
        )
    if callable(getattr(x, "compute_metrics", None)) and callable(getattr(x, "aggregate_metrics", None)):
        return RolloutEvaluator(x, name or _name_of(x))
    method = getattr(x, "evaluate", None)
    if callable(method):
        return InjectedEvaluator(method, x, name or _name_of(x), _parameters_of_method(method, x))
    if callable(x):
        return InjectedEvaluator(x, x, name or _name_of(x), _parameters(x, x))
    raise NotAnEvaluatorError(
        f"{x!r} is not an evaluator: it has no evaluate method and cannot be called.\n{_SHAPES}"
    )


# What a parameter may ask for. Each reads the context and gives the value, or `Skipped` if the attempt has none.


def _expected_output(ctx: EvaluatorContext) -> Any:
    return ctx.expected_output if ctx.has_expected_output else Skipped("the case states no expected output")


def _trace(ctx: EvaluatorContext) -> Any:
    return Skipped("the attempt has no trace") if ctx.trace is None else ctx.trace


def _tool_calls(ctx: EvaluatorContext) -> Any:
    calls = ctx.tool_calls
    return Skipped("the attempt has no recorded tool calls") if calls is None else calls


def _actual(ctx: EvaluatorContext) -> Any:
    if _holds_tool_calls(ctx.output):
        return list(ctx.output)
    calls = ctx.tool_calls
    if calls is not None:
        return calls
    if ctx.has_expected_output and _holds_tool_calls(ctx.expected_output):
        return Skipped("the case expects tool calls, and the attempt recorded none of any kind")
    return ctx.output


def _expected(ctx: EvaluatorContext) -> Any:
    if not ctx.has_expected_output:
        return Skipped("the case states no expected output")
    expected: Any = ctx.expected_output
    return list(expected) if _holds_tool_calls(expected) else expected


def _graph(ctx: EvaluatorContext) -> Any:
    if hasattr(ctx.output, "children"):
        return ctx.output
    return Skipped("the attempt is no rollout: its output has no `children`")


def _holds_tool_calls(value: Any) -> bool:
    return (
        isinstance(value, list | tuple) and bool(value) and all(isinstance(call, ToolCall) for call in value)
    )


_SOURCES: dict[str, Callable[[EvaluatorContext], Any]] = {
    "ctx": lambda ctx: ctx,
    "context": lambda ctx: ctx,
    "output": lambda ctx: ctx.output,
    "expected_output": _expected_output,
    "inputs": lambda ctx: ctx.inputs,
    "metadata": lambda ctx: ctx.metadata,
    "name": lambda ctx: ctx.name,
    "duration": lambda ctx: ctx.duration,
    "metrics": lambda ctx: ctx.metrics,
    "attributes": lambda ctx: ctx.attributes,
    "results": lambda ctx: ctx.results,
    "seed": lambda ctx: ctx.seed,
    "span_tree": lambda ctx: ctx.span_tree,
    "trace": _trace,
    "tool_calls": _tool_calls,
    "expected": _expected,
    "actual": _actual,
    "test_case": lambda ctx: ctx if ctx.case is None else ctx.case,
    "case": lambda ctx: ctx if ctx.case is None else ctx.case,
    "graph": _graph,
}


class _Parameter(NamedTuple):
    """One parameter to fill from the context."""

    name: str
    source: Callable[[EvaluatorContext], Any]
    required: bool = True
    positional_only: bool = False


_CONTEXT = _Parameter("ctx", _SOURCES["ctx"], positional_only=True)


class InjectedEvaluator(Evaluator[Any, Any, Any]):
    """A function or method whose parameters are read from the context by name."""

    def __init__(
        self, function: Callable[..., Any], origin: Any, name: str, parameters: list[_Parameter]
    ) -> None:
        self.function = function
        self.origin = origin
        self.name = name
        self.parameters = parameters
        asks = bool(getattr(origin, "needs_spans", False))
        # Here the class-wide promise depends on the function at hand.
        self.needs_spans = asks or any(p.name == "span_tree" and p.required for p in parameters)  # type: ignore[misc]

    def evaluate(self, ctx: EvaluatorContext) -> Output:
        """Call the function with what it asks for, or say what the attempt lacks."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for name, source, required, positional_only in self.parameters:
            value = source(ctx)
            if type(value) is Skipped:
                if required:
                    return value
            elif positional_only:
                positional.append(value)
            else:
                named[name] = value
        return cast("Output", self.function(*positional, **named))

    def get_default_evaluation_name(self) -> str:
        """The name given, else that of the function or object."""
        return self.name

    def get_evaluator_version(self) -> str | None:
        """The origin's version, if it states one."""
        version = getattr(self.origin, "get_evaluator_version", None)
        return version() if callable(version) else None

    def as_spec(self) -> EvaluatorSpec:
        """The origin's own spec, else its name."""
        spec = getattr(self.origin, "as_spec", None)
        return spec() if callable(spec) else EvaluatorSpec(_type_name(self.origin))

    def __repr__(self) -> str:
        return f"as_evaluator({self.origin!r})"


class RolloutEvaluator(Evaluator[Any, Any, Any]):
    """A rollout metric: `compute_metrics` judges an attempt, `aggregate_metrics` the whole report."""

    def __init__(self, origin: Any, name: str) -> None:
        self.origin = origin
        self.name = name

    def evaluate(self, ctx: EvaluatorContext) -> Output:
        """The metrics of one rollout."""
        graph = _graph(ctx)
        return graph if type(graph) is Skipped else cast("Output", self.origin.compute_metrics(graph))

    def aggregate(self, all_metrics: list[Any]) -> Any:
        """The metrics of all rollouts together, as the origin combines them."""
        return self.origin.aggregate_metrics(all_metrics)

    def get_default_evaluation_name(self) -> str:
        """The name given, else that of the metric."""
        return self.name

    def as_spec(self) -> EvaluatorSpec:
        """The metric's name."""
        return EvaluatorSpec(_type_name(self.origin))

    def __repr__(self) -> str:
        return f"as_evaluator({self.origin!r})"


def _parameters_of_method(method: Callable[..., Any], x: Any) -> list[_Parameter]:
    """The parameters of an `evaluate` method; a single one of any name is the context."""
    names = list(_signature(method, x))
    return [_CONTEXT] if len(names) == 1 and names[0] not in _SOURCES else _parameters(method, x)


def _parameters(function: Callable[..., Any], x: Any) -> list[_Parameter]:
    """What to read from the context for each parameter that can be filled."""
    found: list[_Parameter] = []
    for name, parameter in _signature(function, x).items():
        required = parameter.default is inspect.Parameter.empty
        if name in _SOURCES:
            positional_only = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
            found.append(_Parameter(name, _SOURCES[name], required, positional_only))
        elif required:
            close = difflib.get_close_matches(name, _SOURCES, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise NotAnEvaluatorError(
                f"{x!r} asks for {name!r}{hint}, which no attempt has. A parameter may be named: "
                f"{', '.join(sorted(_SOURCES))}; any other needs a default.\n{_SHAPES}"
            )
    if not found:
        raise NotAnEvaluatorError(
            f"{x!r} takes none of the things an evaluator can look at: {', '.join(sorted(_SOURCES))}.\n{_SHAPES}"
        )
    return found


def _signature(function: Callable[..., Any], x: Any) -> dict[str, inspect.Parameter]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise NotAnEvaluatorError(
            f"{x!r} does not tell its parameters, so nothing can be passed by name: wrap it in a function such as "
            f"`def check(output): ...`\n{_SHAPES}"
        ) from None
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: parameter for name, parameter in parameters.items() if parameter.kind not in variadic}


def _name_of(x: Any) -> str:
    """What the results of an object or function are called."""
    own = getattr(x, "get_default_evaluation_name", None)
    if callable(own):
        return str(own())
    for attribute in ("evaluation_name", "name"):
        given = getattr(x, attribute, None)
        if isinstance(given, str) and given:
            return given
    return _type_name(x)


def _type_name(x: Any) -> str:
    function = getattr(x, "func", x)  # a functools.partial is called after what it wraps
    name = getattr(function, "__name__", None) or type(function).__name__
    return "function" if name == "<lambda>" else str(name)
