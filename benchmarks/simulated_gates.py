"""Two agents on simulated cases, and what a gate with a margin says of them: what the tables about gates share."""

from functools import cache
from typing import NamedTuple

import tables
from calipers.gate import StopWhenDecided
from calipers.gate.claims import Claim, judge_claims
from calipers.gate.early_decision import Bet
from calipers.gate.measure import MeanDifference

PAGE = tables.DOCS / "gates.md"
DOUBT = 0.025
"""How often a gate may fail, or pass, an agent that is exactly at the limit."""


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
        return MeanDifference(run=new, baseline=old, is_rate=True)

    def needed(self, limit, confidence):
        """Not asked for here."""


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


def both_ways(cells):
    """How often each failed and passed, in percent."""
    return " | ".join(f"{100 * failed:.1f} / {100 * passed:.1f}" for failed, passed in cells)
