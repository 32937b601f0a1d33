from math import inf, nan

import pytest

from calipers.stats.sample import case_means, finite_values


def test_booleans_and_integers_become_floats():
    sample = finite_values([True, 2, 0.5])
    assert sample == [1.0, 2.0, 0.5]
    assert all(type(value) is float for value in sample)


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_a_value_that_is_not_finite_is_refused_with_its_place(bad):
    with pytest.raises(ValueError, match=f"scores must be finite numbers, got {bad!r} at index 1"):
        finite_values([0.0, bad, 1.0], name="scores")


def test_attempts_at_a_case_are_averaged():
    assert case_means([[1, 0, 0.5], [True]]) == [0.5, 1.0]
    assert case_means([]) == []


@pytest.mark.parametrize(
    ("cases", "shown"),
    [([[1.0], []], "old: case 1 has no scores"), ([[nan]], "old: scores of case 0 .* got nan")],
)
def test_a_case_without_a_score_is_refused(cases, shown):
    with pytest.raises(ValueError, match=shown):
        case_means(cases, name="old")


def test_scores_that_are_not_in_lists_are_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"case 0 must be the list .* got 0.5; write \[\[0.5\], \[1.0\]\]"):
        case_means([0.5, 1.0])
