"""Kinds of failure that have not been seen."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import unseen_kinds


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30))
def test_there_are_at_least_as_many_kinds_as_were_seen(sizes):
    found = unseen_kinds(sizes)
    assert found.seen == len(sizes) <= found.kinds_interval.low <= found.kinds_interval.high
    assert (
        found.kinds_interval.low - 1e-9 <= found.kinds <= found.kinds_interval.high + 1e-9 or found.once <= 1
    )
    assert 0 <= found.chance_interval.low <= found.chance <= found.chance_interval.high <= 1
    assert found.new_kinds(0) == 0
    assert found.new_kinds(found.n + 1) is None


def test_the_formulas_are_those_of_their_authors():
    # Chao's example in words: 10 kinds seen, 4 of them once and 2 twice.
    found = unseen_kinds([1, 1, 1, 1, 2, 2, 5, 6, 7, 8])
    assert found.n == 34
    assert found.chance == pytest.approx(4 / 34)
    assert found.kinds == pytest.approx(10 + 33 / 34 * 4 * 3 / (2 * 3))


def test_what_comes_next_is_foretold():
    rng, weights = random.Random(1), [1 / (k + 1) for k in range(60)]
    covered = new = foretold = 0
    for _ in range(200):
        first = Counter(rng.choices(range(60), weights, k=80))
        found = unseen_kinds(first.values())
        missing = sum(w for k, w in enumerate(weights) if k not in first) / sum(weights)
        covered += missing in found.chance_interval
        new += len(set(rng.choices(range(60), weights, k=40)) - set(first))
        foretold += found.new_kinds(40)
    assert covered >= 184
    assert foretold == pytest.approx(new, rel=0.1)


def test_kinds_that_all_came_up_often_leave_little_doubt():
    found = unseen_kinds([30, 40, 50])
    assert (found.chance, found.kinds) == (0, 3)
    assert found.chance_interval.high < 0.04
    assert found.kinds_interval.high < 3.1


def test_what_was_not_seen_has_no_size():
    assert unseen_kinds([]) is None
    with pytest.raises(ValueError, match="once or more, got 0"):
        unseen_kinds([3, 0])
    with pytest.raises(ValueError, match="0 or more"):
        unseen_kinds([1]).new_kinds(-1)
