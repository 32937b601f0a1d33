"""What a gate does in the situations that its documentation promises something about: tables of docs/explanation/gates.md.

- *ci*: 100 cases and a margin of 5 points. How often each outcome meets an agent that lost 10 points, and one that is as good as before.

The draws come from fixed seeds, so the tables repeat exactly. `--update-docs` writes them into the page, between their markers.
"""

import argparse
import sys
import zlib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from random import Random

from calipers.gate.claims import judge_claims
from false_alarms import DOUBT, PAGE, claim, update

SETS = 2000
CI_CASES, CI_MARGIN, CI_FLIPS, CI_LOSSES = 100, 0.05, (0.1, 0.2, 0.3), (-0.1, 0.0)


def flipping(draw, n, flips, difference):
    """Outcomes of the new and the old agent on n cases, of which a share is passed by one of them only."""
    only_new, only_old = (flips + difference) / 2, (flips - difference) / 2
    pairs = []
    for _ in range(n):
        place = draw.random()
        pairs.append((place < only_new, only_new <= place < only_new + only_old))
    return pairs


def ci_outcomes(cell):
    """How often each outcome is given."""
    flips, difference, sets = cell
    draw = Random(zlib.crc32(f"{flips} {difference}".encode()))
    found = Counter[str]()
    for _ in range(sets):
        asked = replace(claim(flipping(draw, CI_CASES, flips, difference), CI_MARGIN), par=0.0)
        found[judge_claims([asked], confidence=1 - 2 * DOUBT, correct=True)[0].outcome] += 1
    return found


def ci_table(sets, pool):
    cells = [(flips, difference, sets) for difference in CI_LOSSES for flips in CI_FLIPS]
    yield "| true difference | cases that flip | FAIL | WORSE | INCONCLUSIVE | PASS |"
    yield "|---:|---:|---:|---:|---:|---:|"
    for (flips, difference, _), found in zip(cells, pool.map(ci_outcomes, cells), strict=True):
        shown = (
            f"{100 * found[outcome] / sets:.1f} %" for outcome in ("FAIL", "WORSE", "INCONCLUSIVE", "PASS")
        )
        yield f"| {100 * difference:+.0f} points | {flips:.0%} | {' | '.join(shown)} |"


TABLES = {"ci": ci_table}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=SETS, help="simulated gates for each cell")
    parser.add_argument("--only", choices=TABLES, help="one table")
    parser.add_argument("--update-docs", action="store_true")
    options = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        for name, table in TABLES.items():
            if options.only in {None, name}:
                lines = list(table(options.sets, pool))
                print("\n".join(lines), end="\n\n")
                if options.update_docs:
                    update(PAGE, name, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
