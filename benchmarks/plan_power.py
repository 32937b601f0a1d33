"""Whether `calipers plan --effect` promises the power that a comparison has: a table of docs/explanation/compare-runs.md.

Every cell has the cases that Student's t would plan and the power they have, then those of the plan and theirs, by McNemar's mid-p test
that judges two rates. The power is counted out over all outcomes, so nothing is drawn. `--update-docs` writes the table into the page.
"""

import sys

import tables
from calipers.gate.plan import plan_from_rate
from calipers.stats import cases_needed, power_of_paired_rates, spread_of_paired_rates

PAGE = tables.DOCS / "compare-runs.md"
EFFECTS = (0.05, 0.1, 0.2, 0.3)
FLIPS = (0.1, 0.2, 0.3, 0.5)


def cell(effect, flips):
    if flips < effect:
        return ""
    shares = (flips + effect) / 2, (flips - effect) / 2
    by_t = cases_needed(effect, spread_of_paired_rates(*shares))
    planned = plan_from_rate(0.4, effect=effect, flips=flips).rows[0].cases
    before, after = (f"{100 * power_of_paired_rates(n, *shares):.1f} %" for n in (by_t, planned))
    return f"{by_t}: {before}; {planned}: {after}"


def table(_sets, _pool):
    yield from tables.head("effect:", *(f"{flips:.0%} of cases flip:" for flips in FLIPS))
    for effect in EFFECTS:
        yield f"| {100 * effect:.0f} points | {' | '.join(cell(effect, flips) for flips in FLIPS)} |"


if __name__ == "__main__":
    sys.exit(tables.main(__doc__, PAGE, {"plan power": table}, sets=1))
