import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.rollouts import Evaluator, Graph, GraphMetrics, Node
from calipers.stores.attempt_notes import (
    AttemptNotes,
    CellNotes,
    attempt_notes,
    cell_notes,
    kept_metrics,
    read_metrics,
    with_attempt_notes,
    with_notes,
)


@pytest.mark.parametrize(
    "body", ["true", "0.5", '"a \\"notes\\": b"', '{"format":1,"results":[{"value":true,"reason":"x"}]}']
)
@pytest.mark.parametrize(
    "notes",
    [
        CellNotes(),
        CellNotes(after=""),
        CellNotes(after="x", seed=0),
        CellNotes(as_plain=True, original={"overall": {}}),
    ],
    ids=["nothing", "unknown", "both", "original"],
)
def test_notes_of_a_cell_come_back_whatever_it_says(body, notes):
    assert cell_notes(with_notes(body, notes)) == notes


def test_what_has_no_notes_stays_as_it_is():
    assert with_notes("true", CellNotes()) == "true"
    assert with_attempt_notes('{"format":1}', AttemptNotes()) == '{"format":1}'


@pytest.mark.parametrize("output", ['{"format":1}', '{"format":1,"output":"\\"notes\\":"}'])
@pytest.mark.parametrize(
    "notes",
    [AttemptNotes(), AttemptNotes(rich=True, seed=0), AttemptNotes(spans={"a": 1})],
    ids=["nothing", "rich", "spans"],
)
def test_notes_of_an_attempt_come_back(output, notes):
    assert attempt_notes(with_attempt_notes(output, notes)) == notes


KEYS = st.text(max_size=4) | st.integers() | st.booleans() | st.none() | st.tuples(st.integers())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS | st.sampled_from(["$tuple", "$items", "$number"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def again(metrics):
    return read_metrics(json.loads(json.dumps(kept_metrics(metrics), allow_nan=False)))


@given(VALUES, VALUES)
def test_metrics_come_back_as_they_were(overall, turn):
    found = again(GraphMetrics({"x": overall}, [{"y": turn}], seed=3, goal="g"))
    assert (found.overall, found.per_turn) == ({"x": overall}, [{"y": turn}])
    assert repr(found.overall) == repr({"x": overall}), "of the same types"
    assert (found.seed, found.goal) == (3, "g")


@pytest.mark.parametrize("value", [math.nan, np.float32("nan"), np.float64("nan")], ids=["float", "32", "64"])
def test_nan_comes_back_as_a_number_and_its_name_as_a_name(value):
    found = again(GraphMetrics({"x": value, "label": "NaN", "low": -math.inf}, []))
    assert isinstance(found.overall["x"], float)
    assert math.isnan(found.overall["x"])
    assert (found.overall["label"], found.overall["low"]) == ("NaN", -math.inf)


def test_arrays_come_back_as_lists_and_what_contains_itself_is_cut():
    assert again(GraphMetrics({"x": np.array([1.5, math.nan])}, [])).overall["x"][0] == 1.5
    loop = []
    loop.append(loop)
    assert again(GraphMetrics({"x": loop}, [])).overall["x"] == ["<the list that contains this>"]


@pytest.mark.parametrize("nothing", [None, "text", [1]], ids=str)
def test_what_are_no_metrics_are_none(nothing):
    assert again(nothing) is None


class Spread(Evaluator):
    """Leaves numbers to be combined, some of which no report could show."""

    def compute_metrics(self, g):
        return GraphMetrics({"x": 1, "held": [math.nan, 2.0]}, [{"by_turn": {1: (0.5, 2)}}])

    def aggregate_metrics(self, all_metrics):
        known = [
            value for metrics in all_metrics for value in metrics.overall["held"] if not math.isnan(value)
        ]
        shares = [metrics.per_turn[0]["by_turn"][1] for metrics in all_metrics]
        return {"total": sum(known), "shares": [isinstance(share, tuple) for share in shares]}


class Env:
    def eval_rollout(self, seed):
        return Graph("", [Node("", "a", f"to {seed}")])


def test_a_run_that_reuses_another_combines_the_same(tmp_path):
    store = tmp_path / "runs.db"
    first = Spread(Env()).evaluate(3, progress=False, store=store)
    assert first == {"total": 6.0, "shares": [True] * 3}
    assert Spread(Env()).evaluate(3, progress=False, store=store, reuse=True) == first
