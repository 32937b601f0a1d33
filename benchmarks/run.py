"""Every benchmark, side by side in one run: measured values, ratios, targets.

Exits with 1 if a target is missed or could not be measured. `--update-docs` writes the tables into
docs/performance.md, between its markers.
"""

import datetime as dt
import sys
from pathlib import Path

import concurrency
import imports
import large_files
import matching
import memory
import options as option_costs
import overhead
import pytest_cases
import reports
import rollouts
import stores
import voice
from command import drawn, exit_code, parser
from machine import facts
from outcome import Outcome, tables

BENCHMARKS = {
    "overhead": overhead,
    "concurrency": concurrency,
    "imports": imports,
    "memory": memory,
    "large files": large_files,
    "options": option_costs,
    "reports": reports,
    "voice": voice,
    "rollouts": rollouts,
    "matching": matching,
    "stores": stores,
    "pytest cases": pytest_cases,
}
PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"


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
        update_page(tables(outcome, facts(chosen)))
    for promise in outcome.promises:
        if not promise.met:
            print(f"{promise.verdict}: {promise.what}, {promise.ratio}", file=sys.stderr)
    sys.exit(exit_code(outcome, chosen))


def update_page(tables_drawn):
    """Put the tables between the page's markers."""
    text = PAGE.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit(f"{PAGE.name} must have {BEGIN!r} and {END!r} once each")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    today = dt.datetime.now(dt.UTC).date().isoformat()
    PAGE.write_text(
        f"{before}{BEGIN}\n\nMeasured on {today}: {tables_drawn}\n\n{END}{after}", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
