"""Before a gate is asked: how many cases it takes until Gaffke's interval lies above a limit.

A gate judges values between bounds by `bounded_interval`, which is wider than a t interval. A plan by Student's t
(`cases_needed`) would promise four passes in five and keep two in three, most so where few cases differ at all.

Of cases that are yet to run, the mean varies around the true one. The *unlucky* sample is the one that all but `power` of
the samples are better than: the values that are expected, weighed by 1 - z (x - mean) / (s √n) so that their mean lies z standard
errors lower, z the normal quantile of `power`. Where the lower end of its interval clears the limit, so does that of a share
`power` of all samples. Checked against all outcomes of paired passes (flips of 2 to 50 %, margins of 2 to 10 points), the chance
is met within a point. A gate on cases that pass or not, each attempted once, judges by an interval that is narrower
(`calipers.stats.tango`): of those a plan asks for 3 to 10 % more cases than it takes.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import fsum, sqrt

from calipers.stats.bounded import weighted_low
from calipers.stats.distributions import normal_quantile
from calipers.stats.interval import check_confidence

__all__ = ["Shape", "cases_to_clear", "expected_low", "least_number", "shape_of"]

Shape = Sequence[tuple[float, float]]
"""The values that are expected, from 0 to 1, and the share of each."""

_MOST_VALUES = 40


def shape_of(values: Sequence[float], *, low: float = 0.0, high: float = 1.0) -> Shape:
    """The shape of values in [low, high]; many different ones are put together with their neighbours."""
    width, n = high - low, len(values)
    scaled = sorted(min(1.0, max(0.0, (value - low) / width)) for value in values)
    counts = Counter(scaled)
    if len(counts) <= _MOST_VALUES:
        return [(value, count / n) for value, count in counts.items()]
    cuts = [round(place * n / _MOST_VALUES) for place in range(_MOST_VALUES + 1)]
    parts = [scaled[start:end] for start, end in pairwise(cuts)]
    return [(fsum(part) / len(part), len(part) / n) for part in parts]


def expected_low(shape: Shape, n: int, *, power: float = 0.8, confidence: float = 0.95) -> float:
    """The lower end of Gaffke's interval that a share `power` of all samples of `n` cases exceed.

    Args:
        shape: what is expected of one case.
        n: cases, at least 2.
        power: the share of samples.
        confidence: of the interval, each end of which errs by half of the rest.
    """
    check_confidence(confidence)
    if n < 2:
        raise ValueError(f"n must be at least 2 cases for an interval, got {n!r}")
    tail = (1 - confidence) / 2
    if not tail < power < 1:
        raise ValueError(
            f"power must lie between the chance of a false alarm ({tail:.3g}) and 1, got {power!r}"
        )
    mean = fsum(value * share for value, share in shape)
    variance = fsum(share * (value - mean) ** 2 for value, share in shape)
    tilt = normal_quantile(power) / sqrt(variance * n) if variance > 0 else 0.0
    weights = [(value, max(0.0, share * (1 - tilt * (value - mean)))) for value, share in shape]
    total = fsum(weight for _, weight in weights)
    return weighted_low([(value, n * weight / total) for value, weight in weights if weight > 0], tail)


def cases_to_clear(
    shape: Shape,
    limit: float,
    *,
    power: float = 0.8,
    confidence: float = 0.95,
    most: int = 1_000_000,
) -> int | None:
    """The cases after which the lower end lies above `limit` with the chance `power`; `None` if `most` are too few.

    For an upper end, turn values and limit around: 1 - value, 1 - limit.
    """
    if not 0 <= limit <= 1:
        raise ValueError(f"limit must lie from 0 to 1, got {limit!r}")

    def clears(n: int) -> bool:
        return expected_low(shape, n, power=power, confidence=confidence) > limit

    if not fsum(value * share for value, share in shape) > limit:
        return None
    return least_number(clears, first=2, most=most)


def least_number(holds: Callable[[int], bool], *, first: int, most: int) -> int | None:
    """The least number from `first` to `most` for which something holds that holds for every larger one, too."""
    if not holds(most):
        return None
    few, enough = first - 1, first
    while not holds(enough):
        few, enough = enough, min(2 * enough, most)
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if holds(middle) else (middle, enough)
    return enough
