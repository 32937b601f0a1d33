"""What the usual ways to compute a number come to, and what Calipers has instead: a table of docs/explanation/checked-numbers.md.

- *clusters*: scores in clusters, of which one holds half of the cases, and the others two each; half of each score is that of its cluster.
  How often a 95 % interval of the mean covers it, and how often a comparison of two equal agents claims a difference. Usual: one
  variance between clusters (CR1) and one degree of freedom less than clusters.
- *near a bound*: scores of which 98 % are 1 and the others lie anywhere between 0 and 1. How often a 95 % interval covers their
  mean. Usual: Student's t.
- *power*: the least power of a plan for 80 %, over effects of 10 to 30 points and 10 to 50 % of cases that flip. Usual: planned by Student's t, judged by
  McNemar's exact test. Nothing is drawn.
- *p99*: of lognormal times. Usual: the p99 of 20 times, as a multiple of the true one, in all but 5 % of the samples. Calipers shows none
  below 368 times; how often its interval then covers the true one.
- *repeats*: the fewest cases at which a gate with a margin of 5 points passes an equal agent if only each case is attempted often enough.
  Usual: any number. The gate's number, and the plan's.
- *early*: an equal agent that is looked at after each of at most 630 cases, with a margin of 5 points, as in early_stopping.py. How often it is
  decided. Usual: bets that know no last case, and nothing else. In a quarter of the data sets.

The draws come from fixed seeds, so the table repeats exactly. `--update-docs` writes it into the page, between its markers.
"""

import sys
from math import exp, lgamma, log, log1p, sqrt
from random import Random
from statistics import fmean

import early_stopping
import tables
from calipers.gate.early_decision import Bet
from calipers.gate.looks import confidence_at
from calipers.gate.measure import MeanDifference
from calipers.gate.plan import plan_from_rate
from calipers.stats import (
    VarianceComponents,
    cases_needed,
    compare_paired,
    mean,
    power_of_paired_rates,
    quantile,
    spread_of_paired_rates,
    t_interval,
)
from calipers.stats.distributions import student_t_quantile
from calipers.stats.power import GateDesign
from calipers.stats.sample import quantile_ends, values_for_quantile
from coverage import one_large, unequal_scores
from simulated_gates import DOUBT, in_sequence

PAGE = tables.DOCS / "checked-numbers.md"
SETS = 2000
MARGIN = 0.05


def usual_clusters(values, clusters):
    """The interval of a mean by one variance between clusters, with one degree of freedom less than clusters."""
    middle, sums = fmean(values), {}
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + value - middle
    count = len(sums)
    spread = count / (count - 1) * sum(each**2 for each in sums.values()) / len(values) ** 2
    half = -student_t_quantile(0.025, count - 1) * sqrt(spread)
    return middle - half, middle + half


def clustered(count, sets):
    """How often intervals of a mean cover it, and how often differences of two equal agents are claimed: usual, ours."""
    draw = Random(count)
    clusters = one_large(4 * (count - 1))
    covered, claimed = [0, 0], [0, 0]
    for _ in range(sets):
        first, second = (unequal_scores(draw, len(clusters), 0.5, clusters) for _ in "ab")
        low, high = usual_clusters([each for (each,) in first], clusters)
        covered[0] += low <= 0.5 <= high
        covered[1] += 0.5 in mean(first, bounds=(0, 1), clusters=clusters).interval
        low, high = usual_clusters([a - b for (a,), (b,) in zip(first, second, strict=True)], clusters)
        claimed[0] += not low <= 0 <= high
        claimed[1] += 0 not in compare_paired(first, second, clusters=clusters).interval
    return [[each / sets for each in found] for found in (covered, claimed)]


def near_a_bound(n, sets):
    draw, covered = Random(n), [0, 0]
    for _ in range(sets):
        scores = [1.0 if draw.random() < 0.98 else draw.random() for _ in range(n)]
        covered[0] += 0.99 in t_interval(scores)
        covered[1] += 0.99 in mean([[each] for each in scores], bounds=(0, 1)).interval
    return [each / sets for each in covered]


def chance(k, n, p):
    """Of a binomial distribution."""
    if not 0 < p < 1:
        return float(k == n * p)
    return exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p))


def power_by_exact(n, more, less):
    """The power of McNemar's exact test, in the true direction."""
    found = 0.0
    for flipped in range(1, n + 1):
        tail, few = 0.0, -1
        while 2 * (tail + chance(few + 1, flipped, 0.5)) <= 0.05:
            few += 1
            tail += chance(few, flipped, 0.5)
        share = less / (more + less)
        found += chance(flipped, n, more + less) * sum(chance(k, flipped, share) for k in range(few + 1))
    return found


