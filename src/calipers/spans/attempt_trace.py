"""The trace of an attempt whose spans were captured: what they tell, joined with what was recorded in it. `with_spans`.

An agent that is instrumented leaves spans of its requests and tools. A tool may also be marked with `@tool`, and then one call is
recorded twice: as a span, and by the mark. The two are one call if they have the same id, or if the tool is the same: first those
with equal arguments, then in order. The mark is right about values, since it saw them; the span about the id.

Requests to models that were recorded, by hand or by the adapter of a framework, stand as they are, and those of spans are left out: they
are the same ones. Where there are as many of both, they are the same one by one, and the spans tell when each was made. What has no time
of its own stands beside what was recorded next to it.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from datetime import UTC, datetime

from calipers.data.trace import LLMCall, ToolCall, Trace, Turn

from .conversation_trace import trace_of
from .runs import runs_in
from .tree import SpanTree


def spans_trace(tree: SpanTree) -> Trace | None:
    """What the spans of an attempt tell; `None` if they follow no known convention. All of them are one execution."""
    runs, _ = runs_in(tree)
    return trace_of(sorted(runs, key=lambda run: run.start_ns)) if runs else None


def with_spans(recorded: Trace | None, told: Trace) -> Trace:
    """The trace of an attempt from what was recorded in it and what its spans tell."""
    if recorded is None:
        return told
    same: dict[int, ToolCall | LLMCall] = {**_pairs(recorded.tool_calls, told.tool_calls)}
    if len(recorded.llm_calls) == len(told.llm_calls):
        same |= {id(span): call for span, call in zip(told.llm_calls, recorded.llm_calls, strict=True)}
    turns = [
        turn
        for turn in told.turns
        if turn.llm_call is None or not recorded.llm_calls or id(turn.llm_call) in same
    ]
    places: dict[int, Turn] = {}
    joined = [_joined(turn, same, places) for turn in turns]
    merged = _in_time(joined, recorded.turns, places)
    totals = {
        name: getattr(source, name)
        for source in [recorded if recorded.tokens_measured else told]
        for name in ("total_input_tokens", "total_output_tokens")
    }
    return Trace(
        agent_name=recorded.agent_name or told.agent_name,
        model=recorded.model or told.model,
        input_text=recorded.input_text or told.input_text,
        output_text=recorded.output_text or told.output_text,
        turns=merged,
        **totals,
        total_latency_ms=recorded.total_latency_ms or told.total_latency_ms,
        tags=recorded.tags,
        metadata=told.metadata | recorded.metadata,
        records_calls=True if told.calls_known else recorded.records_calls,
        recorded_tools=None if told.calls_known else recorded.recorded_tools,
        trace_id=recorded.trace_id,
        created_at=recorded.created_at,
        keep_secrets=recorded.keep_secrets,
    )


def _pairs(recorded: Sequence[ToolCall], spanned: Sequence[ToolCall]) -> dict[int, ToolCall]:
    """The recorded call of each call of a span, by the identity of that."""
    found: dict[int, ToolCall] = {}
    waiting = list(recorded)
    for is_same in (_same_id, _equal, _alike):
        for call in spanned:
            if id(call) in found:
                continue
            fitting = next((each for each in waiting if is_same(each, call)), None)
            if fitting is not None:
                found[id(call)] = fitting
                waiting = [each for each in waiting if each is not fitting]
    return found


def _same_id(one: ToolCall, other: ToolCall) -> bool:
    return one.call_id is not None and one.call_id == other.call_id


def _equal(one: ToolCall, other: ToolCall) -> bool:
    return one == other and "arguments" not in other.unknown and _alike(one, other)


def _alike(one: ToolCall, other: ToolCall) -> bool:
    return one.name == other.name and (one.call_id is None or other.call_id is None)


def _joined(turn: Turn, same: Mapping[int, ToolCall | LLMCall], places: dict[int, Turn]) -> Turn:
    """A turn of the spans with the values that were recorded of it; its place is noted by the identity of the recorded call."""
    span = turn.tool_call or turn.llm_call
    recorded = None if span is None else same.get(id(span))
    if span is None or recorded is None:
        return turn
    call = copy(recorded)
    call.call_id = call.call_id or span.call_id
    call.latency_ms = span.latency_ms if call.latency_ms is None else call.latency_ms
    call.timestamp = call.timestamp or span.timestamp
    at = turn.timestamp or call.timestamp
    joined = (
        Turn(tool_call=call, timestamp=at)
        if isinstance(call, ToolCall)
        else Turn(llm_call=call, timestamp=at)
    )
    places[id(recorded)] = joined
    return joined


def _in_time(turns: Sequence[Turn], recorded: Sequence[Turn], places: Mapping[int, Turn]) -> list[Turn]:
    """The turns, and the recorded calls that have no place among them: after the last that is earlier.

    Those without a time stand before what was recorded next, else after what was recorded before, else at the end.
    """
    found = list(turns)
    ahead: dict[int, list[Turn]] = {}
    waiting: list[Turn] = []
    last: Turn | None = None
    for turn in recorded:
        call = turn.tool_call or turn.llm_call
        if call is None:
            continue
        placed = places.get(id(call))
        if placed is None and turn.timestamp is None:
            waiting.append(turn)
            continue
        if placed is None and turn.timestamp is not None:
            found.insert(_after_earlier(found, turn.timestamp), placed := turn)
        ahead[id(placed)], waiting, last = waiting, [], placed
    merged: list[Turn] = []
    for turn in found:
        merged += [*ahead.get(id(turn), ()), turn, *(waiting if turn is last else ())]
    return merged if last is not None else [*merged, *waiting]


def _after_earlier(found: Sequence[Turn], time: datetime) -> int:
    place = len(found)
    for number in reversed(range(len(found))):
        if (at := found[number].timestamp) is None:
            continue
        if not _later(at, time):
            return number + 1
        place = number
    return place


def _later(one: datetime, other: datetime) -> bool:
    return (one if one.tzinfo else one.replace(tzinfo=UTC)) > (
        other if other.tzinfo else other.replace(tzinfo=UTC)
    )
