import statistics
from math import nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from calipers.stats.bootstrap import _corrected, arithmetic_mean, bootstrap_interval

SKEWED = np.random.default_rng(1).exponential(2.0, size=40).tolist()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(arithmetic_mean, np.mean), (statistics.median, np.median), (statistics.pstdev, np.std)],
)
def test_the_interval_agrees_with_scipy_up_to_resampling_noise(ours, theirs):
    found = bootstrap_interval(SKEWED, statistic=ours, resamples=4000, seed=3, confidence=0.9)
    expected = stats.bootstrap(
        (SKEWED,),
        theirs,
        n_resamples=20_000,
        confidence_level=0.9,
        method="BCa",
        rng=np.random.default_rng(0),
    ).confidence_interval
    width = expected.high - expected.low
    assert found.low == pytest.approx(expected.low, abs=0.08 * width)
    assert found.high == pytest.approx(expected.high, abs=0.08 * width)
    assert (found.method, found.confidence) == ("bca", 0.9)


def test_the_correction_moves_the_interval_towards_the_long_tail():
    found = bootstrap_interval(SKEWED, seed=0)
    centre = arithmetic_mean(SKEWED)
    assert found.high - centre > centre - found.low


@pytest.mark.parametrize(
    ("bias", "skew", "level"),
    [
        (0.0, 0.0, stats.norm.cdf(1.5)),
        (0.2, 0.0, stats.norm.cdf(1.9)),  # the bias counts twice
        (0.2, 0.1, stats.norm.cdf(0.2 + 1.7 / 0.83)),
        (0.2, 2.0, 1.0),  # beyond the pole
    ],
)
def test_the_level_is_corrected_as_efron_says(bias, skew, level):
    assert _corrected(1.5, bias, skew) == pytest.approx(level, rel=1e-12)
    assert _corrected(-1.5, -bias, -skew) == pytest.approx(1 - level, abs=1e-12)


def test_the_shortcut_for_the_mean_is_the_jackknife():
    def slow_mean(values):
        return arithmetic_mean(values)

    fast, slow = (bootstrap_interval(SKEWED, statistic=s, seed=5) for s in (arithmetic_mean, slow_mean))
    assert (fast.low, fast.high) == pytest.approx((slow.low, slow.high), rel=1e-9)


def test_the_same_seed_gives_the_same_interval_and_zero_is_a_seed():
    assert bootstrap_interval(SKEWED, seed=0) == bootstrap_interval(SKEWED, seed=0)
    assert bootstrap_interval(SKEWED, seed=0) != bootstrap_interval(SKEWED, seed=1)


@given(values=st.lists(st.integers(-50, 50), min_size=3, max_size=12), shift=st.integers(-99, 99))
@settings(max_examples=min(25, settings().max_examples))
def test_shifting_the_sample_shifts_the_interval(values, shift):
    plain = bootstrap_interval(values, seed=2, resamples=200)
    moved = bootstrap_interval([v + shift for v in values], seed=2, resamples=200)
    assert moved.low == pytest.approx(plain.low + shift, abs=1e-6)
    assert moved.high == pytest.approx(plain.high + shift, abs=1e-6)


@pytest.mark.parametrize("statistic", [arithmetic_mean, max, statistics.median])
def test_equal_values_give_an_interval_of_width_zero(statistic):
    found = bootstrap_interval([0.25] * 6, statistic=statistic, seed=0)
    assert (found.low, found.high) == (0.25, 0.25)


def test_a_statistic_at_the_edge_of_its_redraws_still_has_an_interval():
    found = bootstrap_interval(SKEWED, statistic=max, seed=0)
    assert found.low <= found.high == max(SKEWED)


@pytest.mark.parametrize("values", [[], [1.0]])
def test_fewer_than_two_values_have_no_interval(values):
    assert bootstrap_interval(values, seed=0) is None


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: bootstrap_interval([1.0, nan], seed=0), "got nan at index 1"),
        (lambda: bootstrap_interval([1.0, 2.0], seed=0, confidence=1.5), "got 1.5"),
        (lambda: bootstrap_interval([1.0, 2.0], seed=0, resamples=10), "at least 100 .*got 10"),
        (lambda: bootstrap_interval([1.0, 2.0], seed=0, statistic=lambda _: nan), "finite .*got nan"),
    ],
)
def test_impossible_input_is_refused_with_its_value(call, shown):
    with pytest.raises(ValueError, match=shown):
        call()


def test_the_interval_covers_a_skewed_mean_about_as_often_as_it_says():
    draws = np.random.default_rng(11).exponential(1.0, size=(250, 25)).tolist()
    covered = sum(1.0 in bootstrap_interval(row, seed=i, resamples=400) for i, row in enumerate(draws))
    assert 0.87 < covered / len(draws) < 0.98
