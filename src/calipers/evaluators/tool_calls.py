"""Evaluators of the tools that an agent called, and of the path it took.

`calipers.matching` explains the modes and options, and `calipers.matching.trajectory` what a trajectory means.

The calls are those of the attempt (`ctx.tool_calls`), or plain data: mappings with a `name` and `arguments`, listed under
the output's `tool_calls`. If a case expects calls, the output itself may be such a list. Where a rollout branches, each of
its conversations is judged, and the worst one counts.

A tool whose calls are not recorded (`ctx.unrecorded`) may have been called or not. A claim that names it is skipped, unless
the other calls alone show that it does not hold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from calipers.data.argument_checks import check_text
from calipers.data.context import NO_TOOL_CALLS, EvaluatorContext, not_recorded
from calipers.data.evaluator import Evaluator, Expectation
from calipers.data.result import EvalResult, EvaluationReason, EvalVerdict, Skipped
from calipers.data.trace import ToolCall
from calipers.data.value_text import show_typed
from calipers.errors import InvalidTraceError, NotApplicableError
from calipers.matching import Trajectory
from calipers.matching.call import ArgumentMode, Counted, MatchOptions, Mode, not_shown
from calipers.matching.match import CallsMatch, as_actual_calls, as_expected_calls, match_calls
from calipers.matching.matcher_data import read_comparison
from calipers.matching.trajectory_data import KEYS, read_trajectory

from .numeric import check_counts, describe_bounds, is_within

_NAMES_SHOWN = 8


@dataclass
class ToolCallsMatch(Evaluator):
    """The agent called the expected tools with the expected arguments; the score says to which degree.

    Skipped for a case that says nothing about calls, and for an attempt that does not record its calls. An empty list
    expects that no tool is called.
    """

    expected: Sequence[Any] | None = None
    """The expected calls, as `ToolCall`s with matchers, or as plain data in the form that
    `calipers.matching.matcher_data` describes; `None` for the case's expected tool calls, else its expected output."""
    mode: Mode = field(default="exact", kw_only=True)
    """Whether the order counts, and what may be missing or added."""
    arguments: ArgumentMode | Mapping[str, ArgumentMode] = field(default="exact", kw_only=True)
    """Which arguments may be missing or added, for all tools or by tool."""
    ignore: Sequence[str] | Mapping[str, Sequence[str]] = field(default=(), kw_only=True)
    """Arguments that never count, of all tools or by tool."""
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, kw_only=True)
    """By tool, what an argument is when it is left out."""
    compare: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, kw_only=True)
    """By tool and argument, how expected values are compared: a function from a value to a matcher, or the name of a
    matcher such as `text`, or one with its other parameters such as `{approx: {abs_tol: 0.01}}`."""
    names: Any = field(default="exact", kw_only=True)
    """How names of tools are compared: `exact`, `ignore_case`, a mapping of aliases, or a function of the name."""
    failed: Counted = field(default="count", kw_only=True)
    """Whether calls that failed count, or are left out."""
    retried: Counted = field(default="count", kw_only=True)
    """Whether a failed call counts when the next call of its tool repeats it, or is left out."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        self._options()
        if self.expected is not None:
            as_expected_calls(self.expected)

    def needs_expectations(self) -> frozenset[Expectation]:
        """The expected tool calls, also as the expected output, unless it was given the calls."""
        return frozenset({"expected_output", "expected_tool_calls"} if self.expected is None else ())

    def evaluate(self, ctx: EvaluatorContext) -> EvalResult | Skipped:
        """PASS if the calls fit, PARTIAL if some do; the reason is the edit script."""
        options = self._options()
        wanted = _expected_calls(ctx) if self.expected is None else self.expected
        if isinstance(wanted, Skipped):
            return wanted
        calls = _actual_calls(ctx, or_output=True)
        if calls is None:
            return Skipped(NO_TOOL_CALLS)
        expected = as_expected_calls(wanted)
        if not expected and options.extra_allowed:
            return Skipped(
                f"no calls are expected, and mode {options.mode!r} allows any others: there is nothing to check"
            )
        unseen = ctx.unrecorded((call.name for call in expected), name_of=options.name_of)
        expected = tuple(call for call in expected if call.name not in unseen)
        paths = ctx.conversations(calls)
        # Nothing is left to check, or the one call that a subset needs may be an unseen one.
        undecided = (options.extra_allowed and not expected) or (options.missing_allowed and not all(paths))
        if unseen and undecided:
            return Skipped(not_recorded(unseen))
        unknown = ""
        try:
            match = _worst(expected, paths, options)
        except NotApplicableError as error:
            # Without what is unknown, the tools alone may show that the calls do not match.
            unknown = str(error)
            match = _worst(
                expected, paths, replace(options, arguments="ignore", failed="count", retried="count")
            )
        if unknown and match.passed:
            return Skipped(unknown)
        if unseen and match.passed:
            return Skipped(not_recorded(unseen))
        verdict = (
            EvalVerdict.PASS if match.passed else EvalVerdict.PARTIAL if match.score > 0 else EvalVerdict.FAIL
        )
        name = self.get_default_evaluation_name()
        return EvalResult(name, verdict, match.score, match.reason, match.metadata)

    def _options(self) -> MatchOptions:
        compare: Any = self.compare
        if isinstance(compare, Mapping) and all(isinstance(each, Mapping) for each in compare.values()):
            compare = {
                tool: {argument: read_comparison(how) for argument, how in by_argument.items()}
                for tool, by_argument in compare.items()
            }
        return MatchOptions(
            mode=self.mode,
            arguments=self.arguments,
            ignore=self.ignore,
            defaults=self.defaults,
            compare=compare,
            names=self.names,
            failed=self.failed,
            retried=self.retried,
        )


@dataclass
class ToolCallCount(Evaluator):
    """The number of tool calls lies in a range, both ends included. Skipped if the attempt does not record its calls."""

    tool: str | None = None
    """Count only the calls of this tool; `None` for all."""
    minimum: int | None = field(default=None, kw_only=True)
    """The least number allowed; `None` for no lower bound."""
    maximum: int | None = field(default=None, kw_only=True)
    """The largest number allowed; `None` for no upper bound."""
    failed: Literal["count", "skip"] = field(default="count", kw_only=True)
    """Whether calls that failed count, or are left out."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        check_text("tool of ToolCallCount", self.tool, or_none=True)
        check_counts("ToolCallCount", self.minimum, self.maximum)
        MatchOptions(failed=self.failed)

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason | Skipped:
        """True if the number lies in the range; otherwise the reason gives it and the tools that were called."""
        calls = _actual_calls(ctx, or_output=False)
        if calls is None:
            return Skipped(NO_TOOL_CALLS)
        if self.tool is not None and (unseen := ctx.unrecorded([self.tool])):
            return Skipped(not_recorded(unseen))
        unsure = [call for call in calls if "success" in call.unknown] if self.failed == "skip" else []
        if unsure and self.tool in {None, *(call.name for call in unsure)}:
            return Skipped(not_shown(unsure[0], "success"))
        for some in ctx.conversations(calls):
            count = sum(
                (self.tool is None or call.name == self.tool) and (call.success or self.failed == "count")
                for call in some
            )
            if not is_within(count, self.minimum, self.maximum):
                what = "tool calls" if self.tool is None else f"calls of {self.tool!r}"
                wanted = describe_bounds(self.minimum, self.maximum)
                said = f"expected {wanted} {what}, got {count}; {_seen(some)}"
                return EvaluationReason(value=False, reason=said)
        return EvaluationReason(value=True)


