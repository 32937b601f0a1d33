"""What came of a rollout."""

import numpy as np
import pytest

from calipers.data.record import ReportCase
from calipers.errors import InvalidRolloutError
from calipers.report.report import Report
from calipers.rollouts import (
    Graph,
    Node,
    attack_success,
    first_success,
    rollout_case,
    rollout_tree,
    succeeded,
    tree_svg,
    tree_text,
)
from calipers.rollouts.rollout_outcome import attack_name, by_unit, calls_of, cost_of, goal_of, rollouts_of


def turn(success=None, *children, **fields):
    return Node("", fields.pop("attack", "a"), "r", 0.0, list(children), success=success, **fields)


def rollout(*children, **fields):
    return Graph("", list(children), **fields)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (rollout(turn(False, turn(True))), True),
        (rollout(turn(None, turn(True))), True),
        (rollout(turn(False, turn(False))), False),
        (rollout(turn(False, turn(None))), None),
        (rollout(turn(None)), None),
        (rollout(), None),
        (rollout(turn(False), broke_off=True), None),
        (rollout(turn(True), broke_off=True), True),
        (rollout(turn(False), stopped="3 turns"), False),
        (rollout(turn(False), stopped="the bot wrote error: 404"), False),
        (rollout(turn(np.True_)), True),
        (rollout(turn(np.False_)), False),
    ],
)
def test_a_rollout_succeeded_or_did_not_or_it_is_not_known(graph, expected):
    assert succeeded(graph) is expected


@pytest.mark.parametrize("said", [float("nan"), "False", 1, 0.0])
def test_a_success_is_a_flag_and_nothing_like_it(said):
    graph = rollout(turn(said, metadata={"attack": "x"}))
    for question in (succeeded, first_success, lambda graph: attack_success([graph])):
        with pytest.raises(InvalidRolloutError, match="True, False or None"):
            question(graph)


def test_the_earliest_success_is_the_one_with_the_fewest_turns():
    late = turn(False, turn(False, turn(True)))
    early = turn(False, turn(True, attack="early"), turn(True, attack="second"))
    path = first_success(rollout(late, early))
    assert [node.attack for node in path] == ["a", "early"]
    assert first_success(rollout(turn(False))) is None


def test_the_goal_is_what_the_rollout_says_or_where_it_began():
    assert goal_of(Graph("start", [], metadata={"goal": "g"})) == "g"
    assert goal_of(Graph("start", [])) == "start"
    assert goal_of(Graph({"b": 1, "a": [2]}, [])) == '{"a": [2], "b": 1}'


def test_the_attack_has_a_name_if_it_says_so():
    assert attack_name(turn(metadata={"attack": "base64"})) == "base64"
    assert attack_name(turn(metadata={"attack": 3})) is None
    assert attack_name(turn()) is None


def test_every_turn_of_the_tree_is_a_call_and_has_its_cost():
    graph = rollout(turn(True, turn(True, cost=0.5), cost=1.0), turn(True, cost=2.0))
    assert (calls_of(graph), cost_of(graph)) == (3, 3.5)
    assert cost_of(rollout(turn(True, cost=1.0), turn(True))) is None, (
        "a turn that does not tell may cost anything"
    )
    assert cost_of(rollout()) is None


def test_rollouts_of_one_goal_are_one_unit_unless_there_is_one_goal_only():
    graphs = [Graph("", [], metadata={"goal": goal}) for goal in "aabb"]
    assert by_unit(graphs) == ("goal", [graphs[:2], graphs[2:]])
    assert by_unit(graphs[:2]) == ("rollout", [[graphs[0]], [graphs[1]]])
    assert by_unit([])[1] == []


def report(*outputs, **fields):
    cases = [
        ReportCase(
            name=f"c{i}",
            inputs=None,
            metadata=None,
            expected_output=None,
            output=output,
            metrics={},
            attributes={},
            results=(),
            task_duration=0.0,
            total_duration=0.0,
        )
        for i, output in enumerate(outputs)
    ]
    return Report(name="r", cases=cases, **fields)


def test_the_rollouts_of_a_report_are_its_outputs_stored_or_not():
    graph = rollout(turn(True), seed=3)
    assert rollouts_of(report(graph)) == [graph]
    stored = Report.from_dict(report(graph).to_dict())
    (back,) = rollouts_of(stored)
    assert (back.seed, succeeded(back)) == (3, True)


LOOKS = [succeeded, first_success, tree_text, tree_svg, rollout_tree, rollout_case]


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.__name__)
def test_the_stored_form_of_a_rollout_is_as_good_as_the_rollout(look):
    graph = rollout(turn(False), turn(True), seed=3)
    assert look(graph.to_dict()) == look(graph)
    for wrong in (None, "text", 3, [graph], {"a": 1}):
        with pytest.raises(InvalidRolloutError, match="stored"):
            look(wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (report("text"), "the output of 'c0' must be a Graph, or its stored form.*got 'text'"),
        ([1], "must be a Graph, or its stored form, which Graph.from_dict reads, got 1"),
        (rollout(), "a report or a list of Graph"),
        (3, "a report or a list of Graph, got 3"),
        ([{"a": 1}], "not a stored rollout"),
        (
            report(totals=report(rollout(), rollout()).with_totals().totals),
            "kept only some of its attempts",
        ),
    ],
    ids=["output", "number", "single", "no list", "mapping", "some"],
)
def test_what_are_no_rollouts_is_said(wrong, message):
    with pytest.raises(InvalidRolloutError, match=message):
        rollouts_of(wrong)
