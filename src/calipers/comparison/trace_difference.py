"""The difference of two traces: which steps are the same, which only one of them has, and where they part.

A step is a turn: a message, a request to a model, a call of a tool. Steps of one kind are aligned in their order, calls of
tools only with calls of the same tool, so that most steps are equal and the others as similar as can be. They *part* at the
first step that is not the same in both.

Compared are the arguments of a call, what came back and its error; the model of a request and its answer; the text of a
message. What a request was asked follows from the steps before it, and times differ always: neither is compared.

Unknown is not none. What the recording of a call does not show does not differ, and neither does an output or an answer that one of the
traces lacks. A step of which the other trace would not tell (a call of a tool that it does not record, a request or a
message where it has no such step at all) is left out and counted.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import dropwhile, takewhile
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from calipers.data.jsonable import plain
from calipers.data.trace import Trace, Turn
from calipers.data.value_text import shorten, show
from calipers.matching.assignment import best_alignment, full_bonus, weight_of
from calipers.matching.call import show_call
from calipers.matching.value_comparison import DifferenceKind, differences, similarity

StepKind: TypeAlias = Literal["user_message", "agent_message", "llm_call", "tool_call"]
"""What kind of step it is: the `turn_type` of the turn."""

_MOST = 2_000_000
"""Pairs of values up to which the values of steps are compared one by one to align them: some seconds. Beyond, they are the same or not."""
_ALIKE = 0.5
"""How similar two requests to models, or two messages, are that differ."""
_SHOWN = 120
"""Characters of a step that is shown."""
_KEPT = 6
"""Steps, and values of a step, that a short difference keeps."""
_WITHIN_BUDGET = 200_000
"""Pairs of steps that are aligned in a second or two."""


class TraceBudget:
    """Bounds the time that many comparisons of traces take together, by the pairs of steps that have to be aligned.

    Steps at the beginning and at the end that are the same need no aligning, so long traces that differ in a place take little.
    """

    def __init__(self, *, within: int = _WITHIN_BUDGET, free: int = 0, each: int = 0) -> None:
        """A budget of its own.

        Args:
            within: pairs of steps that may be aligned.
            free: pairs of steps up to which a comparison takes nothing from it.
            each: what a comparison takes besides, in pairs of steps.
        """
        self._left = within
        self._free, self._each = free, each

    def take(self, pairs: int) -> bool:
        """Whether a comparison may align so many pairs of steps, which then are taken."""
        costs = pairs + self._each
        if pairs <= self._free:
            return True
        if costs > self._left:
            return False
        self._left -= costs
        return True


class ChangedValue(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a step that is not the same in both traces."""

    path: str
    """Where: `arguments.city`, `output.items[0]`, `error`, `model`, `output_text`, `content`."""
    kind: DifferenceKind
    """`missing` if only the baseline has it, `unexpected` if only the candidate has it, else `different`."""
    baseline: Any = None
    """Plain data; `None` where nothing is there."""
    candidate: Any = None


class StepPair(msgspec.Struct, frozen=True, kw_only=True):
    """A step of both traces, or of one of them."""

    kind: StepKind
    name: str = ""
    """The tool; empty for other steps."""
    baseline: int | None = None
    """Its position among the turns of the baseline, from 0; `None` if only the candidate has it."""
    candidate: int | None = None
    baseline_shown: str | None = None
    """The step in short, such as `search(city='Rome')`."""
    candidate_shown: str | None = None
    changes: tuple[ChangedValue, ...] = ()
    """The values that differ, by their path."""

    @property
    def same(self) -> bool:
        """Whether both traces have the step, and no value of it differs."""
        return self.baseline is not None and self.candidate is not None and not self.changes


class TraceTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What a trace took; `None` says that it was not measured."""

    steps: int
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    """In US dollars."""
    latency_ms: float | None = None


class TraceDifference(msgspec.Struct, frozen=True, kw_only=True):
    """What two traces have in common, and where they part."""

    steps: tuple[StepPair, ...]
    """All steps in order; those that only the baseline has stand before those that only the candidate has."""
    first: int | None = None
    """How many steps are the same before the traces part, which is the index of the first that is not; `None` if they do not part."""
    stops: Literal["baseline", "candidate"] | None = None
    """Which trace has no further step where they part; `None` if both go on, or they do not part."""
    first_call: StepPair | None = None
    """The first call of a tool that is not the same; `None` if there is none."""
    left_out: int = 0
    """Steps that were not compared, since the other trace would not tell of them."""
    left_out_tools: tuple[str, ...] = ()
    """The tools among them."""
    cut: bool = False
    """Whether the steps from where they part on were not aligned, since that would take too long: then these are the last two."""
    baseline: TraceTotals
    candidate: TraceTotals

    @property
    def same(self) -> bool:
        """Whether all steps that could be compared are the same. Where there are none, nothing is known to be."""
        return self.first is None

    @property
    def compared(self) -> int:
        """Steps of both traces that were compared. 0 says that nothing is known of what they have in common."""
        return self.baseline.steps + self.candidate.steps - self.left_out

    @property
    def pairs(self) -> tuple[StepPair, ...]:
        """The steps that both traces have."""
        return tuple(step for step in self.steps if step.baseline is not None and step.candidate is not None)

    @property
    def baseline_only(self) -> tuple[StepPair, ...]:
        """The steps that only the baseline has."""
        return tuple(step for step in self.steps if step.candidate is None)

    @property
    def candidate_only(self) -> tuple[StepPair, ...]:
        """The steps that only the candidate has."""
        return tuple(step for step in self.steps if step.baseline is None)

    @property
    def parting(self) -> tuple[StepPair, ...]:
        """The steps from the first that is not the same up to the next that is."""
        return tuple(takewhile(_differs, dropwhile(lambda step: step.same, self.steps)))

    def shortened(self) -> "TraceDifference":
        """The steps at which they part and the first call that differs, with values cut to a line: what a comparison keeps of it."""
        return msgspec.structs.replace(
            self,
            steps=tuple(map(_shortened_step, self.parting[:_KEPT])),
            first_call=None if self.first_call is None else _shortened_step(self.first_call),
        )


def compare_traces(
    baseline: Trace, candidate: Trace, *, budget: TraceBudget | None = None
) -> TraceDifference:
    """Align the steps of two traces, and say what differs.

    Args:
        baseline: the trace to compare with.
        candidate: the other one.
        budget: what aligning may take; where it is used up, the difference ends where the traces part. Default: any time.
    """
    one, left = _steps(baseline, candidate)
    two, left_too = _steps(candidate, baseline)
    start, end = _same_ends(one, two)
    cut = budget is not None and not budget.take((len(one) - start - end) * (len(two) - start - end))
    if cut:
        one, two, end = one[: start + 1], two[: start + 1], 0
    pairs = [(place, place) for place in range(start)] if cut else _aligned(one, two, start, end)
    steps = tuple(_joined(one, two, pairs))
    first = next((place for place, step in enumerate(steps) if not step.same), None)
    return TraceDifference(
        steps=steps,
        first=first,
        stops=_stops(steps, first),
        first_call=next((step for step in steps if step.kind == "tool_call" and not step.same), None),
        left_out=len(left) + len(left_too),
        left_out_tools=tuple(sorted({turn.tool_call.name for turn in (*left, *left_too) if turn.tool_call})),
        cut=cut,
        baseline=_totals(baseline),
        candidate=_totals(candidate),
    )


class _Facts(NamedTuple):
    """What is compared of a step."""

    place: int
    kind: StepKind
    name: str
    values: dict[str, Any]
    """By the first part of the path; what is not known is not there."""
    failed: bool | None
    shown: str
    key: str
    """The same of steps that are the same in every respect."""
    texts: dict[str, str]
    """The values as JSON."""
    size: int
    """How many values there are, down to the innermost."""


def _steps(trace: Trace, other: Trace) -> tuple[list[_Facts], list[Turn]]:
    """The steps of a trace of which the other would tell, too, and the turns beside them."""
    kinds = {turn.turn_type for turn in other.turns}
    tools = {turn.tool_call.name for turn in trace.turns if turn.tool_call is not None}
    unrecorded = set(other.unrecorded(sorted(tools)))
    found: list[_Facts] = []
    left: list[Turn] = []
    for place, turn in enumerate(trace.turns):
        if turn.tool_call.name not in unrecorded if turn.tool_call else turn.turn_type in kinds:
            found.append(_facts(place, turn))
        else:
            left.append(turn)
    return found, left


def _facts(place: int, turn: Turn) -> _Facts:
    values: dict[str, Any] = {}
    failed: bool | None = None
    name = ""
    if (call := turn.tool_call) is not None:
        name, shown = call.name, show_call(call, _SHOWN)
        if "arguments" in call.unknown:
            shown = f"{call.name}(?)"
        else:
            values["arguments"] = plain(call.arguments)
        if "success" not in call.unknown:
            failed = not call.success
            if failed and call.error is not None:
                values["error"] = plain(call.error)
        if "output" not in call.unknown and call.output is not None and not failed:
            values["output"] = plain(call.output)
    elif (asked := turn.llm_call) is not None:
        values["model"] = plain(asked.model)
        if asked.output_text:
            values["output_text"] = plain(asked.output_text)
        shown = show(asked.output_text or asked.model, _SHOWN)
    else:
        values["content"] = plain(turn.content)
        shown = show(turn.content, _SHOWN)
    texts = {part: json.dumps(value, sort_keys=True) for part, value in values.items()}
    key = json.dumps([turn.turn_type, name, failed, texts])
    return _Facts(place, turn.turn_type.value, name, values, failed, shown, key, texts, _size(values))


def _size(value: Any) -> int:
    """How many values there are in one of plain data, down to the innermost, and with itself."""
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1


def _same_ends(one: Sequence[_Facts], two: Sequence[_Facts]) -> tuple[int, int]:
    """How many steps are the same at the beginning of both traces, and at their end."""
    start = 0
    while start < min(len(one), len(two)) and _agree(one[start], two[start]):
        start += 1
    end = 0
    while end < min(len(one), len(two)) - start and one[-1 - end].key == two[-1 - end].key:
        end += 1
    return start, end


def _aligned(one: Sequence[_Facts], two: Sequence[_Facts], start: int, end: int) -> list[tuple[int, int]]:
    """The pairs of steps. Which trace is called the baseline makes no difference: of equal alignments it is always the same."""
    rows, columns = one[start : len(one) - end], two[start : len(two) - end]
    turned = [step.key for step in rows] > [step.key for step in columns]
    if turned:
        rows, columns = columns, rows
    sizes = sum(step.size for step in rows) * len(columns) + sum(step.size for step in columns) * len(rows)
    closely = sizes <= 2 * _MOST
    bonus = full_bonus(len(rows), len(columns))
    known: dict[tuple[str, str], int] = {}

    def weight(row: _Facts, column: _Facts) -> int:
        if row.kind != column.kind or row.name != column.name:
            return 0
        keys = (row.key, column.key)
        if keys not in known:
            # A call of the same tool with nothing in common is still the same step, done otherwise.
            known[keys] = 1 + weight_of(_likeness(row, column, closely=closely), bonus)
        return known[keys]

    found = best_alignment([[weight(row, column) for column in columns] for row in rows], len(columns))
    middle = [(row, column) for row, column in enumerate(found) if column is not None]
    if turned:
        middle = [(column, row) for row, column in middle]
    pairs = [(place, place) for place in range(start)]
    pairs += [(start + row, start + column) for row, column in middle]
    return pairs + [(len(one) - end + place, len(two) - end + place) for place in range(end)]


def _likeness(one: _Facts, two: _Facts, *, closely: bool) -> float:
    """How similar two steps of a kind are; 1 when nothing is known to differ."""
    if not closely:
        same = None in (one.failed, two.failed) or one.failed == two.failed
        shared = one.texts.keys() & two.texts.keys()
        return 1.0 if same and all(one.texts[part] == two.texts[part] for part in shared) else _ALIKE
    if _agree(one, two):
        return 1.0
    if one.kind != "tool_call" or "arguments" not in one.values or "arguments" not in two.values:
        return _ALIKE
    return min(similarity(one.values["arguments"], two.values["arguments"]), 0.999)


def _agree(one: _Facts, two: _Facts) -> bool:
    """Whether they are the same step, of which nothing is known to differ."""
    if one.kind != two.kind or one.name != two.name:
        return False
    return one.key == two.key or not any(_changes(one, two))


def _changes(one: _Facts, two: _Facts) -> Iterator[ChangedValue]:
    """The values of two steps that differ, as far as both are known."""
    for part in ("arguments", "output", "model", "output_text", "content"):
        if part in one.values and part in two.values:
            for each in differences(one.values[part], two.values[part], part):
                yield ChangedValue(
                    path=each.path, kind=each.kind, baseline=each.expected, candidate=each.actual
                )
    if one.failed is None or two.failed is None or not (one.failed or two.failed):
        return
    errors = (one.values.get("error"), two.values.get("error"))
    if one.failed != two.failed:
        kind: DifferenceKind = "missing" if one.failed else "unexpected"
        yield ChangedValue(path="error", kind=kind, baseline=errors[0], candidate=errors[1])
    elif None not in errors and errors[0] != errors[1]:
        yield ChangedValue(path="error", kind="different", baseline=errors[0], candidate=errors[1])


def _joined(
    one: Sequence[_Facts], two: Sequence[_Facts], pairs: Sequence[tuple[int, int]]
) -> Iterator[StepPair]:
    """All steps of both, in order."""
    row = column = 0
    for until, until_too in [*pairs, (len(one), len(two))]:
        for step in one[row:until]:
            yield StepPair(kind=step.kind, name=step.name, baseline=step.place, baseline_shown=step.shown)
        for step in two[column:until_too]:
            yield StepPair(kind=step.kind, name=step.name, candidate=step.place, candidate_shown=step.shown)
        if until < len(one) and until_too < len(two):
            left, right = one[until], two[until_too]
            yield StepPair(
                kind=left.kind,
                name=left.name,
                baseline=left.place,
                candidate=right.place,
                baseline_shown=left.shown,
                candidate_shown=right.shown,
                changes=tuple(sorted(_changes(left, right), key=lambda each: (each.path, each.kind))),
            )
        row, column = until + 1, until_too + 1


def _totals(trace: Trace) -> TraceTotals:
    counted = trace.tokens_measured
    return TraceTotals(
        steps=len(trace.turns),
        input_tokens=trace.total_input_tokens if counted else None,
        output_tokens=trace.total_output_tokens if counted else None,
        cost=trace.total_cost,
        latency_ms=trace.total_latency_ms if trace.latency_measured else None,
    )


def _stops(steps: Sequence[StepPair], first: int | None) -> Literal["baseline", "candidate"] | None:
    """Which trace has nothing from the first step on that is not the same."""
    rest = () if first is None else steps[first:]
    if not rest:
        return None
    if all(step.candidate is None for step in rest):
        return "candidate"
    return "baseline" if all(step.baseline is None for step in rest) else None


def _differs(step: StepPair) -> bool:
    return not step.same


def _shortened_step(step: StepPair) -> StepPair:
    return msgspec.structs.replace(step, changes=tuple(map(_shortened, step.changes[:_KEPT])))


def _shortened(value: ChangedValue) -> ChangedValue:
    """The values as they are where they fit on a line, else cut, as text."""
    sides = {name: _cut(getattr(value, name)) for name in ("baseline", "candidate")}
    return msgspec.structs.replace(value, **sides)


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return shorten(value, _SHOWN)
    if value is None or isinstance(value, bool | int | float):
        return value
    return value if len(json.dumps(value)) <= _SHOWN else show(value, _SHOWN)
