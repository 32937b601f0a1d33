"""The sign-flip test."""

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calipers.stats import permutation_test

SIDES = ("two-sided", "greater", "less")


def once(values):
    return [[value] for value in values]


def by_hand(differences, alternative):
    total = sum(differences)
    reached = 0
    for signs in product((1, -1), repeat=len(differences)):
        each = sum(s * d for s, d in zip(signs, differences, strict=True))
        reached += {"two-sided": abs(each) >= abs(total), "greater": each >= total, "less": each <= total}[
            alternative
        ]
    return reached / 2 ** len(differences)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9), st.sampled_from(SIDES))
def test_few_cases_are_counted_as_by_hand(differences, alternative):
    found = permutation_test(once(differences), once([0] * len(differences)), seed=0, alternative=alternative)
    assert found.exact
    assert found.p_value == pytest.approx(by_hand(differences, alternative))


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=9, unique=True))
def test_the_exact_p_value_is_scipys(differences):
    rounded = [round(d, 2) for d in differences]
    found = permutation_test(once(rounded), once([0] * len(rounded)), seed=0)
    test = stats.permutation_test(
        (rounded, [0] * len(rounded)),
        lambda a, b: sum(x - y for x, y in zip(a, b, strict=True)),
        permutation_type="samples",
    )
    assert found.p_value == pytest.approx(test.pvalue)


def test_four_cases_of_three_attempts_are_four_and_not_twelve():
    better = [[1.0, 1.0, 1.0]] * 4
    worse = [[0.0, 0.0, 0.0]] * 4
    found = permutation_test(better, worse, seed=0, alternative="greater")
    assert found.p_value == 1 / 16
    assert found.n_units == 4
    pooled = permutation_test(once([1.0] * 12), once([0.0] * 12), seed=0, alternative="greater")
    assert pooled.p_value == 1 / 4096  # what pooling the attempts would have claimed


def test_twenty_eight_cases_are_still_counted_and_more_are_drawn():
    draw = random.Random(1)
    differences = [draw.gauss(0.4, 1) for _ in range(29)]
    counted = permutation_test(once(differences[:28]), once([0.0] * 28), seed=0)
    drawn = permutation_test(once(differences), once([0.0] * 29), seed=0, resamples=4000)
    assert (counted.exact, drawn.exact) == (True, False)
    assert counted.p_value == pytest.approx(stats.ttest_1samp(differences[:28], 0).pvalue, abs=0.03)
    assert drawn.p_value == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=0.03)
    assert drawn == permutation_test(once(differences), once([0.0] * 29), seed=0, resamples=4000)


def test_cases_that_do_not_differ_change_nothing():
    few = permutation_test(once([1, 2, 3]), once([0, 0, 0]), seed=0)
    many = permutation_test(once([1, 2, 3] + [5] * 200), once([0, 0, 0] + [5] * 200), seed=0)
    assert many.exact
    assert many.p_value == few.p_value


def test_drawn_p_values_are_never_zero():
    found = permutation_test(once([1.0] * 60), once([0.0] * 60), seed=0, resamples=500)
    assert found.p_value == pytest.approx(1 / 501)


def test_a_cluster_changes_sign_as_a_whole():
    found = permutation_test(
        once([1.0] * 12), once([0.0] * 12), seed=0, clusters=list("aaabbbcccddd"), alternative="greater"
    )
    assert (found.p_value, found.n_units) == (1 / 16, 4)


def test_no_difference_at_all_is_no_evidence():
    for alternative in SIDES:
        assert permutation_test([[1]] * 5, [[1]] * 5, seed=0, alternative=alternative).p_value == 1
    assert permutation_test([], [], seed=0) is None


def test_equal_ways_are_called_different_at_most_as_often_as_said():
    draw = random.Random(2)
    alarms = 0
    for _ in range(400):
        differences = [draw.gauss(0, 1) * draw.choice((1, 5)) for _ in range(12)]
        alarms += permutation_test(once(differences), once([0.0] * 12), seed=0).p_value <= 0.05
    assert alarms / 400 <= 0.05 + 2.5 * (0.05 * 0.95 / 400) ** 0.5


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"alternative": "bigger"}, "got 'bigger'"),
        ({"resamples": 10}, "got 10"),
        ({"clusters": ["a"]}, "got 2 and 1 cluster ids"),
    ],
)
def test_impossible_options_are_refused(options, shown):
    with pytest.raises(ValueError, match=shown):
        permutation_test([[1], [2]], [[0], [0]], seed=0, **options)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([[1e308]] * 3, [[0.0]] * 3),
        ([[1e308, 1e308]], [[0.0]]),
        ([[1e308], [-1e308]], [[0.0], [0.0]]),
        ([[4e306]] * 40, [[0.0]] * 40),
    ],
)
def test_scores_whose_sum_is_no_float_are_refused(first, second):
    with pytest.raises(ValueError, match="rescale"):
        permutation_test(first, second, seed=1)
