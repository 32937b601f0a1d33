"""The mean of values that lie between known bounds, with an interval that counts on what was not seen.

A t interval believes the spread that it sees. Twenty scores of about 0.99 give it next to no width, although one case in
thirty may score 0 and twenty cases will often hold none of those. Gaffke's bound (2005; Learned-Miller and Thomas, "A New
Confidence Interval for the Mean of a Bounded Random Variable", 2019) sets one more value beside those seen, at the bound, and
weighs all of them by chance, uniformly: the lower end is the quantile of

    w0 · bound + w1 · x1 + … + wn · xn          w from Dirichlet(1, …, 1)

Of values that are 0 or 1 it is exactly the interval of Clopper and Pearson, of many values it comes close to the t interval,
and in between it is wider by as much as the bounds require. That it never errs more often than it says is proved for few
values only; no distribution is known that breaks it.

Values in clusters: each cluster counts once, by its mean, with a weight in proportion to its size; the weights add up to the
number of equal clusters that these are worth (`independent_groups`).

The quantile is exact where two distinct values are left, and else a saddlepoint approximation (Barndorff-Nielsen's r*), good
to about a hundredth of the tail.

Before a gate is asked, `cases_to_clear` says how many cases it takes until the interval lies above a limit. A plan by
Student's t (`cases_needed`) would promise four passes in five and keep two in three, most so where few cases differ at all.
Of cases that are yet to run, the mean varies around the true one. The *unlucky* sample is the one that all but `power` of
the samples are better than: the values that are expected, weighed by 1 - z (x - mean) / (s √n) so that their mean lies z standard
errors lower, z the normal quantile of `power`. Where the lower end of its interval clears the limit, so does that of a share
`power` of all samples. Checked against all outcomes of paired passes (flips of 2 to 50 %, margins of 2 to 10 points), the chance
is met within a point. A gate on cases that pass or not, each attempted once, judges by an interval that is narrower
(`calipers.stats.tango`): of those a plan asks for 3 to 10 % more cases than it takes.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from math import fsum, inf, log, log1p, sqrt

from calipers.stats.clusters import independent_groups
from calipers.stats.distributions import beta_quantile, normal_quantile
from calipers.stats.interval import Interval
from calipers.stats.sample import check_bounds, check_clusters, check_confidence, check_power, finite_values

Shape = Sequence[tuple[float, float]]
"""The values that are expected, from 0 to 1, and the share of each."""

_MOST_VALUES = 40
_STEPS = 60
_CLOSE = 1e-9
_NOTHING = 1e-12
"""Of the range: values closer to the bound are taken to lie on it."""


def bounded_interval(
    values: Sequence[float],
    *,
    low: float = 0.0,
    high: float = 1.0,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Interval | None:
    """Gaffke's interval for the mean of values in [low, high]; `None` for fewer than two values, or clusters.

    Args:
        values: one for each case.
        low: the smallest value there can be.
        high: the largest.
        clusters: the group of each case, where some resemble each other.
        confidence: of the interval; each end errs by half of the rest.
    """
    check_confidence(confidence)
    sample = finite_values(values)
    check_bounds(low, high)
    for value in sample:
        if not low <= value <= high:
            raise ValueError(f"a value must lie between low={low!r} and high={high!r}, got {value!r}")
    check_clusters(clusters, len(sample))
    if len(sample if clusters is None else set(clusters)) < 2:
        return None
    width = high - low
    units = _units([(value - low) / width for value in sample], clusters)
    tail = (1 - confidence) / 2
    centre = fsum(value * weight for value, weight in units) / fsum(weight for _, weight in units)
    return Interval(
        low=low + width * min(centre, weighted_low(units, tail)),
        high=high
        - width * min(1 - centre, weighted_low([(1 - value, weight) for value, weight in units], tail)),
        confidence=confidence,
        method="gaffke",
    )


def _units(values: list[float], clusters: Sequence[Hashable] | None) -> list[tuple[float, float]]:
    """The values and how much each counts: 1 for a case, or the share of its cluster."""
    if clusters is None:
        return [(value, float(count)) for value, count in Counter(values).items()]
    groups: dict[Hashable, list[float]] = {}
    for group, value in zip(clusters, values, strict=True):
        groups.setdefault(group, []).append(value)
    share = independent_groups(map(len, groups.values())) / len(values)
    return [(min(1.0, fsum(members) / len(members)), share * len(members)) for members in groups.values()]


def weighted_low(units: Sequence[tuple[float, float]], tail: float) -> float:
    """The lower end for values in [0, 1] that count so much: the `tail` quantile of them and one more at 0, weighed by chance."""
    seen = {0.0: 1.0}
    for value, weight in units:
        place = value if value > _NOTHING else 0.0
        seen[place] = seen.get(place, 0.0) + weight
    if len(seen) == 1:
        return 0.0
    if len(seen) == 2:
        ((value, weight),) = ((value, weight) for value, weight in seen.items() if value)
        return value * beta_quantile(tail, weight, seen[0.0])
    # P(Σ w x <= q) = P(S <= 0) with S = Σ (x - q) G, where the G are independent gamma variables of these weights.
    wanted = normal_quantile(tail)
    total = fsum(seen.values())
    centre = fsum(value * weight for value, weight in seen.items()) / total
    spread = fsum(weight * (value - centre) ** 2 for value, weight in seen.items()) / total
    below, above, under, over, side = 0.0, centre, -inf, -wanted, 0
    q = max(centre / 2, centre + wanted * sqrt(spread / (total + 1)))
    for _ in range(_STEPS):
        off = _normal_score(seen, q) - wanted
        # False position; an end that stays twice is halved (the Illinois rule), or the other would creep.
        if off < 0:
            over = over / 2 if side < 0 else over
            below, under, side = q, off, -1
        else:
            under = under / 2 if side > 0 else under
            above, over, side = q, off, 1
        if above - below <= _CLOSE * above or abs(off) <= _CLOSE:
            break
        likely = below + (above - below) * (under / (under - over)) if under > -inf else below
        q = likely if below < likely < above else (below + above) / 2
    return q


def _normal_score(weights: dict[float, float], q: float) -> float:
    """The z for which P(S <= 0) is about Φ(z); for a q below the mean, where it is negative."""
    parts = [(value - q, weight) for value, weight in weights.items()]
    s = _saddlepoint(parts, 1 / min(parts)[0])
    cumulant = -fsum(weight * log1p(-s * a) for a, weight in parts)
    curvature = fsum(weight * (a / (1 - s * a)) ** 2 for a, weight in parts)
    r, u = -sqrt(max(0.0, -2 * cumulant)), s * sqrt(curvature)
    return r + log(u / r) / r if r < -1e-5 else 0.0


def _saddlepoint(parts: list[tuple[float, float]], lowest: float) -> float:
    """Where the slope of the cumulant function of S is 0: between `lowest`, where it has a pole, and 0."""
    left, right = lowest, 0.0
    # Newton's first step from 0, where the slope is that of the mean; it may lead beyond the pole.
    slope, curvature = sum(w * a for a, w in parts), sum(w * a * a for a, w in parts)
    s = max(-slope / curvature, lowest / 2) if slope > 0 else lowest / 2
    for _ in range(_STEPS):
        shares = [(a / (1 - s * a), w) for a, w in parts]
        slope = sum(w * share for share, w in shares)
        left, right = (left, s) if slope > 0 else (s, right)
        step = s - slope / sum(w * share * share for share, w in shares)
        following = step if left < step < right else (left + right) / 2
        if abs(following - s) <= _CLOSE * abs(s):
            return following
        s = following
    return s


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
    check_power(power, confidence)
    tail = (1 - confidence) / 2
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
