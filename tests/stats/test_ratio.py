"""One total over another."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import ratio_of_totals, wilson

units = st.lists(st.tuples(st.floats(0.1, 100), st.integers(0, 5)), min_size=2, max_size=40)


def test_it_is_the_ratio_of_totals_and_not_the_mean_of_ratios():
    found = ratio_of_totals([1, 9], [1, 1])
    assert (found.value, found.top, found.bottom, found.n) == (5, 10, 2, 2)


def test_an_interval_worked_by_hand():
    # top 2, 4, 6; bottom 1, 2, 3 but for noise in the bottom alone: means 4 and 2, variances 4 and 0, t = 4.3027.
    found = ratio_of_totals([2, 4, 6], [2, 2, 2])
    half = 4.302653 * (4 / 3) ** 0.5 / 2
    assert found.value == 2
    assert found.low == pytest.approx(max(0, 2 - half))
    assert found.high == pytest.approx(2 + half)


@given(units)
def test_the_interval_holds_the_ratio_and_is_open_rather_than_wrong(pairs):
    found = ratio_of_totals([top for top, _ in pairs], [bottom for _, bottom in pairs])
    if found.bottom == 0:
        assert (found.value, found.low, found.high) == (None, None, None)
        return
    assert found.low is None or 0 <= found.low <= found.value * (1 + 1e-9)
    assert found.high is None or found.high >= found.value * (1 - 1e-9)


@given(units, st.floats(0.01, 1000))
def test_the_unit_of_the_top_is_the_unit_of_the_ratio(pairs, factor):
    bottoms = [bottom for _, bottom in pairs]
    one = ratio_of_totals([top for top, _ in pairs], bottoms)
    other = ratio_of_totals([factor * top for top, _ in pairs], bottoms)
    if one.low is not None and other.low is not None and one.low > 1e-6 * one.value:
        assert other.low == pytest.approx(factor * one.low, rel=1e-5)
    if one.value is not None:
        assert other.value == pytest.approx(factor * one.value)


def test_few_successes_leave_the_upper_end_open():
    found = ratio_of_totals([1.0] * 30, [1, *[0] * 29])
    assert found.value == 30
    assert 0 < found.low < 30
    assert found.high is None


@pytest.mark.parametrize(
    ("tops", "bottoms"), [([0.3, 0.6, 0.9] * 5, [1, 2, 3] * 5), ([10] * 3, [1] * 3), ([0, 0], [1, 1])]
)
def test_units_that_all_agree_have_a_ratio_without_an_interval(tops, bottoms):
    found = ratio_of_totals(tops, bottoms)
    assert found.value == pytest.approx(sum(tops) / sum(bottoms))
    assert (found.low, found.high) == (None, None)


def test_counts_that_are_all_as_large_as_they_could_be_are_no_proof():
    found = ratio_of_totals([10] * 3, [1] * 3, most=[1] * 3)
    share = wilson(3, 3)
    assert (found.value, found.low) == (10, 10)
    assert found.high == pytest.approx(10 / share.low)


def test_with_a_constant_top_the_interval_of_counts_is_that_of_the_share():
    found = ratio_of_totals([2] * 10, [1] * 7 + [0] * 3, most=[1] * 10)
    share = wilson(7, 10)
    assert (found.low, found.high) == (pytest.approx(2 / share.high), pytest.approx(2 / share.low))


def test_units_that_differ_in_size_alone_are_no_less_known_than_equal_ones():
    uneven = ratio_of_totals([30, 20, 40], [3, 2, 4], most=[3, 2, 4])
    even = ratio_of_totals([30] * 3, [3] * 3, most=[3] * 3)
    assert uneven.low == even.low == 10
    assert even.high < uneven.high < 1.1 * even.high


@given(units)
def test_the_interval_of_counts_holds_the_ratio_and_is_closed(pairs):
    tops, bottoms = zip(*pairs, strict=True)
    found = ratio_of_totals(tops, bottoms, most=[5] * len(pairs))
    if found.bottom:
        assert 0 <= found.low <= found.value * (1 + 1e-9)
        assert found.value * (1 - 1e-9) <= found.high < float("inf")
        assert found.high > found.low


@pytest.mark.parametrize(("tops", "bottoms"), [([1.0], [1]), ([1.0], [0])])
def test_one_unit_has_no_interval(tops, bottoms):
    found = ratio_of_totals(tops, bottoms)
    assert (found.low, found.high) == (None, None)


def test_no_units_have_no_ratio():
    assert ratio_of_totals([], []) is None


@pytest.mark.parametrize(
    ("tops", "bottoms", "message"),
    [([1], [1, 2], "both its values"), ([-1], [1], "negative"), ([float("inf")], [1], "finite")],
)
def test_what_cannot_be_is_refused(tops, bottoms, message):
    with pytest.raises(ValueError, match=message):
        ratio_of_totals(tops, bottoms)


@pytest.mark.parametrize("most", [[1], [1, 0], [1, 2.5], [1, 1]])
def test_counts_fit_what_could_be_counted(most):
    with pytest.raises(ValueError, match="most"):
        ratio_of_totals([1, 1], [1, 2], most=most)


@pytest.mark.parametrize("chance", [0.3, 0.5, 0.9, 0.95, 0.98])
@pytest.mark.parametrize("n", [5, 20, 50])
def test_intervals_of_counts_cover_the_truth_at_every_rate(chance, n):
    draw = random.Random(n)
    covered = rounds = 0
    for _ in range(300):
        successes = [draw.random() < chance for _ in range(n)]
        if any(successes):  # else there is no ratio
            found = ratio_of_totals([3] * n, successes, most=[1] * n)
            covered += found.low <= 3 / chance <= found.high
            rounds += 1
    assert covered / rounds >= 0.87


@pytest.mark.parametrize(("chances", "each"), [((0.2, 0.6), 4), ((0.9, 1.0), 3)])
def test_intervals_over_goals_cover_the_truth(chances, each):
    draw = random.Random(0)
    covered, rounds = 0, 400
    for _ in range(rounds):
        goals = [draw.uniform(*chances) for _ in range(15)]
        successes = [sum(draw.random() < goal for _ in range(each)) for goal in goals]
        spent = [sum(draw.randint(1, 4) for _ in range(each)) for _ in goals]
        found = ratio_of_totals(spent, successes, most=[each] * 15)
        covered += found.low <= 2.5 / (sum(chances) / 2) <= found.high
    assert covered / rounds >= 0.92


def test_nineteen_of_twenty_intervals_cover_the_truth():
    draw = random.Random(0)
    covered, rounds = 0, 1000
    for _ in range(rounds):
        successes = [draw.random() < 0.4 for _ in range(40)]
        costs = [(1 if success else 2) * draw.uniform(0.5, 1.5) for success in successes]
        found = ratio_of_totals(costs, successes)
        covered += found.low <= 1.6 / 0.4 <= found.high
    assert 0.93 <= covered / rounds <= 0.97
