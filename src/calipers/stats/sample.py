"""A sample of numbers, checked, and what describes it: case means, moments, quantiles.

Booleans count as 0 and 1. NaN and infinity are refused with their position, because one of them silently
turns a mean, a sort or an interval into nonsense.

Cases come in two shapes: scores as the list of each case's attempts (`[[0.5, 1.0], [0.0]]`), passes as counts
(`[(2, 3), (0, 1)]`: two of three, none of one). One must never be read as the other: `[1, 1]`, two attempts that passed,
would become one pass of one. So counts are tuples, and a list in their place is refused.
"""

from collections.abc import Hashable, Iterable, Sequence
from math import ceil, exp, floor, fsum, isfinite, isinf, log
from numbers import Integral, Real
from typing import Self

import msgspec

from calipers.stats.distributions import beta_cdf

_PLAIN = (list, tuple)
_PER_FACTOR = 1 / log(1.01)
_SMALLEST = 1e-9


def finite_values(values: Iterable[float], *, name: str = "values") -> list[float]:
    """`values` as a list of floats; a NaN or an infinity among them is a `ValueError`."""
    sample: list[float] = []
    for value in values:
        try:
            sample.append(float(value))
        except (TypeError, ValueError):
            raise TypeError(
                f"{name} must be numbers, got {value!r} at index {len(sample)}; leave out what was not measured"
            ) from None
    if not all(map(isfinite, sample)):
        index, value = next((i, x) for i, x in enumerate(sample) if not isfinite(x))
        raise ValueError(
            f"{name} must be finite numbers, got {value!r} at index {index}; leave out what was not measured"
        )
    return sample


def check_confidence(confidence: float) -> None:
    """Refuse a confidence outside (0, 1): 95 percent is written 0.95."""
    if not isinstance(confidence, Real) or not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1 (0.95 for 95%), got {confidence!r}")


def check_clusters(clusters: Sequence[Hashable] | None, n: int) -> None:
    """Refuse cluster ids that are not one for each of `n` cases."""
    if clusters is not None and len(clusters) != n:
        raise ValueError(f"every case needs its cluster id: got {n} cases and {len(clusters)} cluster ids")


def check_bounds(low: float, high: float) -> None:
    """Refuse bounds that nothing lies between, or that are too far apart for a float."""
    if not (low < high and isfinite(high - low)):
        raise ValueError(
            f"low must be less than high, both finite and so their distance, got {low!r} and {high!r}"
        )


def check_resamples(resamples: int) -> None:
    """Refuse so few redraws that they have no tail."""
    if resamples < 100:
        raise ValueError(f"resamples must be at least 100 for a tail to be read off, got {resamples!r}")


def check_power(power: float, confidence: float, sides: int = 2) -> None:
    """Refuse a power that chance alone has, or that no number of cases gives."""
    chance = (1 - confidence) / sides
    if not chance < power < 1:
        raise ValueError(
            f"power must lie between the chance of a false alarm ({chance:.3g}) and 1, got {power!r}"
        )


def case_means(cases: Sequence[Sequence[float]], *, name: str = "cases") -> list[float]:
    """The mean of each case's attempts: the case is the unit of inference, and its attempts are averaged first."""
    means = []
    for index, scores in enumerate(cases):
        if type(scores) in _PLAIN and len(scores) == 1 and type(scores[0]) is float and isfinite(scores[0]):
            means.append(scores[0])  # most cases are attempted once, and there may be many
            continue
        check_attempts(scores, index, name=name)
        known = finite_values(scores, name=f"{name}: scores of case {index}")
        if not known:
            raise ValueError(f"{name}: case {index} has no scores; leave out a case that was not scored")
        means.append(fsum(known) / len(known))
    return means


def check_attempts(scores: object, index: int, *, name: str = "cases") -> None:
    """Refuse a case that is not the list of its attempts' scores."""
    if isinstance(scores, str | bytes) or not hasattr(scores, "__len__"):
        raise TypeError(
            f"{name}: case {index} must be the list of its attempts' scores, got {scores!r}; "
            f"write [[0.5], [1.0]] for cases attempted once"
        )


def check_case_counts(cases: Iterable[object]) -> None:
    """Refuse cases that are not given as (passes, attempts)."""
    for index, case in enumerate(cases):
        if not isinstance(case, tuple) or len(case) != 2:
            raise TypeError(
                f"case {index} must be the tuple (passes, attempts), got {case!r}; write (1, 1) or (0, 1) for a case "
                f"attempted once, and (sum(attempts), len(attempts)) for a list of attempts that are 1 or 0"
            )
        passes, attempts = case
        if isinstance(attempts, bool) or not (isinstance(attempts, Integral) and isinstance(passes, Real)):
            raise TypeError(
                f"case {index} must be (passes, attempts), a number and a whole number, got {case!r}; "
                f"two attempts of which one passed are (1, 2)"
            )


