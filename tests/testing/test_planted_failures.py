import random

import pytest

from calipers.search import RandomDraws
from calipers.stats import rate_from_counts
from calipers.testing import ZOO, calls_to_failure
from calipers.testing.planted_failures import keyword_gate, length_threshold, rare_conjunction, turn_order

DRAWS = 20_000
NAMES = sorted(ZOO)


@pytest.mark.parametrize("name", NAMES)
def test_as_many_draws_fail_as_the_target_says(name):
    target, rng = ZOO[name](), random.Random(name)
    failed = sum(target.answer(target.space.sample(rng).inputs, rng)[0] is not None for _ in range(DRAWS))
    interval = rate_from_counts(failed, DRAWS, confidence=0.999).interval
    assert interval.low <= target.probability <= interval.high


@pytest.mark.parametrize(
    ("target", "draws"),
    [
        (keyword_gate(keywords=2, vocabulary=6, words=4), 4000),
        (turn_order(turns=5, actions=3, order=2), 4000),
        (length_threshold(words=12, mean=8, most=40), 4000),
        (rare_conjunction(fields=3, values=2, matter=2), 4000),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_the_truth_holds_with_other_numbers(target, draws):
    rng = random.Random(0)
    failed = sum(target.fails(target.space.sample(rng).inputs) for _ in range(draws))
    interval = rate_from_counts(failed, draws, confidence=0.999).interval
    assert interval.low <= target.probability <= interval.high


def without_one(inputs):
    """The inputs, each time with one word, turn or field left out."""
    if isinstance(inputs, str):
        words = inputs.split()
        return [" ".join([*words[:at], *words[at + 1 :]]) for at in range(len(words))]
    if isinstance(inputs, dict):
        return [{key: inputs[key] for key in inputs if key != left} for left in inputs]
    return [[*inputs[:at], *inputs[at + 1 :]] for at in range(len(inputs))]


@pytest.mark.parametrize("name", [name for name in NAMES if ZOO[name]().smallest is not None])
def test_the_smallest_failure_fails_and_nothing_can_be_left_out(name):
    target = ZOO[name]()
    assert target.fails(target.smallest)
    smaller = without_one(target.smallest)
    assert len(smaller) == target.size(target.smallest)
    assert not any(target.fails(inputs) for inputs in smaller)


@pytest.mark.parametrize("name", NAMES)
def test_what_happens_is_a_known_kind_of_failure_and_the_alarm_is_a_share(name):
    target, rng = ZOO[name](), random.Random(0)
    for _ in range(500):
        mode, alarm = target.answer(target.space.sample(rng).inputs, rng)
        assert mode is None or mode in target.modes
        assert 0 <= alarm <= 1
        assert (alarm == 1) is (mode is not None)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_dataset_with_a_task_and_judges(name):
    target = ZOO[name]()
    report = target.dataset().evaluate_sync(target, seed=0, progress=False)
    assert len(report.cases) == 1
    assert set(report.cases[0].scores) == {"calm"}


def test_the_calls_to_a_failure_are_counted():
    target = rare_conjunction(fields=2, values=2, matter=1)
    counts = [calls_to_failure(target, RandomDraws(target.space), seed=seed, most=200) for seed in range(200)]
    assert sum(counts) / len(counts) == pytest.approx(2, abs=0.4)  # one draw in two fails
    never = ZOO["never_fails"]()
    assert calls_to_failure(never, RandomDraws(never.space), seed=0, most=50) is None
