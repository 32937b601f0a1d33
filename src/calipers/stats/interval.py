"""Confidence intervals for a rate, a mean, and any other statistic.

An interval says which values of the true rate or mean are compatible with the sample; `confidence` is the
share of samples for which such an interval covers the truth. Nothing measured (n = 0, or n = 1 where a spread
is needed) gives `None`, never a number.

- `wilson` is the default for rates: it stays inside [0, 1] and covers well from a handful of cases on, where
  the usual p ± 1.96 SE does not (Bowyer, Aitchison & Ivanova 2025).
- `clopper_pearson` never covers less than `confidence`, and is wider for it: for promises about rare
  failures. `upper_bound` is its one-sided form.
- `jeffreys` lies between the two: narrower than Clopper and Pearson's, and it never claims a rate of 0 or 1 to
  be impossible where nothing else was seen. Its coverage is right on average over rates, not for each.
- `t_interval` and `mean_interval` are for scores.
- `bootstrap_interval` is for a statistic with no formula, or scores too skewed for the t interval.

A sample of equal scores has a t interval of width zero. It says that the sample showed no spread, not that
none exists.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from math import fsum, isfinite, sqrt
from numbers import Real
from typing import Literal

import msgspec

from calipers.stats.distributions import beta_quantile, normal_cdf, normal_quantile, student_t_quantile
from calipers.stats.sample import check_confidence, check_resamples, finite_values, quantiles

Method = Literal[
    "wilson",
    "effective-wilson",
    "bounded-wilson",
    "clustered-wilson",
    "clopper-pearson",
    "jeffreys",
    "t",
    "clustered-t",
    "within-t",
    "bca",
    "newcombe",
    "clustered-newcombe",
    "gaffke",
    "tango-exact",
    "log-log",
    "fieller",
    "donner-zou",
    "welch",
    "betting",
    "jackknife",
    "rogan-gladen",
    "prediction-powered",
    "two-phase",
    "stratified-beta",
    "stratified-t",
    "effective-clopper-pearson",
    "good-turing",
    "chao",
    "splitting-t",
    "beta-binomial",
]
"""How an interval was made; the functions that return one say which."""

_APPROXIMATE: frozenset[Method] = frozenset(
    {
        "bounded-wilson",
        "clustered-wilson",
        "t",
        "clustered-t",
        "welch",
        "clustered-newcombe",
        "bca",
        "fieller",
        "rogan-gladen",
        "prediction-powered",
        "two-phase",
        "stratified-beta",
        "stratified-t",
        "effective-clopper-pearson",
        "good-turing",
        "chao",
        "splitting-t",
        "beta-binomial",
    }
)
"""Methods that take the spread they see, between scores or between clusters, for the true one. Where it is not, as with rare scores
far away or a few large clusters that agree by luck, they cover less than they say: docs/explanation/which-interval.md has a table."""


class Interval(msgspec.Struct, frozen=True):
    """The values between `low` and `high`, both included."""

    low: float
    """Lower end."""
    high: float
    """Upper end."""
    confidence: float = 0.95
    """The share of samples for which such an interval covers the truth."""
    method: Method = "wilson"
    """How it was made."""

    @property
    def width(self) -> float:
        """`high - low`."""
        return self.high - self.low

    @property
    def approximate(self) -> bool:
        """Whether it may cover less than `confidence`, since it goes by the spread that was seen between scores or clusters."""
        return self.method in _APPROXIMATE

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def wilson(successes: float, n: float, *, confidence: float = 0.95) -> Interval | None:
    """Wilson's score interval for a rate (Wilson 1927), without continuity correction.

    The rates that a two-sided z test at this confidence does not reject. `n` may be an effective sample size and
    both counts fractional. `None` when n is 0.
    """
    check_counts(successes, n)
    check_confidence(confidence)
    return None if n == 0 else wilson_of_rate(successes / n, n, confidence=confidence)


def wilson_of_rate(rate: float, n: float, *, confidence: float = 0.95, method: Method = "wilson") -> Interval:
    """Wilson's interval around a rate that stands for `n` independent trials, n > 0."""
    check_confidence(confidence)
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must lie between 0 and 1, got {rate!r}")
    if not (n > 0 and isfinite(n)):
        raise ValueError(f"n must be finite and positive, got {n!r}")
    z2 = normal_quantile((1 - confidence) / 2) ** 2
    scale = 1 + z2 / n
    high = (rate + z2 / (2 * n) + sqrt(z2 / n * (rate * (1 - rate) + z2 / (4 * n)))) / scale
    # The product of the two roots over the upper one: centre minus half-width would cancel for small rates.
    low = 0.0 if rate == 0 else rate * rate / (scale * high)
    # Rounding must not expel the rate itself; this also makes the ends exact: n of n end at 1.
    return Interval(low=min(low, rate), high=max(min(high, 1.0), rate), confidence=confidence, method=method)


