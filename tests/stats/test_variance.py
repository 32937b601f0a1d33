"""Between cases, within cases."""

import random
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import VarianceComponents, paired_components, variance_components


def anova(table):
    """The balanced one-way analysis of variance, by the book."""
    repeats = table.shape[1]
    within = table.var(axis=1, ddof=1).mean()
    between_mean_square = repeats * table.mean(axis=1).var(ddof=1)
    return max(0.0, (between_mean_square - within) / repeats), within


@given(st.integers(2, 8), st.integers(2, 5), st.integers(0, 1000))
def test_equal_repeats_give_the_analysis_of_variance(cases, repeats, seed):
    table = np.random.default_rng(seed).normal(size=(cases, repeats))
    found = variance_components(table.tolist())
    assert (found.between, found.within) == pytest.approx(anova(table))


@given(
    st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=4), min_size=2, max_size=10).filter(
        lambda cases: any(len(case) > 1 for case in cases)
    )
)
def test_no_variance_is_negative(cases):
    found = variance_components(cases)
    assert found.between >= 0
    assert found.within >= 0


def test_both_parts_are_unbiased_with_unequal_repeats_and_unequal_noise():
    draw = random.Random(0)
    sums = [0.0, 0.0]
    rounds = 600
    for _ in range(rounds):
        cases = []
        for _ in range(20):
            noise = draw.choice((0.5, 1.5))
            centre = draw.gauss(0, 2)
            cases.append([draw.gauss(centre, noise) for _ in range(draw.choice((1, 2, 5)))])
        found = variance_components(cases)
        sums[0] += found.between / rounds
        sums[1] += found.within / rounds
    assert sums == [pytest.approx(4, rel=0.05), pytest.approx((0.25 + 2.25) / 2, rel=0.05)]


def test_a_paired_difference_has_the_noise_of_both_and_the_spread_of_neither_alone():
    draw = random.Random(1)
    first, second = [], []
    for _ in range(2000):
        hard = draw.gauss(0, 3)  # the same for both, so it cancels
        first.append([hard + draw.gauss(0, 1) for _ in range(3)])
        second.append([hard + draw.gauss(0.5, 0.7) for _ in range(2)])
    found = paired_components(first, second)
    assert found.within == pytest.approx(1 + 0.49, rel=0.1)
    assert found.between == pytest.approx(0, abs=0.06)


@pytest.mark.parametrize(
    "cases", [[], [[1.0, 2.0]], [[1.0], [2.0], [3.0]]], ids=["none", "one case", "never repeated"]
)
def test_what_cannot_be_told_apart_is_none(cases):
    assert variance_components(cases) is None
    assert paired_components(cases, cases) is None
    assert paired_components(cases, [[1.0, 0.0]] * len(cases)) is None


def test_repeats_shrink_only_the_noise():
    spread = VarianceComponents(between=0.04, within=0.2)
    assert spread.of_mean(10) == pytest.approx(0.024)
    assert spread.of_mean(10, repeats=5) == pytest.approx(0.008)
    assert spread.within_share == pytest.approx(0.2 / 0.24)
    assert VarianceComponents(0.0, 0.0).within_share is None


def test_the_noise_between_identical_runs_is_what_a_simulation_shows():
    draw = random.Random(2)
    rates = [draw.random() for _ in range(50)]

    def run():
        return sum(sum(draw.random() < p for _ in range(2)) / 2 for p in rates) / 50

    shown = np.std([run() - run() for _ in range(1500)])
    within = sum(p * (1 - p) for p in rates) / 50
    assert VarianceComponents(0.0, within).noise(50, repeats=2) == pytest.approx(shown, rel=0.06)


@pytest.mark.parametrize("bad", [-1.0, nan, inf])
def test_what_is_no_variance_is_refused(bad):
    with pytest.raises(ValueError, match=f"between .* got {bad!r}"):
        VarianceComponents(bad, 0.0)


@pytest.mark.parametrize(("n", "repeats"), [(0, 1), (1, 0)])
def test_a_mean_needs_cases_and_attempts(n, repeats):
    for measure in (VarianceComponents(1.0, 1.0).of_mean, VarianceComponents(1.0, 1.0).noise):
        with pytest.raises(ValueError, match=f"got {n!r} and {repeats!r}"):
            measure(n, repeats=repeats)
