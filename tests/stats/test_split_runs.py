"""The estimates of several runs of splitting, put together."""

import random
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import splitting_rate


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_mean_counts_and_lies_in_its_interval(runs):
    found = splitting_rate(runs)
    assert found.value == pytest.approx(sum(runs) / len(runs))
    assert found.arrived == sum(run > 0 for run in runs)
    if found.interval is None:
        assert found.arrived < 4
    else:
        assert 0 <= found.interval.low <= found.value <= found.interval.high * (1 + 1e-12)


def test_runs_that_vary_by_a_factor_are_covered():
    rng, truth, covered = random.Random(2), 1e-5, 0
    for _ in range(400):
        runs = [truth * exp(rng.gauss(-0.18, 0.6)) for _ in range(10)]
        covered += truth in splitting_rate(runs).interval
    assert covered >= 368


def test_runs_that_mostly_do_not_arrive_are_covered_too():
    rng, truth, covered, known = random.Random(3), 1e-5, 0, 0
    for _ in range(600):
        # A third of the runs arrives, and those vary by a factor, as on targets with a failure in 100,000.
        runs = [truth * 3 * exp(rng.gauss(-0.32, 0.8)) * (rng.random() < 1 / 3) for _ in range(15)]
        interval = splitting_rate(runs).interval
        known += interval is not None
        covered += interval is not None and truth in interval
    assert known > 450
    assert covered >= 0.94 * known


def test_runs_that_did_not_arrive_count_as_nothing():
    found = splitting_rate([0.0, 0.0, 0.0, 4e-4])
    assert (found.value, found.interval, found.arrived) == (pytest.approx(1e-4), None, 1)


def test_what_is_no_probability_is_refused():
    assert splitting_rate([]) is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        splitting_rate([0.5, 1.5])
