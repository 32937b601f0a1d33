"""What an agent makes of faults: success, recovery and harm for each, beside the clean attempts at the same cases.

- An attempt that a fault did not strike says nothing about it. It is shown apart and not counted.
- *Success* is the pass rate of struck attempts. The difference to the clean ones is paired by case, and counts those clean attempts that
  the fault would have struck, by the calls that they made: attempts with more calls are struck more often, and pass less often or
  more often without any fault.
- *Recovery* is the share of struck attempts that pass, where the clean attempt of the same number passes.
- *Called again* is the share of struck attempts in which every struck call was followed by a good call of the same tool, whatever its
  arguments; in the others the agent ended without. A call that the model asked for together with the struck one does not follow it:
  there a request to a model has to lie between the two, or the arguments are the same and the one began after the other had ended. Where
  the trace does not show that, or the attempt was cut off, it is not measured.
- *Harm* is the share of struck attempts in which the agent followed an injected instruction, or an assertion that names a harm did not
  hold while it did not fail in the clean attempt of the same number. An attempt that ended before such an assertion could look at it is
  not measured.
- Attempts that crash count as not passed, as everywhere.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, Final, Literal, NamedTuple, TypeAlias

from calipers.comparison.case_pairs import Record, attempt_number
from calipers.data.argument_checks import did_you_mean
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.trace import ToolCall, Trace
from calipers.report.analysis import FaultEffect, FaultTolerance
from calipers.report.report_evaluator import ReportEvaluator, ReportEvaluatorContext
from calipers.stats import Estimate, compare_paired, rate
from calipers.stats.number_text import plural

CALLS: Final = "fault_calls"
STRIKES: Final = "fault_strikes"
MISSES: Final = "fault_misses"
HARM: Final = "fault_harm"
OUTCOMES: Final = "fault_outcomes"
ToolOutcome: TypeAlias = Literal["struck", "good", "failed", "open"]
"""What came of a call: the fault changed it, it is as the tool gave it, the tool itself failed, or the attempt was over before."""


def would_strike(fault: str) -> str:
    """The metric of a clean attempt that says that a fault would have struck it."""
    return f"{STRIKES}[{fault}]"


@dataclass
class FaultToleranceEvaluator(ReportEvaluator):
    """Pairs the attempts under each fault with the clean ones. `with_faults` puts it into the dataset."""

    sees_faults: ClassVar[bool] = True

    faults: Sequence[str]
    """The names of the faults."""
    harm: Sequence[str] = ()
    """Names of assertions that say what must not happen."""

    def evaluate(self, ctx: ReportEvaluatorContext) -> FaultTolerance:
        """Success, recovery and harm for each fault."""
        records: list[Record] = [*ctx.report.cases, *ctx.report.failures]
        by_fault: dict[str | None, list[Record]] = defaultdict(list)
        for record in records:
            by_fault[record.fault].append(record)
        clean = _by_case(by_fault[None])
        effects = [self._effect(fault, by_fault[fault], clean) for fault in self.faults]
        return FaultTolerance(
            title="Faults of tools",
            description="Of the attempts that were struck; the change against the clean attempts at the same cases is in points.",
            effects=effects,
            note="; ".join([*_notes(by_fault[None], effects, self.faults), *self._unknown_harm(records)])
            or None,
        )

    def _effect(self, fault: str, records: list[Record], clean: dict[str, list[Record]]) -> FaultEffect:
        struck = [record for record in records if record.metrics.get(STRIKES)]
        suffix = f" [{fault}]"
        pairs = [
            (clean.get(name.removesuffix(suffix), []), attempts)
            for name, attempts in _by_case(struck).items()
        ]
        judged = [
            (before, after)
            for before, after in pairs
            if all(record.passed is not None for record in (*before, *after))
        ]
        alike = [
            (reached, after)
            for before, after in judged
            if (reached := [record for record in before if record.metrics.get(would_strike(fault))])
        ]
        difference = compare_paired(
            [_passes(after) for _, after in alike],
            [_passes(before) for before, _ in alike],
            clusters=_clusters([after for _, after in alike]),
        )
        recovered = [kept for before, after in judged if (kept := [*_after_clean_passes(before, after)])]
        harmed = [[self._harm(record, before) for record in after] for before, after in pairs]
        return FaultEffect(
            fault=fault,
            attempts=len(records),
            struck=len(struck),
            cases=sum(bool(before) for before, _ in pairs),
            calls=_total(records, CALLS),
            strikes=_total(records, STRIKES),
            misses=_total(records, MISSES),
            success=_rate([after for _, after in judged], [_passes(after) for _, after in judged]),
            clean=_rate([after for _, after in alike], [_passes(before) for before, _ in alike]),
            difference=None if difference is None else difference.value,
            difference_interval=None if difference is None else difference.interval,
            recovery=_rate(recovered, [_passes(after) for after in recovered]),
            called_again=_rate(
                [after for _, after in pairs],
                [[called_again(record) for record in after] for _, after in pairs],
            ),
            harm=_rate([after for _, after in pairs], harmed),
        )

    def _unknown_harm(self, records: Sequence[Record]) -> list[str]:
        known = {name for record in records if isinstance(record, ReportCase) for name in record.assertions}
        said = [
            f"harm is not measured by {name!r}{did_you_mean(name, known)}: nothing in the report asserts it"
            for name in self.harm
            if name not in known
        ]
        ended = sum(
            bool(record.metrics.get(STRIKES))
            for record in records
            if not isinstance(record, ReportCase) and HARM not in record.metrics
        )
        if ended and known.intersection(self.harm):
            said.append(
                f"harm is not measured in {plural(ended, 'attempt')} whose task failed: nothing asserts there"
            )
        return said

    def _harm(self, record: Record, twins: Sequence[Record]) -> bool | None:
        """Whether the fault did harm; `None`: no one looked, or no clean attempt tells whether it is the fault's doing."""
        looked = [bool(record.metrics[HARM])] if HARM in record.metrics else []
        if isinstance(record, ReportCase) and twins:
            number = attempt_number(record)[0]
            before = {name for twin in twins if attempt_number(twin)[0] == number for name in _broken(twin)}
            broken = _broken(record)
            looked += [
                name in broken and name not in before for name in self.harm if name in record.assertions
            ]
        return any(looked) if looked else None


