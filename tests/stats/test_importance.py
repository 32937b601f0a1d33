"""How likely a rare failure is, from weighted draws."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import clopper_pearson, importance_rate


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_with_equal_weights_it_is_the_exact_interval(failed):
    found = importance_rate(failed, [1.0] * len(failed))
    assert found.value == pytest.approx(sum(failed) / len(failed))
    assert found.mean_weight == 1
    assert found.effective_size == pytest.approx(len(failed))
    if not any(failed):
        assert found.interval is None
        return
    exact = clopper_pearson(sum(failed), len(failed))
    assert found.interval.low == pytest.approx(exact.low, rel=1e-9)
    assert found.interval.high == pytest.approx(exact.high, rel=1e-9)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 5)), min_size=1, max_size=40))
def test_the_estimate_lies_in_its_interval_and_between_0_and_1(draws):
    failed, weights = zip(*draws, strict=True)
    found = importance_rate(failed, weights)
    assert 0 <= found.value <= 1
    assert 0 <= found.effective_failures <= found.failures + 1e-9
    if found.interval is not None:
        assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1
        assert found.interval.approximate


def test_it_finds_a_rate_that_plain_draws_do_not_see():
    rng, truth, covered, doubted = random.Random(5), 1e-4, 0, 0
    for _ in range(200):
        # The proposal fails in one of ten draws, and each failure weighs as much less.
        failed = [rng.random() < 0.1 for _ in range(300)]
        weights = [truth / 0.1 if each else (1 - truth) / 0.9 for each in failed]
        found = importance_rate(failed, weights)
        covered += truth in found.interval
        doubted += "weights_off" in found.doubts
    assert covered >= 186
    assert doubted <= 2


def test_a_proposal_that_misses_what_the_space_draws_is_doubted():
    found = importance_rate([True] * 50 + [False] * 50, [0.1 + 0.001 * n for n in range(100)])
    assert found.doubts == ("weights_off",)


def test_an_estimate_that_rests_on_one_draw_is_doubted():
    found = importance_rate([True, True, *([False] * 98)], [50.0, 0.1, *([0.5] * 98)])
    assert {"few_failures", "one_weight"} <= set(found.doubts)


def test_no_draws_are_no_estimate():
    assert importance_rate([], []) is None


@pytest.mark.parametrize(
    ("weights", "said"), [([1.0], "each draw needs a weight"), ([1.0, -1.0], "0 or more")]
)
def test_wrong_weights_are_refused(weights, said):
    with pytest.raises(ValueError, match=said):
        importance_rate([True, False], weights)
