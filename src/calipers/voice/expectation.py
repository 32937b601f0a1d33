"""The calls that a request should lead to, as users write them.

Each is a `ToolCall`, or a mapping with `name` and `arguments`; one alone needs no list. An empty list is an expectation,
too: the agent should do nothing. Having none is not.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from calipers.errors import InvalidOptionError
from calipers.trace import ToolCall


def expected_calls(expect: Any) -> list[ToolCall]:
    """The expected calls.

    Raises:
        InvalidOptionError: they are none.
    """
    given = [expect] if isinstance(expect, ToolCall) else expect
    if isinstance(given, Mapping | str | bytes) or not isinstance(given, Iterable):
        raise InvalidOptionError(f"expect is a list of tool calls, got {expect!r:.200}")
    return [_call(each) for each in given]


def _call(call: Any) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    if not isinstance(call, Mapping):
        raise InvalidOptionError(f"expect is a list of tool calls, got {call!r:.200} in it")
    try:
        return ToolCall(**call)
    except (TypeError, ValueError) as error:
        raise InvalidOptionError(f"expect has a call that cannot be: {error}, got {call!r:.200}") from error
