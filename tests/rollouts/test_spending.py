"""What a success costs."""

import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidRolloutError
from calipers.rollouts import Graph, Node, attack_success, calls_per_success, cost_per_success
from calipers.stats import ratio_of_totals, wilson


def rollout(success, *costs, goal="g"):
    nodes = [Node("", "a", "r", success=success, cost=cost) for cost in costs]
    return Graph("", nodes, metadata={"goal": goal})


def test_the_rollouts_in_vain_are_paid_for_too():
    found = cost_per_success([rollout(True, 1.0), rollout(False, 2.0, 3.0)])
    assert (found.value, found.spent, found.successes, found.rollouts) == (6, 6, 1, 2)
    assert calls_per_success([rollout(True, 1.0), rollout(False, 2.0, 3.0)]).value == 3


def test_the_interval_is_over_goals_and_over_rollouts_of_a_single_goal():
    by_goal = [rollout(goal != "b", cost, goal=goal) for goal in "abcdef" for cost in (1.0, 2.0, 4.0)]
    expected = ratio_of_totals([7.0] * 6, [3, 0, 3, 3, 3, 3], most=[3] * 6)
    found = cost_per_success(by_goal)
    assert (found.low, found.high, found.unit) == (expected.low, expected.high, "goal")
    single = [rollout(i != 3, 1.0 + i) for i in range(20)]
    expected = ratio_of_totals([1.0 + i for i in range(20)], [i != 3 for i in range(20)], most=[1] * 20)
    found = cost_per_success(single)
    assert (found.low, found.high, found.unit) == (expected.low, expected.high, "rollout")
    assert str(found).startswith("11.05 cost units per success [")


def test_without_a_success_there_is_a_bound_and_no_number():
    found = cost_per_success([rollout(False, 0.5)] * 300)
    assert (found.value, found.low, found.high) == (None, None, None)
    assert found.at_least == pytest.approx(0.5 / (1 - 0.05 ** (1 / 300)))
    assert str(found) == (
        "150 cost units and no success in 300 rollouts, so at least 50.32 per success at 95 % confidence"
    )


def test_without_a_success_the_bound_is_one_of_goals():
    found = calls_per_success([rollout(False, 0.5, goal=goal) for goal in "abc"] * 100)
    assert found.at_least == pytest.approx(1 / (1 - 0.05 ** (1 / 3)))
    uneven = [rollout(False, 0.5, goal=goal) for goal in "a" * 98 + "bc"]
    assert calls_per_success(uneven).at_least == pytest.approx(1 / 0.95), "hardly more than one goal"


@pytest.mark.parametrize(("wins", "n"), [(30, 30), (1, 30), (3, 3)])
def test_the_interval_is_as_wide_as_that_of_the_rate(wins, n):
    found = calls_per_success([rollout(i < wins, 1.0) for i in range(n)])
    rate = wilson(wins, n)
    assert (found.value, found.low, found.high) == (
        n / wins,
        pytest.approx(1 / rate.high),
        pytest.approx(1 / rate.low),
    )


def test_a_success_takes_at_least_one_call_and_no_interval_says_otherwise():
    found = calls_per_success([rollout(i % 2 == 0, *[1.0] * n) for i, n in enumerate([1, 4, 1, 5, 1, 6])])
    assert ratio_of_totals([1, 4, 1, 5, 1, 6], [1, 0, 1, 0, 1, 0]).low < found.low == 1


def test_where_there_is_no_interval_the_text_says_why():
    found = calls_per_success([rollout(True, 1.0)])
    assert str(found) == (
        "1 calls per success (no interval: it takes at least two rollouts, and what costs nothing has none)"
    )


def test_attempts_that_failed_are_counted():
    def task(inputs):
        if inputs == "b":
            raise ConnectionError("the line is dead")
        return rollout(True, 1.0, goal=inputs)

    report = Dataset(cases=[Case(name=name, inputs=name) for name in "abc"]).evaluate_sync(
        task, progress=False
    )
    for found in (cost_per_success(report), calls_per_success(report), attack_success(report)):
        assert found.failed == 1
        assert "1 rollout failed, left out" in str(found)


def test_what_was_not_judged_or_does_not_tell_its_cost_is_left_out_and_counted():
    given = [rollout(True, 1.0), rollout(None, 1.0), rollout(True, None)]
    found = cost_per_success(given)
    assert (found.value, found.rollouts, found.left_out) == (1, 1, 2)
    assert calls_per_success(given).left_out == 1


def test_nothing_measured_says_so():
    assert str(cost_per_success([])) == "cost per success: not measured"


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), -1.0])
def test_a_cost_that_cannot_be_is_refused(cost):
    with pytest.raises(InvalidRolloutError, match="'g' says that it cost"):
        cost_per_success([rollout(True, cost)])
