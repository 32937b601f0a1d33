"""Drift: what a run does otherwise than the accepted traces of its cases.

An attempt *follows* if it does what some accepted trace says. If not, it drifted, and the changes from the nearest accepted trace are told.
A task that failed drifted. Unknown is neither: an attempt without a trace, or whose trace does not show what would decide, does not
follow, and nothing is said against it. A failure of a connection or a server says nothing about the agent, so it is unknown, too.
Of traces that are too long to be aligned in a second or two, it is told where they part, and not what follows.

A case follows if all its attempts do. The share of cases is a mean over cases, to which a case that was repeated adds the share
of its attempts; those unknown are left out and counted.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from calipers.data.record import ReportCase
from calipers.data.trace import Trace
from calipers.data.value_text import shorten, show
from calipers.matching.value_comparison import DifferenceKind, differences
from calipers.report.report import Report
from calipers.stats import Estimate, rate
from calipers.stats.sample import check_confidence

from .accepted_traces import (
    AcceptedCase,
    AcceptedStep,
    AcceptedTrace,
    AcceptedTraces,
    inputs_of,
    output_of,
    steps_of,
)
from .case_pairs import Record, attempt_number, cases_of, check_report, without_faults
from .trace_difference import StepPair, TraceBudget, TraceDifference, compare_traces

ChangeOf: TypeAlias = Literal["new tool", "calls", "argument", "answer", "output", "failure", "steps"]
"""What changed: a tool that no accepted trace of the case calls, how often or where a tool is called, an argument of a call, what a
model answered, what came out, or the task failed; `steps` where traces part that are too long to say more."""
Unknown: TypeAlias = Literal[
    "it has no trace",
    "its calls are not recorded",
    "it does not record all that is accepted",
    "the arguments of a call are not recorded",
    "it got no answer",
]
"""Why it is not known whether an attempt follows."""
AttemptState: TypeAlias = Literal["follows", "drifted", "unknown"]
CaseState: TypeAlias = Literal["follows", "drifted", "unknown", "not accepted", "other inputs"]
"""Of the last two, nothing is accepted; `other inputs` if the name is known with other inputs."""

_LONGEST = 120
"""Characters of a value in words."""
_CHANGES = 5
"""Changes of an attempt that a sentence tells."""
_SHORT = 2_500
"""Pairs of steps that are aligned in milliseconds: traces of fifty steps are always compared."""


class DriftChange(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an attempt does otherwise."""

    of: ChangeOf
    tool: str | None = None
    """Of a call."""
    path: str = ""
    """Which argument, or which part of the output; empty for the whole."""
    kind: DifferenceKind = "different"
    """`missing` if only the accepted trace has it, `unexpected` if only the attempt has it."""
    accepted: Any = None
    """The accepted value, or how often the tool is called."""
    found: Any = None
    """The value of the attempt, or how often it calls the tool; of a failure, the error."""
    before: str | None = None
    """The tool before whose call a further call stands; `None` if no such call follows."""
    step: int | None = None
    """The step at which the traces part, from 1, where they are too long to say more."""

    @property
    def words(self) -> str:
        """`calls lookup_order twice instead of once, before refund`."""
        match self.of:
            case "failure":
                return f"the task failed: {shorten(str(self.found), _LONGEST)}"
            case "new tool":
                often = "" if self.found == 1 else f", {_times(self.found)}"
                return f"new tool {self.tool}{often}{self._place}"
            case "calls":
                return self._calls
            case "argument":
                return self._value(
                    f"{self.tool}: argument {self.path}" if self.path else f"{self.tool}: arguments"
                )
            case "answer":
                return self._value("an answer of the model")
            case "output":
                return self._value(self.path or "output")
            case "steps":
                return f"at step {self.step:,}, {self.accepted} became {self.found}; the traces are too long to compare what follows"

    @property
    def _calls(self) -> str:
        if self.found == self.accepted:
            return f"calls {self.tool} at another place{self._place}"
        if self.found == 0:
            return f"no longer calls {self.tool}"
        if self.accepted == 0:
            often = "" if self.found == 1 else f", {_times(self.found)}"
            return f"also calls {self.tool}{often}{self._place}"
        place = self._place if self.found > self.accepted else ""
        return f"calls {self.tool} {_times(self.found)} instead of {_times(self.accepted)}{place}"

    @property
    def _place(self) -> str:
        return "" if self.before is None else f", before {self.before}"

    def _value(self, name: str) -> str:
        accepted, found = show(self.accepted, _LONGEST), show(self.found, _LONGEST)
        match self.kind:
            case "missing":
                return f"{name} {accepted} is gone"
            case "unexpected":
                return f"{name} {found} is new"
            case "different":
                return f"{name} {accepted} became {found}"


