"""The cases that passed in one run and not in the other, and how far noise alone explains each.

A case *passes* if most of its attempts do; it flipped if it passes in one run only. Where evaluators were chosen, an attempt passes
if their assertions are as they should be: false for those of which less is better. What can be said about noise depends on
how often the case was attempted:

- **Repeated** in either run: the chance of a change at least as large in a case that did not change, by Fisher's exact test
  on its attempts. Three passes of three against none of three is 1 in 10, and no fewer attempts ever look surer. Where that
  chance is above 1 minus the confidence, the case is neither broken nor fixed: it *moved*.
- **Attempted once in both**: nothing about this one case can be known. What can be known is how many of all such flips are noise:
  flips by noise go both ways alike, so there are about as many among the broken cases as there are fixed ones, at most.
  The share of noise among the broken is at most about (fixed + 1) / broken, and the other way round (the estimate of
  Barber & Candès, "Controlling the False Discovery Rate via Knockoffs", 2015). Each flip of that direction has this number.

Neither is the probability that the flip "is real", which would need to know how common real changes are.

A flip shows one attempt of each run: the first that passed where the case passes, and the first that did not where it does not. What
they gave, why evaluators changed their mind, and where the traces part is said of these two.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from calipers.data.jsonable import safe_repr
from calipers.data.record import ReportCase
from calipers.data.value_text import shorten
from calipers.stats.difference import fisher_exact

from .case_pairs import Record
from .trace_difference import TraceBudget, TraceDifference, compare_traces

NoiseBasis: TypeAlias = Literal["attempts", "other flips"]
"""Where the chance of noise comes from: the attempts at this case, or the flips the other way."""
TraceGap: TypeAlias = Literal["no baseline trace", "no candidate trace", "no traces", "too long"]
"""Why the traces of a flip are not compared: one or both attempts left none, or comparing them would take too long here."""

_LONGEST = 500
"""Characters of what an attempt gave, or of a reason, that a flip keeps."""
_EACH_COSTS = 100
"""As many pairs of steps take the time of what is done once for each two traces."""


class FlippedAssertion(msgspec.Struct, frozen=True, kw_only=True):
    """An assertion that holds in one of the runs only, as it was of the two attempts that a flip shows."""

    name: str
    baseline: bool | None = None
    """`None` if the attempt has no such result: its task or the evaluator failed, or the evaluator was skipped."""
    candidate: bool | None = None
    baseline_reason: str | None = None
    """Why, or why there is no result; `None` if the evaluator gave no reason, or the task failed."""
    candidate_reason: str | None = None


class Flip(msgspec.Struct, frozen=True, kw_only=True):
    """A case that passes in one of two runs only."""

    case: str
    """Its name in the candidate."""
    way: Literal["fixed", "broken", "moved"]
    """`fixed` if it is the candidate that passes, `broken` if it is the baseline, and `moved` where noise explains it."""
    baseline_passed: int
    """Attempts of the baseline that passed."""
    baseline_attempts: int
    candidate_passed: int
    candidate_attempts: int
    noise: float
    """How far noise explains it, from 0 to 1; the module says what the number means."""
    basis: NoiseBasis
    assertions: tuple[FlippedAssertion, ...] = ()
    """The assertions that hold in most attempts of one of the runs only."""
    baseline_attempt: int = 1
    """Which attempt of the baseline is shown, from 1."""
    candidate_attempt: int = 1
    baseline_gave: str | None = None
    """What the attempt of the baseline gave, as Python would write it, or why its task failed; cut where it is long."""
    candidate_gave: str | None = None
    """The same of the candidate."""
    trace: TraceDifference | None = None
    """Where the traces of the two attempts part, shortened; `None` if they were not compared."""
    trace_gap: TraceGap | None = None
    """Why the traces were not compared; `None` if they were."""

    @property
    def is_for_the_worse(self) -> bool:
        """Whether it passes less often in the candidate."""
        before = self.baseline_passed * self.candidate_attempts
        return self.candidate_passed * self.baseline_attempts < before

    @property
    def evaluators(self) -> tuple[str, ...]:
        """The names of the assertions that hold in one of the runs only."""
        return tuple(each.name for each in self.assertions)


def flips_of(
    cases: Iterable[tuple[str, Sequence[float], Sequence[float]]], *, confidence: float
) -> tuple[Flip, ...]:
    """The cases that flipped: the broken, the fixed, then those that moved, and of each first those that noise explains least.

    Of those that noise explains alike, the ones that pass less often now come first.

    Args:
        cases: the name of each, and for every attempt of the baseline and of the candidate 1 if it passed, else 0.
        confidence: a case that was repeated is broken or fixed if noise explains it at most as far as 1 minus this.
    """
    found = [flip for case in cases if (flip := _flip(*case, confidence))]
    once = [flip for flip in found if flip.basis == "other flips"]
    broken = sum(flip.way == "broken" for flip in once)
    fixed = len(once) - broken
    shares = {
        "broken": _share(broken, fixed),
        "fixed": _share(fixed, broken),
    }  # what was attempted once never moved
    known = [
        msgspec.structs.replace(flip, noise=shares[flip.way]) if flip.basis == "other flips" else flip
        for flip in found
    ]
    return tuple(sorted(known, key=lambda flip: (flip.way, flip.noise, not flip.is_for_the_worse)))


def gave(record: Record) -> str:
    """What an attempt gave: its output as Python would write it, or why its task failed."""
    if not isinstance(record, ReportCase):
        return record.error_message[:_LONGEST]
    output = record.output
    text = safe_repr(output[:_LONGEST] if isinstance(output, str) else output)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def told(flip: Flip, baseline: Record, candidate: Record, traces: "FlippedTraces") -> Flip:
    """A flip with what its two attempts gave, why evaluators changed their mind, and where the traces part."""
    return msgspec.structs.replace(
        flip,
        assertions=tuple(flipped_assertion(each.name, baseline, candidate) for each in flip.assertions),
        baseline_gave=gave(baseline),
        candidate_gave=gave(candidate),
        **traces.compare(baseline, candidate),
    )


def untold(flip: Flip) -> Flip:
    """A flip without reasons, where the attempts were read without them."""
    bare = (
        FlippedAssertion(name=each.name, baseline=each.baseline, candidate=each.candidate)
        for each in flip.assertions
    )
    return msgspec.structs.replace(flip, assertions=tuple(bare))


def flipped_assertion(name: str, baseline: Record, candidate: Record) -> FlippedAssertion:
    """What the evaluators of a name said of the two attempts."""
    (held, reason), (held_too, reason_too) = _said(name, baseline), _said(name, candidate)
    return FlippedAssertion(
        name=name,
        baseline=held,
        candidate=held_too,
        baseline_reason=reason,
        candidate_reason=reason_too,
    )


class FlippedTraces:
    """Compares the traces of flipped cases, one flip after the other, as long as that does not take too long."""

    def __init__(self) -> None:
        self._budget = TraceBudget(each=_EACH_COSTS)

    def compare(self, baseline: Record, candidate: Record) -> dict[str, Any]:
        """The fields of a flip that tell of the traces of its attempts."""
        one, two = baseline.trace, candidate.trace
        gap: TraceGap | None = None
        if one is None or two is None:
            gap = "no traces" if one is two else "no baseline trace" if one is None else "no candidate trace"
            return {"trace_gap": gap}
        found = compare_traces(one, two, budget=self._budget)
        return {"trace_gap": "too long"} if found.cut else {"trace": found.shortened()}


def _said(name: str, record: Record) -> tuple[bool | None, str | None]:
    """Whether the assertion of a name holds for an attempt, and why."""
    if not isinstance(record, ReportCase):
        return None, None
    for result in record.results:
        if result.name == name and isinstance(result.value, bool):
            return result.value, None if result.reason is None else shorten(result.reason, _LONGEST)
    for failure in record.evaluator_failures:
        if failure.name == name:
            return None, shorten(failure.error_message, _LONGEST)
    skipped = next((skip.reason for skip in record.skipped if skip.name == name), None)
    return None, None if skipped is None else shorten(skipped, _LONGEST)


def _flip(name: str, before: Sequence[float], after: Sequence[float], confidence: float) -> Flip | None:
    if not before or not after:
        return None
    passed, passed_too = round(sum(before)), round(sum(after))
    n, m = len(before), len(after)
    passes_now, passed_then = 2 * passed_too > m, 2 * passed > n
    if passes_now == passed_then:
        return None
    repeated = n + m > 2
    noise = fisher_exact(passed_too, m - passed_too, passed, n - passed)
    way: Literal["fixed", "broken"] = "fixed" if passes_now else "broken"
    return Flip(
        case=name,
        way="moved" if repeated and noise > 1 - confidence else way,
        baseline_passed=passed,
        baseline_attempts=n,
        candidate_passed=passed_too,
        candidate_attempts=m,
        noise=noise,
        basis="attempts" if repeated else "other flips",
    )


def _share(these: int, others: int) -> float:
    """The share of noise among flips of one direction, at most."""
    return min(1.0, (others + 1) / these) if these else 1.0
