"""A cheap judge on all, an expensive one on a random part."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import mean, two_phase_mean

VALUES = st.lists(
    st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0.05, 1), st.booleans()), min_size=2, max_size=20
)


def simulated(draw, n, rate, sensitivity, specificity, share):
    cheap, expensive, probabilities = [], [], []
    for _ in range(n):
        good = draw.random() < rate
        passed = draw.random() < (sensitivity if good else 1 - specificity)
        probability = share(passed)
        cheap.append(float(passed))
        probabilities.append(probability)
        expensive.append(float(good) if draw.random() < probability else None)
    return cheap, expensive, probabilities


@given(VALUES)
def test_if_everything_is_drawn_the_cheap_judge_does_not_matter(values):
    expensive = [y for _, y, _, _ in values]
    found = two_phase_mean([f for f, *_ in values], expensive, [1] * len(values))
    assert found.value == pytest.approx(sum(expensive) / len(expensive))
    assert found.hajek == pytest.approx(found.value)
    assert found.n_drawn == found.n_certain == found.n == len(values)
    by_t = mean([[y] for y in expensive])
    if by_t.interval is not None:
        assert found.interval.width <= by_t.interval.width + 1e-9


@given(VALUES)
def test_a_value_lies_within_its_interval_and_both_within_the_bounds(values):
    drawn = [y if taken or p == 1 else None for _, y, p, taken in values]
    found = two_phase_mean([f for f, *_ in values], drawn, [p for _, _, p, _ in values])
    chances = [(p, taken) for _, _, p, taken in values if p < 1]
    if chances and not any(taken for _, taken in chances):
        assert found is None
    else:
        assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1


@given(VALUES)
def test_over_all_possible_draws_the_estimate_is_right_on_average(values):
    cases = values[:7]
    cheap, truth = [f for f, *_ in cases], [y for _, y, *_ in cases]
    chances = [min(p, 0.99) for _, _, p, _ in cases]
    total = 0.0
    for subset in range(2 ** len(cases)):
        taken = [subset >> index & 1 for index in range(len(cases))]
        chance = 1.0
        for p, drawn in zip(chances, taken, strict=True):
            chance *= p if drawn else 1 - p
        if not chance:
            continue
        drawn = [y if each else None for y, each in zip(truth, taken, strict=True)]
        found = two_phase_mean(cheap, drawn, chances, bounds=None)
        total += chance * (sum(cheap) / len(cheap) if found is None else found.value)
    assert total == pytest.approx(sum(truth) / len(truth))


@pytest.mark.parametrize("share", [lambda _: 0.2, lambda passed: 0.15 if passed else 0.5])
def test_the_mean_of_the_expensive_judge_is_covered_where_the_cheap_one_is_wrong(share):
    draw = random.Random(2)
    covered = by_cheap = 0
    for _ in range(200):
        found = two_phase_mean(*simulated(draw, 200, 0.7, 0.97, 0.6, share))
        covered += 0.7 in found.interval
        by_cheap += 0.7 in found.cheap.interval
    assert covered >= 186
    assert by_cheap < 40


def test_an_agreement_that_was_seen_on_few_is_no_proof():
    cheap = [1.0] * 80 + [0.0] * 20
    drawn = [cheap[index] if index % 5 == 0 else None for index in range(100)]
    found = two_phase_mean(cheap, drawn, [0.2] * 100)
    assert found.value == pytest.approx(0.8)
    assert found.interval.width > found.cheap.interval.width


def test_attempts_of_one_cluster_are_not_counted_as_independent():
    cheap = [float(index % 10 < 6) for index in range(100)]
    drawn = [cheap[index] if index % 3 == 0 else None for index in range(100)]
    alone = two_phase_mean(cheap, drawn, [1 / 3] * 100)
    together = two_phase_mean(cheap, drawn, [1 / 3] * 100, clusters=[index % 10 for index in range(100)])
    assert together.value == alone.value
    assert together.interval.width > alone.interval.width


def test_what_cannot_be_is_refused():
    for arguments, message in [
        (([1.0], [None], [0.0]), "above 0 and be at most 1, got 0.0"),
        (([1.0], [None], [1.0]), "had to be drawn"),
        (([1.0], [None, None], [0.5]), "got 1, 2 and 1"),
        (([2.0], [1.0], [0.5]), "between the bounds"),
    ]:
        with pytest.raises(ValueError, match=message):
            two_phase_mean(*arguments)
    assert two_phase_mean([], [], []) is None
    assert two_phase_mean([1.0], [None], [0.5]) is None