class AttemptDrift(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one attempt."""

    attempt: int = 1
    """Which one, from 1."""
    state: AttemptState
    nearest: int | None = None
    """Which accepted trace of the case it follows or comes nearest to, from 1; `None` if it was compared with none."""
    changes: tuple[DriftChange, ...] = ()
    """What it does otherwise than that trace."""
    why: Unknown | None = None
    """Why it is not known; `None` if it is."""

    @property
    def words(self) -> str:
        """What it does otherwise, or why that is not known; empty if it follows."""
        if self.why is not None:
            return self.why
        more = len(self.changes) - _CHANGES
        said = [change.words for change in self.changes[:_CHANGES]]
        return "; ".join([*said, *([f"and {more:,} more"] if more > 0 else [])])


class CaseDrift(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the attempts at one case."""

    case: str
    state: CaseState
    attempts: tuple[AttemptDrift, ...] = ()
    """Empty where nothing is accepted."""


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """A run against accepted traces."""

    name: str
    """Of the run."""
    cases: tuple[CaseDrift, ...]
    not_run: tuple[str, ...] = ()
    """Cases with accepted traces that the run does not have."""
    follows: Estimate | None = None
    """The share of cases that follow an accepted trace; `None` if that is known of none."""
    incomplete: str | None = None
    """Why the run ended early."""

    def of_state(self, state: CaseState) -> list[CaseDrift]:
        """The cases of a state."""
        return [case for case in self.cases if case.state == state]

    @property
    def state(self) -> Literal["follows", "drifted", "unknown", "nothing"]:
        """The whole: `unknown` if a case is and none drifted, `nothing` if no case has an accepted trace."""
        states = {case.state for case in self.cases}
        if "drifted" in states:
            return "drifted"
        if "unknown" in states:
            return "unknown"
        return "follows" if "follows" in states else "nothing"


def check_drift(report: Report, accepted: AcceptedTraces, *, confidence: float = 0.95) -> Drift:
    """What the attempts of a run do otherwise than the accepted traces of their cases.

    Args:
        report: of the run; it has to keep every attempt.
        accepted: from `AcceptedTraces.from_file`, or `accept_traces(...).accepted`.
        confidence: of the interval of the share.
    """
    check_report(report, "what is checked")
    check_confidence(confidence)
    found: list[CaseDrift] = []
    budget = TraceBudget(free=_SHORT)
    counts: list[tuple[float, int]] = []
    clusters: list[str | None] = []
    met: set[tuple[str, str]] = set()
    for case in without_faults(cases_of(report)):
        known = accepted.find(case.name, inputs_of(case.attempts[0]))
        if known is None:
            state: CaseState = "other inputs" if accepted.has_name(case.name) else "not accepted"
            found.append(CaseDrift(case=case.name, state=state))
            continue
        met.add((known.name, known.inputs))
        attempts = tuple(
            msgspec.structs.replace(_of_record(record, known, budget), attempt=attempt_number(record)[0])
            for record in sorted(case.attempts, key=attempt_number)
        )
        states = Counter(each.state for each in attempts)
        worst: CaseState = "drifted" if states["drifted"] else "unknown" if states["unknown"] else "follows"
        found.append(CaseDrift(case=case.name, state=worst, attempts=attempts))
        if decided := states["follows"] + states["drifted"]:
            counts.append((states["follows"], decided))
            clusters.append(case.cluster)
    grouped = [place if name is None else name for place, name in enumerate(clusters)]
    return Drift(
        name=report.name,
        cases=tuple(sorted(found, key=lambda each: each.case)),
        not_run=tuple(case.name for case in accepted.cases if (case.name, case.inputs) not in met),
        follows=rate(counts, clusters=grouped if any(clusters) else None, confidence=confidence)
        if counts
        else None,
        incomplete=None if report.incomplete is None else str(report.incomplete),
    )


def drift_of(
    trace: Trace | None, output: Any, accepted: AcceptedCase, *, budget: TraceBudget | None = None
) -> AttemptDrift:
    """What an attempt does otherwise than the nearest accepted trace of its case.

    Args:
        trace: what the agent did; `None` if that is not known.
        output: what it gave.
        accepted: of the case.
        budget: what comparing traces may take; default: one for this attempt alone.
    """
    if trace is None:
        return AttemptDrift(state="unknown", why="it has no trace")
    if not trace.calls_known:
        return AttemptDrift(state="unknown", why="its calls are not recorded")
    budget = budget or TraceBudget(free=_SHORT)
    found = [
        msgspec.structs.replace(_against(trace, output, each, accepted, budget), nearest=number)
        for number, each in enumerate(accepted.traces, start=1)
    ]
    order = {"follows": 0, "unknown": 1, "drifted": 2}
    return min(found, key=lambda each: (order[each.state], *_distance(each)))


def _distance(drift: AttemptDrift) -> tuple[bool, int]:
    """How far an attempt is from an accepted trace; of those not compared to their end, the one is nearest that parts last."""
    parts_at = next((change.step for change in drift.changes if change.step is not None), None)
    return (False, len(drift.changes)) if parts_at is None else (True, -parts_at)


def _of_record(record: Record, accepted: AcceptedCase, budget: TraceBudget) -> AttemptDrift:
    if isinstance(record, ReportCase):
        return drift_of(record.trace, record.output, accepted, budget=budget)
    if record.infrastructure:
        return AttemptDrift(state="unknown", why="it got no answer")
    failure = DriftChange(of="failure", found=record.error_message)
    return AttemptDrift(state="drifted", changes=(failure,))


def _against(
    trace: Trace, output: Any, accepted: AcceptedTrace, case: AcceptedCase, budget: TraceBudget
) -> AttemptDrift:
    """An attempt against one accepted trace."""
    steps = steps_of(trace, answers=accepted.has_answers)
    given = output_of(output, trace) if accepted.has_output else None
    does = AcceptedTrace(steps=steps, has_output=accepted.has_output, output=given)
    if does.key == accepted.key:
        return AttemptDrift(state="follows")
    does_trace = does.trace.replace(recorded_tools=trace.recorded_tools)
    difference = compare_traces(accepted.trace, does_trace, budget=budget)
    changes = [*_changes(difference, case, (accepted.steps, steps))]
    if accepted.has_output:
        changes += [
            DriftChange(
                of="output", path=each.path, kind=each.kind, accepted=each.expected, found=each.actual
            )
            for each in differences(accepted.output, given, "output")
        ]
    if changes:
        return AttemptDrift(state="drifted", changes=tuple(changes))
    if difference.left_out:
        return AttemptDrift(state="unknown", why="it does not record all that is accepted")
    if any(
        wanted.arguments is not None and step.call is not None and step.arguments is None
        for wanted, step in zip(accepted.steps, steps, strict=True)
    ):
        return AttemptDrift(state="unknown", why="the arguments of a call are not recorded")
    return AttemptDrift(state="follows")


def _changes(
    difference: TraceDifference,
    case: AcceptedCase,
    both: tuple[Sequence[AcceptedStep], Sequence[AcceptedStep]],
) -> Iterator[DriftChange]:
    steps = difference.steps
    if difference.cut:
        before, after = steps[-2:]
        yield DriftChange(
            of="steps", accepted=before.baseline_shown, found=after.candidate_shown, step=len(steps) - 1
        )
        return
    accepted = Counter(step.name for step in steps if step.kind == "tool_call" and step.baseline is not None)
    found = Counter(step.name for step in steps if step.kind == "tool_call" and step.candidate is not None)
    told: set[str] = set()
    for place, step in enumerate(steps):
        if step.same:
            continue
        if step.kind != "tool_call":
            yield _answer(step, both)
        elif step.changes:
            for change in step.changes:
                yield DriftChange(
                    of="argument",
                    tool=step.name,
                    path=change.path.removeprefix("arguments").removeprefix("."),
                    kind=change.kind,
                    accepted=change.baseline,
                    found=change.candidate,
                )
        elif step.name not in told:
            told.add(step.name)
            yield DriftChange(
                of="calls" if step.name in case.tools else "new tool",
                tool=step.name,
                accepted=accepted[step.name],
                found=found[step.name],
                before=_next_call(steps[place:], step.name),
            )


def _answer(step: StepPair, both: tuple[Sequence[AcceptedStep], Sequence[AcceptedStep]]) -> DriftChange:
    kind: DifferenceKind = (
        "missing" if step.candidate is None else "unexpected" if step.baseline is None else "different"
    )
    texts = [
        None if place is None else steps[place].answer
        for place, steps in zip((step.baseline, step.candidate), both, strict=True)
    ]
    return DriftChange(of="answer", kind=kind, accepted=texts[0], found=texts[1])


def _next_call(steps: Sequence[StepPair], tool: str) -> str | None:
    """The call that both have after the first further call of a tool; `None` if it comes last, or there is no further one."""
    further = next(
        (place for place, step in enumerate(steps) if step.name == tool and step.baseline is None), None
    )
    if further is None:
        return None
    rest = steps[further + 1 :]
    both = (
        step.name for step in rest if step.kind == "tool_call" and None not in {step.baseline, step.candidate}
    )
    return next(both, None)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")
