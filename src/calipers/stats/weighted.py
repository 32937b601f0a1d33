"""Rates and agreement over cases that stand for unequally many others, since they were drawn with unequal probabilities.

A case of a stratum of 300 of which 10 were drawn stands for 30. Left unweighted, a judge would be held to the cases that are hard, which
are drawn more often.

The interval of a rate is Wilson's with Kish's effective size, (sum of weights)² / (sum of squared weights): as many cases that count
alike would say as much (Korn and Graubard, "Confidence Intervals for Proportions with Small Expected Number of Positive Counts", 1998, put
it into Clopper and Pearson's). With equal weights it is Wilson's. That of kappa is the jackknife's, with the lower end on the scale of
log(1 - kappa), as `cohen_kappa` has it; with equal weights kappa is exactly that.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from math import exp, fsum, sqrt

from calipers.stats.agreement import Agreement, cohen_kappa
from calipers.stats.distributions import student_t_quantile
from calipers.stats.estimate import Estimate
from calipers.stats.interval import Interval, wilson
from calipers.stats.sample import check_confidence

_NO_SPREAD = 1e-24


def weighted_rate(
    passes: Sequence[bool], weights: Sequence[float], *, confidence: float = 0.95
) -> Estimate | None:
    """The share of cases that pass, where each stands for as many as its weight says; `None` without cases."""
    check_confidence(confidence)
    _check(len(passes), weights)
    if not passes:
        return None
    total = fsum(weights)
    size = total * total / fsum(weight * weight for weight in weights)
    value = min(1.0, fsum(weight for weight, passed in zip(weights, passes, strict=True) if passed) / total)
    interval = wilson(value * size, size, confidence=confidence)
    return Estimate(value=value, interval=interval, n_units=len(passes), n_observations=len(passes))


def weighted_kappa(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    weights: Sequence[float],
    *,
    confidence: float = 0.95,
) -> Agreement | None:
    """Cohen's kappa of two raters, where each case stands for as many as its weight says; `None` without cases."""
    check_confidence(confidence)
    _check(len(first), weights)
    plain = cohen_kappa(first, second, confidence=confidence)
    if plain is None or len(set(weights)) < 2:
        return plain
    cells = list(zip(first, second, weights, strict=True))
    seen, chance = _disagreement(cells)
    value = None if chance <= 0 else 1 - seen / chance
    interval = None if value is None or not seen else _jackknife(cells, confidence)
    used: Counter[Hashable] = Counter()
    for a, b, weight in cells:
        used[a] += weight  # type: ignore[assignment]
        used[b] += weight  # type: ignore[assignment]
    total = fsum(weights)
    return Agreement(
        value=value,
        interval=interval,
        same=1 - seen,
        disagreement=seen,
        chance_disagreement=chance,
        base_rates=tuple((category, weight / (2 * total)) for category, weight in used.items()),
        n_units=len(cells),
        n_ratings=2 * len(cells),
    )


def _check(n: int, weights: Sequence[float]) -> None:
    if len(weights) != n or any(not weight > 0 for weight in weights):
        raise ValueError(f"every case needs a weight above 0: got {n} cases and {weights!r:.200}")


def _disagreement(cells: Sequence[tuple[Hashable, Hashable, float]]) -> tuple[float, float]:
    """The disagreement seen, and what chance would give."""
    total = fsum(weight for _, _, weight in cells)
    rows: dict[Hashable, float] = {}
    columns: dict[Hashable, float] = {}
    for a, b, weight in cells:
        rows[a] = rows.get(a, 0.0) + weight / total
        columns[b] = columns.get(b, 0.0) + weight / total
    seen = fsum(weight for a, b, weight in cells if a != b) / total
    return seen, 1 - fsum(share * columns.get(category, 0.0) for category, share in rows.items())


def _jackknife(cells: list[tuple[Hashable, Hashable, float]], confidence: float) -> Interval | None:
    left_out = [_disagreement(cells[:place] + cells[place + 1 :]) for place in range(len(cells))]
    if len(cells) < 2 or any(chance <= 0 for _, chance in left_out):
        return None
    n, (seen, chance) = len(cells), _disagreement(cells)
    values = [1 - part / whole for part, whole in left_out]
    mean = fsum(values) / n
    variance = (n - 1) / n * fsum((value - mean) ** 2 for value in values)
    if variance <= _NO_SPREAD:
        return None
    half, apart = -student_t_quantile((1 - confidence) / 2, n - 1) * sqrt(variance), seen / chance
    low = 1 - apart * exp(min(half / apart, 100.0))
    return Interval(max(-1.0, low), min(1.0, 1 - apart + half), confidence, "jackknife")
