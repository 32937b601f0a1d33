"""A claim: a number lies on the good side of a limit. Its interval decides, and several claims share one chance of a false alarm.

PASS   the interval, at the confidence of the policy, lies on the good side of the limit;
FAIL   the interval, at a confidence that is corrected for the number of claims, lies on the bad side;
WORSE  the interval, corrected likewise, lies on the bad side of what an agent as good as its baseline has;
INCONCLUSIVE   none of these.

A gate fails if any claim does, so each claim has its part of the chance: Holm's step-down ("A Simple Sequentially Rejective
Multiple Test Procedure", 1979). A gate passes only if every claim does, which needs no correction: all of them would have to be
wrong at once (Berger, "Multiparameter Hypothesis Testing and Acceptance Sampling", 1982).

WORSE has a step-down of its own over the same claims; a claim leaves it once it is shown to be worse or to fail. So there is at most
one chance to fail a claim that holds its limit, and at most one to call a claim worse that is as good as its baseline. A run that is
good by every claim takes one chance in all, since the claims that fail are among those of the second step-down.

A finding shows the interval at the confidence of the policy, unless that one alone would say something worse than the outcome. Then
it shows the wider one that decided, and `Finding.alone` has what the claim would be without the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import NamedTuple, TypeGuard

from calipers.stats import Interval
from calipers.stats.number_text import plural

from .measure import Measure
from .verdict import Finding, Outcome, Unit, about, change, interval_words, quantity

_SEE = "see which cases it lost, with `calipers compare`"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Something that has to be so."""

    subject: str
    rule: str
    measure: Measure
    limit: float
    above: bool = True
    """Whether the good side is above the limit."""
    par: float | None = None
    """What an agent has that is as good as its baseline: beyond it, on the bad side, the run is worse. `None` without a baseline."""
    unit: Unit = "number"
    signed: bool = False
    """Whether the value is a difference."""
    noun: str = "case"
    """What there could be more of."""
    most: int | None = None
    """How many of these the run can have: each case takes one label; `None`: as many as you like."""
    in_clusters: bool = False
    """Whether the cases come in clusters, so that more help only in more of these."""
    anytime: bool = False

    def holds(self, interval: Interval | None) -> bool:
        """Whether the whole interval lies on the good side."""
        if not _is_sound(interval):
            return False
        return interval.low > self.limit if self.above else interval.high < self.limit

    def fails(self, interval: Interval | None) -> bool:
        """Whether the whole interval lies on the bad side."""
        if not _is_sound(interval):
            return False
        return interval.high < self.limit if self.above else interval.low > self.limit

    def is_worse(self, interval: Interval | None) -> bool:
        """Whether the whole interval lies beyond what an agent has that is as good as its baseline."""
        if self.par is None or not _is_sound(interval):
            return False
        return interval.high < self.par if self.above else interval.low > self.par


def _is_sound(interval: Interval | None) -> TypeGuard[Interval]:
    """Whether an interval can decide anything: one that overflowed holds no limit and would pass every rule."""
    return (
        interval is not None
        and isfinite(interval.low)
        and isfinite(interval.high)
        and interval.low <= interval.high
    )


class _Remembered:
    """A measure that computes each of its intervals once: the same one decides failing, passing and being worse."""

    def __init__(self, measure: Measure) -> None:
        self.n = measure.n
        self._measure = measure
        self._known: dict[float, Interval | None] = {}

    @property
    def value(self) -> float | None:
        return self._measure.value

    def interval(self, confidence: float) -> Interval | None:
        if confidence not in self._known:
            self._known[confidence] = self._measure.interval(confidence)
        return self._known[confidence]

    def needed(self, limit: float, confidence: float) -> int | None:
        return self._measure.needed(limit, confidence)


