"""An estimate: a rate or a mean over cases, with the interval made for its kind and size.

The unit of inference is the case, never the attempt. Ten attempts at one case measure that case better; they
say nothing about the next case. So the value is the mean over cases of each case's own mean, however many
attempts each one had, and its spread is the spread between cases.

| what                | one attempt per case   | repeated attempts               | clusters of cases              |
|---------------------|------------------------|---------------------------------|--------------------------------|
| `rate` (passed)     | Wilson                 | Wilson of an effective size     | Wilson of an effective size    |
| `mean`, bounded     | Wilson of an effective size | the same, of the case means | the same                       |
| `mean`, unbounded   | Student t over cases   | Student t over the case means   | t with a clustered variance    |

Effective sizes of rates. The size lies between the number of cases (attempts at a case always agree: they add
nothing) and the number of attempts (attempts are independent). With one attempt per case both are n and the
interval is exactly `wilson(passes, n)`; where all attempts at each case agree it is exactly `wilson(passed
cases, cases)`. A rate of exactly 0 or 1 shows no spread to judge by, so the cautious end is taken: the number
of cases or, with clusters, of equally large clusters (`independent_groups`). The spread is also hard to judge
near 0 and 1, where few cases fail, or pass: so up to one case more is reckoned with whose attempts all agree. With 2 to 20 attempts at
each of 10 to 300 cases, simulated 95% intervals then cover 94% or more, where they fell to 82% without; attempts that
always agree make it Wilson's interval of the cases, with its dips.

Scores between bounds, such as 0 and 1. A t interval reaches beyond the bounds, and where most scores lie at one of them it is
far too short: of scores that are 1 in 98 of 100 cases it covers 18% at 10 cases. So the spread that was seen gives an effective
size, as for rates, but one that may exceed the number of cases, since scores vary less than what is all or nothing, and it
never falls below it. Wilson's interval of that size is the t interval where the mean lies far from the bounds. It cannot know of
scores far away that have not occurred yet: of 5 in 100 cases that score 0 where all others score 1, give or take 0.01, it covers
32% at 10 cases and 94% at 100. A gate takes an interval that does (`bounded_interval`), and is wider for it.

No case gives `None`. One case, or one cluster, of scores gives a value without an interval; so does one
cluster for a rate, and so do equal scores without bounds, which show no spread to judge by.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from math import fsum, isfinite

import msgspec

from calipers.stats.clusters import (
    cluster_degrees,
    clustered_interval,
    clustered_variance,
    clusters_agree,
    effective_size,
    independent_groups,
)
from calipers.stats.distributions import normal_quantile, student_t_quantile
from calipers.stats.interval import (
    Interval,
    Method,
    check_counts,
    mean_interval,
    t_interval,
    wilson,
    wilson_of_rate,
)
from calipers.stats.sample import (
    check_attempts,
    check_case_counts,
    check_clusters,
    check_confidence,
    finite_values,
)

_ROUNDING = 1e-12
"""Numbers that differ by no more than this share are the same number, computed in two ways."""


class Estimate(msgspec.Struct, frozen=True):
    """A value, how far to trust it, and what it was made from."""

    value: float
    """The rate or mean over cases."""
    interval: Interval | None
    """Where the true value may lie; `None` when the data cannot tell."""
    n_units: int
    """Cases."""
    n_observations: int
    """Attempts at all cases; equals `n_units` where nothing was repeated."""
    n_clusters: int | None = None
    """Clusters of cases; `None` when none were declared."""


def rate(
    cases: Sequence[tuple[float, int]],
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Estimate | None:
    """The pass rate over cases given as (passes, attempts), each case counting once.

    From lists of attempts, as `mean` takes them: `rate([(sum(attempts), len(attempts)) for attempts in cases])`.
    `clusters` names the group of each case, in the same order. `passes` may be fractional where an attempt passes
    in part.
    """
    check_case_counts(cases)
    successes: list[float] = []
    attempts = 0
    for index, (passed, tried) in enumerate(cases):
        if not (tried >= 1 and 0 <= passed <= tried):
            raise ValueError(
                f"case {index} must be (passes, attempts) with attempts >= 1 and 0 <= passes <= attempts, "
                f"got {(passed, tried)!r}; leave out a case that was never attempted"
            )
        successes.append(passed / tried)
        attempts += tried
    if clusters is None and attempts == len(successes):
        return rate_from_counts(fsum(successes), attempts, confidence=confidence)
    return bounded_mean(successes, n_observations=attempts, clusters=clusters, confidence=confidence)


def mean(
    cases: Sequence[Sequence[float]],
    *,
    bounds: tuple[float, float] | None = None,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Estimate | None:
    """The mean score over cases, each given as the scores of its attempts, each case counting once.

    Args:
        cases: for every case, the scores of its attempts.
        bounds: the smallest and the largest score there can be; `None` if that is not known.
        clusters: the group of each case, in the same order, where some resemble each other.
        confidence: of the interval.
    """
    check_confidence(confidence)
    values: list[float] = []
    attempts = 0
    for index, scores in enumerate(cases):
        check_attempts(scores, index)
        if len(scores) == 0:
            raise ValueError(f"case {index} has no scores; leave out a case that was not scored")
        if len(scores) == 1:
            values.append(scores[0])  # checked with those of the other cases
        else:
            known = finite_values(scores, name=f"scores of case {index}")
            values.append(fsum(known) / len(known))
        attempts += len(scores)
    n_clusters = _count_clusters(values, clusters)
    if not values:
        return None
    values = finite_values(values)
    if bounds is not None:
        interval = _between(values, bounds, clusters, confidence)
    elif max(values) - min(values) <= _ROUNDING * max(map(abs, values)):
        interval = None
    elif clusters is None:
        interval = t_interval(values, confidence=confidence)
    else:
        interval = clustered_interval(values, clusters, confidence=confidence)
    return Estimate(
        value=fsum(values) / len(values),
        interval=interval,
        n_units=len(values),
        n_observations=attempts,
        n_clusters=n_clusters,
    )


def rate_from_counts(successes: float, n: int, *, confidence: float = 0.95) -> Estimate | None:
    """The pass rate of `n` cases attempted once each: what `rate` gives, without listing them."""
    check_counts(successes, n)
    check_confidence(confidence)
    if n == 0:
        return None
    interval = wilson(successes, n, confidence=confidence)
    return Estimate(value=successes / n, interval=interval, n_units=n, n_observations=n)


def mean_from_moments(
    n: int,
    mean: float | None,
    variance: float | None,
    *,
    bounds: tuple[float, float] | None = None,
    n_observations: int | None = None,
    confidence: float = 0.95,
) -> Estimate | None:
    """The mean score of `n` cases, from the mean and the sample variance of the cases' means (see `Moments`): what `mean` gives.

    Args:
        n: how many cases.
        mean: of the cases' means; `None` for no case at all.
        variance: of the cases' means, with divisor n - 1; `None` for fewer than two cases.
        bounds: the smallest and the largest score there can be; `None` if that is not known.
        n_observations: attempts at all cases; default: one each.
        confidence: of the interval.
    """
    check_confidence(confidence)
    if n < 0 or (n > 0 and mean is None) or (n > 1 and variance is None):
        raise ValueError(f"{n!r} cases cannot have mean {mean!r} and variance {variance!r}")
    if n == 0 or mean is None:
        return None
    interval = None
    if bounds is not None and n > 1:
        width = _width(bounds)
        agrees = not variance or variance <= (_ROUNDING * max(abs(mean), width)) ** 2
        spread = 0.0 if agrees or variance is None else variance / n / width**2
        interval = _between_bounds((mean - bounds[0]) / width, spread, float(n), n - 1, bounds, confidence)
    elif variance and bounds is None:
        interval = mean_interval(n, mean, variance, confidence=confidence)
    return Estimate(
        value=mean,
        interval=interval,
        n_units=n,
        n_observations=n if n_observations is None else n_observations,
    )


def rate_from_moments(
    n: int, rate: float, variance: float | None, *, n_observations: int, confidence: float = 0.95
) -> Estimate | None:
    """The pass rate of `n` cases, from the mean and the sample variance of the cases' own rates: what `rate` gives.

    Args:
        n: how many cases.
        rate: the mean of the cases' own rates.
        variance: of these, with divisor n - 1; `None` for fewer than two cases.
        n_observations: attempts at all cases.
        confidence: of the interval.
    """
    check_confidence(confidence)
    if n == 0:
        return None
    if not 0 <= rate <= 1 or (n > 1 and variance is None) or n_observations < n:
        raise ValueError(
            f"{n!r} cases with {n_observations!r} attempts cannot have the rate {rate!r} and variance {variance!r}"
        )
    size = _size_of_cases(n, rate, None if variance is None else variance / n, n_observations, confidence)
    method: Method = "wilson" if size == n_observations else "effective-wilson"
    interval = wilson_of_rate(rate, size, confidence=confidence, method=method)
    return Estimate(value=rate, interval=interval, n_units=n, n_observations=n_observations)


def bounded_mean(
    values: Sequence[float],
    *,
    n_observations: int,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Estimate | None:
    """The mean over cases of values in [0, 1], each case's own estimate of a probability.

    `n_observations` counts the attempts behind them: the most that the effective size can be.
    """
    check_confidence(confidence)
    sample = finite_values(values)
    n_clusters = _count_clusters(sample, clusters)
    if not sample:
        return None
    for value in sample:
        if not 0 <= value <= 1:
            raise ValueError(f"every case's value must lie between 0 and 1, got {value!r}")
    if n_observations < len(sample):
        raise ValueError(
            f"n_observations must be at least one per case ({len(sample)}), got {n_observations!r}"
        )
    centre = fsum(sample) / len(sample)
    size = _size(sample, centre, n_observations, clusters, confidence)
    interval = None
    if size is not None:
        method: Method = "wilson" if size == n_observations else "effective-wilson"
        if n_clusters is not None and n_clusters < len(sample):
            method = "clustered-wilson"
        interval = wilson_of_rate(centre, size, confidence=confidence, method=method)
    return Estimate(
        value=centre,
        interval=interval,
        n_units=len(sample),
        n_observations=n_observations,
        n_clusters=n_clusters,
    )


def _between(
    values: list[float],
    bounds: tuple[float, float],
    clusters: Sequence[Hashable] | None,
    confidence: float,
) -> Interval | None:
    """The interval of scores between bounds; `None` if they are of one case or cluster."""
    low, high = bounds
    width = _width(bounds)
    for value in values:
        if not low <= value <= high:
            raise ValueError(f"every score must lie between the bounds {bounds!r}, got {value!r}")
    shares = [(value - low) / width for value in values]
    sizes = [1] * len(values) if clusters is None else list(Counter(clusters).values())
    if len(sizes) < 2:
        return None
    centre = fsum(shares) / len(shares)
    groups = range(len(values)) if clusters is None else clusters
    variance = clustered_variance(shares, groups)
    spread = 0.0 if variance is None or clusters_agree(shares, groups) else variance
    return _between_bounds(
        centre, spread, independent_groups(sizes), cluster_degrees(sizes), bounds, confidence
    )


def _width(bounds: tuple[float, float]) -> float:
    low, high = bounds
    if not (low < high and isfinite(high - low)):
        raise ValueError(f"bounds must be a smaller and a larger number, both finite, got {bounds!r}")
    return high - low


def _between_bounds(
    centre: float,
    variance: float,
    trials: float,
    degrees: float,
    bounds: tuple[float, float],
    confidence: float,
) -> Interval:
    """The interval of scores between bounds, from the mean and its variance, both as shares of the way between them.

    The variance is 0 where no spread was seen. That of a share is at most centre(1 - centre), so `trials` groups never claim too much.
    """
    low, width = bounds[0], bounds[1] - bounds[0]
    if variance and 0 < centre < 1:
        tail = (1 - confidence) / 2
        reach = normal_quantile(tail) / student_t_quantile(tail, degrees)
        trials = max(trials, centre * (1 - centre) / variance * reach * reach)
    found = wilson_of_rate(centre, trials, confidence=confidence, method="bounded-wilson")
    return Interval(low + width * found.low, low + width * found.high, confidence, found.method)


def _size(
    values: list[float],
    centre: float,
    n_observations: int,
    clusters: Sequence[Hashable] | None,
    confidence: float,
) -> float | None:
    """The number of independent trials behind a rate; `None` when it cannot be known."""
    n = len(values)
    if clusters is None:
        variance = None if n in {1, n_observations} else clustered_variance(values, range(n))
        return _size_of_cases(n, centre, variance, n_observations, confidence)
    sizes = Counter(clusters).values()
    if len(sizes) == 1:
        return None
    if centre in {0, 1}:
        return independent_groups(sizes)
    if len(sizes) == n_observations:
        return float(n_observations)
    variance = clustered_variance(values, clusters)
    assert variance is not None
    return effective_size(
        centre,
        variance,
        n_observations=n_observations,
        df=cluster_degrees(sizes),
        confidence=confidence,
    )


def _size_of_cases(
    n: int, centre: float, variance: float | None, n_observations: int, confidence: float
) -> float:
    """The number of independent trials behind the rate of cases in no clusters, from the variance of their mean."""
    # The variance of a value in [0, 1] is at most centre(1 - centre), so n trials never claim too much.
    if centre in {0, 1} or n == 1:
        return float(n)
    if n == n_observations:
        return float(n_observations)
    assert variance is not None
    # Near 0 and 1 few cases tell how alike attempts are: there, up to one more is taken to be all or nothing.
    even = 4 * centre * (1 - centre)
    seen, added = n * even, 1 - even
    variance = (seen * variance + added * centre * (1 - centre) / n) / (seen + added)
    return effective_size(
        centre,
        variance,
        n_observations=n_observations,
        df=float(n - 1),
        at_least=float(n),
        confidence=confidence,
    )


def _count_clusters(values: Sequence[float], clusters: Sequence[Hashable] | None) -> int | None:
    check_clusters(clusters, len(values))
    return None if clusters is None else len(set(clusters))
