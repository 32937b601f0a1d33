import statistics
from math import comb, inf, isclose, nan

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from calipers.stats import upper_bound
from calipers.stats.interval import (
    Interval,
    _corrected,
    arithmetic_mean,
    bootstrap_interval,
    clopper_pearson,
    jeffreys,
    mean_interval,
    t_interval,
    wilson,
    wilson_of_rate,
)

CONFIDENCES = st.floats(0.01, 0.999)
COUNTS = st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
SCORES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50)


def test_an_interval_knows_its_width_and_what_it_contains():
    interval = Interval(0.25, 0.75)
    assert interval.width == 0.5
    assert 0.25 in interval
    assert 0.75 in interval
    assert 0.76 not in interval
    assert not interval.__contains__(nan)


def test_an_interval_is_a_value_that_survives_json():
    interval = Interval(0.1, 0.2, confidence=0.9, method="bca")
    assert msgspec.json.decode(msgspec.json.encode(interval), type=Interval) == interval
    with pytest.raises(AttributeError):
        interval.low = 0.0


@given(counts=COUNTS, confidence=CONFIDENCES)
def test_wilson_agrees_with_scipy(counts, confidence):
    k, n = counts
    found = wilson(k, n, confidence=confidence)
    expected = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    assert isclose(found.low, expected.low, rel_tol=1e-9, abs_tol=1e-12)
    assert isclose(found.high, expected.high, rel_tol=1e-9)
    assert (found.confidence, found.method) == (confidence, "wilson")


@given(counts=COUNTS, confidence=CONFIDENCES)
def test_clopper_pearson_agrees_with_scipy(counts, confidence):
    k, n = counts
    found = clopper_pearson(k, n, confidence=confidence)
    # By its quantiles: `binomtest` searches for the ends, and stops at an error of one in a hundred million.
    tail = (1 - confidence) / 2
    low = stats.beta.ppf(tail, k, n - k + 1) if k else 0.0
    high = stats.beta.ppf(1 - tail, k + 1, n - k) if k < n else 1.0
    assert isclose(found.low, low, rel_tol=1e-8)
    assert isclose(found.high, high, rel_tol=1e-8)


@given(counts=COUNTS, confidence=CONFIDENCES)
def test_jeffreys_is_the_middle_of_the_posterior_and_open_at_the_ends(counts, confidence):
    k, n = counts
    found = jeffreys(k, n, confidence=confidence)
    low, high = stats.beta(k + 0.5, n - k + 0.5).interval(confidence)
    assert isclose(found.low, 0.0 if k == 0 else low, rel_tol=1e-8)
    assert isclose(found.high, 1.0 if k == n else high, rel_tol=1e-8)
    assert found.method == "jeffreys"
    exact = clopper_pearson(k, n, confidence=confidence)
    assert exact.low <= found.low
    assert found.high <= exact.high


def test_jeffreys_of_nothing_is_none_and_of_nonsense_an_error():
    assert jeffreys(0, 0) is None
    with pytest.raises(ValueError, match="got 3 of 2"):
        jeffreys(3, 2)


