"""The cases that are planned for a gate pass it as often as was promised."""

import random
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats.bounded import bounded_interval
from calipers.stats.clearance import cases_to_clear, expected_low, shape_of

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
