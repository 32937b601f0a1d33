from math import inf, isclose, nan
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats.quantiles import quantile, quantile_ends, quantiles, values_for_quantile

SAMPLES = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)
LEVELS = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@given(values=SAMPLES, levels=LEVELS)
def test_quantiles_agree_with_numpy(values, levels):
    for found, expected in zip(quantiles(values, levels), np.quantile(values, levels), strict=True):
        assert isclose(found, expected, rel_tol=1e-12, abs_tol=1e-6 * 1e-9 * max(map(abs, values)) + 1e-300)


@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), levels=LEVELS)
def test_quantiles_rise_with_their_level_and_stay_within_the_sample(values, levels):
    found = quantiles(values, [0, *sorted(levels), 1])
    assert found[0] == min(values)
    assert found[-1] == max(values)
    assert found == sorted(found)


@given(values=SAMPLES, levels=LEVELS)
def test_order_does_not_matter_and_a_sorted_sample_need_not_be_sorted_again(values, levels):
    assert quantiles(values, levels) == quantiles(sorted(values), levels, presorted=True)


@pytest.mark.parametrize(
    ("values", "level", "expected"),
    [
        ([3.0], 0.9, 3.0),
        ([1.0, 2.0], 0.5, 1.5),
        ([4.0, 1.0, 3.0, 2.0], 0.25, 1.75),
        (range(101), 0.95, 95.0),
    ],
)
def test_quantiles_known_by_hand(values, level, expected):
    assert quantile(values, level) == expected


def test_neighbours_further_apart_than_the_largest_float_are_interpolated():
    assert quantiles([-1.5e308, 1.5e308], [0.25, 0.5, 0.75]) == [-7.5e307, 0, 7.5e307]


def test_an_empty_sample_has_no_quantiles():
    assert quantiles([], [0.5]) is None
    assert quantile([], 0.5) is None


def test_the_input_is_left_as_it_was():
    values = [3.0, 1.0, 2.0]
    quantiles(values, [0.5])
    assert values == [3.0, 1.0, 2.0]


@pytest.mark.parametrize("level", [95, -0.1, nan])
def test_a_level_outside_zero_and_one_is_refused(level):
    with pytest.raises(ValueError, match=rf"0.95 for p95\), got {level!r}"):
        quantile([1.0], level)


@pytest.mark.parametrize("bad", [nan, inf])
def test_a_sample_with_a_hole_is_refused(bad):
    with pytest.raises(ValueError, match=f"got {bad!r} at index 1"):
        quantile([1.0, bad], 0.5)


def test_the_ends_of_a_quantile_are_order_statistics():
    low, high = quantile_ends(100, 0.5)
    assert (round(low * 99) + 1, round(high * 99) + 1) == (40, 61), "the ranks of the usual tables"
    assert quantile_ends(20, 0.9)[1] is None
    assert quantile_ends(1, 0.5) == (None, None)


def test_a_high_quantile_has_an_upper_end_from_as_many_values_on_as_is_said():
    for level, n in ((0.9, 36), (0.99, 368)):
        assert values_for_quantile(level) == n
        assert quantile_ends(n, level)[1] is not None
        assert quantile_ends(n - 1, level)[1] is None


def test_the_interval_of_p90_covers_the_truth_as_often_as_it_says():
    draw = Random(4)
    low, high = quantile_ends(60, 0.9)
    covered = 0
    for _ in range(1000):
        values = sorted(draw.lognormvariate(0, 1) for _ in range(60))
        truth = 3.602224479279158  # exp of the normal quantile of 0.9
        covered += values[round(low * 59)] <= truth <= values[round(high * 59)]
    assert covered >= 935
