"""What the agent did in an attempt, as data for the page's script: the turns of its trace, in order.

Traces can be long, and there may be one per attempt, so a page with a limit for values has limits for them as well: the
characters of a value, the turns of a trace, and the characters of all traces together. Those of attempts that did not
pass come first. What is left out is counted, and the page says so.
"""

from collections.abc import Iterable
from math import isfinite
from typing import Any

import msgspec

from calipers.data.jsonable import plain
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn
from calipers.views.outcome import Record

from .values import shown_text, shown_value

VALUE = 2_000
"""Characters of an argument, an output or a message."""
TURNS = 100
"""Turns of one trace."""
ALL = 5_000_000
"""Characters of all traces of a page."""


def embedded_traces(records: Iterable[Record], *, limit: int | None) -> dict[int, dict[str, Any]]:
    """The traces of those records that have one, by the records' ids.

    Args:
        records: of a report.
        limit: characters of one value; `None` for no limit of any kind.
    """
    traced = [record for record in records if record.trace is not None]
    found: dict[int, dict[str, Any]] = {}
    used = 0
    for record in sorted(traced, key=lambda record: record.passed is True):
        assert record.trace is not None
        if limit is not None and used >= ALL:
            found[id(record)] = {"left_out": len(record.trace.turns)}
            continue
        found[id(record)] = embedded_trace(record.trace, limit=limit)
        used += len(msgspec.json.encode(found[id(record)]))
    return found


def embedded_trace(trace: Trace, *, limit: int | None) -> dict[str, Any]:
    """One trace, with only the keys that have something to say."""
    most = limit if limit is None else min(limit, VALUE)
    turns = trace.turns if limit is None else trace.turns[:TURNS]
    found: dict[str, Any] = {"turns": [embedded_turn(turn, most) for turn in turns]}
    if len(turns) < len(trace.turns):
        found["of"] = len(trace.turns)
    for key in ("agent_name", "model"):
        if value := getattr(trace, key):
            found[key] = shown_text(str(plain(value)), most)
    if trace.tokens_measured:
        found["tokens"] = [trace.total_input_tokens, trace.total_output_tokens]
    if trace.latency_measured:
        found["seconds"] = trace.total_latency_ms / 1000
    if trace.metadata:
        found["metadata"] = shown_value(trace.metadata, most)
    return found


def embedded_turn(turn: Turn, limit: int | None) -> dict[str, Any]:
    """One message or call, with only the keys that have something to say."""
    found: dict[str, Any] = {"kind": turn.turn_type.value}
    if turn.content:
        found["content"] = shown_value(turn.content, limit)
    if turn.tool_call is not None:
        found |= _tool_call(turn.tool_call, limit)
    elif turn.llm_call is not None:
        found |= _llm_call(turn.llm_call, limit)
    return found


def _tool_call(call: ToolCall, limit: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {"name": shown_text(str(call.name), limit), **_seconds(call)}
    if call.arguments:
        found["arguments"] = shown_value(call.arguments, limit)
    if call.output is not None:
        found["output"] = shown_value(call.output, limit)
    if not call.success:
        found["failed"] = True
    if call.error is not None:
        found["error"] = shown_text(str(plain(call.error)), limit)
    return found


def _llm_call(call: LLMCall, limit: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {"name": shown_text(str(plain(call.model)), limit), **_seconds(call)}
    if call.input_tokens or call.output_tokens:
        found["tokens"] = [plain(call.input_tokens), plain(call.output_tokens)]
    if call.input_text:
        found["asked"] = shown_value(call.input_text, limit)
    if call.output_text:
        found["output"] = shown_value(call.output_text, limit)
    return found


def _seconds(call: ToolCall | LLMCall) -> dict[str, float]:
    """The time it took; a call may have been changed since it was made, so what is none is left out."""
    latency: Any = call.latency_ms
    is_time = isinstance(latency, int | float) and isfinite(latency)
    return {"seconds": latency / 1000} if is_time else {}
