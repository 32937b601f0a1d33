"""How often the intervals of judges of pairs and of cascades cover the truth: tables of docs/explanation/which-interval.md.

*pairs*: variants of known strength are judged two at a time at each case, and some verdicts are ties; the share of points of every
two is to be covered. With *one answer for all*, an answer that is good at a case is good against every other: comparisons at a case are not
independent. *order*: a judge is shown each pair in both orders; it errs, and prefers a place or does not; how often is it called biased? *cascade*: a
cheap judge of known errors judges everything, an expensive one a random part; the rate of the expensive one is to be covered, and next to it is how often the
cheap judge's own interval covers it. The draws come from fixed seeds. Takes a few minutes; `--update-docs` writes the tables into the page.
"""

import sys
import zlib
from math import exp
from random import Random

import tables
from calipers.stats import measure_order_bias, strengths, two_phase_mean

PAGE = tables.DOCS / "which-interval.md"
SETS = 1000
SIZES = (10, 30, 100)
STRENGTHS = {
    "0, 0.5, 1": (0.0, 0.5, 1.0),
    "0, 0, 2": (0.0, 0.0, 2.0),
    "0, 0.2, 0.4, 0.6": (0.0, 0.2, 0.4, 0.6),
}
RATES = (0.5, 0.8, 0.95)
CASES = 300
JUDGES = {"lenient": (0.97, 0.7), "good": (0.97, 0.95), "poor": (0.8, 0.5)}
"""Sensitivity and specificity of the cheap judge."""
SHARES = {"10 %": (0.1, 0.1), "30 %": (0.3, 0.3), "10 % of its passes, 40 % of its failures": (0.1, 0.4)}
"""The chance that the expensive judge sees what the cheap one passed, and what it failed."""


def of_cell(*cell):
    return Random(zlib.crc32(" ".join(map(str, cell)).encode()))


def share(one, other):
    return 1 / (1 + exp(other - one))


def judged(draw, true, n, ties):
    """Every two variants at each of n cases; `None` for ties means that one quality of each answer decides all its pairs."""
    for case in range(n):
        quality = [draw.gauss(each, 1) for each in true]
        for a in range(len(true)):
            for b in range(a + 1, len(true)):
                if ties is None:
                    points = float(quality[a] > quality[b])
                else:
                    wins = share(true[a], true[b])
                    tie = 2 * ties * min(wins, 1 - wins)
                    drawn = draw.random()
                    points = 0.5 if drawn < tie else float(drawn < tie / 2 + wins)
                yield case, str(a), str(b), points


def expected(true, ties):
    """The share of points of every two; with one quality for each answer, what a very large sample has."""
    if ties is not None:
        return {(a, b): share(true[int(a)], true[int(b)]) for a, b in _pairs(true)}
    found = strengths(judged(Random(0), true, 40_000, None))
    return {(pair.first, pair.second): pair.value for pair in found.pairs}


def _pairs(true):
    return [(str(a), str(b)) for a in range(len(true)) for b in range(a + 1, len(true))]


def covered_pairs(cell):
    name, ties, n, sets = cell
    draw, true = of_cell(name, ties, n), STRENGTHS[name]
    truth = expected(true, ties)
    hits = asked = 0
    for _ in range(sets):
        for pair in strengths(judged(draw, true, n, ties)).pairs:
            if pair.interval is not None:
                asked += 1
                hits += truth[pair.first, pair.second] in pair.interval
    return hits / asked


def pairs(sets, pool):
    kinds = {"no ties": 0.0, "half of the surprises are ties": 0.5, "one answer for all": None}
    cells = [(name, ties, n, sets // 5) for name in STRENGTHS for ties in kinds.values() for n in SIZES]
    found = tables.results(pool, covered_pairs, cells)
    yield from tables.head("strengths", "verdicts", *(f"{n} cases:" for n in SIZES))
    for name in STRENGTHS:
        for kind, ties in kinds.items():
            row = (f"{100 * found[name, ties, n, sets // 5]:.1f}" for n in SIZES)
            yield f"| {name} | {kind} | {' | '.join(row)} |"


def both_orders(draw, n, noise, lean):
    """Pairs as a judge sees them in both orders; it errs with `noise`, and names the first place with the chance `lean`."""
    for _ in range(n):
        better = draw.random() < 0.5

        def said(*, is_first, better=better):
            return float(is_first) if draw.random() < lean else float(better != (draw.random() < noise))

        yield said(is_first=True), said(is_first=False)


def called_biased(cell):
    noise, lean, n, sets = cell
    draw = of_cell(noise, lean, n)
    return (
        sum(measure_order_bias(both_orders(draw, n, noise, lean)).favours is not None for _ in range(sets))
        / sets
    )


def order(sets, pool):
    cells = [(noise, lean, n, sets) for noise in (0.05, 0.3) for lean in (0.0, 0.1, 0.3) for n in SIZES]
    found = tables.results(pool, called_biased, cells)
    yield from tables.head("errs in", "goes by the first place in", *(f"{n} pairs:" for n in SIZES))
    for noise in (0.05, 0.3):
        for lean in (0.0, 0.1, 0.3):
            row = (f"{100 * found[noise, lean, n, sets]:.1f}" for n in SIZES)
            yield f"| {noise:.0%} | {lean:.0%} | {' | '.join(row)} |"


def covered_rates(cell):
    name, rate, shares, sets = cell
    draw = of_cell(name, rate, shares)
    sensitivity, specificity = JUDGES[name]
    of_passes, of_failures = SHARES[shares]
    hits = by_cheap = asked = 0
    for _ in range(sets):
        cheap, expensive, probabilities = [], [], []
        for _ in range(CASES):
            good = draw.random() < rate
            passed = draw.random() < (sensitivity if good else 1 - specificity)
            probability = of_passes if passed else of_failures
            cheap.append(float(passed))
            expensive.append(float(good) if draw.random() < probability else None)
            probabilities.append(probability)
        found = two_phase_mean(cheap, expensive, probabilities)
        if found is not None:
            asked += 1
            hits += rate in found.interval
            by_cheap += rate in found.cheap.interval
    return hits / asked, by_cheap / asked


def cascade(sets, pool):
    cells = [(name, rate, shares, sets) for name in JUDGES for rate in RATES for shares in SHARES]
    found = tables.results(pool, covered_rates, cells)
    yield from tables.head(
        "cheap judge", "passes:", "cheap judge alone:", *(f"it sees {each}:" for each in SHARES)
    )
    for name in JUDGES:
        for rate in RATES:
            row = [found[name, rate, shares, sets] for shares in SHARES]
            told = " | ".join(f"{100 * hits:.1f}" for hits, _ in row)
            yield f"| {name} | {rate:.0%} | {100 * row[0][1]:.1f} | {told} |"


if __name__ == "__main__":
    sys.exit(tables.main(__doc__, PAGE, {"pairs": pairs, "order": order, "cascade": cascade}, sets=SETS))
