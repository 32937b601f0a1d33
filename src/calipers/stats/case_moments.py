"""What is counted of many cases, from which rates, means and differences follow as from the list of them.

A million cases are summed up in an instant where their numbers are in arrays, and listing them takes seconds. Cases in clusters have to be
listed: `calipers.stats.estimate` and `compare_unpaired` take them.
"""

from collections.abc import Sequence
from itertools import chain
from math import fsum, inf
from operator import mul
from typing import TYPE_CHECKING, Final

import msgspec

from calipers.stats.difference import (
    Difference,
    Test,
    fisher_exact,
    interval_of_two_rates,
    t_around,
    two_sided,
)
from calipers.stats.estimate import Estimate, mean_from_moments, rate_from_moments
from calipers.stats.sample import check_confidence

if TYPE_CHECKING:
    from calipers.stats.interval import Interval

_ROUNDING: Final = 1e-12
"""Numbers that differ by no more than this share are the same number, computed in two ways."""


class CaseMoments(msgspec.Struct, frozen=True, kw_only=True):
    """What is counted of some cases, each the mean of its attempts."""

    n: int
    """How many cases; at least one."""
    n_attempts: int
    """At all of them."""
    mean: float
    """Of the cases."""
    variance: float | None
    """Of the cases, with divisor n - 1; `None` for a single one."""
    lowest: float
    """The least case."""
    highest: float
    passed_or_not: bool = False
    """Whether every attempt is 0 or 1."""

    @classmethod
    def of(cls, cases: Sequence[Sequence[float]]) -> "CaseMoments | None":
        """The moments of cases that are listed, each as the numbers of its attempts; `None` if there are none."""
        means = [one[0] if len(one) == 1 else fsum(one) / len(one) for one in cases]
        if not means:
            return None
        mean = fsum(means) / len(means)
        apart = [each - mean for each in means]
        return cls(
            n=len(means),
            n_attempts=sum(map(len, cases)),
            mean=mean,
            variance=fsum(map(mul, apart, apart)) / (len(means) - 1) if len(means) > 1 else None,
            lowest=min(means),
            highest=max(means),
            passed_or_not={0.0, 1.0}.issuperset(chain.from_iterable(cases)),
        )

    @property
    def are_equal(self) -> bool:
        """Whether all cases are equal, so that they show no spread."""
        return self.highest - self.lowest <= _ROUNDING * max(abs(self.lowest), abs(self.highest))

    def rate(self, *, confidence: float = 0.95) -> Estimate | None:
        """What `calipers.stats.rate` gives for these cases."""
        return rate_from_moments(
            self.n, self.mean, self.variance, n_observations=self.n_attempts, confidence=confidence
        )

    def score(
        self, *, bounds: tuple[float, float] | None = None, confidence: float = 0.95
    ) -> Estimate | None:
        """What `calipers.stats.mean` gives for these cases."""
        variance = 0.0 if self.are_equal and self.n > 1 else self.variance
        return mean_from_moments(
            self.n,
            self.mean,
            variance,
            bounds=bounds,
            n_observations=self.n_attempts,
            confidence=confidence,
        )


def compare_moments(first: CaseMoments, second: CaseMoments, *, confidence: float = 0.95) -> Difference:
    """What `calipers.stats.compare_unpaired` gives for these cases."""
    check_confidence(confidence)
    p, q = first.mean, second.mean
    interval: Interval | None = None
    p_value: float | None = None
    test: Test | None = None
    has_spread = not (first.are_equal and second.are_equal)
    if has_spread and first.variance is not None and second.variance is not None:
        var_p, var_q = first.variance / first.n, second.variance / second.n
        if not 0 < var_p + var_q < inf:
            raise ValueError(
                f"the variance of these scores comes out as {var_p + var_q!r}: rescale them before comparing"
            )
        share = var_p / (var_p + var_q)
        df = 1 / (share**2 / (first.n - 1) + (1 - share) ** 2 / (second.n - 1))
        interval = t_around(p - q, var_p + var_q, df, confidence, "welch")
        test, p_value = "welch-t", two_sided(p - q, var_p + var_q, df)
    if first.passed_or_not and second.passed_or_not:
        interval = interval_of_two_rates(
            first.rate(confidence=confidence), second.rate(confidence=confidence)
        )
        if first.n == first.n_attempts and second.n == second.n_attempts:
            passed, passed_too = round(p * first.n), round(q * second.n)
            test = "fisher"
            p_value = fisher_exact(passed, first.n - passed, passed_too, second.n - passed_too)
    return Difference(p - q, interval, p_value, test, p, q, first.n, second.n)
