"""How likely a very rare failure is, from runs of multilevel splitting.

Each run splits the way to a failure into levels of a score, and multiplies the shares that go on from one level to the next (Kahn and Harris, 1951; Cérou and
Guyader, "Adaptive multilevel splitting for rare event analysis", 2007). A run is right on average, also where levels are chosen by what it saw and scores tie (Bréhier,
Gazeau, Goudenège, Lelièvre and Rousset, "Unbiasedness of some generalized adaptive multilevel splitting algorithms", 2016); but the estimates of single runs vary by a
factor, and more on the upper side. So there are several runs, each from the start, and their mean counts. Runs that got nowhere count 0.

The interval goes by the spread between the runs: Student's t on the scale of the logarithm. The logarithm of a mean lies too low, by half of its variance; where few runs vary that much, their
spread is found too small as well. So the upper end is raised by that variance: without, the interval covers 92 % of the time where the runs vary by 1.5 times their mean, with it 95 %.
It takes the runs for independent, and for long enough that each was able to find every way
to a failure. A way that no run found is missing in the estimate, and nothing in the data says so.
"""

from collections.abc import Sequence
from math import exp, fsum, sqrt

import msgspec

from calipers.stats.distributions import student_t_quantile
from calipers.stats.interval import Interval
from calipers.stats.sample import check_confidence, finite_values

FEWEST_RUNS = 4
"""With fewer, the spread between runs is not known well enough for an interval."""


class SplittingRate(msgspec.Struct, frozen=True):
    """How likely a failure is, from several runs of multilevel splitting."""

    value: float
    """The mean of the runs."""
    interval: Interval | None
    """Where the true probability may lie; `None` where too few runs arrived."""
    runs: tuple[float, ...]
    """The estimate of each run; 0: it did not arrive."""

    @property
    def arrived(self) -> int:
        """Runs that came to a failure."""
        return sum(run > 0 for run in self.runs)


def splitting_rate(runs: Sequence[float], *, confidence: float = 0.95) -> SplittingRate | None:
    """The probability of a failure, from the estimates of independent runs; `None` without runs.

    Raises:
        ValueError: an estimate is not between 0 and 1.
    """
    check_confidence(confidence)
    estimates = finite_values(list(runs), name="runs")
    for estimate in estimates:
        if not 0 <= estimate <= 1:
            raise ValueError(f"a run estimates a probability between 0 and 1, got {estimate!r}")
    if not estimates:
        return None
    n = len(estimates)
    value = fsum(estimates) / n
    interval = None
    if sum(estimate > 0 for estimate in estimates) >= FEWEST_RUNS:
        variance = fsum((estimate - value) ** 2 for estimate in estimates) / (n - 1)
        spread = sqrt(variance / n) / value
        factor = exp(-student_t_quantile((1 - confidence) / 2, n - 1) * spread)
        high = min(1.0, value * factor * exp(spread**2))
        interval = Interval(value / factor, high, confidence, "splitting-t")
    return SplittingRate(value, interval, tuple(estimates))
