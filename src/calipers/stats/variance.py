"""Where the spread comes from: cases that differ, or attempts at one case that differ.

By the law of total variance, a single attempt at a random case varies by

    between (the variance of the cases' true means) + within (the mean over cases of the variance of their attempts)

and the mean over n cases with K attempts each by (between + within / K) / n (Miller, "Adding Error Bars to Evals", 2024). Repeats shrink only the second part: where `between` dominates, more repeats are wasted and more cases help.

The estimates are those of the analysis of variance (Searle, Casella & McCulloch, *Variance Components*, 1992), with every
case counting once, as everywhere here, so that noise may differ from case to case:

    within  = the mean of the cases' sample variances, over cases attempted at least twice
    between = the sample variance of the case means - the mean of (variance of attempts / attempts)

Both are unbiased where the number of attempts has nothing to do with the case; with equal attempts they are exactly
ANOVA's. The second can come out below 0, which no variance is: it is then 0, and `between` is slightly too large on average.

`paired_components` splits the spread of the *difference* between two runs over the same cases, which is what planning a
comparison needs.
"""

from collections.abc import Sequence
from math import fsum, isfinite, sqrt

import msgspec

from calipers.stats.difference import paired_means, without_rounding
from calipers.stats.sample import Moments, case_means


class VarianceComponents(msgspec.Struct, frozen=True):
    """The spread of one attempt at a random case, in two parts."""

    between: float
    """Variance of the true means of cases; for a paired difference, of the cases' true differences."""
    within: float
    """Variance of attempts at one case, on average; for a difference, the sum over the two sides."""

    def __post_init__(self) -> None:
        for name, value in (("between", self.between), ("within", self.within)):
            if not (value >= 0 and isfinite(value)):
                raise ValueError(f"{name} must be a finite variance, not negative, got {value!r}")

    @property
    def within_share(self) -> float | None:
        """The share of the spread that repeats could average away; `None` where there is no spread."""
        total = self.between + self.within
        return self.within / total if total > 0 else None

    def of_mean(self, n: int, *, repeats: int = 1) -> float:
        """The variance of the mean over `n` cases with so many attempts each."""
        if n < 1 or repeats < 1:
            raise ValueError(f"n and repeats must be at least 1, got {n!r} and {repeats!r}")
        return (self.between + self.within / repeats) / n

    def noise(self, n: int, *, repeats: int = 1) -> float:
        """The standard deviation of the difference between two identical runs over the same `n` cases.

        For the components of one run: what is left when the cases are the same is the noise of the attempts on both
        sides. Twice this much shows now and then though nothing changed.
        """
        if n < 1 or repeats < 1:
            raise ValueError(f"n and repeats must be at least 1, got {n!r} and {repeats!r}")
        return sqrt(2 * self.within / (repeats * n))


def variance_components(cases: Sequence[Sequence[float]]) -> VarianceComponents | None:
    """The spread of scores of one run, from cases given as the scores of their attempts.

    `None` for fewer than two cases, or where no case was attempted twice: nothing then tells the two parts apart.
    """
    means = case_means(cases)
    spreads = _spreads(cases)
    within = _average(spreads)
    spread = Moments.of(means).variance
    if spread is None or within is None:
        return None
    return VarianceComponents(max(0.0, spread - _noise(cases, spreads, within)), within)


def paired_components(
    first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]
) -> VarianceComponents | None:
    """The spread of the difference between two runs over the same cases, each given as the scores of its attempts.

    `None` for fewer than two cases, or where either run attempted no case twice.
    """
    one, two = paired_means(first, second)
    spread = Moments.of(without_rounding(one, two)[0]).variance if one else None
    sides = [
        (cases, spreads, _average(spreads)) for cases in (first, second) for spreads in [_spreads(cases)]
    ]
    if spread is None:
        return None
    noise = total = 0.0
    for cases, spreads, within in sides:
        if within is None:
            return None
        noise += _noise(cases, spreads, within)
        total += within
    return VarianceComponents(max(0.0, spread - noise), total)


def _spreads(cases: Sequence[Sequence[float]]) -> list[float | None]:
    return [Moments.of(scores).variance for scores in cases]


def _average(spreads: Sequence[float | None]) -> float | None:
    known = [spread for spread in spreads if spread is not None]
    return fsum(known) / len(known) if known else None


def _noise(cases: Sequence[Sequence[float]], spreads: Sequence[float | None], within: float) -> float:
    """What the attempts add to the variance of the case means; a case attempted once is taken to be like the others."""
    parts = [
        (within if spread is None else spread) / len(scores)
        for scores, spread in zip(cases, spreads, strict=True)
    ]
    return fsum(parts) / len(parts)