def least_power(_=None):
    usual, ours = [], []
    for effect in (0.1, 0.2, 0.3):
        for flips in (each for each in (0.1, 0.2, 0.3, 0.5) if each >= effect):
            more, less = (flips + effect) / 2, (flips - effect) / 2
            usual.append(power_by_exact(cases_needed(effect, spread_of_paired_rates(more, less)), more, less))
            planned = plan_from_rate(0.4, effect=effect, flips=flips).rows[0].cases
            ours.append(power_of_paired_rates(planned, more, less))
    return min(usual), min(ours)


def far_quantile(sets):
    """The ends of what 20 times say of p99, and how often the interval of as many as it takes covers it."""
    draw, truth = Random(99), exp(2.3263478740408408)
    few = sorted(quantile([draw.lognormvariate(0, 1) for _ in range(20)], 0.99) / truth for _ in range(sets))
    n, covered = values_for_quantile(0.99), 0
    low, high = quantile_ends(n, 0.99)
    for _ in range(sets):
        times = sorted(draw.lognormvariate(0, 1) for _ in range(n))
        covered += quantile(times, low, presorted=True) <= truth <= quantile(times, high, presorted=True)
    return quantile(few, 0.025), quantile(few, 0.975), n, covered / sets


def fewest_cases(_=None):
    """With which attempts can help: of the gate, and of the plan."""
    level = confidence_at(0.95, 1)

    def gate_passes(n):
        return (
            MeanDifference(run=[[1.0, 0.0]] * n, baseline=[[1.0, 0.0]] * n, is_rate=True).interval(level).low
            > -MARGIN
        )

    plan = GateDesign(spread=VarianceComponents(0.0, 0.2), power=0.8, confidence=level)
    return [
        next(n for n in range(2, 1000) if helps(n))
        for helps in (gate_passes, lambda n: plan.repeats(MARGIN, n) is not None)
    ]


def early(sets):
    draw, decided = Random(630), [0, 0]
    for _ in range(sets):
        pairs = early_stopping.comparison(draw, early_stopping.plan(), 0.0)
        bet = Bet("", -MARGIN, (-1.0, 1.0), above=True)
        for new, old in pairs:
            bet.add(float(new) - float(old))
            if bet.passes(DOUBT) or bet.fails(DOUBT):
                decided[0] += 1
                break
        decided[1] += in_sequence(pairs, MARGIN)[0] in {"PASS", "FAIL"}
    return [each / sets for each in decided]


def table(sets, pool):
    looks = pool.submit(early, sets // 4)
    clusters = {count: pool.submit(clustered, count, sets) for count in (30, 60)}
    bounds = {n: pool.submit(near_a_bound, n, sets) for n in (10, 30)}
    power, far, fewest = (
        pool.submit(least_power),
        pool.submit(far_quantile, sets),
        pool.submit(fewest_cases),
    )
    yield from tables.head("question", "the usual way", "it gives:", "Calipers gives:")
    for count, found in clusters.items():
        covered, claimed = found.result()
        where = f"{count} clusters, one of them half of the cases"
        yield _row(f"score, {where}: covered by a 95 % interval", "CR1, clusters less one", *covered)
        yield _row(f"two equal agents, {where}: called different", "CR1, clusters less one", *claimed)
    for n, found in bounds.items():
        yield _row(f"{n} scores, 98 % of them 1: covered by a 95 % interval", "Student's t", *found.result())
    yield _row("least power of a plan for 80 %", "Student's t, then McNemar's exact test", *power.result())
    yield _row("equal agents decided, looked at after every case", "bets alone", *looks.result())
    low, high, n, covered = far.result()
    yield (
        f"| p99 of a time | a number from 20 times | {low:.2f} to {high:.2f} times the true one "
        f"| none below {n} times, then an interval that covers {100 * covered:.1f} % |"
    )
    gate, plan = fewest.result()
    yield f"| cases from which on more attempts can pass an equal agent, margin of 5 points | any number | | {gate}; by the plan {plan} |"


def _row(question, way, usual, ours):
    return f"| {question} | {way} | {100 * usual:.1f} % | {100 * ours:.1f} % |"


if __name__ == "__main__":
    sys.exit(tables.main(__doc__, PAGE, {"usual ways": table}, sets=SETS))
