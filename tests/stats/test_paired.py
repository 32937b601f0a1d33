"""The difference between two rates on the same cases."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calipers.stats import paired_difference

counts = st.integers(0, 60)


def test_the_interval_is_the_published_one():
    # Newcombe (1998), method 10, for 36, 12, 2 and 0 of 50 pairs.
    found = paired_difference(36, 12, 2, 0)
    assert found.value == pytest.approx(0.2)
    assert (found.interval.low, found.interval.high) == (
        pytest.approx(0.0569, abs=5e-5),
        pytest.approx(0.3404, abs=5e-5),
    )


def test_without_cases_there_is_no_difference():
    assert paired_difference(0, 0, 0, 0) is None


@given(counts, counts, counts, counts)
def test_swapping_the_two_ways_mirrors_the_interval(both, first, second, neither):
    found, mirrored = (
        paired_difference(both, first, second, neither),
        paired_difference(both, second, first, neither),
    )
    if found is None:
        return
    assert -1 <= found.interval.low <= found.value <= found.interval.high <= 1
    assert mirrored.value == -found.value
    assert mirrored.interval.low == pytest.approx(-found.interval.high)
    assert mirrored.interval.high == pytest.approx(-found.interval.low)


@given(st.integers(1, 200))
def test_ways_that_never_disagreed_are_not_proved_equal(n):
    interval = paired_difference(n, 0, 0, 0).interval
    assert interval.low < 0 < interval.high


@pytest.mark.parametrize(
    ("n", "chances"),
    [(30, (0.7, 0.2, 0.05)), (40, (0.85, 0.1, 0.02)), (100, (0.5, 0.2, 0.1)), (100, (0.9, 0.05, 0.05))],
)
def test_nineteen_of_twenty_intervals_cover_the_truth(n, chances):
    draw = random.Random(0)
    both, first, second = chances
    covered, rounds = 0, 2000
    for _ in range(rounds):
        drawn = draw.choices(range(4), [both, first, second, 1 - sum(chances)], k=n)
        found = paired_difference(*(drawn.count(kind) for kind in range(4)))
        covered += (first - second) in found.interval
    # Within what 2,000 rounds can tell, and a little on the careful side, as the method is.
    assert 0.93 <= covered / rounds <= 0.99


def test_what_is_no_count_is_refused():
    with pytest.raises(ValueError, match="-1"):
        paired_difference(-1, 2, 3, 4)


@given(counts, counts, counts, counts)
def test_the_p_value_is_that_of_the_mid_p_binomial_test(both, first, second, neither):
    found = paired_difference(both, first, second, neither)
    if found is None:
        return
    disagree = first + second
    exact = stats.binomtest(first, disagree, 0.5).pvalue if disagree else 1.0
    seen = stats.binom.pmf(first, disagree, 0.5) if disagree and first != second else 0.0
    assert found.p_value == pytest.approx(exact - seen)


def test_the_mid_p_test_keeps_its_level_and_the_exact_one_wastes_it():
    """By enumeration, over rates at which 2 % to 40 % of 100 cases flip either way alike."""
    rejected, by_exact = [], []
    for flips in (0.02, 0.05, 0.1, 0.2, 0.4):
        total = total_exact = 0.0
        for n in range(101):
            chance = stats.binom.pmf(n, 100, flips)
            for first in range(n + 1):
                found = paired_difference(100 - n, first, n - first, 0)
                weight = chance * stats.binom.pmf(first, n, 0.5)
                total += weight * (found.p_value < 0.05)
                fewer = min(first, n - first)
                total_exact += weight * (n > 0 and 2 * stats.binom.cdf(fewer, n, 0.5) < 0.05)
        rejected.append(total)
        by_exact.append(total_exact)
    assert max(rejected) < 0.05
    assert all(mid >= exact for mid, exact in zip(rejected, by_exact, strict=True))
    assert rejected[2] > 1.5 * by_exact[2]
