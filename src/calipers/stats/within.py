"""The difference on these very cases, of which nothing but the noise of their attempts is unknown.

`compare_paired` asks about all the cases that these are a sample of, so cases that differ from each other widen its interval. Where the
cases are given, as in a suite in which each is there for a reason, only attempts vary: the variance of the difference is that within each
case, and more attempts make it smaller. The answer holds for these cases and says nothing of others.

The interval is Student's t, with the degrees of freedom of a sum of variances (Satterthwaite, "An Approximate Distribution of Estimates
of Variance Components", 1946). Attempts that pass or not may all agree by luck: so on each side two more attempts are taken to have
come out the other way, as Agresti and Coull do for a rate ("Approximate Is Better than 'Exact'", 1998). Scores that never differ between
two attempts at a case tell of no noise, and have no interval.

The p-value of passes is exact where few cases vary: of all ways to deal the attempts at each case to the two sides, the share that is as
lopsided (a permutation test in strata). Else it is that of the t test.

A case with a single attempt on a side shows no noise. Then there is neither interval nor p-value.
"""

from collections.abc import Sequence
from math import comb, fsum, inf, lcm, log
from typing import NamedTuple

from calipers.stats.difference import Difference, Test, paired_means, t_around, two_sided
from calipers.stats.interval import Interval, check_confidence
from calipers.stats.moments import Moments

__all__ = ["compare_these", "growth_of_these"]

_UNSEEN = 2
"""Attempts on each side that are taken to have come out the other way."""
_DEALT = 28
"""Cases that vary, up to which all ways to deal their attempts are counted."""

Cases = Sequence[Sequence[float]]


def compare_these(first: Cases, second: Cases, *, confidence: float = 0.95) -> Difference | None:
    """The difference on these cases, each given as the scores of its attempts, in the same order; `None` without cases.

    Args:
        first: for every case, the scores of its attempts the first way, at least two for an interval.
        second: the same the second way; the number of attempts may differ.
        confidence: of the interval.
    """
    check_confidence(confidence)
    one, two = paired_means(first, second)
    n = len(one)
    if not n:
        return None
    passed = all(score in {0, 1} for side in (first, second) for case in side for score in case)
    value, p, q = fsum(one) / n - fsum(two) / n, fsum(one) / n, fsum(two) / n
    noise = _noise([(side, [1 / n] * n) for side in (first, second)])
    interval: Interval | None = None
    p_value: float | None = None
    test: Test | None = None
    if noise is not None:
        variance = noise.variance
        if passed:
            variance += fsum(_UNSEEN / sum(map(len, side)) ** 2 for side in (first, second))
        if variance > 0:
            df = noise.degrees(variance)
            interval = t_around(value, variance, df, confidence, "within-t")
            p_value, test = two_sided(value, variance, df), "within-t"
        elif value == 0:
            p_value, test = 1.0, "within-t"
        if passed and (dealt := _dealt(first, second)) is not None:
            p_value, test = dealt, "dealt"
    return Difference(value, interval, p_value, test, p, q, n, n)


def growth_of_these(
    first: Cases, second: Cases, *, by_case: bool, confidence: float = 0.95
) -> Difference | None:
    """How much larger the first is on these cases, on the scale of logarithms; `None` if a mean that it takes is not positive.

    Args:
        first: for every case, the values of its attempts.
        second: the same the second way.
        by_case: the mean of the logarithms of the cases' ratios; else the logarithm of the ratio of the totals.
        confidence: of the interval.
    """
    check_confidence(confidence)
    one, two = paired_means(first, second)
    n = len(one)
    if not n or min(fsum(one), fsum(two)) <= 0 or (by_case and min(*one, *two) <= 0):
        return None
    if by_case:
        p, q = (fsum(map(log, side)) / n for side in (one, two))
        weights = [[1 / (n * mean) for mean in side] for side in (one, two)]
    else:
        p, q = log(fsum(one) / n), log(fsum(two) / n)
        weights = [[1 / fsum(side)] * n for side in (one, two)]
    # To first order, a mean that is off by a share moves its logarithm by as much.
    noise = _noise(list(zip((first, second), weights, strict=True)))
    if noise is None or not 0 < noise.variance < inf:
        same = noise is not None and p == q
        return Difference(p - q, None, 1.0 if same else None, "within-t" if same else None, p, q, n, n)
    df = noise.degrees(noise.variance)
    interval = t_around(p - q, noise.variance, df, confidence, "within-t")
    return Difference(p - q, interval, two_sided(p - q, noise.variance, df), "within-t", p, q, n, n)


class _Noise(NamedTuple):
    """What the attempts at each case leave open."""

    variance: float
    """Of the difference."""
    spread: float
    """The sum of the squares of its parts, each over its degrees of freedom."""

    def degrees(self, variance: float) -> float:
        """The degrees of freedom of a variance that holds this one, by Satterthwaite."""
        return min(variance**2 / self.spread, 1e9) if self.spread > 0 else 1e9


def _noise(sides: Sequence[tuple[Cases, Sequence[float]]]) -> _Noise | None:
    """The variance of a weighted sum of the means of cases; `None` where a case has a single attempt."""
    parts: list[tuple[float, int]] = []
    for cases, weights in sides:
        for case, weight in zip(cases, weights, strict=True):
            variance = Moments.of(case).variance
            if variance is None:
                return None
            parts.append((weight**2 * variance / len(case), len(case) - 1))
    return _Noise(fsum(part for part, _ in parts), fsum(part**2 / df for part, df in parts))


def _dealt(first: Cases, second: Cases) -> float | None:
    """The share of ways to deal the attempts at each case to both sides that differ as much; `None` where too many cases vary."""
    vary = [
        (len(one), len(two), round(sum(one)), round(sum(one) + sum(two)))
        for one, two in zip(first, second, strict=True)
        if 0 < sum(one) + sum(two) < len(one) + len(two)
    ]
    if len(vary) > _DEALT:
        return None
    unit = lcm(*(size for case in vary for size in case[:2]))
    seen, ways = 0, {0: 1.0}
    for k, m, passed, passes in vary:
        seen += passed * (unit // k) - (passes - passed) * (unit // m)
        deals = {
            dealt * (unit // k) - (passes - dealt) * (unit // m): comb(k, dealt) * comb(m, passes - dealt)
            for dealt in range(max(0, passes - m), min(k, passes) + 1)
        }
        following = dict[int, float]()
        for place, chance in ways.items():
            for step, count in deals.items():
                following[place + step] = following.get(place + step, 0.0) + chance * count / comb(
                    k + m, passes
                )
        ways = following
    return min(1.0, fsum(chance for place, chance in ways.items() if abs(place) >= abs(seen)))
