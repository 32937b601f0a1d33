"""The trend of a dataset: one point for each run, and a break wherever two runs are not of the same thing."""

import pytest

from calipers import Case, Dataset
from calipers.evaluators import EqualsExpected, MaxDuration
from calipers.stores import MemoryStore
from calipers.viewer.refusal import Refusal
from calipers.viewer.trend import trend_answer
from calipers.viewer.viewed_store import ViewedStore

from .conftest import until


def keep(store, *, numbers=range(4), wrong=(), evaluators=None, **options):
    cases = [Case(name=f"case {n}", inputs=n, expected_output=2 * n) for n in numbers]
    dataset = Dataset(name="doubling", cases=cases, evaluators=evaluators or [EqualsExpected()])
    return dataset.evaluate_sync(
        lambda n: 0 if n in wrong else 2 * n, store=store, progress=False, **options
    ).reuse.run


@pytest.fixture
def store():
    with MemoryStore() as found:
        yield found


@pytest.fixture
def viewed(store):
    found = ViewedStore(store)
    yield found
    found.close()


def trend(viewed, **options):
    """The trend when all of its runs have been counted."""
    return until(
        lambda: trend_answer(viewed, dataset="doubling", **options),
        lambda found: all(point.estimate is not None for point in found.points),
    )


def test_points_go_from_the_oldest_run_to_the_newest_each_with_its_interval(store, viewed):
    ids = [keep(store), keep(store, wrong=[1]), keep(store, wrong=[1, 2])]
    found = trend(viewed)
    assert [point.run for point in found.points] == ids
    assert [point.estimate.value for point in found.points] == [1.0, 0.75, 0.5]
    assert all(point.estimate.interval is not None for point in found.points)
    assert [point.break_before for point in found.points] == [[], [], []]
    assert (found.is_rate, found.evaluators, found.evaluator) == (True, ["EqualsExpected"], None)


def test_a_run_that_was_never_counted_has_a_point_without_a_value(store, viewed):
    run = keep(store)
    (point,) = trend_answer(viewed, dataset="doubling").points
    assert (point.run, point.state) == (run, "finished")


def test_other_cases_break_the_trend_even_if_they_are_as_many(store, viewed):
    keep(store)
    keep(store, numbers=range(1, 5))
    keep(store, numbers=reversed(range(1, 5)))
    keep(store, numbers=range(6))
    points = trend(viewed).points
    assert [point.break_before for point in points] == [
        [],
        ["other cases, or changed ones"],
        [],
        ["6 cases, and 4 before"],
    ]


def test_another_evaluator_breaks_the_trend_of_what_it_judges(store, viewed):
    def strict(output, expected_output):
        return output == expected_output

    def strictly(output, expected_output):
        return output == expected_output + 0

    keep(store, evaluators=[strict])
    strictly.__name__ = "strict"
    keep(store, evaluators=[strictly, MaxDuration(9)])
    whole, column = trend(viewed), trend(viewed, evaluator="strict")
    assert whole.points[1].break_before[0].startswith("the evaluator strict changed: its source changed")
    assert whole.points[1].break_before[1:] == ["the evaluator MaxDuration is new"]
    assert len(column.points[1].break_before) == 1
    assert column.evaluator == "strict"


def test_a_score_has_a_trend_of_its_mean_and_a_run_without_it_no_value(store, viewed):
    def length(output):
        return float(output)

    keep(store)
    keep(store, evaluators=[length])
    until(lambda: trend_answer(viewed, dataset="doubling").evaluators, lambda names: "length" in names)
    found = trend_answer(viewed, dataset="doubling", evaluator="length")
    assert not found.is_rate
    assert [point.estimate and point.estimate.value for point in found.points] == [None, 3.0]


def test_a_run_that_is_not_whole_breaks_the_trend_on_both_sides(store, viewed):
    from calipers.gate import Policy, Rules, StopWhenDecided

    many = range(300)
    keep(store, numbers=many)
    keep(store, numbers=many, stop_when=StopWhenDecided(Policy(pass_rate=Rules(at_least=0.5))))
    keep(store, numbers=many)
    (before, early, after) = trend(viewed).points
    assert before.break_before == []
    assert early.break_before[0].startswith("only ")
    assert early.break_before[0].endswith(" of 300 attempts were made")
    assert after.break_before == ["the run before is not whole"]


def test_what_is_not_there_is_refused_with_the_nearest_name(store, viewed):
    keep(store)
    with pytest.raises(Refusal, match="did you mean 'doubling'"):
        trend_answer(viewed, dataset="doublin")
    trend(viewed)
    with pytest.raises(Refusal, match="did you mean 'EqualsExpected'"):
        trend_answer(viewed, dataset="doubling", evaluator="EqualExpected")


def test_a_browser_asks_for_it_by_name(viewer):
    answer = viewer.ask("trend?dataset=doubling")
    assert answer.status == 200
    assert len(answer.json()["points"]) == 2
    assert viewer.ask("trend").json()["error"]["message"] == "/trend needs the parameter 'dataset'"
