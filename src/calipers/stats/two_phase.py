"""The mean of an expensive judge over all attempts, from a cheap judge on all and the expensive one on a random part.

This is two-phase sampling (Neyman 1938). Each attempt i has a cheap value f_i, and is given to the expensive judge with a probability
p_i that was fixed before; y_i is what that judge says of it. Three estimates of the mean of y:

- *Horvitz and Thompson* (1952): the mean of y_i / p_i, those that were not drawn counting 0. Unbiased, and needlessly spread: it does not know how many there are.
- *Hájek* (1971): the same sum over the sum of 1 / p_i. It makes no use of the cheap judge.
- The *difference estimator*: the mean of f_i, plus the mean of (y_i - f_i) / p_i over all, those that were not drawn counting 0. It is unbiased whatever
  the cheap judge is worth, and the better the two agree, the less spread it has. This one is the answer; Hájek's stands beside it.

With one probability for all, the difference estimator is `prediction_powered` with the judge taken at its word (a tuning of 1). That one
learns from the labels how far to trust the judge, and needs a simple random sample for it. Here the probabilities may differ, for instance
where two cheap judges disagree, and they are what is known: no model of the judges is fitted.

The mean is about cases like these: its variance is that of f_i + (y_i - f_i) / p_i between cases or clusters, which holds both the luck of
the cases and that of the draw. An interval by that spread alone is too short where the two judges seldom disagree: with 30 attempts drawn and no
disagreement seen, there would be no spread of the correction at all, though one in ten may differ. So for values between bounds the interval reckons with two
cases more, half a disagreement in each direction, at the largest weight, as Agresti and Min do for matched pairs (2005). It is Student's, with no more
degrees of freedom than were drawn. docs/explanation/which-interval.md has a table of how often it covers the truth: it dips where what
is rare is also seldom drawn. Draw more of what is rare.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from math import fsum, sqrt

import msgspec

from calipers.stats.clusters import cluster_degrees, clustered_variance
from calipers.stats.distributions import student_t_quantile
from calipers.stats.estimate import Estimate, mean
from calipers.stats.interval import Interval
from calipers.stats.sample import check_bounds, check_clusters, check_confidence, finite_values


class TwoPhase(msgspec.Struct, frozen=True):
    """A mean from a cheap judge on all and an expensive one on some."""

    value: float
    """What the expensive judge would say on average, by the difference estimator; cut off at the bounds."""
    interval: Interval | None
    """Where that mean may lie; `None` when the data cannot tell."""
    hajek: float
    """The same from the drawn ones alone, by their weights."""
    cheap: Estimate
    """The mean of the cheap judge: precise, and as biased as that judge."""
    n: int
    """Attempts that the cheap judge judged."""
    n_drawn: int
    """Those of them that the expensive judge judged, too."""
    n_certain: int
    """Those of the drawn ones that had to be, with a probability of 1."""


def two_phase_mean(
    cheap: Sequence[float],
    expensive: Sequence[float | None],
    probabilities: Sequence[float],
    *,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> TwoPhase | None:
    """What the expensive judge would say of all attempts on average; `None` without attempts, or if chance drew none.

    Args:
        cheap: what the cheap judge says of every attempt.
        expensive: what the expensive one says; `None` for an attempt that was not drawn.
        probabilities: with which each attempt was to be drawn, above 0 and at most 1: those that were not drawn as well.
        bounds: the smallest and the largest value there can be; `None` if that is not known.
        clusters: the group of each attempt, such as its case, where some resemble each other.
        confidence: of the interval.
    """
    check_confidence(confidence)
    by_cheap = finite_values(cheap, name="cheap")
    _check(by_cheap, expensive, probabilities, clusters, bounds)
    drawn = [(y, p) for y, p in zip(expensive, probabilities, strict=True) if y is not None]
    chancy = [p for _, p in drawn if p < 1]
    if not drawn or (not chancy and any(p < 1 for p in probabilities)):
        return None
    weights = fsum(1 / p for _, p in drawn)
    adjusted = [
        f if y is None else f + (y - f) / p
        for f, y, p in zip(by_cheap, expensive, probabilities, strict=True)
    ]
    value = fsum(adjusted) / len(adjusted)
    groups: Sequence[Hashable] = range(len(adjusted)) if clusters is None else clusters
    interval = _interval(adjusted, groups, value, chancy, bounds, confidence)
    if bounds is not None:
        value = min(bounds[1], max(bounds[0], value))
    if interval is not None:
        low, high = (
            (interval.low, interval.high)
            if bounds is None
            else (max(bounds[0], interval.low), min(bounds[1], interval.high))
        )
        interval = msgspec.structs.replace(interval, low=min(low, value), high=max(high, value))
    by_cheap_alone = mean(
        [[each] for each in by_cheap], bounds=bounds, clusters=clusters, confidence=confidence
    )
    assert by_cheap_alone is not None
    return TwoPhase(
        value=value,
        interval=interval,
        hajek=fsum(y / p for y, p in drawn) / weights,
        cheap=by_cheap_alone,
        n=len(by_cheap),
        n_drawn=len(drawn),
        n_certain=len(drawn) - len(chancy),
    )


def _check(
    cheap: Sequence[float],
    expensive: Sequence[float | None],
    probabilities: Sequence[float],
    clusters: Sequence[Hashable] | None,
    bounds: tuple[float, float] | None,
) -> None:
    if not len(cheap) == len(expensive) == len(probabilities):
        raise ValueError(
            "every attempt needs a cheap value, an expensive one or None, and a probability: "
            f"got {len(cheap)}, {len(expensive)} and {len(probabilities)}"
        )
    check_clusters(clusters, len(cheap))
    known = finite_values([y for y in expensive if y is not None], name="expensive")
    for index, (y, p) in enumerate(zip(expensive, probabilities, strict=True)):
        if not 0 < p <= 1:
            raise ValueError(
                f"probability {index} must lie above 0 and be at most 1, got {p!r}: of what can never be drawn nothing "
                "is learned; leave those attempts out, and say so"
            )
        if p == 1 and y is None:
            raise ValueError(f"attempt {index} had to be drawn, with a probability of 1, and has no value")
    if bounds is not None:
        check_bounds(*bounds)
        for value in (*cheap, *known):
            if not bounds[0] <= value <= bounds[1]:
                raise ValueError(f"every value must lie between the bounds {bounds!r}, got {value!r}")


def _interval(
    adjusted: Sequence[float],
    groups: Sequence[Hashable],
    value: float,
    chancy: Sequence[float],
    bounds: tuple[float, float] | None,
    confidence: float,
) -> Interval | None:
    """Student's t interval; between bounds, with two cases more. `chancy` has the probabilities of those that chance drew."""
    variance = clustered_variance(adjusted, groups)
    if variance is None or (bounds is None and not variance):
        return None
    n = len(adjusted)
    if bounds is not None and chancy:
        # Two cases in the middle, of which half a disagreement goes in each direction, at the largest weight there is.
        weight, width = 1 / min(chancy), bounds[1] - bounds[0]
        size = n + 2 * weight
        value = (n * value + weight * (bounds[0] + bounds[1])) / size
        variance = (n * n * variance + (width * weight) ** 2) / size**2
    degrees = cluster_degrees(Counter(groups).values())
    if chancy:
        degrees = min(degrees, max(1, len(chancy) - 1))
    half = -student_t_quantile((1 - confidence) / 2, degrees) * sqrt(variance)
    return Interval(value - half, value + half, confidence, "two-phase")
