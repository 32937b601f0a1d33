"""A trace as plain JSON data, and back, so that stored reports keep what an agent did.

The turns hold the calls, so that nothing is written twice. A field that has its default is left out. What a trace holds
in places of any shape (arguments, outputs, metadata) is made plain, and comes back as plain data; a time comes back as a
time. What is read must make a trace: what `Trace`, `Turn` and the calls refuse, the reader refuses.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final, TypeVar

from msgspec import to_builtins

from calipers.data.jsonable import plain
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn
from calipers.errors import InvalidTraceError

_T = TypeVar("_T")

_ALWAYS: Final[Any] = object()
"""Instead of a default: the field is written whatever it holds."""

# The fields of each noun that are written one by one, with the value that is left out.
_TRACE: Final[dict[str, Any]] = {
    "agent_name": "",
    "model": None,
    "input_text": "",
    "output_text": "",
    "total_input_tokens": _ALWAYS,
    "total_output_tokens": _ALWAYS,
    "total_latency_ms": _ALWAYS,
    "tags": [],
    "metadata": {},
    "records_calls": None,
    "recorded_tools": None,
    "trace_id": _ALWAYS,
    "created_at": _ALWAYS,
    "keep_secrets": False,
}
_TURN: Final[dict[str, Any]] = {"content": "", "turn_id": _ALWAYS, "timestamp": None}
_CALL: Final[dict[str, Any]] = {"latency_ms": None, "call_id": None, "timestamp": None}
_LLM_CALL: Final[dict[str, Any]] = {
    "model": _ALWAYS,
    "input_tokens": 0,
    "output_tokens": 0,
    "input_text": "",
    "output_text": "",
    "metadata": {},
    "cost": None,
    **_CALL,
}
_TOOL_CALL: Final[dict[str, Any]] = {
    "name": _ALWAYS,
    "arguments": {},
    "output": None,
    "error": None,
    "keep_secrets": False,
    "unknown": [],
    **_CALL,
}
_TIMES = frozenset({"timestamp", "created_at"})
_AMOUNTS = frozenset({"latency_ms", "cost"})
_WIDE: Final = 1 << 63
_EMPTY = {"tags": tuple, "unknown": tuple, "metadata": dict, "arguments": dict}
"""The fields that are silent when they hold nothing."""


class _Fields:
    """The fields of a noun, with the values that are left out."""

    def __init__(self, silent: Mapping[str, Any]) -> None:
        self.silent = tuple(silent.items())
        self.values_of = attrgetter(*silent)


_TRACE_FIELDS: Final = _Fields(_TRACE)
_TURN_FIELDS: Final = _Fields(_TURN)
_LLM_CALL_FIELDS: Final = _Fields(_LLM_CALL)
_TOOL_CALL_FIELDS: Final = _Fields(_TOOL_CALL)


def trace_data(trace: Trace) -> dict[str, Any]:
    """The trace as plain data."""
    found = _told(trace, _TRACE_FIELDS)
    found["turns"] = [_turn_data(turn) for turn in trace.turns]
    return found


def _turn_data(turn: Turn) -> dict[str, Any]:
    found: dict[str, Any] = {"turn_type": turn.turn_type._value_}
    content, own_id, at = turn.content, turn.turn_id, turn.timestamp
    written: str | None = None
    if (
        (type(content) is str and content.isascii())
        and (type(own_id) is str and own_id.isascii())
        and (at is None or type(at) is datetime)
    ):  # as nearly all are, and there are more turns than anything else
        if content:
            found["content"] = content
        found["turn_id"] = own_id
        if at is not None:
            found["timestamp"] = written = _time_text(at)
    else:
        found |= _told(turn, _TURN_FIELDS)
    if (asked := turn.llm_call) is not None:
        found["llm_call"] = _llm_call_data(asked, at, written)
    if (called := turn.tool_call) is not None:
        found["tool_call"] = _tool_call_data(called, at, written)
    return found


def _llm_call_data(call: LLMCall, at: datetime | None, written: str | None) -> dict[str, Any]:
    """A request as data. `written` is the time `at` as text, if it is known."""
    model, given, answered, said = call.model, call.input_tokens, call.output_tokens, call.output_text
    took, call_id = call.latency_ms, call.call_id
    if not (
        (type(model) is str and model.isascii() and type(said) is str and said.isascii())
        and (type(given) is int and 0 <= given < _WIDE and type(answered) is int and 0 <= answered < _WIDE)
        and (took is None or (type(took) is float and 0 <= took < math.inf))
        and (call_id is None or (type(call_id) is str and call_id.isascii()))
        and (call.timestamp is at and written is not None)
        and (
            call.input_text == "" and not call.metadata and type(call.metadata) is dict and call.cost is None
        )
    ):
        return _told(call, _LLM_CALL_FIELDS)
    found: dict[str, Any] = {"model": model}  # what most requests of a recording tell
    if given:
        found["input_tokens"] = given
    if answered:
        found["output_tokens"] = answered
    if said:
        found["output_text"] = said
    if took is not None:
        found["latency_ms"] = took
    if call_id is not None:
        found["call_id"] = call_id
    found["timestamp"] = written
    return found


def _tool_call_data(call: ToolCall, at: datetime | None, written: str | None) -> dict[str, Any]:
    """A call as data. `written` is the time `at` as text, if it is known."""
    name, took, call_id = call.name, call.latency_ms, call.call_id
    if not (
        (type(name) is str and name.isascii() and type(call.arguments) is dict)
        and (took is None or (type(took) is float and 0 <= took < math.inf))
        and (call_id is None or (type(call_id) is str and call_id.isascii()))
        and (call.timestamp is at and written is not None)
        and (call.error is None and call.success is True and not call.keep_secrets and not call.unknown)
    ):
        return _any_tool_call_data(call)
    found: dict[str, Any] = {"name": name}  # what most calls of a recording tell
    if call.arguments:
        found["arguments"] = plain(call.arguments)
    if (output := plain(call.output)) is not None:
        found["output"] = output
    if took is not None:
        found["latency_ms"] = took
    if call_id is not None:
        found["call_id"] = call_id
    found["timestamp"] = written
    return found


def _any_tool_call_data(call: ToolCall) -> dict[str, Any]:
    found = _told(call, _TOOL_CALL_FIELDS)
    if bool(call.success) is not (call.error is None):
        found["success"] = bool(call.success)
    return found


def _told(noun: Any, fields: _Fields) -> dict[str, Any]:
    """The fields of an object that say something."""
    found: dict[str, Any] = {}
    for (name, silent), value in zip(fields.silent, fields.values_of(noun), strict=True):
        if value is silent:
            continue
        # Most fields are silent, texts, times or small numbers: these need no look inside.
        kind = type(value)
        if kind is str and value.isascii():
            if value != silent:
                found[name] = value
        elif kind is datetime:
            found[name] = _time_text(value)
        elif kind is int and -_WIDE < value < _WIDE:
            if type(silent) is not int or value != silent:
                found[name] = value
        elif kind is float and -math.inf < value < math.inf:
            found[name] = value
        elif kind is not _EMPTY.get(name) or value:
            _tell(found, name, value, silent)
    return found


def _time_text(time: datetime) -> str:
    """A time in ISO 8601. In universal time, as almost all are, msgspec writes it in a quarter of the time."""
    return f"{to_builtins(time)[:-1]}+00:00" if time.tzinfo is UTC else time.isoformat()


def _tell(found: dict[str, Any], name: str, value: Any, silent: Any) -> None:
    """Put a field that may hold anything among those that are told, unless it is silent."""
    if name in _AMOUNTS and isinstance(value, float) and not math.isfinite(value):
        return  # a call may be changed after it was made; such an amount was not measured
    data = plain(value)
    # By type as well: an output of 0 or False is not one of None, and 1 is not True.
    if type(data) is not type(silent) or data != silent:
        found[name] = data


# ---------------------------------------------------------------------- back


def read_trace(data: Any) -> Trace:
    """The trace that `trace_data`, or `plain`, made data of. Keys that a trace does not have are passed over.

    Raises:
        InvalidTraceError: the data is no trace; the message says what is wrong with it.
    """
    given = _given("a trace", data, (*_TRACE, "turns", "llm_calls", "tool_calls"))
    for name, read in (("turns", _read_turn), ("llm_calls", _read_llm_call), ("tool_calls", _read_tool_call)):
        if name in given:
            given[name] = _read_list(name, given[name], read)
    return Trace(**given)


def _read_turn(data: Any) -> Turn:
    given = _given("a turn", data, ("turn_type", *_TURN, "llm_call", "tool_call"))
    for name, read in (("llm_call", _read_llm_call), ("tool_call", _read_tool_call)):
        if given.get(name) is not None:
            given[name] = read(given[name])
    return Turn(**given)


def _read_llm_call(data: Any) -> LLMCall:
    given = _given("a request to a model", data, _LLM_CALL)
    if "model" not in given:
        raise InvalidTraceError(f"a request to a model needs the model's name, got {data!r:.200}")
    return LLMCall(**given)


def _read_tool_call(data: Any) -> ToolCall:
    return ToolCall(**_given("a tool call", data, (*_TOOL_CALL, "success")))


def _given(what: str, data: Any, names: Iterable[str]) -> dict[str, Any]:
    """The known keys of an object, with times as times."""
    if not isinstance(data, Mapping):
        raise InvalidTraceError(f"{what} is stored as an object, got {data!r:.200}")
    return {name: _read_time(data[name]) if name in _TIMES else data[name] for name in names if name in data}


def _read_time(data: Any) -> Any:
    """A time in ISO 8601 as a time; anything else as it is."""
    try:
        return datetime.fromisoformat(data)
    except (TypeError, ValueError):
        return data


def _read_list(name: str, data: Any, read: Callable[[Any], _T]) -> tuple[_T, ...]:
    if not isinstance(data, list):
        raise InvalidTraceError(f"{name} are stored as a list, got {data!r:.200}")
    # A tuple: an empty list would say that calls were looked for, which only `records_calls` says of what is stored.
    return tuple(read(item) for item in data)
