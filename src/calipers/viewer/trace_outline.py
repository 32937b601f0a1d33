"""What the index of a run takes from a trace that is too long to be read whole: what was said, which tools were called, what requests add up to.

As an object, a trace of hundreds of thousands of steps takes half a gigabyte. Its outline has the messages and one call of each tool, which says
as much about the attempt as the whole trace does: a law of the tests compares the two.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from calipers.data.spending import COST, INPUT_TOKENS, OUTPUT_TOKENS, REQUESTS
from calipers.data.trace import ToolCall, Trace, Turn, TurnType
from calipers.errors import InvalidTraceError, StoreDamagedError
from calipers.views.step_columns import KINDS

from .stored_trace import StoredTrace, StoredTurn
from .text_column import LONGEST

LONG: Final = 1_000_000
"""Characters of a trace from which on its outline is read."""
_read_any: Final = msgspec.json.Decoder().decode
_read_message: Final = msgspec.json.Decoder(StoredTurn).decode


class TraceOutline(NamedTuple):
    """A trace in short."""

    trace: Trace
    """With its messages, as far as they are searched, and one call of each tool."""
    metrics: Mapping[str, int | float]
    """What its requests add up to, as far as it is known."""


def outline_of(stored: StoredTrace) -> TraceOutline:
    """The outline of a trace.

    Raises:
        StoreDamagedError: it is no trace.
    """
    try:
        return _outline(stored)
    except (InvalidTraceError, TypeError, ValueError) as error:
        raise StoreDamagedError(f"a trace is damaged in the store: {error}") from error


def _outline(stored: StoredTrace) -> TraceOutline:
    head, columns = stored.head, stored.columns
    # More than that is searched in no text.
    turns = [Turn(turn_type=kind, content=said[: LONGEST + 1]) for kind, said in _messages(stored)]
    turns += [Turn(tool_call=ToolCall(name)) for name in columns.tool_names]
    told: dict[str, Any] = {"created_at": created} if (created := _time(head.created_at)) else {}
    models = list(columns.model_names)
    trace = Trace(
        agent_name=head.agent_name,
        model=models[0] if head.model is None and len(models) == 1 else head.model,
        turns=turns,
        tags=head.tags,
        records_calls=head.records_calls,
        total_latency_ms=0.0,
        trace_id="",
        **told,
    )
    tokens = (head.total_input_tokens, head.total_output_tokens)
    is_counted = any(tokens)
    found = {
        COST: columns.total_cost(),
        INPUT_TOKENS: tokens[0] if is_counted else None,
        OUTPUT_TOKENS: tokens[1] if is_counted else None,
        REQUESTS: columns.kind.count(KINDS.index("model")) or None,
    }
    return TraceOutline(trace, {name: value for name, value in found.items() if value is not None})


def _messages(stored: StoredTrace) -> Iterator[tuple[TurnType, str]]:
    """What was said, in order."""
    kinds = {KINDS.index("user"): TurnType.USER_MESSAGE, KINDS.index("agent"): TurnType.AGENT_MESSAGE}
    for place, raw in stored.texts():
        kind = kinds.get(stored.columns.kind[place])
        if kind is not None:
            content = _read_message(raw).content
            yield kind, str(_read_any(content)) if content else ""


def _time(written: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(written)
    except (TypeError, ValueError):
        return None