def judge_claims(
    claims: Sequence[Claim], *, confidence: float, correct: bool, next_confidence: float | None = None
) -> list[Finding]:
    """What became of each claim; with `correct`, they share the chance of a false alarm.

    More cases are asked for at `next_confidence`, that of a further look; default: the same.
    """
    later = confidence if next_confidence is None else next_confidence
    claims = [replace(claim, measure=_Remembered(claim.measure)) for claim in claims]

    def fails(index: int, level: float) -> bool:
        return claims[index].fails(_interval(claims[index], level))

    def falls_behind(index: int, level: float) -> bool:
        return fails(index, level) or claims[index].is_worse(_interval(claims[index], level))

    failed, behind = (
        failing(len(claims), how, confidence=confidence, correct=correct) for how in (fails, falls_behind)
    )
    worse, beyond = (
        _level(len(claims) - len(done), confidence=confidence, correct=correct) for done in (behind, failed)
    )
    shared = _Shared(len(claims), confidence, worse, beyond, later)
    return [
        _judged(claim, "FAIL" if index in failed else _short_of_failing(claim, confidence, worse), shared)
        for index, claim in enumerate(claims)
    ]


class _Shared(NamedTuple):
    """How claims share the doubt: the confidence of each question about one of them."""

    claims: int
    """How many share it."""
    alone: float
    """Does it pass? It is also what a claim that shares with no other has for every question."""
    worse: float
    """Is it worse than its baseline?"""
    beyond: float
    """Does it fail?"""
    later: float
    """Does it pass at a further look?"""


def _short_of_failing(claim: Claim, confidence: float, level: float) -> Outcome:
    """The outcome of a claim that does not fail: it passes at the confidence, or is worse at the corrected level, or is open."""
    if claim.holds(_interval(claim, confidence)):
        return "PASS"
    return "WORSE" if claim.is_worse(_interval(claim, level)) else "INCONCLUSIVE"


def _outcome(claim: Claim, interval: Interval | None) -> Outcome:
    """What one interval says of a claim."""
    if claim.fails(interval):
        return "FAIL"
    if claim.holds(interval):
        return "PASS"
    return "WORSE" if claim.is_worse(interval) else "INCONCLUSIVE"


def _interval(claim: Claim, level: float) -> Interval | None:
    try:
        return claim.measure.interval(level)
    except (OverflowError, ValueError):
        return None


def _judged(claim: Claim, outcome: Outcome, shared: _Shared) -> Finding:
    """What became of a claim; numbers that no float can add up prove nothing, and spoil no other claim."""
    try:
        found = _finding(claim, outcome, shared)
    except (OverflowError, ValueError) as error:
        why = str(error)
    else:
        if isfinite(found.value or 0.0) and (found.interval is None or _is_sound(found.interval)):
            return found
        why = "the result is no finite number"
    return Finding(
        subject=claim.subject,
        rule=claim.rule,
        outcome="INCONCLUSIVE",
        said=f"it cannot be computed from these numbers: {why}",
        advice="look for numbers that are far too large, or measure in another unit",
        limit=claim.limit,
        above=claim.above,
        unit=claim.unit,
        n=claim.measure.n,
    )


def failing(count: int, fails: Callable[[int, float], bool], *, confidence: float, correct: bool) -> set[int]:
    """Which of so many claims fail, by Holm's step-down; with `correct`, they share the chance of a false alarm."""
    failed = set[int]()
    while True:
        level = _level(count - len(failed), confidence=confidence, correct=correct)
        more = {index for index in range(count) if index not in failed and fails(index, level)}
        if not more:
            return failed
        failed |= more


def _level(left: int, *, confidence: float, correct: bool) -> float:
    """The confidence of one of the claims that are left, which share the chance of a false alarm."""
    return 1 - (1 - confidence) / max(1, left if correct else 1)


