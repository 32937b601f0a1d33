"""What a trace says as a waterfall: its steps in order, each with when it began, how long it took, tokens and cost, as data.

The message of a user begins a *turn*; what follows it belongs to that turn and stands one deeper. A turn lasts until the last of
its steps ended. Of any other step the time is what was recorded.

Times count from the first step that has one. What was not recorded is `None`, never 0: a request without tokens was not
measured, and a step without a time has no place on the scale. Of a long trace the middle is folded into one entry, which adds up
what it hides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Final, Literal, TypeAlias

from calipers.data.argument_checks import check_whole_number, is_number
from calipers.data.trace import Trace, Turn, TurnType
from calipers.stats.number_text import dollars, plural, seconds

StepKind: TypeAlias = Literal["user", "agent", "model", "tool"]
"""A message of the user or of the agent, a request to a model, a call of a tool."""

STEPS: Final = 60
"""Steps of a waterfall that are shown unless more are asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceStep:
    """One line of a waterfall."""

    number: int
    """Its place in the trace, from 1."""
    kind: StepKind
    label: str
    """The name of the model or tool, or what was said."""
    depth: int = 0
    """1 within a turn, else 0."""
    start_ms: float | None = None
    """When it began, in milliseconds after the first step that has a time; `None`: not recorded."""
    took_ms: float | None = None
    """How long it took, in milliseconds; `None`: not recorded."""
    tokens: tuple[int, int] | None = None
    """Tokens in and out; `None`: not recorded, or not a request."""
    cost: float | None = None
    """US dollars; `None`: not known, or not a request."""
    failed: bool = False
    error: str = ""
    """Why it failed, as far as that was recorded."""

    @property
    def is_request(self) -> bool:
        """Whether it is a request to a model, of which tokens and cost could be known."""
        return self.kind == "model"

    @property
    def end_ms(self) -> float | None:
        """When it ended; `None`: not recorded."""
        if self.start_ms is None or self.took_ms is None:
            return None
        return self.start_ms + self.took_ms


