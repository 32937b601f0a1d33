"""How well labels correct a judge, drawn at random or chosen by `--next`: tables of docs/explanation/passports.md.

400 cases are judged, and people would pass a known share of them. A judge passes good cases with its sensitivity, and bad ones with 1
minus its specificity. A judge that *drifts* is good on the first half of the cases and poor on the second. A *jury* is three
independent judges: the majority is the verdict, and where they differ the case is in doubt. *random*: labels of cases drawn at random, as
`calipers label` asks for them (prediction-powered). *chosen*: two rounds of `calipers label --next`, the second with what the first taught
(stratified). The draws come from fixed seeds. Takes a few minutes; `--update-docs` writes the tables into the page.
"""

import sys
import zlib
from random import Random

import tables
from calipers.gate.label_choice import CaseStratum, expected_label
from calipers.stats import choose_next, difference_at_equal_levels, prediction_powered, stratified_mean

PAGE = tables.DOCS / "passports.md"
SETS = 1000
CASES = 400
LABELS = (20, 50, 100)
RATES = (0.6, 0.8, 0.95)
GOOD, POOR = (0.95, 0.9), (0.8, 0.7)
JUDGES = {"0.95 / 0.9": "good", "0.8 / 0.7": "poor", "drifts": "drifts", "jury of 0.8 / 0.7": "jury"}
"""By sensitivity and specificity."""
BIASES = (0.0, 0.1, 0.2, 0.3)
CHECKED = (50, 100, 200)
"""Labels of a passport."""


def judged(draw, rate, kind):
    """What people would say of each case, what the judge says, and the stratum."""
    people, said, strata = [], [], []
    for number in range(CASES):
        good = draw.random() < rate
        first_half = number < CASES / 2
        skill = GOOD if kind == "good" or (kind == "drifts" and first_half) else POOR
        votes = [
            draw.random() < (skill[0] if good else 1 - skill[1]) for _ in range(3 if kind == "jury" else 1)
        ]
        verdict = sum(votes) * 2 > len(votes)
        people.append(float(good))
        said.append(float(verdict))
        strata.append(CaseStratum("passed" if verdict else "failed", in_doubt=len(set(votes)) > 1))
    return people, said, strata


def chosen(draw, people, strata, labels):
    """The estimate by labels that were chosen, in two rounds."""
    expected = {stratum: expected_label(stratum) for stratum in set(strata)}
    known = {}
    for count in (labels // 2, labels - labels // 2):
        for each in choose_next(strata, known, count, seed=draw.getrandbits(32), expected=expected):
            known[each.place] = people[each.place]
    return stratified_mean(strata, known)


def at_random(draw, people, said, labels):
    """The estimate by labels of cases drawn at random."""
    drawn = draw.sample(range(CASES), labels)
    left = set(range(CASES)) - set(drawn)
    return prediction_powered(
        [people[i] for i in drawn], [said[i] for i in drawn], [said[i] for i in sorted(left)]
    )


def simulated(cell):
    """How often each way misses above and below, how far it is off on average, and how wide it is."""
    name, rate, labels, sets = cell
    draw = Random(zlib.crc32(f"{name} {rate} {labels}".encode()))
    sums = [[0.0] * 4, [0.0] * 4]
    for _ in range(sets):
        people, said, strata = judged(draw, rate, JUDGES[name])
        found = at_random(draw, people, said, labels), chosen(draw, people, strata, labels)
        for total, each in zip(sums, found, strict=True):
            total[0] += each.interval.high < rate
            total[1] += each.interval.low > rate
            total[2] += each.value - rate
            total[3] += each.interval.width
    return [[each / sets for each in total] for total in sums]


def coverage(sets, pool):
    cells = [(name, rate, labels, sets) for name in JUDGES for rate in RATES for labels in LABELS]
    ways = ("random: covers:", "off by:", "width:", "chosen: covers:", "off by:", "width:")
    yield from tables.head("judge", "people pass:", "labels:", *ways)
    for (name, rate, labels, _), found in tables.results(pool, simulated, cells).items():
        shown = " | ".join(
            f"{100 * (1 - low - high):.1f} % | {100 * off:+.1f} | {100 * width:.1f}"
            for low, high, off, width in found
        )
        yield f"| {name} | {rate:.0%} | {labels} | {shown} |"


def needed(cell):
    """The mean width by chosen labels, and how many at random give it."""
    name, rate, labels, sets = cell
    draw = Random(zlib.crc32(f"saved {name} {rate} {labels}".encode()))
    runs = [judged(draw, rate, JUDGES[name]) for _ in range(max(1, sets // 5))]
    width = sum(chosen(draw, people, strata, labels).interval.width for people, _, strata in runs) / len(runs)
    for count in range(labels // 2, CASES, 2):
        by_chance = sum(at_random(draw, people, said, count).interval.width for people, said, _ in runs)
        if by_chance / len(runs) <= width:
            return width, count
    return width, CASES


def saved(sets, pool):
    cells = [(name, rate, labels, sets) for name in JUDGES for rate in RATES for labels in (50, 100)]
    yield from tables.head("judge", "people pass:", "chosen labels:", "width:", "at random:", "saved:")
    for (name, rate, labels, _), (width, count) in tables.results(pool, needed, cells).items():
        yield f"| {name} | {rate:.0%} | {labels} | {100 * width:.1f} | {count} | {100 * (count - labels) / count:.0f} % |"


def named(cell):
    """How often a passport shows a length bias: its interval leaves out 0."""
    bias, labels, sets = cell
    draw = Random(zlib.crc32(f"length {bias} {labels}".encode()))
    found = 0
    for _ in range(sets):
        passes, people, longer = [], [], []
        for _ in range(labels):
            is_long = draw.random() < 0.5
            good = draw.random() < (0.8 if is_long else 0.6)  # longer answers are better
            chance = (0.8 if good else 0.3) + (bias / 2 if is_long else -bias / 2)
            passes.append(draw.random() < chance)
            people.append(good)
            longer.append(is_long)
        measured = difference_at_equal_levels(passes, people, longer)
        found += 0 not in measured.interval
    return found / sets


def length(sets, pool):
    cells = [(bias, labels, sets) for bias in BIASES for labels in CHECKED]
    yield from tables.head("planted bias:", *(f"{labels} labels:" for labels in CHECKED))
    found = tables.results(pool, named, cells)
    for bias in BIASES:
        shown = " | ".join(f"{100 * found[bias, labels, sets]:.1f} %" for labels in CHECKED)
        yield f"| {100 * bias:.0f} points | {shown} |"


if __name__ == "__main__":
    sys.exit(tables.main(__doc__, PAGE, {"coverage": coverage, "saved": saved, "length": length}, sets=SETS))