def _finding(claim: Claim, outcome: Outcome, shared: _Shared) -> Finding:
    measure = claim.measure
    interval, value = measure.interval(shared.alone), measure.value
    alone = _outcome(claim, interval)
    if alone != outcome:
        wider = (_interval(claim, level) for level in (shared.worse, shared.beyond))
        interval = next((each for each in wider if _outcome(claim, each) == outcome), interval)
    needed = None
    if outcome == "INCONCLUSIVE" and value is not None:
        needed = measure.needed(claim.limit, shared.later)
    advice = _advice(claim, outcome, value, interval, needed)
    if alone != outcome:
        advice = _doubted(claim, outcome, alone, shared)
    return Finding(
        subject=claim.subject,
        rule=claim.rule,
        outcome=outcome,
        said=_said(claim, value, interval),
        advice=advice,
        alone=None if alone == outcome else alone,
        value=value,
        limit=claim.limit,
        above=claim.above,
        interval=interval,
        approximate=interval is not None and interval.approximate,
        unit=claim.unit,
        n=measure.n,
        more_cases=needed - measure.n if needed is not None and needed > measure.n else None,
    )


def _said(claim: Claim, value: float | None, interval: Interval | None) -> str:
    if value is None:
        return "it was not measured"
    shown = _change(claim, value) if claim.signed else quantity(value, claim.unit)
    size = plural(claim.measure.n, claim.noun)
    if interval is None:
        why = (
            "values outside the bounds of the policy, or clusters, have no interval that allows many looks"
            if claim.anytime
            else "too few, or too much alike, to say how far to trust it"
        )
        return f"{shown} on {size}: {why}"
    words = interval_words(interval, claim.unit, signed=claim.signed)
    return f"{shown}, {'approximate ' if interval.approximate else ''}{words}, on {size}"


def _change(claim: Claim, value: float) -> str:
    """A difference; where less is better, with the word for it, for a reader takes a plus for a gain."""
    shown = change(value, claim.unit)
    return shown if claim.above or not value else f"{shown}, which is {'worse' if value > 0 else 'better'}"


def _doubted(claim: Claim, outcome: Outcome, alone: Outcome, shared: _Shared) -> str:
    """What to do about a claim that says something worse alone than among the others."""
    luck = f"alone it would be {alone}; {shared.claims:,} rules share the doubt, and among so many it may be luck"
    if outcome == "WORSE":
        return f"worse than the baseline, and by how much is open ({luck}): {_SEE}"
    look = f"{_SEE}, and add {claim.noun}s" if claim.par is not None else f"add {claim.noun}s"
    return f"{luck}: {look}"


def _advice(
    claim: Claim, outcome: Outcome, value: float | None, interval: Interval | None, needed: int | None
) -> str | None:
    if outcome == "PASS":
        return None
    if outcome == "FAIL":
        return "fix it, or change the limit and say why"
    if outcome == "WORSE":
        return f"worse than the baseline, and by how much is open: {_SEE}"
    if value is None:
        return "measure it, and gate again"
    if interval is None and claim.anytime:
        return "gate a run by it that was not stopped early"
    where = " in more clusters" if claim.in_clusters else ""
    on_good_side = value > claim.limit if claim.above else value < claim.limit
    equal = claim.par is not None and claim.par != claim.limit
    lean = "" if on_good_side else "; so far it leans to the wrong side"
    if needed is not None and needed > claim.measure.n:
        least = "at least " if claim.anytime else "about "
        if claim.most is not None and needed > claim.most:
            return (
                f"needs {least}{about(needed)} {claim.noun}s, and the run has {plural(claim.most, 'case')}: run more cases, and "
                f"label some of them{lean}"
            )
        more = f"needs {least}{about(needed - claim.measure.n)} more {claim.noun}s{where}"
        return f"{more}{', if it is as good as its baseline' if equal else ''}{lean}"
    if needed is not None and equal and not claim.anytime:
        return f"with so many {claim.noun}s, an agent as good as its baseline mostly passes{lean}: see what it lost"
    if interval is None:
        return f"add {claim.noun}s{where}"
    if needed is not None:
        return f"more {claim.noun}s{where} would tell; how many is not known"
    return (
        f"too close to the limit for any number of {claim.noun}s to tell: widen the limit, or decide by hand"
    )
