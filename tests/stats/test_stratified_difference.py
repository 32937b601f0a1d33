"""How much more often one group passes than another, at equal levels."""

import pytest

from calipers.stats import compare_unpaired, difference_at_equal_levels


def test_one_level_is_newcombes_difference():
    passes, group = [True, True, False, False, True, False], [True] * 3 + [False] * 3
    found = difference_at_equal_levels(passes, ["all"] * 6, group)
    plain = compare_unpaired([[1.0], [1.0], [0.0]], [[0.0], [1.0], [0.0]])
    assert found.value == pytest.approx(plain.value)
    assert found.interval.low == pytest.approx(plain.interval.low)
    assert found.interval.high == pytest.approx(plain.interval.high)


def test_what_levels_explain_is_no_difference():
    good = [True] * 40 + [False] * 20
    group = [True] * 30 + [False] * 10 + [True] * 5 + [False] * 15
    assert difference_at_equal_levels(good, good, group).value == 0
    assert (
        compare_unpaired(
            [[float(g)] for g, inside in zip(good, group, strict=True) if inside],
            [[float(g)] for g, inside in zip(good, group, strict=True) if not inside],
        ).value
        > 0.3
    )


def test_a_level_with_one_group_says_nothing():
    assert difference_at_equal_levels([True, False], ["a", "b"], [True, False]) is None
    assert difference_at_equal_levels([], [], []) is None
    found = difference_at_equal_levels([True, False, True], ["a", "a", "b"], [True, False, True])
    assert found.n_units == 2


def test_each_case_needs_a_level_and_a_group():
    with pytest.raises(ValueError, match="needs a level"):
        difference_at_equal_levels([True], [], [True])
