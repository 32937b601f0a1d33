"""Keeps the account of model calls: who asked, how many tokens it took, what it cost.

A call counts for the task or the evaluator that makes it. In a task it becomes an `LLMCall` of the attempt's trace, and its amounts become metrics of the
attempt. In an evaluator its amounts stand with the evaluator's result, under `metadata["metrics"]`. So what the agent cost and
what its judges cost are never mixed. Outside a run and outside a recording, nothing is kept.

| metric | meaning |
|---|---|
| `requests` | calls that a provider answered, now or before |
| `input_tokens`, `output_tokens` | as the provider counted them; absent where it counted none |
| `cost` | US dollars; absent where no call has a known price |
| `unpriced_calls` | calls without a known price, which `cost` lacks |
| `paid_before` | the part of `cost` that was paid before; absent where there is none |

An answer from a cache counts like a fresh one: what judging costs must not depend on what happens to be kept, or else a second run would look
cheaper than the first. Its cost counts as paid before.
"""

import contextlib
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from calipers.data.attempt import count_usage, counts_here
from calipers.data.spending import (
    COST,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    PAID_BEFORE,
    REQUESTS,
    UNPRICED_CALLS,
    note_priced_call,
    take_prices_from,
)
from calipers.errors import InvalidTraceError
from calipers.models.model_answer import Completion
from calipers.models.prices import cost_of, price_sources
from calipers.run.ledger import payer_here

if TYPE_CHECKING:
    from calipers.data.trace import ToolCall


def account(
    completion: Completion,
    model_name: str,
    *,
    address: str | None = None,
    input_text: str = "",
    error: str | None = None,
) -> None:
    """Count one answer, which came over the wire or was kept, for the task or the evaluator that asked for it; only once.

    Args:
        completion: what came back; its `cost` is filled in where it is not set.
        model_name: who was asked, with the provider: `openai:gpt-4o`.
        address: the URL of the server, where that says who the provider is.
        input_text: what the model was given.
        error: why the answer broke off; `None`: it did not.
    """
    if completion.accounted:
        return
    completion.accounted = True
    count(completion, model_name, address=address)
    record(completion, model_name, input_text=input_text, error=error)


def count(completion: Completion, model_name: str, *, address: str | None = None) -> None:
    """Count one answer and put it into no trace: what calls this does so itself. The arguments are those of `account`."""
    take_prices_from(price_sources)
    note_priced_call()
    usage = completion.usage
    if completion.cost is None:
        completion.cost = cost_of(model_name, usage, answered_by=completion.model, address=address)
    amounts: dict[str, int | float] = {REQUESTS: 1}
    if usage is not None and usage.input is not None:
        amounts[INPUT_TOKENS] = usage.input
    if usage is not None and usage.output is not None:
        amounts[OUTPUT_TOKENS] = usage.output
    if completion.cost is None:
        amounts[UNPRICED_CALLS] = 1
    else:
        amounts[COST] = completion.cost
        if completion.cached:
            amounts[PAID_BEFORE] = completion.cost
    count_usage(amounts)
    if (payer := payer_here()) is not None:
        payer.note(model_name, amounts, cached=completion.cached)


_counted: ContextVar[bool] = ContextVar("calipers_counted", default=False)


@contextlib.contextmanager
def counted_by_caller() -> Iterator[None]:
    """A block in which a wrapped client records nothing: what calls it counts the answer."""
    token = _counted.set(True)
    try:
        yield
    finally:
        _counted.reset(token)


def is_kept() -> bool:
    """Whether a call of the code that runs here would be counted or recorded."""
    if _counted.get():
        return False
    recording = sys.modules.get("calipers.agents.recording")  # what is not loaded records nothing
    return counts_here() or (recording is not None and recording.current_recording() is not None)


def record(
    completion: Completion, model_name: str, *, input_text: str = "", error: str | None = None
) -> None:
    """Put a call into the trace of the recording or the attempt this code runs in, if it runs in one; it is not counted.

    The tools that the model asked for stand in the metadata of the call. They are no tool calls of the trace: those are
    what was called, and this is what was wanted.
    """
    from calipers.agents.recording import place_to_record

    recording = place_to_record()
    if recording is None:
        return
    told: dict[str, Any] = {"finish": completion.finish}
    if completion.tool_calls:
        told["tool_calls"] = [_asked_for(call) for call in completion.tool_calls]
    if completion.refusal is not None:
        told["refusal"] = completion.refusal
    if error is not None:
        told["error"] = error
    usage, took = completion.usage, None if completion.cached else completion.duration
    with contextlib.suppress(InvalidTraceError):  # it ended meanwhile, in another thread
        recording.record_llm_call(
            completion.model or model_name.rpartition(":")[2],
            input_tokens=0 if usage is None else usage.input or 0,
            output_tokens=0 if usage is None else usage.output or 0,
            input_text=input_text,
            output_text=completion.text or "",
            latency_ms=None if completion.duration is None else completion.duration * 1000,
            metadata=told,
            call_id=completion.id,
            # The recording may have been opened just now, and would take its own beginning for that of the call.
            timestamp=None if took is None else datetime.now(UTC) - timedelta(seconds=took),
            cost=completion.cost,
        )


def _asked_for(call: "ToolCall") -> dict[str, Any]:
    told: dict[str, Any] = {"name": call.name, "arguments": call.arguments}
    return told if call.call_id is None else {**told, "call_id": call.call_id}
