"""A rollout as plain data, and back."""

import json
import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, Report, ToolCall, Trace
from calipers.data.jsonable import plain
from calipers.errors import InvalidRolloutError
from calipers.rollouts import Graph, Node
from calipers.rollouts.graph_data import FORMAT_VERSION, graph_data, read_graph

TEXT = st.text(max_size=4)
JSON = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT | st.lists(TEXT, max_size=2)
)
JSON = JSON.filter(lambda value: value not in (math.inf, -math.inf))
METADATA = st.dictionaries(TEXT, JSON, max_size=2)
SCORES = st.none() | st.floats(allow_nan=False)
TRACES = st.none() | st.builds(Trace, output_text=TEXT, tool_calls=st.just([ToolCall("look", {"x": 1})]))


def nodes(children):
    return st.builds(
        Node,
        TEXT,
        TEXT,
        TEXT,
        st.floats(allow_nan=False),
        children,
        success=st.none() | st.booleans(),
        attack_score=SCORES,
        response_score=SCORES,
        duration=SCORES,
        cost=SCORES,
        trace=TRACES,
        metadata=METADATA,
    )


TREES = st.recursive(st.just([]), lambda inner: st.lists(nodes(inner), max_size=3), max_leaves=6)
GRAPHS = st.builds(Graph, TEXT, TREES, JSON, st.none() | TEXT, METADATA, st.booleans())


@given(GRAPHS)
def test_a_rollout_comes_back_from_json_as_it_was(graph):
    stored = json.dumps(graph.to_dict(), allow_nan=False)
    assert Graph.from_dict(json.loads(stored)) == graph


@given(GRAPHS)
def test_data_is_plain_and_a_report_keeps_the_same(graph):
    assert plain(graph) == graph_data(graph)
    assert graph_data(read_graph(plain(graph))) == graph_data(graph)


def test_a_conversation_reads_from_top_to_bottom():
    late = Node("hi", "c", "C", 1.0, [])
    graph = Graph("hi", [Node("hi", "a", "A", 0.5, [Node("hi", "b", "B", 0.0, []), late])], seed=3)
    assert graph.to_dict() == {
        "calipers_rollout": FORMAT_VERSION,
        "context": "hi",
        "seed": 3,
        "turns": [
            {"turn": 1, "context": "hi", "attack": "a", "response": "A", "reward": 0.5},
            {"turn": 2, "context": "hi", "attack": "b", "response": "B", "reward": 0.0},
            {"turn": 2, "context": "hi", "attack": "c", "response": "C", "reward": 1.0},
        ],
    }


def test_a_conversation_of_ten_thousand_turns_is_stored_and_read():
    turns = [{"turn": number, "attack": str(number)} for number in range(1, 10_001)]
    graph = read_graph({"calipers_rollout": 1, "turns": turns})
    assert graph.depth == 10_000
    again = json.loads(json.dumps(plain(graph)))["turns"]
    assert [turn["attack"] for turn in again] == [turn["attack"] for turn in turns]


def test_a_number_that_json_cannot_hold_comes_back():
    graph = Graph("", [Node("", "a", "r", math.nan, [], response_score=math.inf)])
    again = Graph.from_dict(json.loads(json.dumps(graph.to_dict(), allow_nan=False)))
    (node,) = again.children
    assert math.isnan(node.reward)
    assert node.response_score == math.inf


def test_what_a_subclass_adds_is_kept_in_the_metadata():
    @dataclass
    class Timed(Node):
        tokens: int = 0

    graph = Graph("", [Timed("", "a", "r", 0.0, [], tokens=7)])
    assert graph.to_dict()["turns"][0]["metadata"] == {"tokens": 7}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "not a stored rollout: it has no 'calipers_rollout' version, got None"),
        ({"turns": []}, "not a stored rollout"),
        ({"calipers_rollout": True, "turns": []}, "not a stored rollout"),
        ({"calipers_rollout": 99, "turns": []}, "format version 99, and this release reads up to"),
        ({"calipers_rollout": 1}, "turns of a stored rollout must be a list, got None"),
        ({"calipers_rollout": 1, "turns": [3]}, r"turns\[0\] of a stored rollout must be a mapping, got 3"),
        ({"calipers_rollout": 1, "turns": [{"turn": 2}]}, r"turns\[0\] .* from 1 to 1, got 2"),
        ({"calipers_rollout": 1, "turns": [{"turn": 1}, {"turn": 3}]}, r"turns\[1\] .* from 1 to 2, got 3"),
        ({"calipers_rollout": 1, "turns": [{"turn": 1, "reward": "x"}]}, r"turns\[0\].reward must be a number"),
        ({"calipers_rollout": 1, "turns": [{"turn": 1, "success": 1}]}, "must be True or False, or None, got 1"),
        ({"calipers_rollout": 1, "turns": [{"turn": 1, "trace": 5}]}, r"turns\[0\].trace: a trace is stored as"),
        ({"calipers_rollout": 1, "turns": [], "stopped": 5}, "stopped of a stored rollout must be a text, or None, got 5"),
        ({"calipers_rollout": 1, "turns": [], "broke_off": 1}, "broke_off .* must be True or False, got 1"),
        ({"calipers_rollout": 1, "turns": [], "metadata": 5}, "the metadata of the rollout must be a mapping"),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, str) else "",
)  # fmt: skip
def test_data_that_is_no_rollout_is_refused_with_its_place(data, says):
    with pytest.raises(InvalidRolloutError, match=says):
        Graph.from_dict(data)


def test_an_evaluator_finds_the_rollout_again_in_a_stored_report():
    def rolled(seed):
        return Graph(seed, [Node(seed, "a", "r", 0.0, [])])

    def short(graph):
        return graph.depth == 1

    def of(task, inputs):
        dataset = Dataset(cases=[Case(name="one", inputs=inputs)], evaluators=[short])
        return dataset.evaluate_sync(task, progress=False)

    stored = Report.from_dict(json.loads(json.dumps(of(rolled, "s").to_dict())))
    output = stored.cases[0].output
    assert output["turns"][0]["attack"] == "a"
    assert of(lambda inputs: inputs, output).cases[0].assertions["short"].value is True