def clopper_pearson(successes: float, n: float, *, confidence: float = 0.95) -> Interval | None:
    """The exact interval for a rate (Clopper & Pearson 1934): both one-sided binomial tests inverted.

    Fractional counts are read through the beta distribution. Zero failures in n give the exact form of the rule
    of three. `None` when n is 0.
    """
    check_counts(successes, n)
    check_confidence(confidence)
    if n == 0:
        return None
    tail = (1 - confidence) / 2
    failures = n - successes
    low = 0.0 if successes == 0 else beta_quantile(tail, successes, failures + 1)
    high = 1.0 if failures == 0 else beta_quantile(1 - tail, successes + 1, failures)
    return Interval(low=low, high=high, confidence=confidence, method="clopper-pearson")


def jeffreys(successes: float, n: float, *, confidence: float = 0.95) -> Interval | None:
    """Jeffreys' interval for a rate: the middle of its posterior under the prior Beta(1/2, 1/2).

    The end is exactly 0 where nothing, and 1 where everything succeeded, which repairs its coverage there (Brown,
    Cai & DasGupta, "Interval Estimation for a Binomial Proportion", 2001). For rates of few trials where
    Clopper and Pearson's is too wide; not for a promise, for it covers less than `confidence` at some rates.
    `None` when n is 0.
    """
    check_counts(successes, n)
    check_confidence(confidence)
    if n == 0:
        return None
    tail = (1 - confidence) / 2
    a, b = successes + 0.5, n - successes + 0.5
    low = 0.0 if successes == 0 else beta_quantile(tail, a, b)
    high = 1.0 if successes == n else beta_quantile(1 - tail, a, b)
    return Interval(low=low, high=high, confidence=confidence, method="jeffreys")


def mean_interval(n: int, mean: float, variance: float, *, confidence: float = 0.95) -> Interval | None:
    """Student's t interval for a mean, from the sufficient statistics of the sample.

    `variance` is the sample variance, with divisor n - 1. `None` when n is below 2.
    """
    if n < 0:
        raise ValueError(f"n must not be negative, got {n!r}")
    check_confidence(confidence)
    if not isfinite(mean):
        raise ValueError(f"mean must be finite, got {mean!r}")
    if not (variance >= 0 and isfinite(variance)):
        raise ValueError(f"variance must be finite and not negative, got {variance!r}")
    if n < 2:
        return None
    half = -student_t_quantile((1 - confidence) / 2, n - 1) * sqrt(variance / n)
    return Interval(low=mean - half, high=mean + half, confidence=confidence, method="t")


def t_interval(values: Iterable[float], *, confidence: float = 0.95) -> Interval | None:
    """Student's t interval for the mean of independent scores. `None` for fewer than two."""
    sample = finite_values(values)
    check_confidence(confidence)
    n = len(sample)
    if n < 2:
        return None
    mean = fsum(sample) / n
    variance = fsum((x - mean) * (x - mean) for x in sample) / (n - 1)
    return mean_interval(n, mean, variance, confidence=confidence)


def check_counts(successes: float, n: float) -> None:
    """Refuse counts that cannot be: no numbers, negative, infinite, NaN, or more successes than trials."""
    for name, count in (("successes", successes), ("n", n)):
        if not isinstance(count, Real):
            raise TypeError(f"{name} must be a number, got {count!r}")
    if not (n >= 0 and isfinite(n)):
        raise ValueError(f"n must be finite and not negative, got {n!r}")
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie between 0 and n, got {successes!r} of {n!r}")


def upper_bound(successes: float, n: int, *, confidence: float = 0.95) -> float | None:
    """The largest rate that `successes` of `n` trials leave possible at this confidence; `None` when n is 0.

    Clopper and Pearson's limit with all of the doubt on one side: how bad can it be? For nothing seen in n it is
    1 - (1 - confidence)^(1/n), about 3/n at 95 %: the rule of three (Hanley & Lippman-Hand, "If Nothing Goes Wrong, Is
    Everything All Right?", 1983). It is exact for independent trials of one rate; for equally many trials at each of several
    rates it bounds their mean. `successes` may be fractional where a trial succeeds in part.
    """
    check_counts(successes, n)
    check_confidence(confidence)
    if n == 0:
        return None
    return 1.0 if successes == n else beta_quantile(confidence, successes + 1, n - successes)


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
    """The bootstrap interval of `statistic` over independent `values`; `None` for fewer than two.

    The sample is redrawn with replacement many times, and the spread of the statistic over the redraws is read off, corrected
    for bias and skew: BCa, Efron, "Better Bootstrap Confidence Intervals" (1987). The same seed gives the same interval; 0 is a
    seed. Equal values give an interval of width zero. Below some ten values no bootstrap covers well: prefer `t_interval`.

    The statistic runs once per resample and, for the skew correction, once per left-out value; the mean takes a shortcut for
    the latter.
    """
    sample = finite_values(values)
    check_confidence(confidence)
    check_resamples(resamples)
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
