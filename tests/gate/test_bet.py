"""Evidence that may be looked at after every case."""

from random import Random

import pytest

from calipers.errors import InvalidOptionError
from calipers.gate.bet import Bet
from calipers.stats import anytime_interval


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
