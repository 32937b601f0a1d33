"""Before a run: how many cases and repeats would show a difference, and how small a difference a plan can show.

A comparison of n cases with K attempts each, tested at the level 1 - confidence, finds a true difference `effect` with the
chance `power` when

    n = (t_{1 - level/2} + t_{power})² (between + within / K) / effect²

(Miller, "Adding Error Bars to Evals", 2024, with Student's t in place of the normal, so that plans of a dozen
cases hold too). `between` and `within` are the parts of the variance of a case's *difference*. They come from

- a pilot of both ways over the same cases: `paired_components(first, second)` where cases were repeated, otherwise
  `spread_of_pilot(first, second)`, which plans for as many attempts as the pilot had;
- a pilot of one run, and a guess how alike the two ways will be: `spread_of_difference(variance_components(run), ...)`;
- rates alone: `spread_of_paired_rates` from the shares of cases that only one of them passes (Connor, "Sample Size for
  Testing Differences in Proportions for the Paired-Sample Design", 1987), `spread_of_rates` for different cases.

For an unpaired comparison, n is the number of cases on *each* side. `sides=1` plans a one-sided test, such as
non-inferiority: then `effect` is the distance between the difference expected and the margin.

A pilot's variance is itself a guess: from ten cases it is easily off by half. Power computed from the very difference that
a finished run showed says nothing that its p-value did not. A pilot without any spread plans nothing: an error, not a plan
of two cases.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, sqrt

from calipers.stats.bounded import Shape, cases_to_clear, expected_low, least_number
from calipers.stats.difference import paired_means, without_rounding
from calipers.stats.distributions import (
    beta_cdf,
    binomial,
    normal_quantile,
    student_t_cdf,
    student_t_quantile,
)
from calipers.stats.sample import Moments, check_confidence, check_power
from calipers.stats.variance import VarianceComponents

_FAR = 7
"""Standard deviations, and cases, beyond which no number of flips need be reckoned with."""
_MANY_FLIPS = 500
"""From so many cases that flip on, the t test and McNemar's have the same power to a tenth of a point."""
_MOST_REPEATS = 10_000


def cases_needed(
    effect: float,
    spread: VarianceComponents,
    *,
    repeats: int = 1,
    power: float = 0.8,
    confidence: float = 0.95,
    sides: int = 2,
) -> int:
    """The cases that show a true difference of `effect` with the chance `power`; at least 2.

    Args:
        effect: the difference worth finding, not 0; its sign does not matter.
        spread: of a case's difference.
        repeats: attempts at each case, on each side.
        power: the chance to find it.
        confidence: of the interval or test that will judge it.
        sides: 2 for a difference either way, 1 for one that matters in one direction only.
    """
    _check(effect, spread, repeats, confidence, sides)
    check_power(power, confidence, sides)
    variance = spread.of_mean(1, repeats=repeats)
    # The normal approximation is never too large, so from there the plan is found within a few cases.
    reach = normal_quantile(power) - normal_quantile((1 - confidence) / sides)
    root = reach * sqrt(variance) / abs(effect)
    if root > 1e6:
        raise ValueError(f"effect={effect!r} is too small to plan for beside a variance of {variance!r}")
    n = max(2, ceil(root * root))
    while _detectable(n, variance, power, confidence, sides) > abs(effect):
        n += 1
    return n


def repeats_needed(
    effect: float,
    n: int,
    spread: VarianceComponents,
    *,
    power: float = 0.8,
    confidence: float = 0.95,
    sides: int = 2,
) -> int | None:
    """The attempts at each of `n` cases, on each side, that show `effect`; `None` where no number of repeats does.

    Repeats average away the noise within cases only: what the cases themselves differ by takes more cases.
    """
    _check(effect, spread, 1, confidence, sides)
    check_power(power, confidence, sides)
    _check_n(n)
    allowed = n * (effect / _reach(n, power, confidence, sides)) ** 2
    left = allowed - spread.between
    if spread.within == 0:
        return 1 if left >= 0 else None  # repeats change nothing
    if left <= 0 or not isfinite(spread.within / left):
        return None
    # Rounding must not cost an attempt where the division is even.
    return max(1, ceil(spread.within / left * (1 - 1e-12)))


def smallest_effect(
    n: int,
    spread: VarianceComponents,
    *,
    repeats: int = 1,
    power: float = 0.8,
    confidence: float = 0.95,
    sides: int = 2,
) -> float:
    """The smallest true difference that `n` cases show with the chance `power`: the minimum detectable effect."""
    _check(1.0, spread, repeats, confidence, sides)
    check_power(power, confidence, sides)
    _check_n(n)
    return _detectable(n, spread.of_mean(1, repeats=repeats), power, confidence, sides)


