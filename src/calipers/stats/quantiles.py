"""Quantiles of a sample, interpolated linearly between order statistics.

Definition 7 of Hyndman & Fan, "Sample Quantiles in Statistical Packages" (1996), the default of numpy, R and
Excel: the q-quantile of x_0 <= ... <= x_{n-1} is the value at position q(n - 1), read on the line through its
neighbours. An empty sample has no quantiles: `None`.

Where the true quantile lies is told by order statistics, whatever the values are: the share of the population below the k-th smallest
of n values is Beta(k, n - k + 1). Few values have none that lies above a high quantile, so its interval has no upper end: that of p90
takes 36 values at a confidence of 95 %, that of p99 takes 368.
"""

from collections.abc import Iterable, Sequence
from math import ceil, floor, isinf, log

from calipers.stats.distributions import beta_cdf
from calipers.stats.interval import check_confidence
from calipers.stats.sample import finite_values

__all__ = ["quantile", "quantile_ends", "quantiles", "values_for_quantile"]


def quantiles(
    values: Iterable[float], levels: Sequence[float], *, presorted: bool = False
) -> list[float] | None:
    """The quantiles of `values` at each of `levels` (0.5 is the median), after one sort.

    `presorted` promises ascending order and saves the sort.
    """
    for level in levels:
        if not 0 <= level <= 1:
            raise ValueError(f"a quantile level must lie between 0 and 1 (0.95 for p95), got {level!r}")
    ordered = finite_values(values)
    if not ordered:
        return None
    if not presorted:
        ordered.sort()
    return [_at(ordered, level) for level in levels]


def quantile(values: Iterable[float], level: float, *, presorted: bool = False) -> float | None:
    """The quantile of `values` at one level."""
    found = quantiles(values, [level], presorted=presorted)
    return None if found is None else found[0]


def quantile_ends(n: int, level: float, *, confidence: float = 0.95) -> tuple[float | None, float | None]:
    """The levels at which a sample of n values has the ends of the interval of its quantile; `None` for an end that it lacks.

    Args:
        n: independent values.
        level: of the quantile, between 0 and 1.
        confidence: of the interval, each end of which errs by at most half of the rest.
    """
    check_confidence(confidence)
    tail = (1 - confidence) / 2
    if n < 2 or not 0 < level < 1:
        return None, None

    def below(rank: int) -> float:
        """The chance that the value of this rank, from 1, is below the true quantile."""
        return beta_cdf(level, rank, n - rank + 1)

    few, many = 0, n + 1
    while many - few > 1:  # the last rank that is hardly ever above
        middle = (few + many) // 2
        few, many = (middle, many) if 1 - below(middle) <= tail else (few, middle)
    low = few
    few, many = 0, n + 1
    while many - few > 1:  # the first that is hardly ever below
        middle = (few + many) // 2
        few, many = (few, middle) if below(middle) <= tail else (middle, many)
    high = many
    return (low - 1) / (n - 1) if low else None, (high - 1) / (n - 1) if high <= n else None


def values_for_quantile(level: float, *, confidence: float = 0.95) -> int:
    """The values that it takes until the interval of a high quantile has an upper end."""
    check_confidence(confidence)
    return ceil(log((1 - confidence) / 2) / log(level))


def _at(ordered: list[float], level: float) -> float:
    position = level * (len(ordered) - 1)
    index = floor(position)
    below, weight = ordered[index], position - index
    if weight == 0:
        return below
    above = ordered[index + 1]
    step = above - below
    if isinf(step):  # neighbours further apart than the largest float
        return below * (1 - weight) + above * weight
    # Starting from the nearer end keeps the result between the two and increasing in the level.
    return below + step * weight if weight < 0.5 else above - step * (1 - weight)
