"""How often each 95 % interval covers the truth: the table of docs/explanation/which-interval.md.

Every cell is the share, in percent, of simulated data sets whose interval covers the value they were drawn with. The draws
come from fixed seeds, so the table repeats exactly. Takes a few minutes; `--update-docs` writes the table into the page,
between its markers.
"""

import sys
import zlib
from functools import cache
from itertools import product
from random import Random

import tables
from calipers.gate.measure import Level, MeanDifference
from calipers.stats import (
    EProcess,
    bootstrap_difference,
    bootstrap_interval,
    clopper_pearson,
    compare_paired,
    compare_these,
    compare_unpaired,
    jeffreys,
    mean,
    rate,
    t_interval,
    upper_bound,
    wilson,
)

SETS = 2000
SIZES = (10, 30, 100, 300)
TRUTHS = (0.05, 0.5, 0.95)
REPEATS = 5
CLUSTER = 5
RESAMPLES = 400
PAGE = tables.DOCS / "which-interval.md"


def passes(draw, n, truth):
    return sum(draw.random() < truth for _ in range(n))


def mixed(draw, truth):
    """The pass rate of one case or cluster: mostly near 0 or 1, so that half of the spread lies between cases."""
    return draw.betavariate(truth, 1 - truth)


def scores(draw, n, truth):
    """Scores in [0, 1]; with a mean near an end, as skewed as an exponential distribution."""
    return [draw.betavariate(20 * truth, 20 * (1 - truth)) for _ in range(n)]


def paired(draw, n, truth, attempts=1):
    """Two ways that are equally good on cases that matter to both."""
    cases = [mixed(draw, truth) for _ in range(n)]
    return [[[float(draw.random() < p) for _ in range(attempts)] for p in cases] for _ in range(2)]


def paired_scores(draw, n, truth):
    shared = scores(draw, n, truth)
    return [
        [[0.5 * own + 0.5 * score] for own, score in zip(shared, scores(draw, n, truth), strict=True)]
        for _ in "ab"
    ]


@cache
def of_counts(method, count, n):
    return method(count, n)


def covers_wilson(draw, n, truth):
    return truth in of_counts(wilson, passes(draw, n, truth), n)


def covers_clopper_pearson(draw, n, truth):
    return truth in of_counts(clopper_pearson, passes(draw, n, truth), n)


def covers_jeffreys(draw, n, truth):
    return truth in of_counts(jeffreys, passes(draw, n, truth), n)


def covers_upper_bound(draw, n, truth):
    return truth <= of_counts(upper_bound, passes(draw, n, truth), n)


def covers_repeated_rate(draw, n, truth):
    cases = [(passes(draw, REPEATS, mixed(draw, truth)), REPEATS) for _ in range(n)]
    return truth in rate(cases).interval


