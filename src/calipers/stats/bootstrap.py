"""Bootstrap interval: for a statistic with no formula, or scores too skewed for the t interval.

The sample is redrawn with replacement many times and the spread of the statistic over the redraws is read
off, corrected for bias and skew: BCa, Efron, "Better Bootstrap Confidence Intervals" (1987). The same seed
gives the same interval; 0 is a seed.

Cost: the statistic runs once per resample and, for the skew correction, once per left-out value; the mean
takes a shortcut for the latter. Below some ten values no bootstrap covers well: prefer the t interval there.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from math import fsum, isfinite, sqrt

from calipers.stats.distributions import normal_cdf, normal_quantile
from calipers.stats.interval import Interval, check_confidence
from calipers.stats.quantiles import quantiles
from calipers.stats.sample import finite_values

__all__ = ["arithmetic_mean", "bootstrap_interval"]


def arithmetic_mean(values: Sequence[float]) -> float:
    """Sum over count, with the sum rounded once."""
    return fsum(values) / len(values)


def bootstrap_interval(
    values: Iterable[float],
    *,
    seed: int,
    statistic: Callable[[Sequence[float]], float] = arithmetic_mean,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> Interval | None:
    """The BCa interval of `statistic` over independent `values`.

    Equal values give an interval of width zero; fewer than two values give `None`.
    """
    sample = finite_values(values)
    check_confidence(confidence)
    if resamples < 100:
        raise ValueError(f"resamples must be at least 100 for a tail to be read off, got {resamples!r}")
    if len(sample) < 2:
        return None
    from random import Random

    random = Random(seed)  # noqa: S311 (a statistic must repeat from its seed; nothing here is secret)
    size = len(sample)
    observed = _finite(statistic(sample))
    redraws = sorted(_finite(statistic(random.choices(sample, k=size))) for _ in range(resamples))
    # A redraw equal to the observed value counts half on either side, which keeps discrete statistics unbiased;
    # the clamp keeps the quantile finite when every redraw falls on one side.
    below = (bisect_left(redraws, observed) + bisect_right(redraws, observed)) / (2 * resamples)
    bias = normal_quantile(min(max(below, 0.5 / resamples), 1 - 0.5 / resamples))
    skew = _acceleration(sample, statistic)
    tail = (1 - confidence) / 2
    levels = [_corrected(z, bias, skew) for z in (normal_quantile(tail), -normal_quantile(tail))]
    ends = quantiles(redraws, levels, presorted=True)
    assert ends is not None
    return Interval(low=ends[0], high=ends[1], confidence=confidence, method="bca")


def _finite(value: float) -> float:
    if not isfinite(value):
        raise ValueError(f"the statistic must return finite numbers on every resample, got {value!r}")
    return float(value)


def _acceleration(sample: list[float], statistic: Callable[[Sequence[float]], float]) -> float:
    """Efron's a: a sixth of the skewness of the jackknife."""
    size = len(sample)
    if statistic is arithmetic_mean:
        centre = fsum(sample) / size
        pulls = [(x - centre) / (size - 1) for x in sample]
    else:
        left_out = [_finite(statistic(sample[:i] + sample[i + 1 :])) for i in range(size)]
        centre = fsum(left_out) / size
        pulls = [centre - value for value in left_out]
    largest = max(map(abs, pulls))
    if largest == 0:
        return 0.0
    pulls = [pull / largest for pull in pulls]  # a ratio of powers: scaling keeps the powers in range
    squares = fsum(pull**2 for pull in pulls)
    return fsum(pull**3 for pull in pulls) / (6 * squares * sqrt(squares))


def _corrected(z: float, bias: float, skew: float) -> float:
    """The level at which the redraws are read instead of the level of `z`."""
    shifted = bias + z
    stretch = 1 - skew * shifted
    if stretch <= 0:  # beyond the pole of the correction: the level has run off the end
        return 1.0 if shifted > 0 else 0.0
    return normal_cdf(bias + shifted / stretch)
