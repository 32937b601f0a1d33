"""How often a gate fails, or passes, an agent that is exactly as good as its limit: the tables of docs/explanation/gates.md.

Two agents get the same cases. Each case has its own chance of a pass, the same for both, so that they differ by noise alone;
for a margin, the second loses exactly the margin on average. A gate may then fail, or pass, no more agents than the policy
says: 2.5 % each way at a confidence of 95 %. The draws come from fixed seeds, so the tables repeat exactly. Takes a few minutes;
`--update-docs` writes the tables into the page, between their markers.
"""

import sys
import zlib
from random import Random

import tables
from calipers.gate.claims import judge_claims
from calipers.stats import paired_difference
from simulated_gates import DOUBT, PAGE, at_the_end, both_ways, claim, comparison, in_sequence

SETS = 2000
CASES = 200
FIRST_LOOK = 10
RATES = (0.5, 0.8, 0.95)
MARGINS = (0.0, 0.05)
RULES = (1, 5, 20)
SIZES = (20, 40, 60, 100)
GAINS = (0.0, 0.02, 0.05)
LOSSES = (0.02, 0.05, 0.1)


def at_every_look(pairs, margin):
    """The decision of a reader who looks at the ordinary interval after every case and acts on the first clear one."""
    counts = [0, 0, 0, 0]
    for number, (new, old) in enumerate(pairs, 1):
        counts[0 if new and old else 1 if new else 2 if old else 3] += 1
        if number >= FIRST_LOOK:
            interval = paired_difference(*counts, confidence=1 - 2 * DOUBT).interval
            if interval.high < -margin:
                return "FAIL"
            if interval.low > -margin:
                return "PASS"
    return "INCONCLUSIVE"


WAYS = {
    "once, at the end": at_the_end,
    "every case, ordinary interval": at_every_look,
    "every case, `--stop-when-decided`": lambda pairs, margin: in_sequence(pairs, margin)[0],
}


def shares(cell):
    """How often a way fails and passes an agent that is exactly at the limit."""
    way, rate, margin, sets = cell
    draw = Random(zlib.crc32(f"{rate} {margin}".encode()))  # the same data for every way
    found = [WAYS[way](comparison(draw, CASES, rate - margin, margin), margin) for _ in range(sets)]
    return found.count("FAIL") / sets, found.count("PASS") / sets


def looks_table(sets, pool):
    cells = [(way, rate, margin, sets) for margin in MARGINS for rate in RATES for way in WAYS]
    found = tables.results(pool, shares, cells)
    yield from tables.head("looked at", "margin:", *(f"old agent passes {rate:.0%}:" for rate in RATES))
    for margin in MARGINS:
        for way in WAYS:
            shown = both_ways(found[way, rate, margin, sets] for rate in RATES)
            yield f"| {way} | {100 * margin:.0f} points | {shown} |"


def alarms(cell):
    """How often a gate with so many rules fails an agent that is exactly as good as its baseline."""
    count, correct, sets = cell
    draw = Random(count)
    failed = 0
    for _ in range(sets):
        claims = [claim(comparison(draw, CASES, 0.8), 0.0) for _ in range(count)]
        findings = judge_claims(claims, confidence=1 - 2 * DOUBT, correct=correct)
        failed += any(finding.outcome == "FAIL" for finding in findings)
    return failed / sets


def rules_table(sets, pool):
    cells = [(count, correct, sets) for correct in (True, False) for count in RULES]
    found = tables.results(pool, alarms, cells)
    yield from tables.head("correction", *(f"{count} rule{'s' * (count > 1)}:" for count in RULES))
    for correct in (True, False):
        shown = " | ".join(f"{100 * found[count, correct, sets]:.1f} %" for count in RULES)
        yield f"| {'holm' if correct else 'none'} | {shown} |"


def agreeing(cell):
    """How often a gate fails and passes a new agent that loses its margin on cases that both else answer alike."""
    n, gain, margin, sets = cell
    draw = Random(zlib.crc32(f"{n} {gain} {margin}".encode()))
    found = []
    for _ in range(sets):
        pairs = []
        for _ in range(n):
            chance = draw.random()
            same = draw.random() < 0.5
            lost = gain <= chance < gain + gain + margin
            pairs.append((True, False) if chance < gain else (False, True) if lost else (same, same))
        found.append(at_the_end(pairs, margin))
    return found.count("FAIL") / sets, found.count("PASS") / sets


def agreeing_table(sets, pool):
    cells = [(n, gain, margin, sets) for gain in GAINS for margin in LOSSES for n in SIZES]
    found = tables.results(pool, agreeing, cells)
    yield from tables.head("better on:", "margin:", *(f"{n} cases:" for n in SIZES))
    for gain in GAINS:
        for margin in LOSSES:
            shown = both_ways(found[n, gain, margin, sets] for n in SIZES)
            yield f"| {gain:.0%} of cases | {100 * margin:.0f} points | {shown} |"


TABLES = {"false alarms": looks_table, "agreeing": agreeing_table, "rules": rules_table}


if __name__ == "__main__":
    sys.exit(tables.main(__doc__, PAGE, TABLES, sets=SETS))
