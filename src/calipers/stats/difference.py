"""The difference between two ways of doing the same thing, with its interval and p-value.

The unit is the case. Cases are given as the scores of their attempts, as for `mean`, and attempts at a case are averaged
first: twelve attempts at four cases are four independent observations, not twelve, and a test that pools them sees
certainty that is not there.

| front door         | data                                              | interval          | p-value               |
|--------------------|---------------------------------------------------|-------------------|-----------------------|
| `compare_paired`   | passed or not, each case once                     | Newcombe, paired  | McNemar, mid-p        |
|                    | scores, or repeated cases                         | t of the paired differences | paired t    |
|                    | clusters of cases                                 | t, clustered variance | clustered t       |
| `compare_these`    | attempts at these cases and no others             | t within cases    | dealt again, or t     |
| `compare_unpaired` | passed or not, each case once                     | Newcombe, independent | Fisher, exact     |
|                    | passed or not, repeated cases or clusters         | Newcombe of two effective sizes | Welch t |
|                    | scores                                            | Welch             | Welch t               |

Pair whenever both ways met the same cases: the same hard cases are hard for both, and that cancels (Miller, "Adding Error
Bars to Evals", 2024). Unpaired is for runs over different cases; on the same cases it is valid and wasteful.

Where all differences are equal there is no spread to judge by, and a t test would be infinitely certain. The same holds
where the differences of all clusters come to the same by luck, as of +1, -1 and -1, +1. The p-value is then that of the
sign-flip test, 2 / 2^n for n cases or clusters (see `permutation_test`); there is none where the differences of each
cluster cancel. The interval is Newcombe's where every attempt either passed or not, of as many cases as the clusters are
worth, and `None` otherwise.

Not for many looks at a growing run (see `SequentialComparison`), nor for picking the best of many (see `holm`).
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from math import fsum, inf, sqrt
from typing import Literal

import msgspec

from calipers.stats.bootstrap import bootstrap_interval
from calipers.stats.clusters import (
    cluster_degrees,
    clustered_variance,
    clusters_agree,
    effective_size,
    independent_groups,
)
from calipers.stats.distributions import student_t_cdf, student_t_quantile
from calipers.stats.estimate import Estimate, rate
from calipers.stats.interval import Interval, Method, check_confidence
from calipers.stats.paired import newcombe_paired, paired_difference
from calipers.stats.sample import case_means

__all__ = ["Difference", "bootstrap_difference", "compare_paired", "compare_unpaired"]

Test = Literal["mcnemar", "paired-t", "clustered-t", "sign-flip", "fisher", "welch-t", "within-t", "dealt"]
"""How a p-value was made."""


_ROUNDING = 1e-12
"""Numbers that differ by no more than this share are the same number, computed in two ways."""


class Difference(msgspec.Struct, frozen=True):
    """How much higher the first mean is than the second."""

    value: float
    """The first mean minus the second, each case counting once."""
    interval: Interval | None
    """Where the true difference may lie; `None` when the data cannot tell."""
    p_value: float | None
    """How likely so large a difference, either way, is between two that are equal; `None` when the data cannot tell."""
    test: Test | None
    """The test that the p-value is of."""
    first: float
    """The first mean."""
    second: float
    """The second mean."""
    n_first: int
    """Cases of the first."""
    n_second: int
    """Cases of the second; where they are paired, the same ones."""
    n_clusters: int | None = None
    """Clusters of paired cases; `None` when none were declared."""


def compare_paired(
    first: Sequence[Sequence[float]],
    second: Sequence[Sequence[float]],
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Difference | None:
    """The difference on the same cases, each given as the scores of its attempts, in the same order; `None` without cases.

    A single case, or a single cluster, gives a difference without interval and p-value.

    Args:
        first: for every case, the scores of its attempts the first way.
        second: the same the second way; the number of attempts may differ.
        clusters: the group of each case, where some resemble each other.
        confidence: of the interval.
    """
    check_confidence(confidence)
    one, two = paired_means(first, second)
    n = len(one)
    if not n:
        _check_length(clusters, n)
        return None
    judged = _passed_or_not(first) and _passed_or_not(second)
    if clusters is None and judged and _once(first) and _once(second):
        counts = [sum((a, b) == kind for a, b in zip(one, two, strict=True)) for kind in _KINDS]
        pairs = paired_difference(*counts, confidence=confidence)
        assert pairs is not None
        return Difference(
            pairs.value, pairs.interval, pairs.p_value, "mcnemar", fsum(one) / n, fsum(two) / n, n, n
        )
    differences, equal = without_rounding(one, two, clusters)
    variance = clustered_variance(differences, range(n) if clusters is None else clusters)
    groups = n if clusters is None else len(set(clusters))
    value = fsum(differences) / n
    interval: Interval | None = None
    p_value: float | None = None
    test: Test | None = None
    if variance is not None and not equal:
        _check_scale(variance)
        plain = clusters is None
        df = degrees_of(differences, clusters)
        interval = t_around(value, variance, df, confidence, "t" if plain else "clustered-t")
        p_value = two_sided(value, variance, df)
        test = "paired-t" if plain else "clustered-t"
    elif variance is not None:
        test, p_value = "sign-flip", (2.0 ** (1 - groups) if any(differences) else 1.0)
        if p_value < 1 and abs(value) <= _ROUNDING * max(map(abs, differences)):
            test, p_value = (
                None,
                None,
            )  # every cluster comes to 0, and its cases do not: they differ, nobody knows how much
        if judged:
            interval = _of_equal_differences(one, two, clusters, confidence)
    return Difference(
        value=value,
        interval=interval,
        p_value=p_value,
        test=test,
        first=fsum(one) / n,
        second=fsum(two) / n,
        n_first=n,
        n_second=n,
        n_clusters=None if clusters is None else groups,
    )


def compare_unpaired(
    first: Sequence[Sequence[float]],
    second: Sequence[Sequence[float]],
    *,
    first_clusters: Sequence[Hashable] | None = None,
    second_clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Difference | None:
    """The difference between runs over different cases, each given as the scores of its attempts; `None` if one is empty.

    Passed or not: the intervals of the two rates, put together as Newcombe does ("Interval Estimation for the Difference
    between Independent Proportions", 1998, method 10; with repeats and clusters: Zou & Donner 2008), and, with every
    case attempted once, Fisher's exact test, whose two sides hold every table no likelier than the one seen. Otherwise
    Welch's t (1947) with Satterthwaite's degrees of freedom; with clusters, each variance is clustered and has the degrees of
    freedom of its clusters (`cluster_degrees`). Where the spread cannot be known (one case or cluster on a side, clusters of unequal
    scores whose means agree, or equal scores on both) there is no t interval and no p-value.
    """
    check_confidence(confidence)
    one, two = case_means(first, name="first"), case_means(second, name="second")
    _check_length(first_clusters, len(one))
    _check_length(second_clusters, len(two))
    if not one or not two:
        return None
    p, q = fsum(one) / len(one), fsum(two) / len(two)
    groups = range(len(one)) if first_clusters is None else first_clusters
    groups_too = range(len(two)) if second_clusters is None else second_clusters
    var_p, var_q = clustered_variance(one, groups), clustered_variance(two, groups_too)
    interval: Interval | None = None
    p_value: float | None = None
    test: Test | None = None
    known = _known_spread(one, groups) and _known_spread(two, groups_too)
    if var_p is not None and var_q is not None and known and not (_equal(one) and _equal(two)):
        _check_scale(var_p + var_q)
        share = var_p / (var_p + var_q)  # of the whole: squares of tiny variances would vanish
        df = 1 / (
            share**2 / degrees_of(one, first_clusters) + (1 - share) ** 2 / degrees_of(two, second_clusters)
        )
        interval = t_around(p - q, var_p + var_q, df, confidence, "welch")
        test, p_value = "welch-t", two_sided(p - q, var_p + var_q, df)
    if _passed_or_not(first) and _passed_or_not(second):
        interval = _of_two_rates(
            rate([(sum(case), len(case)) for case in first], clusters=first_clusters, confidence=confidence),
            rate(
                [(sum(case), len(case)) for case in second], clusters=second_clusters, confidence=confidence
            ),
        )
        if first_clusters is None and second_clusters is None and _once(first) and _once(second):
            passed, passed_too = round(fsum(one)), round(fsum(two))
            test = "fisher"
            p_value = fisher_exact(passed, len(one) - passed, passed_too, len(two) - passed_too)
    return Difference(p - q, interval, p_value, test, p, q, len(one), len(two))


def bootstrap_difference(
    first: Sequence[Sequence[float]],
    second: Sequence[Sequence[float]],
    *,
    seed: int,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> Difference | None:
    """The paired difference with a BCa bootstrap interval; whole cases are redrawn or, where declared, whole clusters.

    For differences far from normal, such as costs: rare and large. Not below some ten cases or clusters, where the t
    interval covers better, nor where all differences are equal: no interval then. There is no p-value: use
    `permutation_test`.
    """
    check_confidence(confidence)
    one, two = paired_means(first, second)
    n = len(one)
    _check_length(clusters, n)
    if not n:
        return None
    differences, equal = without_rounding(one, two, clusters)
    totals: dict[Hashable, list[float]] = {}
    for group, value in zip(range(n) if clusters is None else clusters, differences, strict=True):
        totals.setdefault(group, []).append(value)
    parts = [(fsum(values), len(values)) for values in totals.values()]

    def mean_of(drawn: Sequence[float]) -> float:
        chosen = [parts[int(index)] for index in drawn]
        return fsum(total for total, _ in chosen) / sum(size for _, size in chosen)

    interval = None
    if not equal:
        interval = bootstrap_interval(
            range(len(parts)), seed=seed, statistic=mean_of, confidence=confidence, resamples=resamples
        )
    value = fsum(differences) / n
    p, q = fsum(one) / n, fsum(two) / n
    return Difference(value, interval, None, None, p, q, n, n, None if clusters is None else len(parts))


def paired_means(
    first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]
) -> tuple[list[float], list[float]]:
    """The mean of every case both ways; both must have the same cases."""
    one, two = case_means(first, name="first"), case_means(second, name="second")
    if len(one) != len(two):
        raise ValueError(
            f"paired cases need both their scores: got {len(one)} and {len(two)} cases; "
            f"keep those that both have, or use compare_unpaired()"
        )
    return one, two


def without_rounding(
    one: list[float], two: list[float], clusters: Sequence[Hashable] | None = None
) -> tuple[list[float], bool]:
    """The differences, and whether all are equal on paper: 0.3 - 0.1 and 0.5 - 0.3 are, and 0.1 * 3 / 3 - 0.1 is 0.

    What rounding leaves over would otherwise count as a spread, or as a case that got better. With clusters, differences
    are equal, too, where those of every cluster have the same mean.
    """
    differences = [
        0.0 if abs(a - b) <= _ROUNDING * max(abs(a), abs(b)) else a - b for a, b in zip(one, two, strict=True)
    ]
    largest = max(map(abs, [*one, *two]), default=0.0)
    equal = max(differences) - min(differences) <= _ROUNDING * largest
    if clusters is not None and not equal:
        equal = clusters_agree(differences, clusters, scale=largest)
    return differences, equal


def degrees_of(values: Sequence[float], clusters: Sequence[Hashable] | None) -> float:
    """The degrees of freedom of the variance of a mean, of two cases or clusters at least."""
    return len(values) - 1 if clusters is None else cluster_degrees(Counter(clusters).values())


def t_around(value: float, variance: float, df: float, confidence: float, method: Method) -> Interval:
    """Student's t interval around a value whose variance is known with `df` degrees of freedom."""
    half = -student_t_quantile((1 - confidence) / 2, df) * sqrt(variance)
    return Interval(value - half, value + half, confidence, method)


def two_sided(value: float, variance: float, df: float) -> float:
    """The p-value of Student's t test that the true value is 0."""
    return min(1.0, 2 * student_t_cdf(-abs(value) / sqrt(variance), df))


def fisher_exact(passed: int, failed: int, passed_too: int, failed_too: int) -> float:
    """Fisher's exact two-sided p-value (1922): all tables with the same margins that are no likelier than this one."""
    n, m, total = passed + failed, passed_too + failed_too, passed + passed_too
    lowest, highest = max(0, total - m), min(n, total)
    mode = min(max((total + 1) * (n + 1) // (n + m + 2), lowest), highest)
    # Each table's chance relative to the likeliest one: what vanishes is far below any p-value that matters.
    chances = {mode: 1.0}
    for k in range(mode, highest):
        chances[k + 1] = chances[k] * (n - k) * (total - k) / ((k + 1) * (m - total + k + 1))
    for k in range(mode, lowest, -1):
        chances[k - 1] = chances[k] * k * (m - total + k) / ((n - k + 1) * (total - k + 1))
    seen = chances[passed] * (1 + 1e-7)  # tables equally likely on paper differ in their last digits
    return min(1.0, fsum(way for way in chances.values() if way <= seen) / fsum(chances.values()))


_KINDS = ((1, 1), (1, 0), (0, 1), (0, 0))


def _once(cases: Sequence[Sequence[float]]) -> bool:
    return all(len(scores) == 1 for scores in cases)


def _passed_or_not(cases: Sequence[Sequence[float]]) -> bool:
    return all(score in {0, 1} for scores in cases for score in scores)


def _equal(values: list[float]) -> bool:
    return max(values) - min(values) <= _ROUNDING * max(map(abs, values))


def _known_spread(values: list[float], clusters: Sequence[Hashable]) -> bool:
    """Whether clusters show how they differ; those of unequal scores whose means agree do not."""
    return _equal(values) or not clusters_agree(values, clusters)


def _check_scale(variance: float) -> None:
    if not 0 < variance < inf:
        raise ValueError(
            f"the variance of these scores comes out as {variance!r}: rescale them before comparing"
        )


def _of_equal_differences(
    one: list[float], two: list[float], clusters: Sequence[Hashable] | None, confidence: float
) -> Interval | None:
    """Newcombe's interval with each case's shares of passes as fractional counts."""
    n = len(one)
    both = fsum(map(min, one, two))
    more, less = (fsum(max(0.0, sign * (a - b)) for a, b in zip(one, two, strict=True)) for sign in (1, -1))
    counts = (both, more, less, max(0.0, n - both - more - less))
    size = float(n)
    if clusters is not None:
        sizes = Counter(clusters).values()
        # A variance of 0 pays for few clusters only; cases of one may be no more than one case.
        few = effective_size(0.5, 0.0, n_observations=n, df=cluster_degrees(sizes), confidence=confidence)
        size = min(few, independent_groups(sizes))
    return newcombe_paired(*(count * size / n for count in counts), confidence=confidence)


def _of_two_rates(one: Estimate | None, two: Estimate | None) -> Interval | None:
    """Newcombe's way to put together the intervals of two independent rates."""
    if one is None or two is None or one.interval is None or two.interval is None:
        return None
    p, q = one.value, two.value
    below = sqrt((p - one.interval.low) ** 2 + (two.interval.high - q) ** 2)
    above = sqrt((one.interval.high - p) ** 2 + (q - two.interval.low) ** 2)
    low, high = max(-1.0, p - q - below), min(1.0, p - q + above)
    return Interval(low, high, one.interval.confidence, "newcombe")


def _check_length(clusters: Sequence[Hashable] | None, n: int) -> None:
    if clusters is not None and len(clusters) != n:
        raise ValueError(f"every case needs its cluster id: got {n} cases and {len(clusters)} cluster ids")
