"""How often a gate fails, or passes, an agent that is exactly as good as its limit: the tables of docs/explanation/gates.md.

Two agents meet the same cases. Each case has its own chance to be passed, the same for both, so that they differ by noise alone;
for a margin, the second loses exactly the margin on average. Nobody may then be failed, or passed, more often than the policy
says: 2.5 % each way at a confidence of 95 %. The draws come from fixed seeds, so the tables repeat exactly. Takes a few minutes;
`--update-docs` writes the tables into the page, between their markers.
"""

import sys
import zlib
from functools import cache
from random import Random
from typing import NamedTuple

import tables
from calipers.gate import StopWhenDecided
from calipers.gate.claims import Claim, judge_claims
from calipers.gate.early_decision import Bet
from calipers.gate.measure import Change
from calipers.stats import paired_difference

SETS = 2000
CASES = 200
FIRST_LOOK = 10
DOUBT = 0.025
RATES = (0.5, 0.8, 0.95)
MARGINS = (0.0, 0.05)
RULES = (1, 5, 20)
SIZES = (20, 40, 60, 100)
GAINS = (0.0, 0.02, 0.05)
LOSSES = (0.02, 0.05, 0.1)
PAGE = tables.DOCS / "gates.md"


def comparison(draw, n, rate, loss=0.0):
    """Outcomes of both agents on n cases: the new one, and the old one, which is better by `loss`."""
    pairs = []
    for _ in range(n):
        chance = draw.betavariate(3 * rate, 3 * (1 - rate))
        better = chance + loss * (1 - chance) / (1 - rate)
        pairs.append((draw.random() < chance, draw.random() < better))
    return pairs


class Counted(NamedTuple):
    """The measure of a margin, for cases that pass or not: its interval depends on three counts, and is kept."""

    better: int
    worse: int
    n: int

    @property
    def value(self):
        return (self.better - self.worse) / self.n

    @cache  # noqa: B019 - it is to be kept
    def interval(self, confidence):
        return self.change().interval(confidence)

    def change(self):
        same = self.n - self.better - self.worse
        new = [[1.0]] * self.better + [[0.0]] * (self.worse + same)
        old = [[0.0]] * self.better + [[1.0]] * self.worse + [[0.0]] * same
        return Change(run=new, baseline=old, is_rate=True)

    def needed(self, limit, confidence):
        """Nobody asks here."""


def claim(pairs, margin):
    return Claim(
        subject="",
        rule="",
        measure=Counted(
            sum(new and not old for new, old in pairs),
            sum(old and not new for new, old in pairs),
            len(pairs),
        ),
        limit=-margin,
        unit="rate",
        signed=True,
    )


def at_the_end(pairs, margin):
    return judge_claims([claim(pairs, margin)], confidence=1 - 2 * DOUBT, correct=True)[0].outcome


def at_every_look(pairs, margin):
    """What somebody decides who looks at the ordinary interval after every case and acts on the first clear one."""
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


def in_sequence(pairs, margin):
    """What `--stop-when-decided` comes to, which looks after every case and once more at the end, and how many cases it used."""
    bet = Bet("", -margin, (-1.0, 1.0), above=True, distance=margin)
    bet.plan(len(pairs))
    doubt = StopWhenDecided.share * DOUBT
    for number, (new, old) in enumerate(pairs, 1):
        bet.add(float(new) - float(old))
        if bet.fails(doubt):
            return "FAIL", number
        if bet.passes(doubt):
            return "PASS", number
    level = 1 - 2 * DOUBT * (1 - StopWhenDecided.share)
    return judge_claims([claim(pairs, margin)], confidence=level, correct=True)[0].outcome, len(pairs)


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
    found = dict(zip(cells, pool.map(shares, cells), strict=True))
    yield "| looked at | margin | " + " | ".join(f"old agent passes {rate:.0%}" for rate in RATES) + " |"
    yield "|---|---:|" + "---:|" * len(RATES)
    for margin in MARGINS:
        for way in WAYS:
            shown = both_ways(found[way, rate, margin, sets] for rate in RATES)
            yield f"| {way} | {100 * margin:.0f} points | {shown} |"


def both_ways(cells):
    """How often each failed and passed, in percent."""
    return " | ".join(f"{100 * failed:.1f} / {100 * passed:.1f}" for failed, passed in cells)


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
    found = dict(zip(cells, pool.map(alarms, cells), strict=True))
    yield "| correction | " + " | ".join(f"{count} rule{'s' * (count > 1)}" for count in RULES) + " |"
    yield "|---|" + "---:|" * len(RULES)
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
    found = dict(zip(cells, pool.map(agreeing, cells), strict=True))
    yield "| better on | margin | " + " | ".join(f"{n} cases" for n in SIZES) + " |"
    yield "|---:|---:|" + "---:|" * len(SIZES)
    for gain in GAINS:
        for margin in LOSSES:
            shown = both_ways(found[n, gain, margin, sets] for n in SIZES)
            yield f"| {gain:.0%} of cases | {100 * margin:.0f} points | {shown} |"


TABLES = {"false alarms": looks_table, "agreeing": agreeing_table, "rules": rules_table}


if __name__ == "__main__":
    sys.exit(tables.main(__doc__, PAGE, TABLES, sets=SETS))
