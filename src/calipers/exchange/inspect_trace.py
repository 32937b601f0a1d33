"""What an agent did, from a sample of an Inspect AI log.

The messages are the conversation: one of the user is a turn, one of the assistant a request to a model, and the tools it
calls are calls of tools. The events of the log add tokens and times, found by the ids of messages and calls. Requests that
are in no message, such as those of a scorer that asks a model, are not the agent's and not in its trace. Messages of the
system are in the trace's metadata.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from calipers.data.trace import LLMCall, ToolCall, Trace, Turn, TurnType

_USAGE = ("input_tokens", "output_tokens", "total_tokens")
_BEGINNING = datetime.fromtimestamp(0, UTC)


class Identified(Protocol):
    """What of a sample tells it from others."""

    uuid: str | None
    started_at: str | None


def read_inspect_trace(
    messages: Sequence[Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]],
    output: Mapping[str, Any],
    model: str,
    sample: Identified,
) -> Trace | None:
    """The trace of a sample; `None` if it has no messages.

    Args:
        messages: of the sample, in order.
        events: of the sample.
        output: what the model said last.
        model: that the log names, for messages that name none.
        sample: whose id and time the trace gets: read twice, it is the same.
    """
    if not messages:
        return None
    requests, calls = dict(_requests(events)), dict(_calls(events))
    turns: list[Turn] = []
    answers = {each.get("tool_call_id"): each for each in messages if each.get("role") == "tool"}
    for number, message in enumerate(messages):
        place = str(message.get("id") or number)
        if message.get("role") == "user":
            turns.append(Turn(turn_type=TurnType.USER_MESSAGE, content=_content(message), turn_id=place))
        elif message.get("role") == "assistant":
            call = _llm_call(message, requests.get(place, {}), model)
            turns.append(Turn(llm_call=call, turn_id=place, timestamp=call.timestamp))
            for index, asked in enumerate(_objects(message.get("tool_calls"))):
                name = asked.get("function")
                if isinstance(name, str) and name:
                    key = asked.get("id")
                    used = _tool_call(name, asked, answers.get(key, {}), calls.get(str(key), {}))
                    turns.append(Turn(tool_call=used, turn_id=f"{place}.{index}", timestamp=used.timestamp))
    system = [_content(message) for message in messages if message.get("role") == "system"]
    said = output.get("completion")
    return Trace(
        input_text=next((turn.content for turn in turns if turn.turn_type is TurnType.USER_MESSAGE), ""),
        output_text=said if isinstance(said, str) else "",
        turns=turns,
        metadata={"system": system} if system else {},
        records_calls=True,  # the messages of a log have every call that the model asked for
        trace_id=sample.uuid or "unknown",
        created_at=_time(sample.started_at) or _BEGINNING,
    )


def usage_of(usages: Iterable[Mapping[str, Any]]) -> dict[str, int | float]:
    """The tokens of all models together; what nobody counted is left out."""
    found: dict[str, int | float] = {}
    for usage in usages:
        for name in _USAGE:
            if _count(usage.get(name)):
                found[name] = found.get(name, 0) + _count(usage.get(name))
    return found


def _requests(events: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Requests to models, by the id of the message that came of them."""
    for event in events:
        if event.get("event") == "model":
            for choice in _objects(_object(event.get("output")).get("choices")):
                yield str(_object(choice.get("message")).get("id")), event


def _calls(events: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Calls of tools, by their ids."""
    return ((str(event.get("id")), event) for event in events if event.get("event") == "tool")


def _llm_call(message: Mapping[str, Any], event: Mapping[str, Any], model: str) -> LLMCall:
    usage = _object(_object(event.get("output")).get("usage"))
    named = message.get("model")
    return LLMCall(
        model=named if isinstance(named, str) else model,
        input_tokens=_count(usage.get("input_tokens")),
        output_tokens=_count(usage.get("output_tokens")),
        output_text=_content(message),
        latency_ms=_milliseconds(event.get("working_time")),
        timestamp=_time(event.get("timestamp")),
    )


def _tool_call(
    name: str, asked: Mapping[str, Any], answer: Mapping[str, Any], event: Mapping[str, Any]
) -> ToolCall:
    arguments, error = asked.get("arguments"), answer.get("error") or event.get("error")
    key = asked.get("id")
    return ToolCall(
        name,
        arguments if isinstance(arguments, Mapping) else {},
        output=_content(answer) if answer else event.get("result"),
        error=None if error is None else str(_object(error).get("message", error)),
        latency_ms=_milliseconds(event.get("working_time")),
        call_id=key if isinstance(key, str) else None,
        timestamp=_time(event.get("timestamp")),
    )


def _content(message: Mapping[str, Any]) -> str:
    """The text of a message; what is not text is named in brackets."""
    content = message.get("content", "")
    if isinstance(content, str):
        return content
    parts = _objects(content)
    return "\n".join(str(part["text"]) if "text" in part else f"[{part.get('type')}]" for part in parts)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


def _milliseconds(seconds: Any) -> float | None:
    return seconds * 1000 if isinstance(seconds, int | float) and 0 <= seconds < 1e12 else None


def _time(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