def covers_clustered_rate(draw, n, truth):
    chances = [mixed(draw, truth) for _ in range(n // CLUSTER)]
    cases = [(int(draw.random() < chances[i // CLUSTER]), 1) for i in range(n)]
    return truth in rate(cases, clusters=[i // CLUSTER for i in range(n)]).interval


def covers_t(draw, n, truth):
    return truth in t_interval(scores(draw, n, truth))


def covers_share(draw, n, truth):
    return truth in mean([[score] for score in scores(draw, n, truth)], bounds=(0, 1)).interval


def covers_mostly_best(draw, n, truth):
    """Scores of which most lie at the better end, and the others anywhere."""
    kept = 2 * truth - 1 if truth > 0.5 else 1 - 2 * min(truth, 1 - truth)
    drawn = [1.0 if draw.random() < kept else draw.random() for _ in range(n)]
    return kept + (1 - kept) / 2 in mean([[score] for score in drawn], bounds=(0, 1)).interval


def covers_share_of_two_kinds(draw, n, truth):
    at_end = [float(draw.random() < truth) for _ in range(n)]
    drawn = [[0.99 * end + 0.01 * draw.random()] for end in at_end]
    return 0.99 * truth + 0.005 in mean(drawn, bounds=(0, 1)).interval


def covers_bca(draw, n, truth):
    return truth in bootstrap_interval(scores(draw, n, truth), seed=draw.getrandbits(32), resamples=RESAMPLES)


def covers_repeated_mean(draw, n, truth):
    shared = scores(draw, n, truth)
    cases = [[0.5 * own + 0.5 * score for score in scores(draw, REPEATS, truth)] for own in shared]
    return truth in mean(cases, bounds=(0, 1)).interval


def covers_clustered_mean(draw, n, truth):
    shared = scores(draw, n // CLUSTER, truth)
    cases = [[0.5 * shared[i // CLUSTER] + 0.5 * score] for i, score in enumerate(scores(draw, n, truth))]
    return truth in mean(cases, bounds=(0, 1), clusters=[i // CLUSTER for i in range(n)]).interval


def one_large(n):
    """Clusters of two cases each, but for one that holds half of all cases."""
    return [0] * (n - n // 2) + [1 + i // 2 for i in range(n // 2)]


def two_large(n):
    """Two clusters with a third of the cases each; the others stand alone."""
    third = n // 3
    return [0] * third + [1] * third + list(range(2, 2 + n - 2 * third))


def covers_unequal_rate(draw, n, truth):
    clusters = one_large(n)
    chances = {cluster: mixed(draw, truth) for cluster in sorted(set(clusters))}
    return truth in rate([(int(draw.random() < chances[c]), 1) for c in clusters], clusters=clusters).interval


def unequal_scores(draw, n, truth, clusters):
    shared = scores(draw, len(set(clusters)), truth)
    return [[0.5 * shared[c] + 0.5 * own] for c, own in zip(clusters, scores(draw, n, truth), strict=True)]


def covers_unequal_mean(draw, n, truth):
    clusters = one_large(n)
    return truth in mean(unequal_scores(draw, n, truth, clusters), bounds=(0, 1), clusters=clusters).interval


def covers_unequal_difference(draw, n, truth):
    clusters = one_large(n)
    first, second = (unequal_scores(draw, n, truth, clusters) for _ in "ab")
    return 0 in compare_paired(first, second, clusters=clusters).interval


def covers_mean_of_two_large(draw, n, truth):
    clusters = two_large(n)
    return truth in mean(unequal_scores(draw, n, truth, clusters), bounds=(0, 1), clusters=clusters).interval


def covers_difference_of_two_large(draw, n, truth):
    clusters = two_large(n)
    first, second = (unequal_scores(draw, n, truth, clusters) for _ in "ab")
    return 0 in compare_paired(first, second, clusters=clusters).interval


def few_large(_draw, n):
    """Four clusters with 40, 20, 10 and 5 % of the cases; the others stand alone."""
    sizes = [n * share // 100 for share in (40, 20, 10, 5)]
    sizes += [1] * (n - sum(sizes))
    return [cluster for cluster, size in enumerate(sizes) for _ in range(size)]


def lognormal(draw, n):
    """Clusters whose sizes have a long tail: 3 cases in the middle, and one in forty more than 19."""
    found, cluster = [], 0
    while len(found) < n:
        found += [cluster] * max(1, round(draw.lognormvariate(1, 1)))
        cluster += 1
    return found[:n]


def as_one(draw, clusters, truth):
    """Whether each case passes, where those of a cluster all pass or all fail."""
    passed = {cluster: draw.random() < truth for cluster in dict.fromkeys(clusters)}
    return [float(passed[cluster]) for cluster in clusters]


def covers_rate_as_one(sizes):
    def covers(draw, n, truth):
        clusters = sizes(draw, n)
        cases = [(passed, 1) for passed in as_one(draw, clusters, truth)]
        interval = rate(cases, clusters=clusters).interval
        return interval is None or truth in interval  # a single cluster has none

    return covers


def covers_difference_as_one(sizes):
    def covers(draw, n, truth):
        clusters = sizes(draw, n)
        first, second = ([[passed] for passed in as_one(draw, clusters, truth)] for _ in "ab")
        interval = compare_paired(first, second, clusters=clusters).interval
        return interval is None or 0 in interval

    return covers


def covers_gated_rate_as_one(sizes):
    def covers(draw, n, truth):
        clusters = sizes(draw, n)
        cases = [[passed] for passed in as_one(draw, clusters, truth)]
        interval = Level(cases=cases, clusters=clusters, is_rate=True).interval(0.95)
        return interval is None or truth in interval

    return covers


def covers_gated_score(draw, n, truth):
    return truth in Level(cases=[[score] for score in scores(draw, n, truth)], bounds=(0.0, 1.0)).interval(
        0.95
    )


def covers_gated_rare_loss(draw, n, truth):
    """Scores next to one end of the scale, but for the few at the other end that make the mean what it is."""
    at_end = [float(draw.random() < truth) for _ in range(n)]
    cases = [[0.99 * end + 0.01 * draw.random()] for end in at_end]
    return 0.99 * truth + 0.005 in Level(cases=cases, bounds=(0.0, 1.0)).interval(0.95)


def covers_rare_loss(draw, n, truth):
    at_end = [float(draw.random() < truth) for _ in range(n)]
    return 0.99 * truth + 0.005 in t_interval([0.99 * end + 0.01 * draw.random() for end in at_end])


def covers_gated_clusters(draw, n, truth):
    shared = scores(draw, n // CLUSTER, truth)
    cases = [[0.5 * shared[i // CLUSTER] + 0.5 * score] for i, score in enumerate(scores(draw, n, truth))]
    clusters = [i // CLUSTER for i in range(n)]
    return truth in Level(cases=cases, clusters=clusters, bounds=(0.0, 1.0)).interval(0.95)


def covers_anytime(draw, n, truth):
    """Whether no look after any of the n cases excludes the truth, that is, refutes it on either side."""
    sides = EProcess(truth), EProcess(truth, alternative="less")
    for _ in range(n):
        passed = draw.random() < truth
        if any(side.add(passed) >= 40 for side in sides):
            return False
    return True


def covers_paired_rates(draw, n, truth):
    return 0 in compare_paired(*paired(draw, n, truth)).interval


def covers_paired_repeats(draw, n, truth):
    interval = compare_paired(*paired(draw, n, truth, REPEATS)).interval
    return interval is not None and 0 in interval


def covers_these_cases(draw, n, truth):
    """The change on these cases, of which every tenth turned around."""
    old = [mixed(draw, truth) for _ in range(n)]
    new = [1 - chance if place % 10 == 0 else chance for place, chance in enumerate(old)]
    after, before = (
        [[float(draw.random() < chance) for _ in range(REPEATS)] for chance in side] for side in (new, old)
    )
    return (sum(new) - sum(old)) / n in compare_these(after, before).interval


def covers_paired_scores(draw, n, truth):
    return 0 in compare_paired(*paired_scores(draw, n, truth)).interval


def covers_paired_bootstrap(draw, n, truth):
    first, second = paired_scores(draw, n, truth)
    seed = draw.getrandbits(32)
    return 0 in bootstrap_difference(first, second, seed=seed, resamples=RESAMPLES).interval


def covers_gated_rates(draw, n, truth):
    new, old = paired(draw, n, truth)
    return 0 in MeanDifference(run=new, baseline=old, is_rate=True).interval(0.95)


def covers_gated_differences(draw, n, truth):
    new, old = paired_scores(draw, n, truth)
    return 0 in MeanDifference(run=new, baseline=old, bounds=(-1.0, 1.0)).interval(0.95)


def covers_unpaired_rates(draw, n, truth):
    first, second = ([[float(draw.random() < truth)] for _ in range(n)] for _ in range(2))
    return 0 in compare_unpaired(first, second).interval


def covers_unpaired_scores(draw, n, truth):
    first, second = ([[score] for score in scores(draw, n, truth)] for _ in range(2))
    return 0 in compare_unpaired(first, second).interval


ROWS = {
    "rate: Wilson": covers_wilson,
    "rate: Clopper-Pearson": covers_clopper_pearson,
    "rate: Jeffreys": covers_jeffreys,
    "rate: upper bound (rule of three)": covers_upper_bound,
    f"rate, {REPEATS} repeats: two levels": covers_repeated_rate,
    f"rate, clusters of {CLUSTER}": covers_clustered_rate,
    "rate, half of the cases in one cluster": covers_unequal_rate,
    "rate, four large clusters, each as one": covers_rate_as_one(few_large),
    "rate, clusters of lognormal sizes, each as one": covers_rate_as_one(lognormal),
    "rate in a gate, four large clusters, each as one: Gaffke": covers_gated_rate_as_one(few_large),
    "rate in a gate, clusters of lognormal sizes, each as one: Gaffke": covers_gated_rate_as_one(lognormal),
    "rate, looked at after every case: betting": covers_anytime,
    "score between bounds: Wilson of an effective size": covers_share,
    "score between bounds, most at the upper one: the same": covers_mostly_best,
    "score without bounds: Student t": covers_t,
    "score: BCa bootstrap": covers_bca,
    f"score between bounds, {REPEATS} repeats: the same": covers_repeated_mean,
    f"score between bounds, clusters of {CLUSTER}: the same": covers_clustered_mean,
    "score between bounds, half of the cases in one cluster: the same": covers_unequal_mean,
    "score between bounds, two thirds of the cases in two clusters: the same": covers_mean_of_two_large,
    "score in a gate: Gaffke": covers_gated_score,
    f"score in a gate, clusters of {CLUSTER}: Gaffke": covers_gated_clusters,
    "score of two kinds, near 0 and near 1: Student t": covers_rare_loss,
    "score of two kinds: Wilson of an effective size": covers_share_of_two_kinds,
    "score of two kinds in a gate: Gaffke": covers_gated_rare_loss,
    "difference, paired rates: Newcombe": covers_paired_rates,
    f"difference, paired, {REPEATS} repeats: t": covers_paired_repeats,
    f"difference on these cases alone, {REPEATS} repeats: t within cases": covers_these_cases,
    "difference, paired scores: t": covers_paired_scores,
    "difference, half of the cases in one cluster: clustered t": covers_unequal_difference,
    "difference, two thirds of the cases in two clusters: clustered t": covers_difference_of_two_large,
    "difference of rates, four large clusters, each as one: clustered t": covers_difference_as_one(few_large),
    "difference of rates, clusters of lognormal sizes, each as one: clustered t": covers_difference_as_one(
        lognormal
    ),
    "difference, paired scores: BCa": covers_paired_bootstrap,
    "difference, paired rates in a gate: exact in Tango's order": covers_gated_rates,
    "difference, paired scores in a gate: Gaffke": covers_gated_differences,
    "difference, unpaired rates: Newcombe": covers_unpaired_rates,
    "difference, unpaired scores: Welch": covers_unpaired_scores,
}


def share_covered(cell):
    """The share of data sets whose interval covers the truth."""
    row, n, truth, sets = cell
    seed = zlib.crc32(f"{row} {n} {truth}".encode())  # hash() of a text differs from process to process
    draw = Random(seed)
    return sum(ROWS[row](draw, n, truth) for _ in range(sets)) / sets


def table(sets, pool):
    cells = [(row, n, truth, sets) for row, n, truth in product(ROWS, reversed(SIZES), TRUTHS)]
    found = tables.results(pool, share_covered, cells)
    columns = [(truth, n) for truth in TRUTHS for n in SIZES]
    yield from tables.head("interval", *(f"{truth} n={n}:" for truth, n in columns))
    for row in ROWS:
        values = [100 * found[row, n, truth, sets] for truth, n in columns]
        yield f"| {row} | " + " | ".join(f"{value:.1f}" for value in values) + " |"


if __name__ == "__main__":
    sys.exit(tables.main(__doc__, PAGE, {"coverage": table}, sets=SETS))
