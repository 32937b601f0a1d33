"""The difference between two rates measured on the same cases.

Each case was tried twice, once each way, so what counts is in which way the two disagree. The interval is Newcombe's
hybrid score interval for paired proportions (method 10 of Newcombe, *Statistics in Medicine* 17, 1998, 2635-2650): the
Wilson intervals of the two rates, put together with the correlation between them. Unlike a t interval it does not shrink
to a point where the two ways never disagreed, which a few cases cannot prove.
"""

from math import exp, lgamma, log, sqrt

import msgspec

from calipers.stats.distributions import beta_cdf
from calipers.stats.interval import Interval, check_confidence, check_counts, wilson

__all__ = ["PairedDifference", "newcombe_paired", "paired_difference"]


class PairedDifference(msgspec.Struct, frozen=True):
    """How much more often the first way passed than the second, on the same cases."""

    both: int
    """Cases that passed both ways."""
    first_only: int
    """Cases that passed the first way alone."""
    second_only: int
    """Cases that passed the second way alone."""
    neither: int
    """Cases that passed neither way."""
    interval: Interval
    """Where the true difference may lie."""

    @property
    def n(self) -> int:
        """Cases."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def value(self) -> float:
        """The first rate minus the second."""
        return (self.first_only - self.second_only) / self.n

    @property
    def p_value(self) -> float:
        """How likely so lopsided a disagreement is between two ways that are equally good: McNemar's mid-p test.

        Two-sided, over the cases on which the two disagree (McNemar 1947), by the binomial distribution, with half of the
        chance of what was seen: the exact test is so cautious with few disagreements that it misses up to 18 points of power,
        and the mid-p test stays within its level (Fagerland, Lydersen & Laake, "The McNemar Test for Binary Matched-Pairs Data:
        Mid-p and Asymptotic Are Better than Exact Conditional", 2013). 1 where they never disagree.
        """
        fewer, both = min(self.first_only, self.second_only), self.first_only + self.second_only
        if not both:
            return 1.0
        seen = exp(lgamma(both + 1) - lgamma(fewer + 1) - lgamma(both - fewer + 1) - both * log(2))
        return min(1.0, 2 * beta_cdf(0.5, both - fewer, fewer + 1) - seen)


def paired_difference(
    both: int, first_only: int, second_only: int, neither: int, *, confidence: float = 0.95
) -> PairedDifference | None:
    """The difference between two rates on the same cases, from the four counts; `None` without cases."""
    check_confidence(confidence)
    n = both + first_only + second_only + neither
    for count in (both, first_only, second_only, neither):
        check_counts(count, n)
    interval = newcombe_paired(both, first_only, second_only, neither, confidence=confidence)
    if interval is None:
        return None
    return PairedDifference(both, first_only, second_only, neither, interval)


def newcombe_paired(
    both: float, first_only: float, second_only: float, neither: float, *, confidence: float = 0.95
) -> Interval | None:
    """Newcombe's interval from the four counts, which may be fractional; `None` without cases."""
    n = both + first_only + second_only + neither
    first = wilson(both + first_only, n, confidence=confidence)
    second = wilson(both + second_only, n, confidence=confidence)
    if first is None or second is None:
        return None
    p, q = (both + first_only) / n, (both + second_only) / n
    phi = _correlation(both, first_only, second_only, neither)
    down, up = p - first.low, first.high - p
    other_down, other_up = q - second.low, second.high - q
    below = sqrt(max(0.0, down**2 - 2 * phi * down * other_up + other_up**2))
    above = sqrt(max(0.0, up**2 - 2 * phi * up * other_down + other_down**2))
    low, high = max(-1.0, p - q - below), min(1.0, p - q + above)
    return Interval(low, high, confidence, "newcombe")


def _correlation(both: float, first_only: float, second_only: float, neither: float) -> float:
    """The correlation of the two ways, corrected for continuity where it is positive."""
    margins = (both + first_only) * (second_only + neither) * (both + second_only) * (first_only + neither)
    if not margins:
        return 0.0
    excess = both * neither - first_only * second_only
    half = (both + first_only + second_only + neither) / 2
    return (max(0.0, excess - half) if excess > 0 else excess) / sqrt(margins)
