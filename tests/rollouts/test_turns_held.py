"""How many turns a target holds."""

import pytest

from calipers.rollouts import Graph, Node, turns_to_success
from calipers.stats import kaplan_meier


def rollout(held, succeeds, goal=None):
    """A conversation in which the target held for so many turns, and then gave way or was left alone."""
    outcomes = [False] * held + [True] * succeeds
    children = []
    for outcome in reversed(outcomes):
        children = [Node("", "a", "r", 0.0, children, success=outcome)]
    return Graph("", children, metadata={} if goal is None else {"goal": goal})


def test_a_rollout_without_success_is_watched_to_its_last_turn():
    curve = turns_to_success(
        [rollout(0, True, "a"), rollout(2, False, "b"), rollout(2, True, "c"), rollout(5, False, "d")]
    )
    assert curve == kaplan_meier([1, 2, 3, 5], [True, False, True, False])
    assert curve.median == 3


def test_rollouts_after_one_goal_are_one_cluster():
    curve = turns_to_success([rollout(held, True, goal) for goal in "abc" for held in (1, 2)])
    assert curve == kaplan_meier([2, 3] * 3, [True] * 6, clusters=[0, 0, 1, 1, 2, 2])


def test_of_a_single_goal_every_rollout_counts():
    assert turns_to_success([rollout(1, True), rollout(2, True)]).n_clusters is None


def test_in_a_tree_the_first_branch_to_succeed_counts():
    late = rollout(3, True).children[0]
    early = rollout(1, True).children[0]
    assert turns_to_success([Graph("", [late, early])]).steps[0].time == 2


@pytest.mark.parametrize("graphs", [[], [Graph("", [])], [Graph("", [Node("", "a", "r")])]])
def test_without_a_judged_rollout_there_is_no_curve(graphs):
    assert turns_to_success(graphs) is None