class _Place(NamedTuple):
    """Where a call stands in a trace."""

    round: int
    """Requests to models before it."""
    call: ToolCall


def called_again(record: Record) -> bool | None:
    """Whether every struck call was followed by a good call of the same tool; `None`: it is not known."""
    told = record.attributes.get(OUTCOMES)
    known = [
        _followed(name, outcomes, record)
        for name, outcomes in (told if isinstance(told, dict) else {}).items()
    ]
    if not known:
        return None
    return False if False in known else None if None in known else True


def _followed(name: str, outcomes: Sequence[ToolOutcome], record: Record) -> bool | None:
    """The same of one tool."""
    struck, good = ([n for n, each in enumerate(outcomes) if each == wanted] for wanted in ("struck", "good"))
    if not good or good[-1] < struck[-1]:
        return None if isinstance(record, ReportCaseFailure) and record.infrastructure else False
    places = _places(name, record.trace)
    if len(places) != len(outcomes):
        return None
    has_rounds = places[-1].round > 0
    return all(
        any(_is_after(places[one], places[other], has_rounds=has_rounds) for other in good if other > one)
        for one in struck
    )


def _places(name: str, trace: Trace | None) -> list[_Place]:
    """The calls of a tool, in the order of the trace."""
    found: list[_Place] = []
    rounds = 0
    for turn in () if trace is None else trace.turns:
        rounds += turn.llm_call is not None
        if turn.tool_call is not None and turn.tool_call.name == name:
            found.append(_Place(rounds, turn.tool_call))
    return found


def _is_after(struck: _Place, good: _Place, *, has_rounds: bool) -> bool:
    """Whether the agent could make a call because it had seen what came of another one, which stands before it."""
    if good.round > struck.round:
        return True
    one, other = struck.call, good.call
    if one.timestamp is not None and other.timestamp is not None:
        ended = one.timestamp + timedelta(milliseconds=one.latency_ms or 0.0)
        if other.timestamp < ended:
            return False
    return not has_rounds or one.arguments == other.arguments


def _broken(record: Record) -> set[str]:
    """The assertions that do not hold."""
    if not isinstance(record, ReportCase):
        return set()
    return {name for name, result in record.assertions.items() if not result.value}


def _by_case(records: Sequence[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.source_case_name or record.name, []).append(record)
    return found


def _passes(attempts: Sequence[Record]) -> list[bool]:
    return [bool(record.passed) for record in attempts]


def _after_clean_passes(before: Sequence[Record], after: Sequence[Record]) -> list[Record]:
    """The attempts whose clean attempt of the same number passed."""
    passed = {attempt_number(record)[0] for record in before if record.passed}
    return [record for record in after if attempt_number(record)[0] in passed]


def _clusters(cases: Sequence[Sequence[Record]]) -> list[str] | None:
    """The clusters of the cases; `None` if each has its own."""
    clusters = [attempts[0].cluster or attempts[0].name for attempts in cases]
    return None if len(set(clusters)) == len(clusters) else clusters


def _rate(cases: Sequence[Sequence[Record]], values: Sequence[Sequence[bool | None]]) -> Estimate | None:
    """The share of true values over cases; what is not known is left out."""
    known = [
        (attempts, found)
        for attempts, of_case in zip(cases, values, strict=True)
        if (found := [value for value in of_case if value is not None])
    ]
    if not known:
        return None
    counts = [(sum(found), len(found)) for _, found in known]
    return rate(counts, clusters=_clusters([attempts for attempts, _ in known]))


def _total(records: Sequence[Record], metric: str) -> int:
    return int(sum(record.metrics.get(metric, 0) for record in records))


def _notes(clean: Sequence[Record], effects: Sequence[FaultEffect], faults: Sequence[str]) -> list[str]:
    said: list[str] = []
    if not any(effect.calls for effect in effects) and not _total(clean, CALLS):
        said.append(
            "no tool call went through the faults, so there was nothing to strike: mark the functions of your tools with @tool, or run "
            "the agent by the adapter of its framework"
        )
    else:
        idle = [
            (fault, effect.calls)
            for fault, effect in zip(faults, effects, strict=True)
            if effect.attempts and not effect.struck
        ]
        if uncalled := [fault for fault, calls in idle if not calls]:
            said.append(f"not measured, since the tool was not called: {', '.join(uncalled)}")
        if missed := [fault for fault, calls in idle if calls]:
            said.append(f"not measured, since no call was struck: {', '.join(missed)}")
    left_out = [effect for effect in effects if 0 < effect.struck < effect.attempts]
    if left_out:
        count = sum(effect.attempts - effect.struck for effect in left_out)
        said.append(f"{plural(count, 'attempt')} in which no call was struck left out")
    if kept := sum(effect.misses for effect in effects):
        said.append(f"{plural(kept, 'result')} that a fault could not change")
    if any(effect.struck and effect.success is None for effect in effects):
        said.append("success is not measured where nothing asserts")
    if any(effect.struck for effect in effects) and not clean:
        said.append("without clean attempts there is no change and no recovery")
    return said
