"""What the overall metrics of many rollouts say together."""

import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError, InvalidOutputError
from calipers.rollouts import GraphMetrics, summarize_metrics
from calipers.rollouts.metrics import goals_of, mark_branches
from calipers.stats import t_interval, wilson


def metrics(*overalls):
    return [GraphMetrics(overall=overall, per_turn=[]) for overall in overalls]


def of(*values, **options):
    return summarize_metrics(metrics(*({"x": value} for value in values)), **options)["x"]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12))
def test_a_number_has_a_mean_with_its_interval_and_its_quantiles_in_order(values):
    found = of(*values)
    assert found.n == len(values)
    assert found.mean == pytest.approx(fmean(values))
    known = t_interval(values)
    assert found.interval == (
        None if known is None or known.width <= 1e-12 * max(map(abs, values)) else known
    )
    quantiles = list(found.quantiles.values())
    ordered = [found.minimum, *quantiles[:2], found.median, *quantiles[2:], found.maximum]
    assert ordered == sorted(ordered)
    assert (found.minimum, found.maximum) == (min(values), max(values))


def test_a_flag_is_a_rate_with_the_interval_of_a_rate():
    found = of(True, True, np.True_, False)
    assert (found.mean, found.minimum, found.maximum) == (0.75, 0.0, 1.0)
    assert found.interval == wilson(3, 4)


def test_what_was_not_measured_is_counted_and_not_averaged():
    found = summarize_metrics(metrics({"x": 2}, {"x": None}, {}, {"x": 4}))["x"]
    assert (found.n, found.missing, found.mean) == (2, 2, 3.0)
    assert summarize_metrics(metrics({"x": None}, {})) == {}
    assert summarize_metrics([]) == {}


def test_one_rollout_has_a_mean_and_no_interval():
    found = of(np.float32(0.5))
    assert (found.mean, found.interval) == (0.5, None)
    assert found.to_dict() == {
        "n": 1, "missing": 0, "mean": 0.5, "low": None, "high": None, "median": 0.5,
        "p05": 0.5, "p25": 0.5, "p75": 0.5, "p95": 0.5, "min": 0.5, "max": 0.5,
    }  # fmt: skip


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0, 3, 1e9 / 3])
def test_numbers_that_are_all_the_same_have_no_interval(value):
    assert of(*[value] * 5).interval is None
    assert of(*[value] * 6, clusters="aabbcc").interval is None


def test_clusters_that_agree_in_their_means_alone_are_no_proof():
    values = [0.0, 1.0] * 3
    assert of(*values).interval is not None
    assert of(*values, clusters="aabbcc").interval is None


@pytest.mark.parametrize(
    ("goals", "clusters"),
    [
        (["a", "a", "b"], ["a", "a", "b"]),
        (["a", "a", None], ["a", "a", (2,)]),
        (["a", "a", "a"], None),
        (["a", "b", "c"], None),
        ([None, None, None], None),
        ([], None),
    ],
)
def test_the_goals_are_the_clusters_where_there_are_several(goals, clusters):
    found = [GraphMetrics({}, [], goal=goal) for goal in goals]
    assert goals_of(found) == clusters


def test_rollouts_of_one_goal_make_the_interval_wider():
    values = [0.0, 0.1, 0.9, 1.0, 0.0, 0.1, 1.0, 0.9]
    goals = ["a", "a", "b", "b", "c", "c", "d", "d"]
    assert of(*values, clusters=goals).interval.width > of(*values).interval.width
    with pytest.raises(InvalidOptionError, match="got 8 rollouts and 1 clusters"):
        of(*values, clusters=["a"])


def test_texts_and_lists_are_no_numbers_and_left_out():
    found = summarize_metrics(metrics({"label": "calm", "all": [1, 2], "of": {"a": 1}, "x": 1}))
    assert list(found) == ["x"]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ((1.0, math.nan), "the overall metric 'x' of a rollout: returned nan"),
        ((1.0, math.inf), "the overall metric 'x' of a rollout: returned inf"),
        ((1.0, object()), "the overall metric 'x' of a rollout"),
        ((1.0, "two"), "is a number in 1 rollouts and none in 1"),
    ],
    ids=["nan", "inf", "object", "text"],
)
def test_what_is_no_number_among_numbers_is_an_error_that_names_the_metric(values, says):
    with pytest.raises(InvalidOutputError, match=says):
        of(*values)


@pytest.mark.parametrize(
    ("numbers", "ends", "marks"),
    [
        ([], [], []),
        ([1], [0], [{}]),
        ([1, 2, 3], [2], [{}, {}, {}]),
        ([1, 1], [0, 1], [(1, None), (2, None)]),
        ([1, 2, 2, 3, 1], [1, 3, 4], [(1, None), (1, 0), (2, 0), (2, 2), (3, None)]),
        ([1, 2, 3, 2, 1, 2], [2, 3, 5], [(1, None), (1, 0), (1, 1), (2, 0), (3, None), (3, 4)]),
    ],
)
def test_rows_are_marked_only_where_the_tree_branches(numbers, ends, marks):
    rows = [{"turn": number} for number in numbers]
    assert mark_branches(rows) == ends
    marked = [{"branch": mark[0], "parent": mark[1]} if mark else {} for mark in marks]
    assert rows == [{"turn": number} | mark for number, mark in zip(numbers, marked, strict=True)]
