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
from math import comb, exp, fsum, inf, isfinite, lcm, lgamma, log, sqrt
from typing import Literal, NamedTuple

import msgspec

from calipers.stats.clusters import (
    cluster_degrees,
    clustered_variance,
    clusters_agree,
    effective_size,
    independent_groups,
)
from calipers.stats.distributions import beta_cdf, student_t_cdf, student_t_quantile
from calipers.stats.estimate import Estimate, rate
from calipers.stats.interval import Interval, Method, bootstrap_interval, check_counts, wilson
from calipers.stats.sample import Moments, case_means, check_clusters, check_confidence

Test = Literal["mcnemar", "paired-t", "clustered-t", "sign-flip", "fisher", "welch-t", "within-t", "dealt"]
"""How a p-value was made."""
Decision = Literal["superior", "non-inferior", "inferior", "undecided"]
"""What is known about a difference; see `decide`."""
Cases = Sequence[Sequence[float]]
"""For every case, the scores of its attempts."""

_KINDS = ((1, 1), (1, 0), (0, 1), (0, 0))
_UNSEEN = 2
"""Attempts on each side that are taken to have come out the other way."""
_DEALT = 28
"""Cases that vary, up to which all ways to deal their attempts are counted."""
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
    first: Cases,
    second: Cases,
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
        check_clusters(clusters, n)
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
            # Every cluster comes to 0, and its cases do not: they differ, and how much is not known.
            test, p_value = None, None
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
    first: Cases,
    second: Cases,
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
    check_clusters(first_clusters, len(one))
    check_clusters(second_clusters, len(two))
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
        interval = interval_of_two_rates(
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
    first: Cases,
    second: Cases,
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
    check_clusters(clusters, n)
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


def paired_means(first: Cases, second: Cases) -> tuple[list[float], list[float]]:
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


_VANISHED = 1e-300
"""A chance, relative to the likeliest one, from which on none is counted: of many cases most tables are that unlikely."""


def fisher_exact(passed: int, failed: int, passed_too: int, failed_too: int) -> float:
    """Fisher's exact two-sided p-value (1922): all tables with the same margins that are no likelier than this one."""
    n, m, total = passed + failed, passed_too + failed_too, passed + passed_too
    lowest, highest = max(0, total - m), min(n, total)
    mode = min(max((total + 1) * (n + 1) // (n + m + 2), lowest), highest)
    # Each table's chance relative to the likeliest one: what vanishes is far below any p-value that matters.
    chances = {mode: 1.0}
    for k in range(mode, highest):
        chances[k + 1] = chance = chances[k] * (n - k) * (total - k) / ((k + 1) * (m - total + k + 1))
        if chance < _VANISHED:
            break
    for k in range(mode, lowest, -1):
        chances[k - 1] = chance = chances[k] * k * (m - total + k) / ((n - k + 1) * (total - k + 1))
        if chance < _VANISHED:
            break
    seen = chances.get(passed, 0.0) * (1 + 1e-7)  # tables equally likely on paper differ in their last digits
    return min(1.0, fsum(way for way in chances.values() if way <= seen) / fsum(chances.values()))


def _once(cases: Cases) -> bool:
    return all(len(scores) == 1 for scores in cases)


def _passed_or_not(cases: Cases) -> bool:
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


def interval_of_two_rates(one: Estimate | None, two: Estimate | None) -> Interval | None:
    """Newcombe's way to put together the intervals of two independent rates."""
    if one is None or two is None or one.interval is None or two.interval is None:
        return None
    p, q = one.value, two.value
    below = sqrt((p - one.interval.low) ** 2 + (two.interval.high - q) ** 2)
    above = sqrt((one.interval.high - p) ** 2 + (q - two.interval.low) ** 2)
    low, high = max(-1.0, p - q - below), min(1.0, p - q + above)
    clustered = one.interval.approximate or two.interval.approximate
    return Interval(low, high, one.interval.confidence, "clustered-newcombe" if clustered else "newcombe")


class PairedDifference(msgspec.Struct, frozen=True):
    """How much more often the first way passed than the second, on the same cases.

    Each case was tried once each way, so what counts is in which way the two disagree. The interval is Newcombe's hybrid score
    interval for paired proportions (method 10 of Newcombe, *Statistics in Medicine* 17, 1998, 2635-2650): the Wilson intervals of
    the two rates, put together with the correlation between them. Unlike a t interval it does not shrink to a point where the two
    ways never disagreed, which a few cases cannot prove.
    """

    both: int
    """Cases that passed both ways."""
    first_only: int
    """Cases that passed the first way alone."""
    second_only: int
    """Cases that passed the second way alone."""
    neither: int
    """Cases that passed neither way."""
    interval: Interval
    """Where the true difference may lie."""

    @property
    def n(self) -> int:
        """Cases."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def value(self) -> float:
        """The first rate minus the second."""
        return (self.first_only - self.second_only) / self.n

    @property
    def p_value(self) -> float:
        """How likely so lopsided a disagreement is between two ways that are equally good: McNemar's mid-p test.

        Two-sided, over the cases on which the two disagree (McNemar 1947), by the binomial distribution, with half of the
        chance of what was seen: the exact test is so cautious with few disagreements that it misses up to 18 points of power,
        and the mid-p test stays within its level (Fagerland, Lydersen & Laake, "The McNemar Test for Binary Matched-Pairs Data:
        Mid-p and Asymptotic Are Better than Exact Conditional", 2013). 1 where they never disagree.
        """
        fewer, both = min(self.first_only, self.second_only), self.first_only + self.second_only
        if not both:
            return 1.0
        seen = exp(lgamma(both + 1) - lgamma(fewer + 1) - lgamma(both - fewer + 1) - both * log(2))
        return min(1.0, 2 * beta_cdf(0.5, both - fewer, fewer + 1) - seen)


def paired_difference(
    both: int, first_only: int, second_only: int, neither: int, *, confidence: float = 0.95
) -> PairedDifference | None:
    """The difference between two rates on the same cases, from the four counts; `None` without cases."""
    check_confidence(confidence)
    n = both + first_only + second_only + neither
    for count in (both, first_only, second_only, neither):
        check_counts(count, n)
    interval = newcombe_paired(both, first_only, second_only, neither, confidence=confidence)
    if interval is None:
        return None
    return PairedDifference(both, first_only, second_only, neither, interval)


def newcombe_paired(
    both: float, first_only: float, second_only: float, neither: float, *, confidence: float = 0.95
) -> Interval | None:
    """Newcombe's interval from the four counts, which may be fractional; `None` without cases."""
    n = both + first_only + second_only + neither
    first = wilson(both + first_only, n, confidence=confidence)
    second = wilson(both + second_only, n, confidence=confidence)
    if first is None or second is None:
        return None
    p, q = (both + first_only) / n, (both + second_only) / n
    phi = _correlation(both, first_only, second_only, neither)
    down, up = p - first.low, first.high - p
    other_down, other_up = q - second.low, second.high - q
    below = sqrt(max(0.0, down**2 - 2 * phi * down * other_up + other_up**2))
    above = sqrt(max(0.0, up**2 - 2 * phi * up * other_down + other_down**2))
    low, high = max(-1.0, p - q - below), min(1.0, p - q + above)
    return Interval(low, high, confidence, "newcombe")


def _correlation(both: float, first_only: float, second_only: float, neither: float) -> float:
    """The correlation of the two ways, corrected for continuity where it is positive."""
    margins = (both + first_only) * (second_only + neither) * (both + second_only) * (first_only + neither)
    if not margins:
        return 0.0
    excess = both * neither - first_only * second_only
    half = (both + first_only + second_only + neither) / 2
    return (max(0.0, excess - half) if excess > 0 else excess) / sqrt(margins)


def decide(interval: Interval | None, *, margin: float = 0.0) -> Decision:
    """What the interval of a difference lets one decide, against the margin below which a loss does not matter.

    The difference is the new way minus the old one, and higher is better:

        superior       the whole interval lies above 0
        non-inferior   it lies above -margin: if the new way is worse, then by less than matters
        inferior       it lies below -margin: worse by more than matters
        undecided      it holds -margin, or there is no interval: more cases could tell

    (Piaggio et al., "Reporting of Noninferiority and Equivalence Randomized Trials", 2012). Not significant is no decision: a
    handful of cases makes everything undecided, and nothing equal. `non-inferior` may well be significantly worse than 0;
    choose the margin, before looking, as the largest loss you would ship.

    Args:
        interval: of the new way minus the old one, from `compare_paired`, or from `anytime_interval` when it is looked at
            more than once.
        margin: the loss below which it does not matter, in the units of the difference.
    """
    check_margin(margin)
    if interval is None:
        return "undecided"
    if not isinstance(interval, Interval):
        raise TypeError(
            f"decide() takes the interval of a difference, such as difference.interval, got {interval!r}"
        )
    if interval.low > 0:
        return "superior"
    if interval.low > -margin:
        return "non-inferior"
    return "inferior" if interval.high < -margin else "undecided"


def check_margin(margin: float) -> None:
    """Refuse a margin that is negative or no number."""
    if not (margin >= 0 and isfinite(margin)):
        raise ValueError(f"margin must be finite and not negative, got {margin!r}")


def compare_these(first: Cases, second: Cases, *, confidence: float = 0.95) -> Difference | None:
    """The difference on these very cases, each given as the scores of its attempts, in the same order; `None` without cases.

    `compare_paired` asks about all the cases that these are a sample of, so cases that differ from each other widen its interval.
    Where the cases are given, as in a suite in which each is there for a reason, only attempts vary: the variance of the
    difference is that within each case, and more attempts make it smaller. The answer says nothing of other cases.

    The interval is Student's t, with the degrees of freedom of a sum of variances (Satterthwaite, "An Approximate Distribution of
    Estimates of Variance Components", 1946). Attempts that pass or not may all agree by luck: so on each side two more attempts
    are taken to have come out the other way, as Agresti and Coull do for a rate ("Approximate Is Better than 'Exact'", 1998).
    Scores that never differ between two attempts at a case show no noise, and have no interval. The p-value of passes is exact
    where few cases vary: of all ways to deal the attempts at each case to the two sides, the share that is as lopsided (a
    permutation test in strata). Else it is that of the t test. A case with a single attempt on a side shows no noise: then there
    is neither interval nor p-value.

    Args:
        first: for every case, the scores of its attempts the first way, at least two for an interval.
        second: the same the second way; the number of attempts may differ.
        confidence: of the interval.
    """
    check_confidence(confidence)
    one, two = paired_means(first, second)
    n = len(one)
    if not n:
        return None
    passed = all(score in {0, 1} for side in (first, second) for case in side for score in case)
    value, p, q = fsum(one) / n - fsum(two) / n, fsum(one) / n, fsum(two) / n
    noise = _noise([(side, [1 / n] * n) for side in (first, second)])
    interval: Interval | None = None
    p_value: float | None = None
    test: Test | None = None
    if noise is not None:
        variance = noise.variance
        if passed:
            variance += fsum(_UNSEEN / sum(map(len, side)) ** 2 for side in (first, second))
        if variance > 0:
            df = noise.degrees(variance)
            interval = t_around(value, variance, df, confidence, "within-t")
            p_value, test = two_sided(value, variance, df), "within-t"
        elif value == 0:
            p_value, test = 1.0, "within-t"
        if passed and (dealt := _dealt(first, second)) is not None:
            p_value, test = dealt, "dealt"
    return Difference(value, interval, p_value, test, p, q, n, n)


def growth_of_these(
    first: Cases, second: Cases, *, by_case: bool, confidence: float = 0.95
) -> Difference | None:
    """How much larger the first is on these cases, on the scale of logarithms; `None` if a mean that it takes is not positive.

    Args:
        first: for every case, the values of its attempts.
        second: the same the second way.
        by_case: the mean of the logarithms of the cases' ratios; else the logarithm of the ratio of the totals.
        confidence: of the interval.
    """
    check_confidence(confidence)
    one, two = paired_means(first, second)
    n = len(one)
    if not n or min(fsum(one), fsum(two)) <= 0 or (by_case and min(*one, *two) <= 0):
        return None
    if by_case:
        p, q = (fsum(map(log, side)) / n for side in (one, two))
        weights = [[1 / (n * mean) for mean in side] for side in (one, two)]
    else:
        p, q = log(fsum(one) / n), log(fsum(two) / n)
        weights = [[1 / fsum(side)] * n for side in (one, two)]
    # To first order, a mean that is off by a share moves its logarithm by as much.
    noise = _noise(list(zip((first, second), weights, strict=True)))
    if noise is None or not 0 < noise.variance < inf:
        same = noise is not None and p == q
        return Difference(p - q, None, 1.0 if same else None, "within-t" if same else None, p, q, n, n)
    df = noise.degrees(noise.variance)
    interval = t_around(p - q, noise.variance, df, confidence, "within-t")
    return Difference(p - q, interval, two_sided(p - q, noise.variance, df), "within-t", p, q, n, n)


class _Noise(NamedTuple):
    """What the attempts at each case leave open."""

    variance: float
    """Of the difference."""
    spread: float
    """The sum of the squares of its parts, each over its degrees of freedom."""

    def degrees(self, variance: float) -> float:
        """The degrees of freedom of a variance that holds this one, by Satterthwaite."""
        return min(variance**2 / self.spread, 1e9) if self.spread > 0 else 1e9


def _noise(sides: Sequence[tuple[Cases, Sequence[float]]]) -> _Noise | None:
    """The variance of a weighted sum of the means of cases; `None` where a case has a single attempt."""
    parts: list[tuple[float, int]] = []
    for cases, weights in sides:
        for case, weight in zip(cases, weights, strict=True):
            variance = Moments.of(case).variance
            if variance is None:
                return None
            parts.append((weight**2 * variance / len(case), len(case) - 1))
    return _Noise(fsum(part for part, _ in parts), fsum(part**2 / df for part, df in parts))


def _dealt(first: Cases, second: Cases) -> float | None:
    """The share of ways to deal the attempts at each case to both sides that differ as much; `None` where too many cases vary."""
    vary = [
        (len(one), len(two), round(sum(one)), round(sum(one) + sum(two)))
        for one, two in zip(first, second, strict=True)
        if 0 < sum(one) + sum(two) < len(one) + len(two)
    ]
    if len(vary) > _DEALT:
        return None
    unit = lcm(*(size for case in vary for size in case[:2]))
    seen, ways = 0, {0: 1.0}
    for k, m, passed, passes in vary:
        seen += passed * (unit // k) - (passes - passed) * (unit // m)
        deals = {
            dealt * (unit // k) - (passes - dealt) * (unit // m): comb(k, dealt) * comb(m, passes - dealt)
            for dealt in range(max(0, passes - m), min(k, passes) + 1)
        }
        following = dict[int, float]()
        for place, chance in ways.items():
            for step, count in deals.items():
                following[place + step] = following.get(place + step, 0.0) + chance * count / comb(
                    k + m, passes
                )
        ways = following
    return min(1.0, fsum(chance for place, chance in ways.items() if abs(place) >= abs(seen)))
