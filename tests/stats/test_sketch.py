import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats.sketch import QuantileSketch


def sketch(values):
    made = QuantileSketch()
    for value in values:
        made.add(value)
    return made


@given(values=st.lists(st.floats(1e-9, 1e9), min_size=1), level=st.floats(0, 1))
def test_a_quantile_is_within_one_percent_of_an_order_statistic_at_its_rank(values, level):
    ordered = sorted(values)
    rank = level * (len(values) - 1)
    found = sketch(values).quantile(level)
    low, high = ordered[math.floor(rank)], ordered[math.ceil(rank)]
    assert low * 0.99 <= found <= high * 1.01


@given(values=st.lists(st.floats(0, 1e6)))
def test_count_mean_and_largest_are_exact(values):
    made = sketch(values)
    assert made.count == len(values)
    assert made.largest == max(values, default=0)
    assert made.mean == (None if not values else pytest.approx(math.fsum(values) / len(values)))


def test_nothing_counted_has_no_quantile():
    assert QuantileSketch().quantile(0.5) is None
    assert QuantileSketch().mean is None


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_what_is_no_duration_is_refused(value):
    with pytest.raises(ValueError, match=f"{value!r}"):
        QuantileSketch().add(value)


@pytest.mark.parametrize("level", [-0.1, 1.1, math.nan])
def test_a_level_outside_its_range_is_refused(level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        sketch([1.0]).quantile(level)


def test_memory_does_not_grow_with_the_number_of_values():
    made = sketch(0.001 + i / 1e7 for i in range(50_000))
    assert len(made._buckets) < 300
