"""The tool calls of an attempt in short, for the views that give it a line.

The text is as the trace has it. Each view makes it safe in its own way.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from calipers.data.jsonable import safe_repr
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.trace import ToolCall
from calipers.stats.number_text import plural

from .text import held_text

_CALLS = 20
"""Calls that are named; of the rest, only the number."""
_NAME, _ARGUMENT, _ERROR = 60, 40, 80
"""Characters of a tool's name, of the value of an argument, and of an error."""


def calls_line(record: ReportCase | ReportCaseFailure) -> str | None:
    """`search(q='x'); book(flight='SK3') failed: no seats`; `None` if the attempt tells of no tool call."""
    if record.trace is None or not record.trace.tool_calls:
        return None
    calls = record.trace.tool_calls
    shown = [call_text(call) for call in calls[:_CALLS]]
    if len(calls) > _CALLS:
        shown.append(f"{plural(len(calls) - _CALLS, 'more call')}")
    return "; ".join(shown)


class ExpectedCalls:
    """The tool calls that a case expects, in the notation of `calls_line`, whichever view prints them.

    Args:
        calls: as a record has them: plain data, or whatever a file held.
    """

    def __init__(self, calls: Sequence[Any]) -> None:
        self.calls = calls

    def __repr__(self) -> str:
        if not self.calls:
            return "none"
        shown = [_expected(call) for call in self.calls[:_CALLS]]
        if len(self.calls) > _CALLS:
            shown.append(plural(len(self.calls) - _CALLS, "more call"))
        return "; ".join(shown)


def _expected(call: Any) -> str:
    """An expected call; a bare name is a call with any arguments, and what is neither is shown as it is."""
    if (name := held_text(call)) is not None:
        return f"{_cut(name, _NAME)}(...)"
    if isinstance(call, Mapping) and (name := held_text(call.get("name"))) is not None:
        arguments = call.get("arguments")
        return _called(name, arguments if isinstance(arguments, Mapping) else {})
    return _short(call)


def _called(name: str, arguments: Mapping[Any, Any]) -> str:
    given = ", ".join(f"{_cut(each, _NAME)}={_short(value)}" for each, value in arguments.items())
    return f"{_cut(name, _NAME)}({given})"


def call_text(call: ToolCall) -> str:
    """One call: `search(q='x')`, or `book(flight='SK3') failed: no seats`."""
    called = _called(call.name, call.arguments)
    if call.success:
        return called
    return f"{called} failed: {_cut(call.error, _ERROR)}" if call.error else f"{called} failed"


def _short(value: Any) -> str:
    # The repr of a large text would be made only to be thrown away.
    text = held_text(value)
    return _cut(safe_repr(value if text is None else text[: _ARGUMENT + 1]), _ARGUMENT)


def _cut(text: Any, most: int) -> str:
    held = held_text(text)
    whole = safe_repr(text) if held is None else held
    return whole if len(whole) <= most else whole[: most - 3] + "..."
