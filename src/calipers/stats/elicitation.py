"""Elicitation curves: how often a goal is reached within k tries, and how far that can be told beyond the tries that were made.

Each goal was tried some times and reached in some of them.

- **Up to the tries that every goal had**, the curve is the unbiased `pass_at_k`, with the interval of a mean over goals.
- **Beyond**, something has to be assumed. A share of the goals is taken to be hopeless, the others to differ in how easily they are reached, as a beta distribution has it, and tries at one goal to be
  independent: the beta-binomial model, with more zeros. The curve then is `(1 - h) (1 - B(a, b + k) / B(a, b))`; its interval is that of the profile likelihood, over the hopeless share as well. It never leaves the bounds that need no model:
  a curve does not fall, and since `(1 - p)^k` is convex in `(1 - p)^n`, it stays below `1 - (1 - s)^(k / n)`, where `s` is its value at `n` tries. The bounds stand beside the
  estimate (`Elicited.bounds`).
- **Nothing is extrapolated** (`Elicitation.refused`) for fewer than ten goals, beyond ten times the tries, or where the model does not fit: fewer than
  one in a hundred samples of the fitted model would lie as far from it as the data do.

How goals that are hardly ever reached are spread near 0 decides the far end of the curve, and no data of few tries tell it: with the same fit up to `n`, another
distribution gives another curve. That is what the bounds show.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import exp, expm1, fsum, inf, lgamma, log, log1p
from random import Random
from typing import Literal, NamedTuple

import msgspec

from calipers.stats.bounded import bounded_interval
from calipers.stats.distributions import normal_quantile
from calipers.stats.interval import Interval, wilson_of_rate
from calipers.stats.reliability import case_pass_at_k
from calipers.stats.sample import check_confidence

FARTHEST = 10
"""So many times the tries that were made."""
FEWEST_GOALS = 10
_POOR_FIT = 0.01
_SAMPLES = 200
_STEPS = 17
_ZOOMS = 5
_HOPELESS = 10
"""Steps of the hopeless share, ever smaller ones, from none to the upper end of the share of goals that are not reached."""

Refused = Literal["few_goals", "no_fit", "never_reached", "always_reached"]


class Elicited(msgspec.Struct, frozen=True):
    """How often a goal is reached within some tries."""

    k: int
    """Tries."""
    value: float
    interval: Interval | None
    """Where the true share of goals may lie; `None` for a single goal."""
    extrapolated: bool
    """Whether it is of the model, since not every goal had so many tries."""
    bounds: tuple[float, float]
    """Where it lies whatever the distribution of the goals, with the interval at the tries that were made at its ends. Of what was measured: the interval's own ends."""


class Elicitation(msgspec.Struct, frozen=True):
    """An elicitation curve."""

    points: tuple[Elicited, ...]
    """Those that were asked for and can be told, by the number of tries."""
    goals: int
    tries: int
    """The tries that every goal had."""
    refused: Refused | None
    """Why nothing is extrapolated; `None`: it is."""
    beyond: tuple[int, ...]
    """The numbers of tries that were asked for, and that nothing is told of."""


def elicitation_curve(
    goals: Sequence[tuple[int, int]], ks: Sequence[int], *, seed: int = 0, confidence: float = 0.95
) -> Elicitation | None:
    """How often a goal is reached within each of `ks` tries; `None` without goals.

    Args:
        goals: how often each goal was reached, and how often it was tried.
        ks: for how many tries to tell it.
        seed: of the samples by which the fit is checked.
        confidence: of the intervals.

    Raises:
        ValueError: a goal was reached more often than it was tried, or not tried, or a k is below 1.
    """
    check_confidence(confidence)
    for reached, tried in goals:
        if not 0 <= reached <= tried or tried < 1:
            raise ValueError(
                f"a goal is (reached, tried) with 0 <= reached <= tried, got {(reached, tried)!r}"
            )
    if any(k < 1 for k in ks):
        raise ValueError(f"k must be 1 or more, got {min(ks)!r}")
    if not goals:
        return None
    tries = min(tried for _, tried in goals)
    wanted = sorted(set(ks))
    points = [_measured(goals, k, confidence) for k in wanted if k <= tries]
    far = [k for k in wanted if k > tries]
    near = [k for k in far if k <= FARTHEST * tries]
    refused = _refused(goals) if far else None
    if near and refused is None:
        model = _fitted(Counter(goals), confidence)
        if _fit(goals, model.best, seed) < _POOR_FIT:
            refused = "no_fit"
        else:
            points += _extrapolated(goals, model, tries, near, confidence)
    told = {point.k for point in points}
    return Elicitation(tuple(points), len(goals), tries, refused, tuple(k for k in wanted if k not in told))


def _measured(goals: Sequence[tuple[int, int]], k: int, confidence: float) -> Elicited:
    values = [case_pass_at_k(reached, tried, k) for reached, tried in goals]
    interval = bounded_interval(values, confidence=confidence)
    value = fsum(values) / len(values)
    ends = (0.0, 1.0) if interval is None else (interval.low, interval.high)
    return Elicited(k, value, interval, extrapolated=False, bounds=ends)


def _refused(goals: Sequence[tuple[int, int]]) -> Refused | None:
    if len(goals) < FEWEST_GOALS:
        return "few_goals"
    if not any(reached for reached, _ in goals):
        return "never_reached"
    if all(reached == tried for reached, tried in goals):
        return "always_reached"
    return None


# ---------------------------------------------------------------------- the model


class _Shape(NamedTuple):
    """How goals differ."""

    a: float
    b: float
    """The two parameters of the beta distribution."""
    hopeless: float
    """The share of goals that are never reached; the distribution is that of the others."""


