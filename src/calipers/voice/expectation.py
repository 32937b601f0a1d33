"""The calls that a request should lead to, as users write them.

Each is a `ToolCall`, or plain data: the name of a tool, for a call with any arguments; `{tool: arguments}`; or a mapping with
`name`, `arguments` and `matchers` (`calipers.matching.read_call`). One alone needs no list. An empty list expects that the agent
does nothing. What came of a call (`output`, `latency_ms` and the like) may stand in a mapping, as in stored reports, and does
not count.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calipers.data.context import are_tool_calls
from calipers.data.trace import ToolCall, Trace
from calipers.errors import InvalidOptionError, InvalidTraceError
from calipers.matching import read_call

from .response import AgentResponse

CIRCUMSTANCES = frozenset(ToolCall.__slots__) - {"name", "arguments"}
"""Fields of a call that two calls may differ in and be the same."""


def expected_calls(expect: Any) -> list[ToolCall]:
    """The expected calls."""
    if are_tool_calls(expect):
        return list(expect)
    if isinstance(expect, ToolCall | Mapping | str):
        return [expected_call(expect)]
    if isinstance(expect, bytes) or not isinstance(expect, Iterable):
        raise InvalidOptionError(
            f"expect is a list of tool calls, and [] says that no tool should be called, got {expect!r:.200}"
        )
    return [expected_call(each) for each in expect]


def expected_call(call: Any) -> ToolCall:
    """One expected call."""
    if isinstance(call, ToolCall):
        return call
    if isinstance(call, Mapping) and call.keys() & {"name", "tool_name"}:
        call = {key: value for key, value in call.items() if key not in CIRCUMSTANCES}
    if isinstance(call, Mapping) and len(call) > 1 and not call.keys() & {"name", "tool_name"}:
        each = ", ".join(f"{{{name}: ...}}" for name in list(call)[:2])
        raise InvalidOptionError(
            f"no call can be expected as {call!r:.200}: it names several tools; for several calls give a list, [{each}], "
            "and for one call with its parts give name and arguments"
        )
    try:
        found = read_call(call)
    except InvalidOptionError as error:
        raise InvalidOptionError(f"{error} (in the expected call {call!r:.200})") from error
    except (InvalidTraceError, TypeError) as error:
        raise InvalidOptionError(f"no call can be expected as {call!r:.200}: {error}") from error
    if not all(isinstance(name, str) for name in found.arguments):
        raise InvalidOptionError(f"no call can be expected as {call!r:.200}: arguments go by their names")
    return found


def made_calls(actual: Any, recorded: Sequence[ToolCall] | None = None) -> list[ToolCall]:
    """The calls that an agent made, from its calls themselves, its answer or its trace; else those that were recorded."""
    found = actual.tool_calls if isinstance(actual, Trace | AgentResponse) else actual
    if not are_tool_calls(found):
        found = recorded
    if not are_tool_calls(found):
        raise InvalidOptionError(
            f"the calls that were made are a list of ToolCall, or a Trace or AgentResponse with one, got {actual!r:.200}"
        )
    return list(found)
