"""How many cases a comparison needs."""

import random
from math import inf, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calipers.gate.plan import plan_from_rate
from calipers.stats import (
    VarianceComponents,
    cases_needed,
    compare_paired,
    compare_unpaired,
    power_of,
    power_of_paired_rates,
    repeats_needed,
    smallest_effect,
    spread_of_difference,
    spread_of_paired_rates,
    spread_of_pilot,
    spread_of_rates,
)
from calipers.stats.power import ComparisonDesign, GateDesign

SPREADS = st.builds(VarianceComponents, st.floats(0.001, 10), st.floats(0, 10))


def test_the_example_of_the_paper_needs_about_a_thousand_cases():
    # Miller (2024): a variance of 1/9 between cases, 3 points, 80 % power.
    assert cases_needed(0.03, VarianceComponents(1 / 9, 0.0)) == pytest.approx(969, abs=4)


def exact_power(effect, n, variance):
    """By the noncentral t distribution."""
    critical = stats.t.ppf(0.975, n - 1)
    return stats.nct.sf(critical, n - 1, effect / sqrt(variance / n))


@pytest.mark.parametrize("effect", [2.0, 1.0, 0.5, 0.2, 0.1])
def test_the_plan_has_the_power_that_was_asked_for_and_no_case_to_spare(effect):
    n = cases_needed(effect, VarianceComponents(1.0, 0.0))
    assert exact_power(effect, n, 1.0) > 0.795
    assert exact_power(effect, n - 2, 1.0) < 0.8
    assert power_of(effect, n, VarianceComponents(1.0, 0.0)) == pytest.approx(
        exact_power(effect, n, 1.0), abs=0.06
    )


@given(st.floats(0.05, 2), SPREADS, st.integers(1, 5), st.sampled_from([1, 2]))
def test_the_smallest_effect_and_the_cases_needed_answer_each_other(effect, spread, repeats, sides):
    n = cases_needed(effect, spread, repeats=repeats, sides=sides)
    assert smallest_effect(n, spread, repeats=repeats, sides=sides) <= effect
    if n > 2:
        assert smallest_effect(n - 1, spread, repeats=repeats, sides=sides) > effect
    assert power_of(effect, n, spread, repeats=repeats, sides=sides) >= 0.8 - 1e-9


@given(st.floats(0.05, 2), SPREADS, st.integers(2, 200))
def test_repeats_help_against_noise_and_against_nothing_else(effect, spread, n):
    repeats = repeats_needed(effect, n, spread)
    if repeats is None:
        assert smallest_effect(n, VarianceComponents(spread.between, 0.0)) >= effect * (1 - 1e-9)
    else:
        assert smallest_effect(n, spread, repeats=repeats) <= effect * (1 + 1e-9)
        assert repeats == 1 or smallest_effect(n, spread, repeats=repeats - 1) > effect


def test_a_paired_plan_of_rates_finds_the_difference_as_often_as_it_says():
    draw = random.Random(0)
    first_only, second_only = 0.2, 0.06
    n = cases_needed(0.14, spread_of_paired_rates(first_only, second_only))
    kinds = [(1, 0), (0, 1), (1, 1)]
    found = 0
    for _ in range(500):
        pairs = draw.choices(kinds, [first_only, second_only, 1 - first_only - second_only], k=n)
        found += compare_paired([[a] for a, _ in pairs], [[b] for _, b in pairs]).interval.low > 0
    assert found / 500 == pytest.approx(0.8, abs=0.07)


def test_an_unpaired_plan_of_rates_finds_the_difference_as_often_as_it_says():
    draw = random.Random(1)
    n = cases_needed(0.2, spread_of_rates(0.8, 0.6))
    found = 0
    for _ in range(400):
        first, second = ([[float(draw.random() < p)] for _ in range(n)] for p in (0.8, 0.6))
        found += compare_unpaired(first, second).interval.low > 0
    assert found / 400 == pytest.approx(0.8, abs=0.07)


def test_a_plan_with_repeats_finds_the_difference_as_often_as_it_says():
    draw = random.Random(2)
    spread = VarianceComponents(between=0.05, within=2 * 0.3)
    n = cases_needed(0.2, spread, repeats=3)
    found = 0
    for _ in range(500):
        first, second = [], []
        for _ in range(n):
            centre, shift = draw.gauss(0, 5), draw.gauss(0.2, sqrt(0.05))
            first.append([centre + shift + draw.gauss(0, sqrt(0.3)) for _ in range(3)])
            second.append([centre + draw.gauss(0, sqrt(0.3)) for _ in range(3)])
        found += compare_paired(first, second).p_value <= 0.05
    assert found / 500 == pytest.approx(0.8, abs=0.06)


def test_pairing_saves_what_the_cases_share():
    pilot = VarianceComponents(between=0.1, within=0.05)
    unpaired, paired = (spread_of_difference(pilot, paired=p, correlation=0.8) for p in (False, True))
    assert (unpaired.between, unpaired.within) == pytest.approx((0.2, 0.1))
    assert (paired.between, paired.within) == pytest.approx((0.04, 0.1))


def test_a_pilot_attempted_once_plans_for_cases_attempted_once():
    draw = random.Random(4)
    first, second = ([[draw.gauss(0, 1)] for _ in range(3000)] for _ in range(2))
    found = spread_of_pilot(first, second)
    assert (found.between, found.within) == (pytest.approx(2, rel=0.1), 0)
    assert cases_needed(0.5, found) == pytest.approx(65, abs=7)