def _worst(
    expected: Sequence[ToolCall], paths: Sequence[Sequence[ToolCall]], options: MatchOptions
) -> CallsMatch:
    """The match of the conversation that fits least."""
    matches = [match_calls(expected, some, options) for some in paths]
    return min(matches, key=lambda each: (each.passed, each.score))


def _expected_calls(ctx: EvaluatorContext) -> Any:
    if ctx.expected_tool_calls is not None:
        return ctx.expected_tool_calls
    if not ctx.has_expected_output:
        return Skipped("neither the case nor the evaluator says which tool calls to expect")
    expected = ctx.expected_output
    listed = expected if isinstance(expected, list | tuple) else _listed(expected)
    if listed is None:
        return Skipped(f"the expected output is not a list of tool calls: {show_typed(expected)}")
    return listed


def _actual_calls(ctx: EvaluatorContext, *, or_output: bool) -> Sequence[ToolCall] | None:
    """The calls of the attempt, from an output that is a list only where that is allowed."""
    calls = ctx.tool_calls
    if calls is not None:
        return calls
    listed = ctx.output if isinstance(ctx.output, list | tuple) and or_output else _listed(ctx.output)
    if listed is None or not all(isinstance(call, Mapping | ToolCall) for call in listed):
        return None
    try:
        return as_actual_calls(listed)
    except InvalidTraceError:
        return None


