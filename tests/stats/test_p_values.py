"""The sign-flip test."""

import random
from itertools import product
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calipers.stats import benjamini_hochberg, holm, permutation_test

# ---------------------------------------------------------------------- permutation


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
        ({"clusters": ["a"]}, "got 2 cases and 1 cluster ids"),
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


# ---------------------------------------------------------------------- multiplicity


P_VALUES = st.lists(st.floats(0, 1), max_size=12)


def test_holm_is_as_published():
    # Holm (1979) rejects step by step: 0.01 at 0.05/4, 0.005 first of all; 0.03 against 0.05/2 is not.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(P_VALUES, st.floats(0.001, 0.5))
def test_holm_rejects_what_the_step_down_procedure_rejects(p_values, level):
    adjusted = holm(p_values)
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    rejected = set()
    for place, index in enumerate(order):
        if (len(p_values) - place) * p_values[index] > level:
            break
        rejected.add(index)
    assert {i for i, p in enumerate(adjusted) if p <= level} == rejected


@given(P_VALUES)
def test_benjamini_and_hochberg_agree_with_scipy(p_values):
    expected = stats.false_discovery_control(p_values).tolist() if p_values else []
    assert benjamini_hochberg(p_values) == pytest.approx(expected)


@given(P_VALUES)
def test_adjusting_never_makes_a_p_value_smaller_nor_swaps_two(p_values):
    for adjust in (holm, benjamini_hochberg):
        adjusted = adjust(p_values)
        assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
        assert all(
            adjusted[i] <= adjusted[j]
            for i in range(len(p_values))
            for j in range(len(p_values))
            if p_values[i] <= p_values[j]
        )
    assert all(b <= h for b, h in zip(benjamini_hochberg(p_values), holm(p_values), strict=True))


@pytest.mark.parametrize("bad", [-0.1, 1.2, nan])
@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_what_is_no_p_value_is_refused(adjust, bad):
    with pytest.raises(ValueError, match=f"got {bad!r} at index 1"):
        adjust([0.5, bad])


@pytest.mark.parametrize("p_values", [[True, None], [0.1, None], ["0.1"], [float("nan")]])
@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg], ids=["holm", "benjamini-hochberg"])
def test_what_is_no_p_value_is_refused_with_its_place(adjust, p_values):
    with pytest.raises(ValueError, match=r"got .* at index"):
        adjust(p_values)