@given(values=SCORES, confidence=CONFIDENCES)
def test_the_t_interval_agrees_with_numpy_and_scipy(values, confidence):
    found = t_interval(values, confidence=confidence)
    half = stats.t.ppf((1 + confidence) / 2, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5
    assert found.low == pytest.approx(np.mean(values) - half, rel=1e-8, abs=1e-8)
    assert found.high == pytest.approx(np.mean(values) + half, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("interval", [wilson, clopper_pearson])
@given(counts=COUNTS, confidence=CONFIDENCES)
def test_a_rate_interval_holds_the_rate_and_stays_within_zero_and_one(interval, counts, confidence):
    k, n = counts
    found = interval(k, n, confidence=confidence)
    assert 0 <= found.low <= k / n <= found.high <= 1
    assert (found.low == 0) == (k == 0)
    assert (found.high == 1) == (k == n)


@pytest.mark.parametrize("interval", [wilson, clopper_pearson])
@given(counts=COUNTS)
def test_failures_mirror_successes(interval, counts):
    k, n = counts
    passes, failures = interval(k, n), interval(n - k, n)
    assert passes.low == pytest.approx(1 - failures.high, abs=1e-12)
    assert passes.high == pytest.approx(1 - failures.low, abs=1e-12)


@given(counts=COUNTS, confidence=CONFIDENCES)
def test_more_confidence_and_less_data_widen_a_wilson_interval(counts, confidence):
    k, n = counts
    assert wilson(k, n, confidence=confidence).width <= wilson(k, n, confidence=(1 + confidence) / 2).width
    assert wilson(2 * k, 2 * n, confidence=confidence).width <= wilson(k, n, confidence=confidence).width


def test_wilson_takes_an_effective_size():
    fractional = wilson(2.5, 12.5)
    assert wilson(2, 10).low < fractional.low
    assert fractional.high < wilson(2, 10).high
    assert wilson_of_rate(0.2, 12.5) == fractional


def test_wilson_keeps_its_digits_for_one_success_in_a_billion():
    z2 = stats.norm.ppf(0.975) ** 2
    # At n this large the lower root solves (1 - x)^2 = z2 x for x = n times the rate.
    x = 1 + z2 / 2 - (z2 + z2**2 / 4) ** 0.5
    assert wilson(1, 10**9).low == pytest.approx(x / 1e9, rel=1e-7)


def test_zero_failures_give_the_rule_of_three():
    n = 1000
    assert clopper_pearson(0, n, confidence=0.9).high == pytest.approx(1 - 0.05 ** (1 / n), rel=1e-12)
    assert clopper_pearson(0, n, confidence=0.9).high == pytest.approx(3 / n, rel=5e-3)


@pytest.mark.parametrize("values", [[], [1.0]])
def test_too_few_scores_have_no_interval(values):
    assert t_interval(values) is None


def test_nothing_measured_has_no_interval():
    assert wilson(0, 0) is None
    assert clopper_pearson(0, 0) is None
    assert mean_interval(0, 0.0, 0.0) is None
    assert mean_interval(1, 3.0, 0.0) is None


def test_equal_scores_have_an_interval_of_width_zero():
    assert t_interval([0.1] * 7).width == pytest.approx(0, abs=1e-15)
    assert t_interval([0.5] * 7) == Interval(0.5, 0.5, method="t")


def test_the_interval_from_moments_is_the_interval_from_values():
    values = [0.1, 0.7, 0.4, 0.4]
    moments = mean_interval(4, float(np.mean(values)), float(np.var(values, ddof=1)), confidence=0.8)
    direct = t_interval(values, confidence=0.8)
    assert (moments.low, moments.high) == pytest.approx((direct.low, direct.high))
    assert moments.method == direct.method == "t"


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: wilson(0, -1), "n must be finite and not negative, got -1"),
        (lambda: wilson(0, inf), "inf"),
        (lambda: wilson(nan, 3), "nan"),
        (lambda: wilson(4, 3), "successes must lie between 0 and n, got 4 of 3"),
        (lambda: wilson(-1, 3), "got -1 of 3"),
        (lambda: wilson(1, 3, confidence=95), r"0.95 for 95%\), got 95"),
        (lambda: wilson(0, 0, confidence=0), "got 0"),
        (lambda: wilson(1, 3, confidence=nan), "got nan"),
        (lambda: wilson_of_rate(1.5, 3), "rate must lie between 0 and 1, got 1.5"),
        (lambda: wilson_of_rate(0.5, 0), "n must be finite and positive, got 0"),
        (lambda: clopper_pearson(4, 3), "got 4 of 3"),
        (lambda: clopper_pearson(0, 3, confidence=1), "got 1"),
        (lambda: t_interval([1.0, nan]), "got nan at index 1"),
        (lambda: t_interval([], confidence=1.0), "got 1.0"),
        (lambda: mean_interval(-1, 0.0, 0.0), "n must not be negative, got -1"),
        (lambda: mean_interval(5, nan, 1.0), "mean must be finite, got nan"),
        (lambda: mean_interval(5, 0.0, -1.0), "variance must be finite and not negative, got -1.0"),
        (lambda: mean_interval(5, 0.0, inf), "inf"),
    ],
)
def test_impossible_input_is_refused_with_its_value(call, shown):
    with pytest.raises(ValueError, match=shown):
        call()


def coverages(interval, n: int, rates: list[float]) -> list[float]:
    """For each rate p, the exact chance that the interval of a binomial(n, p) count holds p."""
    found = [interval(k, n) for k in range(n + 1)]
    return [sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1) if p in found[k]) for p in rates]


@pytest.mark.parametrize("n", [5, 10, 20, 50, 100])
def test_wilson_covers_about_as_often_as_it_says(n):
    found = coverages(wilson, n, [i / 200 for i in range(5, 196)])
    assert 0.94 < sum(found) / len(found) < 0.97
    assert min(found) > 0.82  # single rates dip where the count is coarse


@pytest.mark.parametrize("n", [5, 20, 60])
def test_clopper_pearson_never_covers_less_than_it_says(n):
    assert min(coverages(clopper_pearson, n, [i / 100 for i in range(1, 100)])) >= 0.95


def test_the_t_interval_covers_as_often_as_it_says_and_z_does_not():
    draws = np.random.default_rng(7).normal(3.0, 2.0, size=(4000, 5))
    covered = sum(3.0 in t_interval(row) for row in draws.tolist()) / len(draws)
    assert covered == pytest.approx(0.95, abs=0.012)
    half = 1.96 * draws.std(axis=1, ddof=1) / 5**0.5
    assert np.mean(abs(draws.mean(axis=1) - 3.0) <= half) < 0.90


# ---------------------------------------------------------------------- upper bound


@given(st.integers(1, 100_000))
def test_nothing_seen_leaves_what_the_formula_says(n):
    assert upper_bound(0, n) == pytest.approx(1 - 0.05 ** (1 / n))


def test_the_rule_of_three():
    assert upper_bound(0, 300) == pytest.approx(3 / 300, rel=0.01)


@given(st.integers(0, 300), st.integers(0, 300), st.floats(0.5, 0.999))
def test_at_the_bound_so_few_are_just_possible(seen, unseen, confidence):
    n = seen + unseen
    bound = upper_bound(seen, n, confidence=confidence)
    if n == 0:
        assert bound is None
    elif unseen == 0:
        assert bound == 1
    else:
        assert stats.binom.cdf(seen, n, bound) == pytest.approx(1 - confidence, rel=1e-6)


@pytest.mark.parametrize(("seen", "n"), [(-1, 3), (4, 3), (0, float("nan"))])
def test_what_cannot_be_is_refused(seen, n):
    with pytest.raises(ValueError, match="must"):
        upper_bound(seen, n)


# ---------------------------------------------------------------------- bootstrap


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
def test_an_impossible_bootstrap_is_refused_with_its_value(call, shown):
    with pytest.raises(ValueError, match=shown):
        call()


def test_the_interval_covers_a_skewed_mean_about_as_often_as_it_says():
    draws = np.random.default_rng(11).exponential(1.0, size=(250, 25)).tolist()
    covered = sum(1.0 in bootstrap_interval(row, seed=i, resamples=400) for i, row in enumerate(draws))
    assert 0.87 < covered / len(draws) < 0.98
