"""The spread of a mean when observations come in groups that resemble each other.

Cases built on one document, or attempts at one case, share their luck. Treating them as independent makes
error bars too small, up to threefold on popular benchmarks (Miller, "Adding Error Bars to Evals", 2024). Two
tools follow.

- `clustered_variance`, for scores: the squared sum of each cluster's residuals, over the share of the cases that lie
  outside of it, since a large cluster pulls the mean towards itself and so hides its own deviation ("CR2", Bell & McCaffrey,
  "Bias Reduction in Standard Errors for Linear Regression with Multi-Stage Samples", 2002; for a mean it has this closed
  form). The interval is Student's t with Satterthwaite's degrees of freedom for that variance (`cluster_degrees`). With C equal
  clusters the two are Miller's variance times C / (C - 1), and C - 1.
- `effective_size`, for rates: how many independent observations would give the variance that was seen (Korn &
  Graubard, "Confidence Intervals for Proportions with Small Expected Number of Positive Counts Estimated from
  Survey Data", 1998). The rate then gets a Wilson interval of that size; Korn and Graubard use Clopper and
  Pearson's.

The mean is over observations, so a large cluster weighs more than a small one. One cluster alone says nothing
about how clusters differ: `None`. Neither do clusters of unequal scores whose means happen to agree, such as 0.1, 0.4
and 0.4, 0.1: they have a variance of 0, or of what rounding leaves, and no interval.

Limits. Simulated 95% intervals of scores cover 94 to 97%, with equal clusters from three on, and also where one cluster holds
half of the cases. Then the mean is mostly that cluster's, and the interval is as wide as one or two degrees of freedom make it. Where two or
three clusters hold most of the cases, and cases of a cluster are much alike, they cover 88 to 92%: the degrees of freedom are for independent cases.
So do rates whose unequal clusters pass or fail as one: 85 to 94%.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from math import fsum, sqrt

from calipers.stats.distributions import student_t_quantile
from calipers.stats.interval import Interval
from calipers.stats.sample import check_clusters, check_confidence, finite_values

_ROUNDING = 1e-12
"""Numbers that differ by no more than this share are the same number, computed in two ways."""


def clustered_variance(values: Sequence[float], clusters: Sequence[Hashable]) -> float | None:
    """The variance of the mean of `values` when those with the same cluster id may be correlated.

    With every value in a cluster of its own this is the sample variance over n. `None` for fewer than two
    clusters.
    """
    sample = finite_values(values)
    check_clusters(clusters, len(sample))
    residuals = _residuals(sample, clusters)
    n = len(sample)
    if len(residuals) < 2:
        return None
    sums = [(fsum(each), n - len(each)) for each in residuals.values()]
    return fsum(r * r / others for r, others in sums) / n


def cluster_degrees(sizes: Iterable[float]) -> float:
    """The degrees of freedom of the variance of a mean over clusters of these sizes, at least two of them.

    Satterthwaite's, for independent values: C - 1 for C equal clusters, and little more than 1 where one holds most of the
    cases, however many others there are.
    """
    known = list(sizes)
    n = fsum(known)
    if len(known) < 2 or min(known) <= 0:
        raise ValueError(f"sizes must be positive, at least two of them, got {known!r}")
    pulls = [size * size / (n - size) for size in known]
    return n * n / (fsum(s * s for s in known) + fsum(pulls) ** 2 - fsum(a * a for a in pulls))


def clusters_agree(values: Sequence[float], clusters: Sequence[Hashable], *, scale: float = 0.0) -> bool:
    """Whether the means of all clusters are equal on paper, so that nothing is known of how clusters differ.

    Args:
        values: of every case.
        clusters: the group of each case.
        scale: the size of the numbers that the values were made from, where they are differences: what rounding
            leaves of those is no spread.
    """
    largest = max(scale, max(map(abs, values), default=0.0))
    residuals = _residuals(values, clusters).values()
    return all(abs(fsum(each)) <= _ROUNDING * largest * len(each) for each in residuals)


def clustered_interval(
    values: Sequence[float], clusters: Sequence[Hashable], *, confidence: float = 0.95
) -> Interval | None:
    """Student's t interval for the mean of clustered scores.

    `None` for fewer than two clusters, and where their means agree though the scores do not.
    """
    check_confidence(confidence)
    variance = clustered_variance(values, clusters)
    if variance is None:
        return None
    if clusters_agree(values, clusters) and not clusters_agree(values, range(len(values))):
        return None
    mean = fsum(values) / len(values)
    df = cluster_degrees(Counter(clusters).values())
    half = -student_t_quantile((1 - confidence) / 2, df) * sqrt(variance)
    return Interval(low=mean - half, high=mean + half, confidence=confidence, method="clustered-t")


def independent_groups(sizes: Iterable[float]) -> float:
    """How many equal, independent groups the groups of these sizes are worth: (Σ size)² / Σ size² (Kish 1965).

    The number of groups when they are equally large, fewer otherwise: it is the effective sample size if nothing
    varies within a group.
    """
    known = list(sizes)
    if not known or min(known) <= 0:
        raise ValueError(f"sizes must be positive, at least one of them, got {known!r}")
    return fsum(known) ** 2 / fsum(size * size for size in known)


def effective_size(
    rate: float,
    variance: float,
    *,
    n_observations: int,
    df: float,
    at_least: float = 1.0,
    confidence: float = 0.95,
) -> float:
    """The number of independent trials that would know `rate` as well as the grouped observations do.

    The size is n over the design effect: the variance of the grouped estimate relative to
    rate(1 - rate) / (n - 1), the unbiased variance for n independent observations. Dividing by n - 1 on both
    sides makes the size exactly n when every group holds one observation. The factor (t_{n-1} / t_{df})²
    of Korn and Graubard then pays for a variance that few groups estimate poorly. The result stays between
    `at_least` and `n_observations`.

    Args:
        rate: The estimate, strictly between 0 and 1: at either end the variance is 0 and measures nothing.
        variance: The variance of the estimate, grouping taken into account.
        n_observations: Observations in all groups.
        df: The degrees of freedom of the variance: groups less one, or what unequal ones leave (`cluster_degrees`).
        at_least: A size known to be safe.
        confidence: Of the interval the size is for.
    """
    check_confidence(confidence)
    if not 0 < rate < 1:
        raise ValueError(
            f"rate must lie strictly between 0 and 1, got {rate!r}; use independent_groups() there"
        )
    if not 0 < df <= n_observations - 1:
        raise ValueError(f"df must lie above 0 and below n_observations={n_observations!r}, got {df!r}")
    if not variance >= 0:
        raise ValueError(f"variance must not be negative, got {variance!r}")
    size = float(n_observations)
    if variance > 0:
        size = min(size, size / (n_observations - 1) * rate * (1 - rate) / variance)
    tail = (1 - confidence) / 2
    size *= (student_t_quantile(tail, n_observations - 1) / student_t_quantile(tail, df)) ** 2
    return max(size, at_least)


def _residuals(values: Sequence[float], clusters: Sequence[Hashable]) -> dict[Hashable, list[float]]:
    """How far the values of each cluster lie from the mean of all."""
    found: dict[Hashable, list[float]] = defaultdict(list)
    if values:
        mean = fsum(values) / len(values)
        for value, cluster in zip(values, clusters, strict=True):
            found[cluster].append(value - mean)
    return found
