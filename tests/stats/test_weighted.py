"""Rates and agreement over cases that count unequally."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import cohen_kappa, rate_from_counts, weighted_kappa, weighted_rate

_PAIRS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30)


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.floats(0.1, 10))
def test_equal_weights_are_no_weights(passes, weight):
    found = weighted_rate(passes, [weight] * len(passes))
    plain = rate_from_counts(sum(passes), len(passes))
    assert found.value == pytest.approx(plain.value)
    assert found.interval.low == pytest.approx(plain.interval.low)


def test_a_case_that_stands_for_more_counts_for_more():
    found = weighted_rate([True, False], [3.0, 1.0])
    assert found.value == pytest.approx(0.75)
    assert found.interval.width > rate_from_counts(1.5, 2).interval.width


@given(_PAIRS)
def test_kappa_with_equal_weights_is_cohens(pairs):
    first, second = zip(*pairs, strict=True)
    assert weighted_kappa(first, second, [2.0] * len(pairs)) == cohen_kappa(first, second)


@given(_PAIRS)
def test_a_case_of_weight_two_is_two_cases(pairs):
    first, second = map(list, zip(*pairs, strict=True))
    twice = cohen_kappa([*first, first[0]], [*second, second[0]])
    found = weighted_kappa(first, second, [2.0] + [1.0] * (len(first) - 1))
    if found.value is None:
        assert twice.value is None
    else:
        assert found.value == pytest.approx(twice.value)
        assert found.same == pytest.approx(twice.same)


def test_kappa_with_weights_has_an_interval_that_holds_it():
    first, second = [True, True, False, False] * 5, [True, False, False, False] * 5
    found = weighted_kappa(first, second, [1.0, 2.0] * 10)
    assert found.interval.low < found.value < found.interval.high


def test_every_case_needs_a_weight():
    with pytest.raises(ValueError, match="weight above 0"):
        weighted_rate([True], [])
    with pytest.raises(ValueError, match="weight above 0"):
        weighted_kappa([1], [1], [0.0])
    assert weighted_rate([], []) is None
    assert weighted_kappa([], [], []) is None