class _Model(NamedTuple):
    best: _Shape
    likely: list[_Shape]
    """All that the data do not speak against."""


def _log_likelihood(counts: Counter[tuple[int, int]], shape: _Shape) -> float:
    return fsum(goals * _log_probability(reached, tried, shape) for (reached, tried), goals in counts.items())


def _fitted(counts: Counter[tuple[int, int]], confidence: float) -> _Model:
    """The likeliest parameters, and those within the profile likelihood."""
    allowed = normal_quantile((1 - confidence) / 2) ** 2 / 2
    goals = sum(counts.values())
    never = sum(number for (reached, _), number in counts.items() if not reached)
    high = wilson_of_rate(never / goals, goals, confidence=confidence).high
    found = [
        each
        for step in range(_HOPELESS + 1)
        for each in _fitted_others(counts, high * (1 - (1 - step / _HOPELESS) ** 2), allowed)
    ]
    most, best = max(found)
    return _Model(best, [shape for value, shape in found if value >= most - allowed])


def _fitted_others(
    counts: Counter[tuple[int, int]], hopeless: float, allowed: float
) -> list[tuple[float, _Shape]]:
    """Likely parameters where this share of the goals is hopeless: a grid over the mean and the spread that closes in on them."""
    means, sizes = (-14.0, 6.0), (-6.0, 10.0)
    found: list[tuple[float, float, float]] = []
    for _ in range(_ZOOMS):
        found = [
            (_log_likelihood(counts, _shape(mean, size, hopeless)), mean, size)
            for mean in _grid(*means)
            for size in _grid(*sizes)
        ]
        most = max(found)[0]
        near = [(mean, size) for value, mean, size in found if value >= most - 2 * allowed]
        means, sizes = _around([mean for mean, _ in near], means), _around([size for _, size in near], sizes)
    return [(value, _shape(mean, size, hopeless)) for value, mean, size in found]


def _shape(mean: float, size: float, hopeless: float) -> _Shape:
    """The parameters for a mean on the scale of the logit, and a size on that of the logarithm."""
    share = 1 / (1 + exp(-mean))
    return _Shape(max(share * exp(size), 1e-12), max((1 - share) * exp(size), 1e-12), hopeless)


def _grid(low: float, high: float) -> list[float]:
    return [low + (high - low) * step / (_STEPS - 1) for step in range(_STEPS)]


def _around(values: list[float], ends: tuple[float, float]) -> tuple[float, float]:
    step = (ends[1] - ends[0]) / (_STEPS - 1)
    return max(ends[0], min(values) - step), min(ends[1], max(values) + step)


def _curve(shape: _Shape, k: int) -> float:
    a, b, hopeless = shape
    return (1 - hopeless) * -expm1(lgamma(b + k) + lgamma(a + b) - lgamma(b) - lgamma(a + b + k))


def _extrapolated(
    goals: Sequence[tuple[int, int]], model: _Model, tries: int, ks: Sequence[int], confidence: float
) -> list[Elicited]:
    at_tries = _measured(goals, tries, confidence)
    found = []
    for k in ks:
        bounds = at_tries.bounds[0], _most(at_tries.bounds[1], k / tries)
        best = at_tries.value, _most(at_tries.value, k / tries)
        value = min(max(_curve(model.best, k), best[0]), best[1])
        curves = [_curve(shape, k) for shape in model.likely]
        low, high = max(min(*curves, value), bounds[0]), min(max(*curves, value), bounds[1])
        interval = Interval(min(low, value), max(high, value), confidence, "beta-binomial")
        found.append(Elicited(k, value, interval, extrapolated=True, bounds=bounds))
    return found


def _most(value: float, times: float) -> float:
    """The most that a curve can have reached after so many times the tries."""
    return 1.0 if value >= 1 else -expm1(times * log1p(-value))


def _fit(goals: Sequence[tuple[int, int]], shape: _Shape, seed: int) -> float:
    """In which share of samples of the model the likelihood is no better than in the data."""
    rng = Random(seed)  # noqa: S311 - the seed has to repeat the samples
    tried = [each for _, each in goals]

    def surprise(counts: Counter[tuple[int, int]]) -> float:
        """How far the counts lie from what the model expects, by the G statistic over goals of equally many tries."""
        found, sizes = 0.0, Counter(tried)
        for (reached, of), number in counts.items():
            expected = sizes[of] * exp(_log_probability(reached, of, shape))
            found += number * (log(number) - log(expected)) if expected > 0 else inf
        return found

    seen = surprise(Counter(goals))
    worse = 0
    for _ in range(_SAMPLES):
        drawn: Counter[tuple[int, int]] = Counter()
        for of in tried:
            chance = 0.0 if rng.random() < shape.hopeless else rng.betavariate(shape.a, shape.b)
            drawn[sum(rng.random() < chance for _ in range(of)), of] += 1
        worse += surprise(drawn) >= seen
    return (worse + 1) / (_SAMPLES + 1)


def _log_probability(reached: int, tried: int, shape: _Shape) -> float:
    a, b, hopeless = shape
    beta = (
        _log_ways(reached, tried)
        + lgamma(a + b)
        - lgamma(a)
        - lgamma(b)
        + lgamma(a + reached)
        + lgamma(b + tried - reached)
        - lgamma(a + b + tried)
    )
    if not hopeless:
        return beta
    return log(hopeless + (1 - hopeless) * exp(beta)) if reached == 0 else log1p(-hopeless) + beta


@cache
def _log_ways(reached: int, tried: int) -> float:
    return lgamma(tried + 1) - lgamma(reached + 1) - lgamma(tried - reached + 1)
