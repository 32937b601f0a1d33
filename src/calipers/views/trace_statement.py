"""What a trace says as a waterfall: its steps in order, each with when it began, how long it took, tokens and cost, as data.

`step_columns` decides what belongs to which turn of the user, and how long it took.

Times count from the first step that has one. What was not recorded is `None`, never 0: a request without tokens was not
measured, and a step without a time has no place on the scale. Of a long trace the middle is folded into one entry, which adds up
what it hides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from calipers.data.argument_checks import check_whole_number
from calipers.data.trace import Trace
from calipers.stats.number_text import dollars, plural, seconds

from .step_columns import KINDS, StepColumns, StepKind

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
    columns = trace_columns(trace)
    return TraceStatement(
        title=trace.agent_name or trace.model or "",
        rows=_folded(_rows(columns), max_steps),
        facts=trace_facts(trace, extent_ms=columns.extent_ms),
        extent_ms=columns.extent_ms,
        notes=trace_notes(columns),
    )


def trace_facts(trace: Trace, *, extent_ms: float | None = None) -> list[str]:
    """Steps, time, tokens and cost of a whole trace, in words; what was not measured is left out.

    Args:
        trace: what an agent did.
        extent_ms: how long its steps took together, which may overlap; default: the total of the trace.
    """
    return facts_in_words(
        steps=len(trace.turns),
        calls=len(trace.tool_calls) if trace.calls_known else None,
        tokens=(trace.total_input_tokens, trace.total_output_tokens) if trace.tokens_measured else None,
        cost=trace.total_cost,
        is_least=bool(trace.unpriced_calls),
        took_ms=extent_ms or (trace.total_latency_ms if trace.latency_measured else None),
    )


def facts_in_words(
    *,
    steps: int,
    calls: int | None,
    tokens: tuple[int, int] | None,
    cost: float | None,
    is_least: bool,
    took_ms: float | None,
) -> list[str]:
    """What a trace adds up to, in words; `None` is left out.

    Args:
        steps: of any kind.
        calls: of tools.
        tokens: in and out.
        cost: in US dollars.
        is_least: whether the cost of some requests is not known.
        took_ms: time in milliseconds.
    """
    facts = [plural(steps, "step")]
    if calls is not None:
        facts.append(plural(calls, "tool call"))
    if tokens is not None:
        facts.append(f"{tokens[0]:,} tokens in, {tokens[1]:,} out")
    if cost is not None:
        facts.append(("at least " if is_least else "") + dollars(cost))
    if took_ms is not None:
        facts.append(seconds(took_ms / 1000))
    return facts


def trace_columns(trace: Trace) -> StepColumns:
    """All steps of a trace, as columns."""
    columns = StepColumns()
    for turn in trace.turns:
        columns.add(turn)
    columns.close()
    return columns


def _rows(columns: StepColumns) -> list[TraceStep]:
    return [
        TraceStep(
            number=place + 1,
            kind=KINDS[columns.kind[place]],
            label=columns.label[place],
            depth=int(columns.parent[place] >= 0),
            start_ms=_known(columns.start_ms[place]),
            took_ms=_known(columns.took_ms[place]),
            tokens=None
            if columns.tokens_in[place] < 0
            else (columns.tokens_in[place], columns.tokens_out[place]),
            cost=_known(columns.cost[place]),
            failed=bool(columns.failed[place]),
            error=columns.error.get(place, ""),
        )
        for place in range(len(columns))
    ]


def _known(value: float) -> float | None:
    return value if value == value else None  # noqa: PLR0124 - not a number


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


def trace_notes(columns: StepColumns) -> list[str]:
    """What was not recorded, in words."""
    return list(_notes(columns))


def _notes(columns: StepColumns) -> Iterator[str]:
    if not len(columns):
        yield "No step was recorded."
        return
    untimed, requests = columns.untimed, columns.requests
    if untimed == len(columns):
        yield "Times were not recorded: the steps stand in their order."
    elif untimed:
        yield (
            f"When {plural(untimed, 'step')} of {len(columns):,} began was not recorded: no bar, and in the order of the "
            "trace."
        )
    for what, count in columns.lacking().items():
        if count:
            yield f"{what} of {plural(count, 'model call')} of {requests:,} not known."
