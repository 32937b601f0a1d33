"""The trace of an attempt whose spans were captured: what they tell, joined with what was recorded in it. `with_spans`.

An agent that is instrumented leaves spans of its requests and tools. A tool may also be marked with `@tool`, and then one call is
recorded twice: as a span, and by the mark. The two are one call if they have the same id, or if the tool is the same: first those
with equal arguments, then in order. The mark is right about values, since it saw them; the span about the id.

Requests to models that were recorded by hand stand as they are, and those of spans are left out: they are the same ones.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from datetime import UTC, datetime

from calipers.data.trace import ToolCall, Trace, Turn

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
    by_hand = bool(recorded.llm_calls)
    turns = [turn for turn in told.turns if turn.llm_call is None] if by_hand else list(told.turns)
    spanned = [turn.tool_call for turn in turns if turn.tool_call is not None]
    same = _pairs(recorded.tool_calls, spanned)
    joined = [_joined(turn, same) for turn in turns]
    taken = {id(call) for call in same.values()}
    rest = [
        turn
        for turn in recorded.turns
        if turn.llm_call is not None or (turn.tool_call is not None and id(turn.tool_call) not in taken)
    ]
    merged = _in_time(joined, rest)
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


def _joined(turn: Turn, same: dict[int, ToolCall]) -> Turn:
    if turn.tool_call is None or id(turn.tool_call) not in same:
        return turn
    call = copy(same[id(turn.tool_call)])
    call.call_id = call.call_id or turn.tool_call.call_id
    return Turn(tool_call=call, timestamp=turn.timestamp or call.timestamp)


def _in_time(turns: Sequence[Turn], further: Iterable[Turn]) -> list[Turn]:
    """Further turns put among others by their time: after the last that is earlier; those without one at the end."""
    found = list(turns)
    for turn in further:
        place = len(found)
        if turn.timestamp is not None:
            for number in reversed(range(len(found))):
                if (at := found[number].timestamp) is None:
                    continue
                if not _later(at, turn.timestamp):
                    place = number + 1
                    break
                place = number
        found.insert(place, turn)
    return found


def _later(one: datetime, other: datetime) -> bool:
    return (one if one.tzinfo else one.replace(tzinfo=UTC)) > (
        other if other.tzinfo else other.replace(tzinfo=UTC)
    )