def _listed(value: Any) -> Sequence[Any] | None:
    """The list that a value holds under `tool_calls`."""
    held = value.get("tool_calls") if isinstance(value, Mapping) else getattr(value, "tool_calls", None)
    return held if isinstance(held, list | tuple) else None


def _seen(calls: Sequence[ToolCall]) -> str:
    names = list(dict.fromkeys(call.name for call in calls))
    if not names:
        return "no tool was called"
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"called: {', '.join(map(repr, names[:_NAMES_SHOWN]))}{more}"


@dataclass
class FollowsTrajectory(Evaluator):
    """The calls of the attempt follow a trajectory. Skipped where no calls were recorded, or none could show anything.

    A tool whose calls would not be seen may have been called or not. A trajectory that names it is skipped, unless the
    constraints on other tools alone show that it was not followed.

    Where a rollout branches, each of its conversations must follow it; the result is that of the one that does so least.
    """

    trajectory: Trajectory | Mapping[str, Any] | Sequence[Any]
    """Which path the agent may take; as plain data it has the form that `calipers.matching.trajectory_data` describes."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""
    unnamed_in_files: ClassVar[tuple[str, ...]] = KEYS
    """What may stand in a dataset file without the word `trajectory`, beside the other parameter."""

    def __post_init__(self) -> None:
        self._read()

    def evaluate(self, ctx: EvaluatorContext) -> EvalResult | Skipped:
        """PASS if the trajectory was followed, PARTIAL if some of it was; the reason is the edit script."""
        calls = ctx.tool_calls
        if calls is None:
            return Skipped(NO_TOOL_CALLS)
        whole = self._read()
        unseen = ctx.unrecorded(sorted(whole.tools), name_of=whole.rules.name_of)
        trajectory = whole.without(unseen) if unseen else whole
        if trajectory is None:
            return Skipped(not_recorded(unseen))
        try:
            matches = [trajectory.match(some) for some in ctx.conversations(calls)]
        except NotApplicableError as error:
            return Skipped(str(error))
        match = min(matches, key=lambda each: (not each.exercised, each.score))
        if unseen and match.passed:
            return Skipped(not_recorded(unseen))
        if not match.exercised:
            return Skipped("no call that the trajectory speaks of was made")
        verdict = (
            EvalVerdict.PASS if match.passed else EvalVerdict.PARTIAL if match.score > 0 else EvalVerdict.FAIL
        )
        return EvalResult(self.get_default_evaluation_name(), verdict, match.score, match.edit_script)

    def _read(self) -> Trajectory:
        given = self.trajectory
        return given if isinstance(given, Trajectory) else read_trajectory(given)