def power_of(
    effect: float,
    n: int,
    spread: VarianceComponents,
    *,
    repeats: int = 1,
    confidence: float = 0.95,
    sides: int = 2,
) -> float:
    """The chance that `n` cases show a true difference of `effect`, in its own direction."""
    _check(effect, spread, repeats, confidence, sides)
    _check_n(n)
    deviation = sqrt(spread.of_mean(n, repeats=repeats))
    critical = -student_t_quantile((1 - confidence) / sides, n - 1)
    return student_t_cdf(abs(effect) / deviation - critical, n - 1)


def power_of_paired_rates(
    n: int, first_only: float, second_only: float, *, confidence: float = 0.95
) -> float:
    """The chance that McNemar's mid-p test on `n` cases tells the two rates apart, in the true direction.

    Exact: over how many cases flip, and how many of these which way.

    Args:
        n: cases, each attempted once by both.
        first_only: the share of cases that only the first passes.
        second_only: the share that only the second passes.
        confidence: 1 minus the level of the test.
    """
    spread_of_paired_rates(first_only, second_only)
    check_confidence(confidence)
    flips, less = first_only + second_only, min(first_only, second_only)
    reach = _FAR * sqrt(n * flips * (1 - flips)) + _FAR
    first, last = max(1, floor(n * flips - reach)), min(n, ceil(n * flips + reach))
    # The most cases that may flip the other way: with more flips, never fewer of them.
    few = bisect_right(range((first + 1) // 2), 1 - confidence, key=lambda k: _mid_p(k, first)) - 1
    total = 0.0
    for flipped in range(first, last + 1):
        while 2 * (few + 1) < flipped and _mid_p(few + 1, flipped) <= 1 - confidence:
            few += 1
        if few >= 0:
            total += binomial(flipped, n, flips) * _at_most(few, flipped, less / flips)
    return min(1.0, total)


def _mid_p(fewer: int, flipped: int) -> float:
    return 2 * _at_most(fewer, flipped, 0.5) - binomial(fewer, flipped, 0.5)


def _at_most(k: int, n: int, p: float) -> float:
    """The chance of at most k of n, with k below n."""
    return beta_cdf(1 - p, n - k, k + 1)


def spread_of_difference(
    pilot: VarianceComponents, *, paired: bool = True, correlation: float = 0.5
) -> VarianceComponents:
    """The spread of a difference, from one run: the other is taken to spread alike.

    Args:
        pilot: the components of one run (`variance_components`).
        paired: whether both will meet the same cases.
        correlation: between the cases' true means of the two, where paired; from 0.3 to 0.7 between language models
            (Miller 2024), and higher between two versions of one agent.
    """
    if not -1 <= correlation <= 1:
        raise ValueError(f"correlation must lie between -1 and 1, got {correlation!r}")
    shared = correlation if paired else 0.0
    return VarianceComponents(2 * (1 - shared) * pilot.between, 2 * pilot.within)


def spread_of_pilot(
    first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]
) -> VarianceComponents | None:
    """The spread of the paired difference in a pilot as it is, noise included, for a run with as many attempts at each case.

    Plan with `repeats=1`, whatever the attempts of the pilot. `None` for fewer than two cases, or where all differ alike.
    """
    one, two = paired_means(first, second)
    if not one:
        return None
    differences, equal = without_rounding(one, two)
    spread = Moments.of(differences).variance
    return None if equal or spread is None else VarianceComponents(spread, 0.0)


def spread_of_rates(first: float, second: float) -> VarianceComponents:
    """The spread of the difference between two rates on different cases, each case attempted once."""
    for rate in (first, second):
        if not 0 <= rate <= 1:
            raise ValueError(f"a rate must lie between 0 and 1, got {rate!r}")
    return VarianceComponents(first * (1 - first) + second * (1 - second), 0.0)


def spread_of_paired_rates(first_only: float, second_only: float) -> VarianceComponents:
    """The spread of the difference between two rates on the same cases, each attempted once.

    Args:
        first_only: the share of cases that only the first passes.
        second_only: the share that only the second passes; the effect is the difference between the two shares.
    """
    if not (first_only >= 0 and second_only >= 0 and first_only + second_only <= 1):
        raise ValueError(
            f"both must be shares of the cases, at most 1 together, got {first_only!r} and {second_only!r}"
        )
    return VarianceComponents(first_only + second_only - (first_only - second_only) ** 2, 0.0)


def _detectable(n: int, variance: float, power: float, confidence: float, sides: int) -> float:
    return _reach(n, power, confidence, sides) * sqrt(variance / n)


def _reach(n: int, power: float, confidence: float, sides: int) -> float:
    """How many standard errors a difference must have."""
    return student_t_quantile(power, n - 1) - student_t_quantile((1 - confidence) / sides, n - 1)


def _check(effect: float, spread: VarianceComponents, repeats: int, confidence: float, sides: int) -> None:
    check_confidence(confidence)
    if not (effect != 0 and isfinite(effect)):
        raise ValueError(
            f"effect must be finite and not 0, got {effect!r}: no run shows that nothing differs"
        )
    if not isinstance(spread, VarianceComponents):
        raise TypeError(
            f"spread must be VarianceComponents, got {spread!r}; variance_components(), spread_of_pilot() and "
            f"spread_of_paired_rates() give them, and VarianceComponents(v, 0.0) stands for a known variance v"
        )
    if spread.between + spread.within == 0:
        raise ValueError(
            f"a spread of 0 plans nothing, got {spread!r}; guess one, for instance with spread_of_paired_rates()"
        )
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats!r}")
    if sides not in {1, 2}:
        raise ValueError(f"sides must be 1 or 2, got {sides!r}")


