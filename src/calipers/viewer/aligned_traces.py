"""`GET /traces`: the traces of two attempts step by step, and where they part.

What is said is what `calipers compare --case` says. Long traces are aligned as far as a budget allows; very long ones are not read.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

from calipers.comparison.trace_difference import ChangedValue, StepKind, StepPair
from calipers.data.trace import Trace
from calipers.stats.number_text import plural
from calipers.stores.packing import unpack
from calipers.stores.run_info import RunInfo
from calipers.views.comparison.side_by_side import traces_said
from calipers.views.comparison.trace_words import GAPS

from .compare_runs import run_labels
from .deadline import check_deadline
from .shown_value import MISSING, blob_address, shown_value
from .stored_trace import StoredTrace
from .viewed_store import ViewedStore
from .wire import AlignedStep, AlignedTracesAnswer, AlignedValue, ShownValue

MOST_STEPS: Final = 40_000
"""Steps of both traces together that are compared."""
_SENT: Final = 3_000
"""Aligned steps of an answer."""
_BEFORE: Final = 100
"""Steps that are the same before the traces part, of those that are too many to be sent."""
_VALUES: Final = 20
"""Values of a step."""
_VALUE: Final = 2_000
"""Characters of a value."""
_IN_ALL: Final = 300_000
"""Characters of all values together."""
_KINDS: Final[dict[StepKind, Literal["user", "agent", "model", "tool"]]] = {
    "user_message": "user",
    "agent_message": "agent",
    "llm_call": "model",
    "tool_call": "tool",
}
_PARTS: Final = {
    "arguments": "arguments",
    "output": "output",
    "output_text": "output",
    "content": "content",
}
"""Values of a step that can be had as a whole, by their path: the part of the step."""


def aligned_traces_answer(
    viewed: ViewedStore, *, a: str, b: str, at_a: int, at_b: int
) -> AlignedTracesAnswer:
    """The traces of two attempts.

    Args:
        viewed: the store.
        a: the run of the first one.
        b: the run of the second one.
        at_a: the position of the first one in its run.
        at_b: the position of the second one.
    """
    runs = [viewed.find_run(a), viewed.find_run(b)]
    positions = [at_a, at_b]
    stored = [viewed.trace(run.id, at) for run, at in zip(runs, positions, strict=True)]
    facts = [[] if each is None else each.facts for each in stored]
    lengths = [0 if each is None else len(each) for each in stored]
    if stored == [None, None]:
        return _nothing([GAPS["no traces"]], facts)
    if None not in stored and sum(lengths) > MOST_STEPS:
        many = f"{lengths[0]:,} and {plural(lengths[1], 'step')}"
        return _nothing(
            [
                f"not compared here: {many} are too many while a page waits; `calipers compare --case` takes the time it needs"
            ],
            facts,
        )
    sides = [
        (label, None if None in stored else _trace(viewed, run, at))
        for label, run, at, trace in zip(run_labels(runs), runs, positions, stored, strict=True)
        if trace is None or None not in stored
    ]
    check_deadline()
    lines, found = traces_said(sides)
    if found is None:
        return _nothing(lines, facts)
    check_deadline()
    begin = 0
    if found.first is not None and len(found.steps) > _SENT:
        begin = max(0, found.first - _BEFORE)
    steps = list(_Steps(runs, positions, stored).aligned(found.steps[begin : begin + _SENT]))
    return AlignedTracesAnswer(
        lines=lines,
        facts=facts,
        steps=steps,
        first=found.first,
        begin=begin,
        total=len(found.steps),
        cut=found.cut,
    )


def _nothing(lines: list[str], facts: list[list[str]]) -> AlignedTracesAnswer:
    return AlignedTracesAnswer(lines=lines, facts=facts, steps=[], first=None, total=0)


def _trace(viewed: ViewedStore, run: RunInfo, position: int) -> Trace | None:
    with viewed.reading() as store:
        for attempt, _ in store.judged_at(run.id, [position]):
            return unpack(attempt, (), run.evaluators).trace
    return None


class _Steps:
    """Steps for the page, with as many of their values as there is room for."""

    def __init__(
        self, runs: Sequence[RunInfo], positions: Sequence[int], traces: Sequence[StoredTrace | None]
    ) -> None:
        self._sides = list(zip(runs, positions, traces, strict=True))
        self._room = _IN_ALL

    def aligned(self, steps: Sequence[StepPair]) -> Iterator[AlignedStep]:
        """The steps."""
        for step in steps:
            places = [step.baseline, step.candidate]
            ids = [self._id(side, place) for side, place in enumerate(places)]
            values = list(self._values(step.changes, ids))
            yield AlignedStep(
                kind=_KINDS[step.kind],
                ids=ids,
                numbers=[None if place is None else place + 1 for place in places],
                shown=[step.baseline_shown or "", step.candidate_shown or ""],
                same=step.same,
                values=values,
                values_left_out=len(step.changes) - len(values),
            )

    def _id(self, side: int, place: int | None) -> int | None:
        trace = self._sides[side][2]
        return None if place is None or trace is None else int(trace.tree.id[place])

    def _values(self, changes: Sequence[ChangedValue], ids: Sequence[int | None]) -> Iterator[AlignedValue]:
        for change in changes[:_VALUES]:
            if self._room <= 0:
                return
            one = self._value(change.path, change.baseline, 0, ids[0], is_there=change.kind != "unexpected")
            two = self._value(change.path, change.candidate, 1, ids[1], is_there=change.kind != "missing")
            self._room -= len(one.text) + len(two.text)
            yield AlignedValue(path=change.path, sides=[one, two])

    def _value(self, path: str, value: Any, side: int, step: int | None, *, is_there: bool) -> ShownValue:
        if not is_there:
            return MISSING
        run, position, _ = self._sides[side]
        part = _PARTS.get(path)
        href = None if part is None else blob_address(run.id, position, f"step-{step}-{part}")
        return shown_value(value, href=href, most=_VALUE)
