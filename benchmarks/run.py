"""Every benchmark, side by side in one run: measured values, ratios, targets.

Exits with 1 if a target is missed or could not be measured. `--update-docs` writes the tables into
docs/performance.md, between its markers.
"""

import datetime as dt
import sys
from pathlib import Path

import concurrency
import growing_stores
import imports
import judging
import large_files
import limits
import matching
import memory
import options as option_costs
import overhead
import pytest_cases
import ray_engine
import reports
import rollouts
import search
import stores
import traces
import viewer
import voice
from command import drawn, exit_code, parser
from machine import facts
from outcome import Outcome, tables
from tables import update

BENCHMARKS = {
    "overhead": overhead,
    "concurrency": concurrency,
    "limits": limits,
    "imports": imports,
    "memory": memory,
    "large files": large_files,
    "options": option_costs,
    "reports": reports,
    "voice": voice,
    "judging": judging,
    "rollouts": rollouts,
    "search": search,
    "matching": matching,
    "stores": stores,
    "growing stores": growing_stores,
    "traces": traces,
    "pytest cases": pytest_cases,
    "ray": ray_engine,
    "viewer": viewer,
}
PAGE = Path(__file__).parent.parent / "docs" / "performance.md"


def main():
    given = parser(__doc__)
    given.add_argument("--only", choices=BENCHMARKS, action="append", help="run this one; may be repeated")
    given.add_argument("--update-docs", action="store_true", help="write the tables into docs/performance.md")
    chosen = given.parse_args()
    if chosen.update_docs and (chosen.quick or chosen.only):
        given.error("--update-docs wants the whole suite at full size: leave out --quick and --only")
    outcome = Outcome(())
    for name in chosen.only or BENCHMARKS:
        print(f"{name}:", file=sys.stderr)
        outcome += BENCHMARKS[name].benchmark(chosen)
    print(drawn(outcome, chosen))
    if chosen.update_docs:
        today = dt.datetime.now(dt.UTC).date().isoformat()
        update(PAGE, "benchmarks", ["", f"Measured on {today}: {tables(outcome, facts(chosen))}", ""])
    for promise in outcome.promises:
        if not promise.met:
            print(f"{promise.verdict}: {promise.what}, {promise.ratio}", file=sys.stderr)
    sys.exit(exit_code(outcome, chosen))


if __name__ == "__main__":
    main()
