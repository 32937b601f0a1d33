"""Quantiles of a sample, interpolated linearly between order statistics.

Definition 7 of Hyndman & Fan, "Sample Quantiles in Statistical Packages" (1996), the default of numpy, R and
Excel: the q-quantile of x_0 <= ... <= x_{n-1} is the value at position q(n - 1), read on the line through its
neighbours. An empty sample has no quantiles: `None`.
"""

from collections.abc import Iterable, Sequence
from math import floor, isinf

from calipers.stats.sample import finite_values

__all__ = ["quantile", "quantiles"]


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
