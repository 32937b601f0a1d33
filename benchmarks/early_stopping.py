"""What `--stop-when-decided` saves: the tables of docs/explanation/gates.md.

An old agent passes 80 % of the cases, the policy allows a loss of 5 points, and the new agent is truly better or worse by what the
rows say. The fixed plan has as many cases as a comparison takes to find the margin four times in five (`cases_needed`). The stopping
rule, with the look at the end that follows where it did not decide, has the same chances of being wrong. It may use as many cases as
the plan, or three times as many. A second table has ten times as many runs of an equal agent, to tell how much less often the rule decides
than the plan. The draws come from fixed seeds. Takes a few minutes; `--update-docs` writes the tables into the page, between their markers.
"""

import sys
import zlib
from random import Random

import tables
from calipers.stats import cases_needed, spread_of_paired_rates
from simulated_gates import PAGE, at_the_end, in_sequence

SETS = 600
RATE = 0.8
MARGIN = 0.05
FLIPS = 0.2
"""The share of cases that only one of two equal agents passes."""
DIFFERENCES = (-0.2, -0.1, -0.05, -0.02, 0.0, 0.02, 0.05, 0.1)
LONGER = 3
"""How many times the fixed plan the rule may use."""


def plan():
    return cases_needed(MARGIN, spread_of_paired_rates(FLIPS / 2, FLIPS / 2))


def comparison(draw, n, difference):
    """Outcomes of the new and the old agent on n cases."""
    new_only, old_only = (FLIPS + difference) / 2, (FLIPS - difference) / 2
    if min(new_only, old_only) < 0:
        new_only, old_only = max(difference, 0.0), max(-difference, 0.0)
    pairs = []
    for _ in range(n):
        place = draw.random()
        if place < new_only:
            pairs.append((True, False))
        elif place < new_only + old_only:
            pairs.append((False, True))
        else:
            same = draw.random() < RATE
            pairs.append((same, same))
    return pairs


def row(cell):
    """For the fixed plan and both budgets: the cases used on average, and how often PASS and FAIL."""
    difference, sets = cell
    n = plan()
    draw = Random(zlib.crc32(f"{difference}".encode()))
    runs = [comparison(draw, LONGER * n, difference) for _ in range(sets)]
    fixed = [(at_the_end(run[:n], MARGIN), n) for run in runs]
    short, longer = ([in_sequence(run[:most], MARGIN) for run in runs] for most in (n, LONGER * n))
    return [
        (
            sum(used for _, used in found) / sets,
            sum(outcome == "PASS" for outcome, _ in found) / sets,
            sum(outcome == "FAIL" for outcome, _ in found) / sets,
        )
        for found in (fixed, short, longer)
    ]


def table(sets, pool):
    n = plan()
    found = dict(zip(DIFFERENCES, pool.map(row, [(each, sets) for each in DIFFERENCES]), strict=True))
    yield (
        f"| true difference | fixed, {n} cases: PASS / FAIL | up to {n} cases: PASS / FAIL | cases used | saved "
        f"| up to {LONGER * n} cases: PASS / FAIL | cases used | saved |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|"
    for difference, (fixed, short, longer) in found.items():
        cells = [f"{100 * difference:+.0f} points", _shares(fixed)]
        for part in (short, longer):
            cells += [_shares(part), f"{part[0]:.0f}", f"{100 * (1 - part[0] / n):.0f} %"]
        yield f"| {' | '.join(cells)} |"


PARTS = 10
"""Of the runs of an equal agent, each with as many as a row of the other table has."""


def equal_agents(cell):
    """Of runs of an equal agent: how many the fixed plan and the rule decide, and the cases that the rule used."""
    part, sets = cell
    n = plan()
    draw = Random(part)
    runs = [comparison(draw, n, 0.0) for _ in range(sets)]
    found = [in_sequence(run, MARGIN) for run in runs]
    fixed = sum(at_the_end(run, MARGIN) in DECIDED for run in runs)
    return fixed, sum(outcome in DECIDED for outcome, _ in found), sum(used for _, used in found)


DECIDED = {"PASS", "FAIL"}


def equal_table(sets, pool):
    n, runs = plan(), PARTS * sets
    parts = pool.map(equal_agents, [(part, sets) for part in range(PARTS)])
    fixed, short, used = (sum(each) / runs for each in zip(*parts, strict=True))
    yield from tables.head(
        "runs of an equal agent:", f"decided, fixed, {n} cases:", f"up to {n} cases:", "calls:"
    )
    yield f"| {runs:,} | {100 * fixed:.1f} % | {100 * short:.1f} % | {100 * used / n:.0f} % |"


def _shares(part):
    return f"{100 * part[1]:.0f} / {100 * part[2]:.0f}"


if __name__ == "__main__":
    sys.exit(tables.main(__doc__, PAGE, {"early stopping": table, "equal agents": equal_table}, sets=SETS))