class Moments(msgspec.Struct):
    """Count, mean and variance of a stream of numbers, in constant memory; `Moments()` is empty.

    It takes one value at a time (Welford 1962), and two of them merge into what one stream would have given (Chan, Golub &
    LeVeque 1979), so shards of a run are summarised apart and added up later.
    """

    n: int = 0
    """How many values were added."""
    mean: float | None = None
    """Their mean; `None` when there are none."""
    m2: float = 0.0
    """Sum of squared deviations from the mean."""

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """The summary of `values`."""
        moments = cls()
        for value in values:
            moments.add(value)
        return moments

    @property
    def variance(self) -> float | None:
        """Sample variance, divisor n - 1; `None` for fewer than two values."""
        return self.m2 / (self.n - 1) if self.n > 1 else None

    def add(self, value: float) -> None:
        """Take in one more value."""
        if not isfinite(value):
            raise ValueError(
                f"a value must be a finite number, got {value!r}; leave out what was not measured"
            )
        self.n += 1
        if self.mean is None:
            self.mean = float(value)
            return
        delta = value - self.mean
        self.mean += delta / self.n
        self.m2 += delta * (value - self.mean)

    def merge(self, other: "Moments") -> None:
        """Take in everything that `other` has seen; `other` stays as it is."""
        if other.mean is None:
            return
        if self.mean is None:
            self.n, self.mean, self.m2 = other.n, other.mean, other.m2
            return
        n = self.n + other.n
        delta = other.mean - self.mean
        self.mean += delta * (other.n / n)
        self.m2 += other.m2 + delta * delta * (self.n * other.n / n)
        self.n = n


def quantiles(
    values: Iterable[float], levels: Sequence[float], *, presorted: bool = False
) -> list[float] | None:
    """The quantiles of `values` at each of `levels` (0.5 is the median), after one sort; `None` for an empty sample.

    They are interpolated linearly between order statistics: definition 7 of Hyndman & Fan, "Sample Quantiles in Statistical
    Packages" (1996), the default of numpy, R and Excel. `presorted` promises ascending order and saves the sort.
    """
    for level in levels:
        if not 0 <= level <= 1:
            raise ValueError(f"a quantile level must lie between 0 and 1 (0.95 for p95), got {level!r}")
    ordered = finite_values(values)
    if not ordered:
        return None
    if not presorted:
        ordered.sort()
    return [_quantile_at(ordered, level) for level in levels]


def quantile(values: Iterable[float], level: float, *, presorted: bool = False) -> float | None:
    """The quantile of `values` at one level."""
    found = quantiles(values, [level], presorted=presorted)
    return None if found is None else found[0]


def quantile_ends(n: int, level: float, *, confidence: float = 0.95) -> tuple[float | None, float | None]:
    """The levels at which a sample of n values has the ends of the interval of its quantile; `None` for an end that it lacks.

    Whatever the values are, the share of the population below the k-th smallest of n is Beta(k, n - k + 1). In a small sample no
    value lies above a high quantile, so its interval has no upper end: p90 takes 36 values at a confidence of 95 %, p99 takes 368.

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


def _quantile_at(ordered: list[float], level: float) -> float:
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


class QuantileSketch:
    """Counts values as they come; knows how many, their mean, the largest, and any quantile: of few values exactly, else within half a percent.

    Values are counted in buckets whose bounds grow by a fixed factor, so memory is constant and a quantile is known within a
    fixed share of its value (Masson, Rim & Lee, "DDSketch", 2019). Neighbouring bounds differ by 1 %, and a bucket answers with
    its middle. Values at or below a nanosecond share one bucket, for the values are durations.
    """

    def __init__(self, *, exactly: int = 0) -> None:
        """A sketch of no values.

        Args:
            exactly: up to so many values, all are kept and nothing is approximate.
        """
        self.count = 0
        self.total = 0.0
        self.largest = 0.0
        self._buckets: dict[int, int] = {}
        self._exactly = exactly
        self._values: list[float] = []

    def add(self, value: float) -> None:
        """Count a value that is not negative."""
        if not (isfinite(value) and value >= 0):
            raise ValueError(f"a sketch counts finite values from 0, got {value!r}")
        self.count += 1
        self.total += value
        self.largest = max(self.largest, value)
        if self.count <= self._exactly:
            self._values.append(value)
        bucket = floor(log(max(value, _SMALLEST)) * _PER_FACTOR)
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1

    @property
    def mean(self) -> float | None:
        """The mean of the values; `None` if there are none."""
        total = fsum(self._values) if self._keeps_all else self.total
        return total / self.count if self.count else None

    @property
    def _keeps_all(self) -> bool:
        return self.count <= self._exactly

    def quantile(self, level: float) -> float | None:
        """The value below which a share `level` of the values lies; `None` if there are none."""
        if not 0 <= level <= 1:
            raise ValueError(f"a quantile level must lie between 0 and 1 (0.95 for p95), got {level!r}")
        if not self.count:
            return None
        if self._keeps_all:
            self._values.sort()
            return _quantile_at(self._values, level)
        rank = level * (self.count - 1)
        seen = 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen > rank:
                return min(self.largest, exp((bucket + 0.5) / _PER_FACTOR))
        return self.largest
