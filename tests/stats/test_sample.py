from math import inf, nan

import pytest

from calipers.stats.sample import finite_values


def test_booleans_and_integers_become_floats():
    sample = finite_values([True, 2, 0.5])
    assert sample == [1.0, 2.0, 0.5]
    assert all(type(value) is float for value in sample)


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_a_value_that_is_not_finite_is_refused_with_its_place(bad):
    with pytest.raises(ValueError, match=f"scores must be finite numbers, got {bad!r} at index 1"):
        finite_values([0.0, bad, 1.0], name="scores")
