"""How often a gate on a judge's rate, corrected by people's labels, is wrong: a table of docs/explanation/gates.md.

A judge passes good cases with its sensitivity, and bad ones with 1 minus its specificity. People would pass exactly as many cases as
the policy asks for, so at most 2.5 % of all gates should pass, and at most 2.5 % fail. *the judge alone* is a gate on what the judge
says; *labels of this run* are of cases drawn at random (prediction-powered); *labels of other cases* come with what the judge said
of them (Rogan and Gladen). The draws come from fixed seeds. Takes a few minutes; `--update-docs` writes the table into the page.
"""

import sys
import zlib
from random import Random

import tables
from calipers.gate.corrected_mean import Corrected
from calipers.gate.measure import Level
from simulated_gates import DOUBT, PAGE, both_ways

SETS = 1000
CASES = 400
LABELS = (30, 60, 120)
RATES = (0.6, 0.8, 0.95)
JUDGES = {"lenient": (0.97, 0.7), "strict": (0.85, 0.95), "poor": (0.8, 0.5)}
"""Sensitivity and specificity."""


def verdicts(draw, n, rate, judge):
    """What people and the judge say of n cases."""
    found = []
    for _ in range(n):
        good = draw.random() < rate
        passed = draw.random() < (judge[0] if good else 1 - judge[1])
        found.append((float(good), float(passed)))
    return found


def measures(draw, labels, rate, judge):
    run = verdicts(draw, CASES, rate, judge)
    others = verdicts(draw, labels, rate, judge)
    said = [passed for _, passed in run]
    drawn, left = run[:labels], said[labels:]
    yield Level(cases=[[passed] for passed in said], is_rate=True)
    for pairs, rest, elsewhere in ((drawn, left, False), (others, said, True)):
        yield Corrected(
            people=[good for good, _ in pairs],
            judged=[passed for _, passed in pairs],
            others=rest,
            from_elsewhere=elsewhere,
        )


def shares(cell):
    """How often each way fails and passes a rate that is exactly at the limit."""
    name, rate, labels, sets = cell
    draw = Random(zlib.crc32(f"{name} {rate} {labels}".encode()))
    failed, passed = [0, 0, 0], [0, 0, 0]
    for _ in range(sets):
        for way, measure in enumerate(measures(draw, labels, rate, JUDGES[name])):
            interval = measure.interval(1 - 2 * DOUBT)
            if interval is not None:
                failed[way] += interval.high < rate
                passed[way] += interval.low > rate
    return [(low / sets, high / sets) for low, high in zip(failed, passed, strict=True)]


def table(sets, pool):
    cells = [(name, rate, labels, sets) for name in JUDGES for rate in RATES for labels in LABELS]
    ways = ("the judge alone:", "labels of this run:", "labels of other cases:")
    yield from tables.head("judge", "people pass:", "labels:", *ways)
    for (name, rate, labels, _), found in tables.results(pool, shares, cells).items():
        yield f"| {name} | {rate:.0%} | {labels} | {both_ways(found)} |"


if __name__ == "__main__":
    sys.exit(tables.main(__doc__, PAGE, {"labels": table}, sets=SETS))
