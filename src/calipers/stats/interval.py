"""Confidence intervals for a rate and for a mean.

An interval says which values of the true rate or mean are compatible with the sample; `confidence` is the
share of samples for which such an interval covers the truth. Nothing measured (n = 0, or n = 1 where a spread
is needed) gives `None`, never a number.

- `wilson` is the default for rates: it stays inside [0, 1] and covers well from a handful of cases on, where
  the usual p ± 1.96 SE does not (Bowyer, Aitchison & Ivanova 2025).
- `clopper_pearson` never covers less than `confidence`, and is wider for it: for promises about rare
  failures.
- `jeffreys` lies between the two: narrower than Clopper and Pearson's, and it never claims a rate of 0 or 1 to
  be impossible where nothing else was seen. Its coverage is right on average over rates, not for each.
- `t_interval` and `mean_interval` are for scores.

A sample of equal scores has a t interval of width zero. It says that the sample showed no spread, not that
none exists.
"""

from collections.abc import Iterable
from math import fsum, isfinite, sqrt
from numbers import Real
from typing import Literal

import msgspec

from calipers.stats.distributions import beta_quantile, normal_quantile, student_t_quantile
from calipers.stats.sample import finite_values

__all__ = [
    "Interval",
    "Method",
    "check_confidence",
    "check_counts",
    "clopper_pearson",
    "jeffreys",
    "mean_interval",
    "t_interval",
    "wilson",
    "wilson_of_rate",
]

Method = Literal[
    "wilson",
    "effective-wilson",
    "clopper-pearson",
    "jeffreys",
    "t",
    "clustered-t",
    "within-t",
    "bca",
    "newcombe",
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
]
"""How an interval was made; the functions that return one say which."""


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


def check_confidence(confidence: float) -> None:
    """Refuse a confidence outside (0, 1): 95 percent is written 0.95."""
    if not isinstance(confidence, Real) or not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1 (0.95 for 95%), got {confidence!r}")


def check_counts(successes: float, n: float) -> None:
    """Refuse counts that cannot be: no numbers, negative, infinite, NaN, or more successes than trials."""
    for name, count in (("successes", successes), ("n", n)):
        if not isinstance(count, Real):
            raise TypeError(f"{name} must be a number, got {count!r}")
    if not (n >= 0 and isfinite(n)):
        raise ValueError(f"n must be finite and not negative, got {n!r}")
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie between 0 and n, got {successes!r} of {n!r}")
