"""The mean of values between bounds: what was not seen counts."""

import random
from functools import cache
from math import nan
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import clopper_pearson, t_interval
from calipers.stats.bounded import bounded_interval, cases_to_clear, expected_low, shape_of

# To nine digits: a value within 1e-12 of a bound counts as lying on it, and rounding moves it to either side of that.
shares = st.floats(0, 1).map(lambda value: round(value, 9))


@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_of_values_that_are_0_or_1_it_is_the_exact_interval(passed, failed, confidence):
    if passed + failed < 2:
        return
    found = bounded_interval([1.0] * passed + [0.0] * failed, confidence=confidence)
    exact = clopper_pearson(passed, passed + failed, confidence=confidence)
    assert (found.low, found.high) == (pytest.approx(exact.low), pytest.approx(exact.high))


@pytest.mark.parametrize(
    "values", [[0.2, 0.9], [0.99, 0.995, 0.0], [0.1 * k for k in range(10)]], ids=["two", "one zero", "even"]
)
def test_the_ends_are_the_quantiles_of_values_weighed_by_chance(values):
    draw = Random(3)
    found = bounded_interval(values)
    beyond = [0, 0]
    for _ in range(20_000):
        weights = [draw.expovariate(1) for _ in range(len(values) + 1)]
        for side, bound in enumerate((0.0, 1.0)):
            drawn = sum(w * x for w, x in zip(weights, [bound, *values], strict=True)) / sum(weights)
            beyond[side] += drawn < found.low if side == 0 else drawn > found.high
    assert beyond == [pytest.approx(500, abs=90)] * 2


@given(st.lists(shares, min_size=2, max_size=30), st.sampled_from([0.8, 0.95, 0.999]))
def test_it_holds_the_mean_stays_within_the_bounds_and_mirrors(values, confidence):
    found = bounded_interval(values, confidence=confidence)
    assert 0 <= found.low <= sum(values) / len(values) + 1e-9
    assert sum(values) / len(values) - 1e-9 <= found.high <= 1
    mirrored = bounded_interval([1 - value for value in values], confidence=confidence)
    assert mirrored.low == pytest.approx(1 - found.high, abs=1e-6)
    scaled = bounded_interval([4 * value - 1 for value in values], low=-1, high=3, confidence=confidence)
    assert scaled.low == pytest.approx(4 * found.low - 1, abs=1e-6)


def test_of_many_values_it_comes_close_to_the_t_interval():
    draw = Random(1)
    values = [draw.random() for _ in range(1000)]
    found, usual = bounded_interval(values), t_interval(values)
    assert usual.width < found.width < 1.05 * usual.width


def test_clusters_of_copies_count_once():
    values = [0.1, 0.5, 0.5, 0.9, 0.95]
    found = bounded_interval(values * 3, clusters=list(range(5)) * 3)
    once = bounded_interval(values)
    assert (found.low, found.high) == (pytest.approx(once.low), pytest.approx(once.high))


def test_one_value_or_one_cluster_has_no_interval():
    assert bounded_interval([0.5]) is None
    assert bounded_interval([0.5, 0.6], clusters=["a", "a"]) is None


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([0.5, 1.5], {}),
        ([0.5, nan], {}),
        ([0.5, 0.5], {"low": 1.0, "high": 0.0}),
        ([0.5, 0.5], {"low": -1.7e308, "high": 1.7e308}),
        ([0.5, 0.5], {"clusters": ["a"]}),
        ([0.5, 0.5], {"confidence": 95}),
    ],
)
def test_what_cannot_be_is_refused(values, options):
    with pytest.raises(ValueError, match="got"):
        bounded_interval(values, **options)


def test_values_that_hardly_differ_from_a_bound_are_taken_in():
    found = bounded_interval([5e-324, 1e-300, 1.0, 1 - 1e-16])
    assert 0 < found.low < 0.5 < found.high < 1


# ---------------------------------------------------------------------- clearance


VALUES = st.lists(st.floats(0, 1).map(lambda x: round(x, 2)), min_size=2, max_size=30)


@pytest.mark.parametrize(
    ("flips", "margin", "power"),
    [(0.1, 0.05, 0.8), (0.2, 0.1, 0.8), (0.05, 0.05, 0.8), (0.02, 0.02, 0.8), (0.1, 0.05, 0.95)],
)
def test_an_agent_as_good_as_its_baseline_passes_with_the_chance_that_was_planned(flips, margin, power):
    shape = [(0.0, flips / 2), (0.5, 1 - flips), (1.0, flips / 2)]
    n = cases_to_clear(shape, (1 - margin) / 2, power=power)

    @cache
    def passes(worse, better):
        seen = [-1.0] * worse + [1.0] * better + [0.0] * (n - worse - better)
        return bounded_interval(seen, low=-1, high=1).low > -margin

    draw = random.Random(1)
    passed = 0
    for _ in range(600):
        drawn = draw.choices((-1, 0, 1), weights=(flips / 2, 1 - flips, flips / 2), k=n)
        passed += passes(drawn.count(-1), drawn.count(1))
    assert passed / 600 == pytest.approx(power, abs=0.045)


def test_scores_of_many_values_are_cleared_as_often():
    draw = random.Random(2)
    pilot = [draw.betavariate(8, 2) for _ in range(500)]
    n = cases_to_clear(shape_of(pilot), 0.75)
    passed = sum(bounded_interval(draw.choices(pilot, k=n)).low > 0.75 for _ in range(200))
    assert passed / 200 == pytest.approx(0.8, abs=0.085)


@given(VALUES)
def test_a_shape_keeps_the_mean(values):
    shape = shape_of([5 * value - 1 for value in values * 3], low=-1, high=4)
    assert sum(share for _, share in shape) == pytest.approx(1)
    assert sum(value * share for value, share in shape) == pytest.approx(sum(values) / len(values), abs=1e-9)


@given(VALUES, st.integers(2, 500))
def test_more_cases_and_less_certainty_reach_further(values, n):
    shape = shape_of(values)
    low = expected_low(shape, n)
    assert 0 <= low <= sum(values) / len(values) + 1e-9
    assert expected_low(shape, 2 * n) >= low - 1e-9
    assert expected_low(shape, n, confidence=0.8) >= low - 1e-9
    assert expected_low(shape, n, power=0.5) >= low - 1e-9


def test_the_cases_found_are_the_fewest():
    shape = [(0.0, 0.1), (1.0, 0.9)]
    n = cases_to_clear(shape, 0.8)
    assert expected_low(shape, n) > 0.8 >= expected_low(shape, n - 1)


@pytest.mark.parametrize("limit", [0.9, 0.95, 1.0, 0.89999])
def test_what_no_number_of_cases_clears_has_no_plan(limit):
    assert cases_to_clear([(0.0, 0.1), (1.0, 0.9)], limit) is None


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: expected_low([(0.5, 1.0)], 1), "got 1"),
        (lambda: expected_low([(0.5, 1.0)], 5, power=1.0), "got 1.0"),
        (lambda: expected_low([(0.5, 1.0)], 5, confidence=1.0), "got 1.0"),
        (lambda: cases_to_clear([(0.5, 1.0)], -0.1), "got -0.1"),
    ],
)
def test_impossible_plans_are_refused_with_their_value(call, shown):
    with pytest.raises(ValueError, match=shown):
        call()
