"""Reading what an agent answered in JSON: its words, its tool calls, its tokens, each at a path.

A path is keys and positions between dots, such as `"choices.0.message.content"`, or a function of the whole answer. What
a path leads to must be there, except that the last step of a path to tool calls or tokens may be missing or null: many
services leave out what is empty. A wrong step before it is an error that shows what is there instead.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from calipers.data.argument_checks import is_whole_number
from calipers.data.result import describe_error
from calipers.data.trace import ToolCall
from calipers.errors import AgentReplyError, InvalidTraceError
from calipers.models.completion import excerpt, read_arguments, unreadable_call

Path: TypeAlias = str | Callable[[Any], Any]
"""Where something is in an answer: keys and positions between dots, or a function of the answer."""


def read_text(answer: Any, path: Path, *, may_be_null: bool = False) -> str:
    """The text at a path; an agent that called tools may have said nothing.

    Raises:
        AgentReplyError: there is none.
    """
    found = _at(answer, path, optional=may_be_null)
    if found is None and may_be_null:
        return ""
    if not isinstance(found, str):
        raise AgentReplyError(f"the answer at {_named(path)} is no text: {excerpt(found)}")
    return found


def read_count(answer: Any, path: Path) -> int | None:
    """The whole number at a path, or `None` if there is nothing.

    Raises:
        AgentReplyError: there is something else.
    """
    found = _at(answer, path, optional=True)
    if found is None:
        return None
    if not is_whole_number(found, at_least=0):
        raise AgentReplyError(f"the tokens at {_named(path)} are no whole number from 0: {excerpt(found)}")
    return found


_ABSENT: Final[Any] = object()
"""Stands for a field that an answer does not have, since it may have one that is null."""


def read_tool_calls(answer: Any, path: Path) -> list[ToolCall] | None:
    """The tool calls at a path, none where it says null, and `None` if there is no such field.

    Raises:
        AgentReplyError: there is something else.
    """
    found = _at(answer, path, optional=True, absent=_ABSENT)
    if found is _ABSENT or (found is None and callable(path)):
        return None
    if found is None:
        return []
    if not isinstance(found, list | tuple):
        raise AgentReplyError(f"the tool calls at {_named(path)} are no list: {excerpt(found)}")
    return [_tool_call(item, f"{_named(path)}[{position}]") for position, item in enumerate(found)]


def _tool_call(item: Any, where: str) -> ToolCall:
    """One call: `name` and `arguments`, in any of the words below, or those under a key `function`."""
    if isinstance(item, ToolCall):
        return item
    if not isinstance(item, Mapping):
        raise AgentReplyError(f"the tool call at {where} is no object: {excerpt(item)}")
    function = item.get("function")
    called: Mapping[str, Any] = function if isinstance(function, Mapping) else item
    name = _first(called, "name", "tool_name", "tool")
    if not isinstance(name, str) or not name:
        raise AgentReplyError(f"the tool call at {where} has no name: {excerpt(item)}")
    error = _first(item, "error")
    failed = error is not None or item.get("success") is False or item.get("is_error") is True
    call_id = _first(item, "id", "call_id")
    given = _first(called, "arguments", "tool_input", "input", "args")
    arguments, why = read_arguments(given)
    if arguments is None:
        error, failed = error or f"the arguments are no JSON object: {why}", True
        unreadable = unreadable_call(name, given, error=str(error))
        name, arguments = unreadable.name, unreadable.arguments
    try:
        return ToolCall(
            name,
            arguments,
            output=_first(item, "output", "tool_output", "result"),
            success=not failed,
            error=None if error is None else str(error),
            latency_ms=_first(item, "latency_ms"),
            call_id=None if call_id is None else str(call_id),
        )
    except InvalidTraceError as problem:
        raise AgentReplyError(f"the tool call at {where} cannot be: {problem}") from None


def _first(item: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that is there and not null."""
    return next((item[name] for name in names if item.get(name) is not None), None)


def _at(answer: Any, path: Path, *, optional: bool, absent: Any = None) -> Any:
    if callable(path):
        try:
            return path(answer)
        except Exception as error:
            raise AgentReplyError(
                f"the function for {_named(path)} failed on the answer: {describe_error(error)[1]}"
            ) from error
    steps = path.split(".")
    found = answer
    for number, step in enumerate(steps):
        there, inside = _step(found, step)
        if not there:
            if optional and number == len(steps) - 1 and isinstance(found, Mapping):
                return absent
            place = "the answer" if number == 0 else repr(".".join(steps[:number]))
            raise AgentReplyError(f"there is no {step!r} (of the path {path!r}) in {place}, {_holds(found)}")
        found = inside
    return found


def _step(value: Any, step: str) -> tuple[bool, Any]:
    """Whether there is such a step in a value, and where it leads."""
    if isinstance(value, Mapping):
        return step in value, value.get(step)
    if isinstance(value, list) and step.lstrip("-").isdecimal() and -len(value) <= int(step) < len(value):
        return True, value[int(step)]
    return False, None


def _holds(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"which has {', '.join(repr(key) for key in list(value)[:20]) or 'nothing in it'}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return f"which is {excerpt(value)}"


def _named(path: Path) -> str:
    return repr(path) if isinstance(path, str) else getattr(path, "__name__", type(path).__name__)
