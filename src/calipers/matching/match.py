"""The front door: calls in, how well they fit out."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from typing_extensions import Unpack

from calipers.data.trace import ToolCall, Trace
from calipers.data.value_text import show
from calipers.errors import InvalidOptionError, InvalidTraceError

from .calls_match import CallsMatch
from .match_options import MatchKeywords, MatchOptions, left_out
from .matcher_data import read_call
from .pairing import pair_calls

CallLike: TypeAlias = ToolCall | Mapping[str, Any] | str
"""A tool call, a mapping with its `name` and `arguments` (and, where a call is expected, `matchers`), or the name of a
tool: an expected one with whatever arguments, an actual one that was called without any."""


def match_calls(
    expected: Iterable[CallLike],
    actual: Iterable[CallLike] | Trace,
    options: MatchOptions | None = None,
    **keywords: Unpack[MatchKeywords],
) -> CallsMatch:
    """How well actual calls fit the expected ones.

    Args:
        expected: the calls that should be made; their arguments may hold matchers.
        actual: the calls that were made, or a trace with them.
        options: how to match; the default is the same calls with the same arguments in the same order.
        keywords: fields of `MatchOptions`, in place of what the options say.

    Raises:
        InvalidOptionError: an option is out of its range, or nothing is expected in a mode that allows everything.
        InvalidTraceError: something is no call, or an expected argument contains itself.
    """
    options = replace(options or MatchOptions(), **keywords)
    wanted = as_expected_calls(expected)
    made = as_actual_calls(actual)
    if not wanted and options.extra_allowed:
        raise InvalidOptionError(
            f"no calls are expected, and mode {options.mode!r} allows any others, so every agent would pass: "
            "use 'exact' to say that no tool may be called"
        )
    uncounted = left_out(made, options, failed=options.failed, retried=options.retried)
    counted = tuple(call for index, call in enumerate(made) if index not in uncounted)
    try:
        pairing = pair_calls(wanted, counted, options)
    except RecursionError as error:
        raise InvalidTraceError(
            "arguments contain themselves, or are nested too deeply to compare"
        ) from error
    return CallsMatch(
        expected=wanted,
        actual=counted,
        left_out=tuple(made[index] for index in sorted(uncounted)),
        pairing=pairing,
        options=options,
    )


def as_expected_calls(calls: Any) -> tuple[ToolCall, ...]:
    """Expected calls in any of their forms, as tool calls.

    Raises:
        InvalidTraceError: one is no call, or the whole is no list.
        InvalidOptionError: a matcher is none.
    """
    return _as_calls(calls, "expected", read_call)


def as_actual_calls(calls: Any) -> tuple[ToolCall, ...]:
    """Actual calls in any of their forms, or those of a trace, as tool calls.

    Raises:
        InvalidTraceError: one is no call, or the whole is no list.
    """
    return _as_calls(calls.tool_calls if isinstance(calls, Trace) else calls, "actual", _read_actual)


def _as_calls(calls: Any, which: str, read: Callable[[Any], ToolCall]) -> tuple[ToolCall, ...]:
    if isinstance(calls, str | Mapping | ToolCall) or not isinstance(calls, Iterable):
        raise InvalidTraceError(f"the {which} calls must be a list of calls, got {show(calls)}")
    found: list[ToolCall] = []
    for index, call in enumerate(calls):
        try:
            found.append(call if isinstance(call, ToolCall) else read(call))
        except (InvalidTraceError, InvalidOptionError) as error:
            raise type(error)(f"{which} call {index}: {error}") from error
    return tuple(found)


def _read_actual(call: Any) -> ToolCall:
    if isinstance(call, str):
        return ToolCall(call)
    if not isinstance(call, Mapping):
        raise InvalidTraceError(
            f"give a ToolCall, a mapping with name and arguments, or the name of a tool, got {show(call)}"
        )
    try:
        return ToolCall(**call)
    except TypeError as error:
        raise InvalidTraceError(f"{show(call)} is no tool call: {error}") from error
