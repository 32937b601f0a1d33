"""Evidence that may be looked at after every case."""

from random import Random

import pytest

from calipers.errors import InvalidOptionError
from calipers.gate import StopWhenDecided
from calipers.gate.early_decision import Bet
from calipers.gate.measure import Level
from calipers.stats import anytime_interval

# ---------------------------------------------------------------------- bet


def test_a_bet_says_what_the_interval_for_many_looks_says():
    draw = Random(3)
    bet, seen = Bet("", 0.5, (0.0, 1.0), above=True), []
    for _ in range(120):
        seen.append(float(draw.random() < 0.8))
        bet.add(seen[-1])
        interval = anytime_interval(seen)
        assert bet.passes(0.025) == (interval.low > 0.5)
        assert bet.fails(0.025) == (interval.high < 0.5)
    assert bet.passes(0.025)


def test_looking_after_every_case_raises_no_false_alarms():
    draw = Random(5)
    failed = 0
    for _ in range(200):
        bet = Bet("", 0.0, (-1.0, 1.0), above=True)
        for _ in range(60):
            bet.add(draw.choice([-1.0, 0.0, 1.0]))
            if bet.fails(0.025):
                failed += 1
                break
    assert failed <= 13, "2.5 % of 200 is 5, and 13 is beyond any luck"


@pytest.mark.parametrize("limit", [0.0, 1.0, -1.0, 2.0])
def test_a_limit_outside_the_bounds_cannot_be_bet_on(limit):
    with pytest.raises(InvalidOptionError, match="bounds"):
        Bet("at least x", limit, (0.0, 1.0), above=True)


def test_looks_on_the_way_and_one_at_the_end_decide_nearly_as_often_as_a_fixed_plan():
    """Equal agents, 10 % flips, a margin of 5 points and 400 cases."""
    draw = Random(9)
    fixed = split = 0
    share = StopWhenDecided.share
    for _ in range(60):
        values = [draw.choices((1.0, -1.0, 0.0), (5, 5, 90))[0] for _ in range(400)]
        bet = Bet("", -0.05, (-1.0, 1.0), above=True)
        early = False
        for value in values:
            bet.add(value)
            early = early or bet.passes(share * 0.025)
        cases = [[value] for value in values]
        low, lower = (
            Level(cases=cases, bounds=(-1.0, 1.0)).interval(level).low
            for level in (0.95, 1 - 0.05 * (1 - share))
        )
        fixed += low > -0.05
        split += early or lower > -0.05
    assert 36 <= fixed - 5 <= split <= fixed + 2
