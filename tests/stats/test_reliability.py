from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats.estimate import rate
from calipers.stats.reliability import (
    case_pass_at_k,
    case_pass_hat_k,
    flakiness,
    noise_floor,
    pass_at_k,
    pass_hat_k,
)

COUNTS = st.integers(1, 300).flatmap(
    lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(1, n))  # passes, attempts, k
)


@pytest.mark.parametrize("n", range(1, 8))
def test_both_are_shares_among_all_choices_of_k_attempts(n):
    for passes, k in product(range(n + 1), range(1, n + 1)):
        attempts = [True] * passes + [False] * (n - passes)
        chosen = list(combinations(attempts, k))
        assert case_pass_at_k(passes, n, k) == sum(map(any, chosen)) / len(chosen)
        assert case_pass_hat_k(passes, n, k) == sum(map(all, chosen)) / len(chosen)


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(9, 10)])
@pytest.mark.parametrize(("n", "k"), [(3, 2), (5, 3), (6, 6)])
def test_both_are_unbiased_and_the_plug_in_powers_are_not(p, n, k):
    chances = [comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    at_k = sum(chance * Fraction(case_pass_at_k(c, n, k)) for c, chance in enumerate(chances))
    hat_k = sum(chance * Fraction(case_pass_hat_k(c, n, k)) for c, chance in enumerate(chances))
    assert float(at_k) == pytest.approx(float(1 - (1 - p) ** k), rel=1e-14)
    assert float(hat_k) == pytest.approx(float(p**k), rel=1e-14)
    plug_in = sum(chance * Fraction(c, n) ** k for c, chance in enumerate(chances))
    assert plug_in > p**k


@given(counts=COUNTS)
def test_all_of_k_is_rarer_than_one_and_any_of_k_more_common(counts):
    c, n, k = counts
    assert 0 <= case_pass_hat_k(c, n, k) <= c / n <= case_pass_at_k(c, n, k) <= 1


@given(counts=COUNTS)
def test_for_k_of_one_both_are_the_rate(counts):
    c, n, _ = counts
    assert case_pass_hat_k(c, n, 1) == case_pass_at_k(c, n, 1) == c / n


@given(counts=COUNTS)
def test_more_attempts_help_any_and_hurt_all(counts):
    c, n, k = counts
    if k < n:
        assert case_pass_at_k(c, n, k) <= case_pass_at_k(c, n, k + 1)
        assert case_pass_hat_k(c, n, k) >= case_pass_hat_k(c, n, k + 1)


@given(counts=COUNTS)
def test_any_pass_is_the_opposite_of_all_fail(counts):
    c, n, k = counts
    assert case_pass_at_k(c, n, k) == pytest.approx(1 - case_pass_hat_k(n - c, n, k), abs=1e-15)


def test_ten_thousand_attempts_lose_no_precision():
    assert case_pass_at_k(1, 10_000, 5_000) == 0.5
    assert case_pass_hat_k(9_999, 10_000, 5_000) == 0.5
    exact = Fraction(comb(9_000, 300), comb(10_000, 300))
    assert case_pass_hat_k(9_000, 10_000, 300) == pytest.approx(float(exact), rel=1e-15)


def test_over_cases_both_average_what_each_case_gives():
    cases = [(1, 2), (2, 2), (0, 4)]
    assert pass_at_k(cases, 2).value == pytest.approx((1 + 1 + 0) / 3)
    assert pass_hat_k(cases, 2).value == pytest.approx((0 + 1 + 0) / 3)
    assert (pass_hat_k(cases, 2).n_units, pass_hat_k(cases, 2).n_observations) == (3, 8)


@given(
    cases=st.lists(st.integers(2, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1)
)
def test_over_cases_k_of_one_is_the_rate_with_its_interval(cases):
    assert pass_at_k(cases, 1) == pass_hat_k(cases, 1) == rate(cases)
    clusters = [i % 3 for i in range(len(cases))]
    assert pass_hat_k(cases, 1, clusters=clusters) == rate(cases, clusters=clusters)


def test_a_perfect_record_still_leaves_doubt():
    found = pass_hat_k([(4, 4)] * 10, 4)
    assert found.value == found.interval.high == 1
    assert found.interval.low == pytest.approx(rate([(1, 1)] * 10).interval.low)


def test_no_case_has_no_reliability():
    assert pass_at_k([], 1) is None
    assert pass_hat_k([], 3) is None


@pytest.mark.parametrize("measure", [pass_at_k, pass_hat_k])
@pytest.mark.parametrize(
    ("cases", "k", "shown"),
    [
        ([(1, 2)], 0, "k must be at least 1, got 0"),
        ([], 0, "k must be at least 1, got 0"),
        ([(5, 5), (2, 3)], 4, "k=4 needs at least 4 attempts at every case, got 3; lower k or repeat"),
        ([(3, 2)], 1, "passes must lie between 0 and attempts, got 3 of 2"),
        ([(-1, 2)], 1, "got -1 of 2"),
    ],
)
def test_impossible_input_is_refused_with_the_way_out(measure, cases, k, shown):
    with pytest.raises(ValueError, match=shown):
        measure(cases, k)


def test_the_interval_covers_the_true_reliability():
    random = np.random.default_rng(2)
    truth = 0.25  # of the third power of a uniform rate: E[p^3]
    runs = 400
    covered = total = 0
    for _ in range(runs):
        own = random.random(30)
        found = pass_hat_k([(int(k), 6) for k in random.binomial(6, own)], 3)
        covered += truth in found.interval
        total += found.value
    assert total / runs == pytest.approx(truth, abs=0.01)
    assert covered / runs > 0.92


@pytest.mark.parametrize("n", range(2, 8))
def test_flakiness_is_the_share_of_pairs_of_attempts_that_disagree(n):
    for passes in range(n + 1):
        pairs = list(combinations([True] * passes + [False] * (n - passes), 2))
        assert flakiness(passes, n) == pytest.approx(sum(a != b for a, b in pairs) / len(pairs))


def test_flakiness_shows_from_two_attempts_on():
    assert flakiness(1, 1) is None
    assert flakiness(0, 0) is None
    assert flakiness(1, 2) == 1
    with pytest.raises(ValueError, match="got 3 of 2"):
        flakiness(3, 2)


def test_the_noise_floor_is_the_share_that_flips_between_two_identical_runs():
    random = np.random.default_rng(0)
    rates = random.beta(1, 1, 400)
    cases = [(int(random.binomial(4, p)), 4) for p in rates]
    flips = np.mean(
        [np.mean((random.random(400) < rates) != (random.random(400) < rates)) for _ in range(50)]
    )
    found = noise_floor(cases)
    assert found.value == pytest.approx(flips, abs=0.04)
    assert flips in found.interval
    assert (found.n_units, found.n_observations) == (400, 800)


def test_two_attempts_each_are_one_pair_each():
    cases = [(1, 2)] * 3 + [(2, 2)] * 7
    assert noise_floor(cases) == rate([(1, 1)] * 3 + [(0, 1)] * 7)


def test_no_flip_seen_leaves_some_to_be_expected():
    still = noise_floor([(3, 3)] * 20)
    assert still.value == 0
    assert still.interval.high > 0.1


def test_the_noise_floor_needs_repeats():
    assert noise_floor([]) is None
    with pytest.raises(ValueError, match="case 1 was attempted 1 times"):
        noise_floor([(1, 2), (1, 1)])
