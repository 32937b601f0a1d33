"""How often a goal is reached within more tries than were made."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.stats import elicitation_curve, pass_at_k

_GOALS = st.lists(st.integers(0, 5).map(lambda reached: (reached, 5)), min_size=2, max_size=25)


def drawn(rng, count, tries, chance):
    goals = []
    for _ in range(count):
        p = chance(rng)
        goals.append((sum(rng.random() < p for _ in range(tries)), tries))
    return goals


@settings(max_examples=15)
@given(_GOALS)
def test_a_curve_never_falls_and_keeps_to_its_bounds(goals):
    found = elicitation_curve(goals, [1, 2, 5, 8, 20, 50, 51])
    values = [point.value for point in found.points]
    assert values == sorted(values)
    assert found.beyond[-1] == 51  # more than ten times the tries
    for point in found.points:
        low, high = point.bounds
        assert point.extrapolated == (point.k > 5)
        assert point.interval.low <= point.value <= point.interval.high
        assert low - 1e-9 <= point.interval.low
        assert point.interval.high <= high + 1e-9


def test_up_to_the_tries_it_is_what_was_measured():
    goals = [(0, 4), (1, 4), (3, 5), (4, 4)]
    found = elicitation_curve(goals, [1, 3, 9])
    assert [point.value for point in found.points] == [
        pytest.approx(pass_at_k(goals, k).value) for k in (1, 3)
    ]
    assert (found.tries, found.refused, found.beyond) == (4, "few_goals", (9,))


def test_the_model_covers_what_it_assumes():
    rng = random.Random(3)
    truth = 1 - sum((1 - rng.betavariate(1, 20)) ** 50 for _ in range(50_000)) / 50_000
    covered = 0
    for _ in range(12):
        goals = drawn(rng, 40, 10, lambda rng: rng.betavariate(1, 20))
        [point] = elicitation_curve(goals, [50]).points
        covered += truth in point.interval
        assert point.bounds[0] <= truth <= point.bounds[1]
    assert covered >= 10


def test_goals_that_are_hopeless_are_reckoned_with():
    rng, truth, covered = random.Random(5), (1 - 0.7**100) / 3, 0
    for _ in range(12):
        goals = drawn(rng, 40, 10, lambda rng: 0.3 * (rng.random() < 1 / 3))
        points = elicitation_curve(goals, [100]).points
        covered += bool(points) and truth in points[0].interval
    assert covered >= 10


def test_the_bounds_hold_where_the_model_does_not():
    rng = random.Random(4)
    chance = lambda rng: 0.3 if rng.random() < 0.3 else 0.002
    truth = 1 - (0.3 * 0.7**100 + 0.7 * 0.998**100)
    held = [elicitation_curve(goals, [10, 100]) for goals in (drawn(rng, 100, 10, chance) for _ in range(5))]
    assert all(
        low <= truth <= high for found in held for point in found.points[1:] for low, high in [point.bounds]
    )


def test_goals_that_no_beta_distribution_has_are_refused():
    found = elicitation_curve([(0, 20)] * 60 + [(10, 20)] * 60, [40])
    assert (found.refused, found.points) == ("no_fit", ())


@pytest.mark.parametrize(("reached", "why"), [(0, "never_reached"), (6, "always_reached")])
def test_goals_that_tell_nothing_of_more_tries_are_refused(reached, why):
    found = elicitation_curve([(reached, 6)] * 20, [2, 12])
    assert (found.refused, [point.k for point in found.points]) == (why, [2])


@pytest.mark.parametrize("goals", [[(2, 1)], [(0, 0)], [(-1, 3)]])
def test_what_is_no_count_is_refused(goals):
    with pytest.raises(ValueError, match="0 <= reached <= tried"):
        elicitation_curve(goals, [1])


def test_without_goals_there_is_no_curve():
    assert elicitation_curve([], [1]) is None
    with pytest.raises(ValueError, match="1 or more"):
        elicitation_curve([(1, 2)], [0])
