"""How often a comparison of several runs is wrong about any pair: the table of docs/commands/compare.md.

All runs get the same cases. Each case has a chance of a pass of its own, which equal runs share, so that they differ by noise alone; where
runs differ, each gains the same on every case over the one before. A false alarm is a pair of equal runs of which one is called better. The
intervals are right if those of all pairs hold the true differences, and the ranks if each run's place is among those it may have. The draws
come from fixed seeds. Takes a few minutes; `--update-docs` writes the table into the page, between its markers.
"""

import sys
import zlib
from functools import cache
from random import Random

import msgspec

import tables
from calipers import Case, Dataset
from calipers.comparison import compare_many, ranks

SETS = 2000
PARTS = 10
PAGE = tables.DOCS.parent / "commands" / "compare.md"
ROWS = {
    "four equal runs": (4, 100, 0.0),
    "three equal runs": (3, 60, 0.0),
    "three runs, each 10 points better than the one before": (3, 60, 0.1),
}
"""How many runs, over how many cases, and the gain of each over the one before."""


@cache
def judged(n):
    """A report of n cases that pass, and one of the same cases that fail."""

    def passed(output):
        return output

    dataset = Dataset(name="d", cases=[Case(name=f"{i}", inputs=i) for i in range(n)], evaluators=[passed])
    return [dataset.evaluate_sync(lambda _, held=held: held, progress=False) for held in (False, True)]


def report(outcomes, name):
    """A report whose cases have these outcomes."""
    failed, passed = judged(len(outcomes))
    cases = [
        (yes if held else no) for held, yes, no in zip(outcomes, passed.cases, failed.cases, strict=True)
    ]
    return msgspec.structs.replace(passed, name=name, cases=cases)


def wrong(cell):
    """In how many sets of runs any equal pair is told apart, any interval misses, and any rank does."""
    row, part, sets = cell
    runs, n, gain = ROWS[row]
    draw = Random(zlib.crc32(f"{row} {part}".encode()))
    alarms = missed = misplaced = 0
    for _ in range(sets):
        chances = [draw.betavariate(2, 2) * (1 - gain * (runs - 1)) for _ in range(n)]
        reports = [
            report([draw.random() < chance + gain * run for chance in chances], f"{run}")
            for run in range(runs)
        ]
        compared = compare_many(reports)
        changes = [each.pass_rate for each in compared]
        truth = [gain * (int(each.candidate.label) - int(each.baseline.label)) for each in compared]
        alarms += not gain and any(change.outcome in {"better", "worse"} for change in changes)
        missed += any(true not in change.interval for true, change in zip(truth, changes, strict=True))
        if gain:
            misplaced += any(
                not each.best <= runs - int(each.label) <= each.worst for each in ranks(compared)
            )
        else:
            misplaced += any((each.best, each.worst) != (1, runs) for each in ranks(compared))
    return alarms, missed, misplaced


def table(sets, pool):
    cells = [(row, part, sets // PARTS) for row in ROWS for part in range(PARTS)]
    found = tables.results(pool, wrong, cells)
    yield from tables.head("runs", "cases:", "any false alarm:", "all intervals right:", "all ranks right:")
    for row, (_, n, gain) in ROWS.items():
        parts = [found[row, part, sets // PARTS] for part in range(PARTS)]
        alarms, missed, misplaced = (sum(each) / (sets // PARTS * PARTS) for each in zip(*parts, strict=True))
        told = "" if gain else f"{100 * alarms:.1f} %"
        yield f"| {row} | {n} | {told} | {100 * (1 - missed):.1f} % | {100 * (1 - misplaced):.1f} % |"


if __name__ == "__main__":
    sys.exit(tables.main(__doc__, PAGE, {"several runs": table}, sets=SETS))