def _check_n(n: int) -> None:
    if n < 2:
        raise ValueError(f"n must be at least 2 cases for a spread to show, got {n!r}")


@dataclass(frozen=True, kw_only=True)
class ComparisonDesign:
    """A comparison by Student's t that finds a true difference.

    A design says how many independent units, which are cases or clusters of them, show an effect or pass a margin; how small an
    effect or margin a number of units allows; and how many attempts at each would make up for too few.
    """

    spread: VarianceComponents
    """Of the difference of one unit."""
    power: float
    confidence: float

    def units(self, effect: float, repeats: int) -> int:
        """Units that show the effect."""
        return cases_needed(
            effect, self.spread, repeats=repeats, power=self.power, confidence=self.confidence
        )

    def reach(self, n: int, repeats: int) -> float:
        """The smallest effect that `n` units show."""
        return smallest_effect(n, self.spread, repeats=repeats, power=self.power, confidence=self.confidence)

    def repeats(self, effect: float, n: int) -> int | None:
        """Attempts at each unit that show the effect; `None` if no number does."""
        return repeats_needed(effect, n, self.spread, power=self.power, confidence=self.confidence)


@dataclass(frozen=True, kw_only=True)
class RateDesign(ComparisonDesign):
    """A comparison of what passes or not, once each, which McNemar's mid-p test will judge.

    Where many cases flip, Student's t says how many it takes. Few come in steps, so there the power is counted out.
    """

    def units(self, effect: float, repeats: int) -> int:
        """Units that show the effect."""
        n = super().units(effect, repeats)
        flips = min(1.0, self.spread.of_mean(1) + effect * effect)
        first, second = (flips + abs(effect)) / 2, max(0.0, flips - abs(effect)) / 2
        while (
            n * flips < _MANY_FLIPS
            and power_of_paired_rates(n, first, second, confidence=self.confidence) < self.power
        ):
            n += 1
        return n


@dataclass(frozen=True, kw_only=True)
class GateDesign(ComparisonDesign):
    """A gate that is passed where nothing differs, by differences between -1 and 1.

    Of all differences with one variance, those that are -1, 0 or 1 leave its interval widest.
    """

    is_clustered: bool = False
    """Whether the units are clusters: then the gate's interval is joined with that of Student's t."""

    def units(self, effect: float, repeats: int) -> int:
        """Units that pass the margin."""
        if not 0 < effect < 1:
            raise ValueError(f"margin must lie between 0 and 1, got {effect!r}")
        found = cases_to_clear(
            self._shape(repeats), (1 - effect) / 2, power=self.power, confidence=self.confidence
        )
        if found is None:
            raise ValueError(f"margin={effect!r} is too small to plan for beside a spread of {self.spread!r}")
        return max(found, super().units(effect, repeats)) if self.is_clustered else found

    def reach(self, n: int, repeats: int) -> float:
        """The smallest margin that `n` units pass."""
        shape = self._shape(repeats)
        found = 1 - 2 * expected_low(shape, n, power=self.power, confidence=self.confidence)
        return max(found, super().reach(n, repeats)) if self.is_clustered else found

    def repeats(self, effect: float, n: int) -> int | None:
        """Attempts at each unit that pass the margin; `None` if no number does."""
        return least_number(lambda repeats: self.reach(n, repeats) <= effect, first=1, most=_MOST_REPEATS)

    def _shape(self, repeats: int) -> Shape:
        share = min(1.0, self.spread.of_mean(1, repeats=repeats))
        return [(0.0, share / 2), (0.5, 1 - share), (1.0, share / 2)]