def test_a_pilot_that_shows_no_spread_plans_nothing():
    assert spread_of_pilot([], []) is None
    assert spread_of_pilot([[1.0]], [[0.0]]) is None
    assert spread_of_pilot([[0.3], [0.5]], [[0.1], [0.3]]) is None
    still = VarianceComponents(0.0, 0.0)
    for plan in (
        lambda: cases_needed(0.1, still),
        lambda: smallest_effect(2, still),
        lambda: power_of(0.1, 2, still),
        lambda: repeats_needed(0.1, 2, still),
    ):
        with pytest.raises(ValueError, match="a spread of 0 plans nothing"):
            plan()


SPREAD = VarianceComponents(1.0, 1.0)


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: cases_needed(0.0, SPREAD), "effect .* got 0.0"),
        (lambda: cases_needed(nan, SPREAD), "effect .* got nan"),
        (lambda: cases_needed(1e-200, SPREAD), "1e-200 is too small"),
        (lambda: cases_needed(0.1, SPREAD, power=1.0), "power .* got 1.0"),
        (lambda: cases_needed(0.1, SPREAD, power=0.01), "power .* got 0.01"),
        (lambda: cases_needed(0.1, SPREAD, repeats=0), "repeats .* got 0"),
        (lambda: cases_needed(0.1, SPREAD, sides=3), "sides .* got 3"),
        (lambda: power_of(0.1, 1, SPREAD), "n must be at least 2 .* got 1"),
        (lambda: power_of(inf, 9, SPREAD), "effect .* got inf"),
        (lambda: smallest_effect(0, SPREAD), "got 0"),
        (lambda: repeats_needed(0.1, 1, SPREAD), "got 1"),
        (lambda: spread_of_rates(0.5, 1.5), "got 1.5"),
        (lambda: spread_of_paired_rates(0.7, 0.7), "got 0.7 and 0.7"),
        (lambda: spread_of_difference(SPREAD, correlation=nan), "got nan"),
    ],
)
def test_impossible_plans_are_refused_with_their_value(call, shown):
    with pytest.raises(ValueError, match=shown):
        call()


def by_scipy(n, first, second):
    """The power of McNemar's mid-p test, over all numbers of flips."""
    found = 0.0
    for flipped in range(1, n + 1):
        fewer = np.arange(flipped + 1)
        mid_p = 2 * stats.binom.cdf(fewer, flipped, 0.5) - stats.binom.pmf(fewer, flipped, 0.5)
        few = fewer[(mid_p <= 0.05) & (2 * fewer < flipped)]
        if few.size:
            chance = stats.binom.cdf(few.max(), flipped, min(first, second) / (first + second))
            found += stats.binom.pmf(flipped, n, first + second) * chance
    return found


@pytest.mark.parametrize(
    ("n", "first", "second"), [(38, 0.4, 0.1), (38, 0.1, 0.4), (60, 0.05, 0.0), (9, 0.7, 0.3), (1, 0.5, 0.2)]
)
def test_the_power_of_paired_rates_is_that_of_mcnemars_mid_p_test(n, first, second):
    assert power_of_paired_rates(n, first, second) == pytest.approx(by_scipy(n, first, second), abs=1e-9)


def test_a_comparison_of_rates_has_the_power_that_was_planned_in_every_cell():
    for effect in (0.1, 0.2, 0.3):
        for flips in (0.1, 0.3, 0.5, 0.8):
            if flips < effect:
                continue
            n = plan_from_rate(0.4, effect=effect, flips=flips).rows[0].cases
            power = by_scipy(n, (flips + effect) / 2, (flips - effect) / 2)
            assert 0.799 < power < (0.815 if flips > 2 * effect else 0.9), (effect, flips, n, power)


# ---------------------------------------------------------------------- design


PLANNED_SPREAD = VarianceComponents(0.05, 0.1)
TEST = ComparisonDesign(spread=PLANNED_SPREAD, power=0.8, confidence=0.95)
GATE = GateDesign(spread=PLANNED_SPREAD, power=0.8, confidence=0.95)


@pytest.mark.parametrize("design", [TEST, GATE], ids=["test", "gate"])
@pytest.mark.parametrize("repeats", [1, 4])
def test_units_and_reach_and_repeats_agree(design, repeats):
    n = design.units(0.05, repeats)
    assert design.reach(n, repeats) <= 0.05 < design.reach(n - 1, repeats)
    assert design.repeats(0.05, n) == repeats
    assert design.repeats(0.05, 20) is None


def test_a_gate_takes_more_than_a_test():
    assert GATE.units(0.05, 1) > TEST.units(0.05, 1) == cases_needed(0.05, PLANNED_SPREAD)
    assert GATE.reach(100, 1) > TEST.reach(100, 1)


def test_a_gate_of_few_clusters_takes_what_students_t_does():
    wide = VarianceComponents(0.002, 0.0)
    gate = GateDesign(spread=wide, power=0.8, confidence=0.95, is_clustered=True)
    test = ComparisonDesign(spread=wide, power=0.8, confidence=0.95)
    assert gate.units(0.5, 1) >= test.units(0.5, 1)
    assert gate.reach(3, 1) >= test.reach(3, 1)


@pytest.mark.parametrize("margin", [0.0, -0.1, 1.0, float("nan")])
def test_a_margin_that_cannot_be_is_refused(margin):
    with pytest.raises(ValueError, match="between 0 and 1"):
        GATE.units(margin, 1)