@dataclass(frozen=True, kw_only=True, slots=True)
class FoldedSteps:
    """Steps that a waterfall leaves out, added up."""

    count: int
    requests: int
    """How many of them are requests to models."""
    calls: int
    """How many of them are calls of tools."""
    failed: int

    @property
    def words(self) -> str:
        """`4,940 steps folded: 2,470 model calls, 2,470 tool calls, 3 failed`."""
        kinds = [plural(self.requests, "model call")] if self.requests else []
        kinds += [plural(self.calls, "tool call")] if self.calls else []
        kinds += [f"{self.failed:,} failed"] if self.failed else []
        return f"{plural(self.count, 'step')} folded" + (f": {', '.join(kinds)}" if kinds else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceStatement:
    """A waterfall."""

    title: str
    """The agent, else the model; "" if neither is known."""
    rows: Sequence[TraceStep | FoldedSteps]
    facts: Sequence[str]
    """Steps, time, tokens and cost of the whole trace, in words."""
    extent_ms: float | None
    """From the start of the first step to the end of the last, as far as recorded; `None`: no step has a time."""
    notes: Sequence[str]
    """What was not recorded, in words."""


def trace_statement(trace: Trace, *, max_steps: int | None = STEPS) -> TraceStatement:
    """What a trace says.

    Args:
        trace: what an agent did.
        max_steps: how many steps to keep: the first and the last ones, and what is between them is folded. `None` for all.

    Raises:
        InvalidOptionError: a limit below 2.
    """
    check_whole_number("max_steps", max_steps, at_least=2, or_none=True)
    steps = trace_steps(trace)
    extent = max((end for step in steps if (end := _last(step)) is not None), default=None)
    return TraceStatement(
        title=trace.agent_name or trace.model or "",
        rows=_folded(steps, max_steps),
        facts=trace_facts(trace, extent_ms=extent),
        extent_ms=extent,
        notes=list(_notes(steps)),
    )


def trace_facts(trace: Trace, *, extent_ms: float | None = None) -> list[str]:
    """Steps, time, tokens and cost of a whole trace, in words; what was not measured is left out.

    Args:
        trace: what an agent did.
        extent_ms: how long its steps took together, which may overlap; default: the total of the trace.
    """
    facts = [plural(len(trace.turns), "step")]
    if trace.calls_known:
        facts.append(plural(len(trace.tool_calls), "tool call"))
    if trace.tokens_measured:
        facts.append(f"{trace.total_input_tokens:,} tokens in, {trace.total_output_tokens:,} out")
    if trace.total_cost is not None:
        facts.append(("at least " if trace.unpriced_calls else "") + dollars(trace.total_cost))
    if extent_ms or trace.latency_measured:
        facts.append(seconds((extent_ms or trace.total_latency_ms) / 1000))
    return facts


def trace_steps(trace: Trace) -> list[TraceStep]:
    """All steps of a trace, in order."""
    moments = [_moment(turn) for turn in trace.turns]
    first = min((moment for moment in moments if moment is not None), default=None)
    found: list[TraceStep] = []
    within = 0
    for number, (turn, moment) in enumerate(zip(trace.turns, moments, strict=True), 1):
        begins = turn.turn_type is TurnType.USER_MESSAGE
        offset = None if moment is None or first is None else (moment - first).total_seconds() * 1000
        found.append(_step(turn, number, depth=0 if begins else within, start_ms=offset))
        within = 1 if begins else within
    return list(_lasting(found))


def _step(turn: Turn, number: int, *, depth: int, start_ms: float | None) -> TraceStep:
    if (call := turn.tool_call) is not None:
        return TraceStep(
            number=number,
            kind="tool",
            label=str(call.name),
            depth=depth,
            start_ms=start_ms,
            took_ms=_amount(call.latency_ms),
            failed=not call.success,
            error=str(call.error or ""),
        )
    if (asked := turn.llm_call) is not None:
        counted = bool(asked.input_tokens or asked.output_tokens)
        error = asked.metadata.get("error")
        return TraceStep(
            number=number,
            kind="model",
            label=str(asked.model),
            depth=depth,
            start_ms=start_ms,
            took_ms=_amount(asked.latency_ms),
            tokens=(int(asked.input_tokens), int(asked.output_tokens)) if counted else None,
            cost=_amount(asked.cost),
            failed=error is not None,
            error="" if error is None else str(error),
        )
    kind: StepKind = "user" if turn.turn_type is TurnType.USER_MESSAGE else "agent"
    return TraceStep(number=number, kind=kind, label=turn.content, depth=depth, start_ms=start_ms)


def _lasting(steps: Sequence[TraceStep]) -> Iterator[TraceStep]:
    """The steps, where each turn of a user lasts until the last of its steps ended."""
    ends: dict[int, float] = {}
    head: int | None = None
    for step in steps:
        if step.kind == "user":
            head = step.number
        elif head is not None and (end := _last(step)) is not None:
            ends[head] = max(ends.get(head, 0.0), end)
    for step in steps:
        if step.start_ms is not None and (end := ends.get(step.number)) is not None and end >= step.start_ms:
            yield replace(step, took_ms=end - step.start_ms)
        else:
            yield step


def _last(step: TraceStep) -> float | None:
    """The last moment of a step that is known."""
    return step.start_ms if step.end_ms is None else step.end_ms


def _folded(steps: Sequence[TraceStep], most: int | None) -> list[TraceStep | FoldedSteps]:
    if most is None or len(steps) <= most:
        return list(steps)
    first = (most + 1) // 2
    last = len(steps) - most // 2
    return [*steps[:first], _fold(steps[first:last]), *steps[last:]]


def _fold(steps: Sequence[TraceStep]) -> FoldedSteps:
    return FoldedSteps(
        count=len(steps),
        requests=sum(step.kind == "model" for step in steps),
        calls=sum(step.kind == "tool" for step in steps),
        failed=sum(step.failed for step in steps),
    )


def _notes(steps: Sequence[TraceStep]) -> Iterator[str]:
    """What was not recorded."""
    if not steps:
        yield "No step was recorded."
        return
    untimed = sum(step.start_ms is None for step in steps)
    if untimed == len(steps):
        yield "Times were not recorded: the steps stand in their order."
    elif untimed:
        yield f"When {plural(untimed, 'step')} of {len(steps):,} began was not recorded: no bar, and in the order of the trace."
    requests = [step for step in steps if step.is_request]
    lacking = {
        "Tokens": sum(step.tokens is None and not step.failed for step in requests),
        "Cost": sum(step.cost is None and not step.failed for step in requests),
    }
    for what, count in lacking.items():
        if count:
            yield f"{what} of {plural(count, 'model call')} of {len(requests):,} not known."


def _moment(turn: Turn) -> datetime | None:
    call = turn.tool_call or turn.llm_call
    moment = turn.timestamp if call is None or call.timestamp is None else call.timestamp
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _amount(value: Any) -> float | None:
    """A number that was measured; a call may have been changed after it was made."""
    return value if is_number(value) and isfinite(value) else None
