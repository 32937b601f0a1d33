"""A case over the runs of its dataset."""

from collections.abc import Callable
from typing import Any

import pytest

from calipers import Case, Dataset
from calipers.stores import open_store
from calipers.stores.store import Store
from calipers.viewer.case_history import history_answer
from calipers.viewer.case_id import case_id
from calipers.viewer.refusal import Refusal
from calipers.viewer.viewed_store import ViewedStore

View = Callable[[Store], ViewedStore]


def right(output: Any, expected_output: Any) -> bool:
    return bool(output == expected_output)


def keep(
    store: Store, name: str, *, names: str = "abc", wrong: str = "", expected: int = 1, **options: Any
) -> str:
    """A run that is wrong at some of its cases."""
    cases = [Case(name=each, inputs=each, expected_output=expected) for each in names]
    report = Dataset(name=options.pop("dataset", "letters"), cases=cases, evaluators=[right]).evaluate_sync(
        lambda inputs: 0 if inputs in wrong else expected, store=store, name=name, progress=False, **options
    )
    assert report.reuse is not None
    return report.reuse.run


def test_it_has_a_point_for_each_run_of_the_dataset_the_newest_first(store: Store, view: View) -> None:
    keep(store, "one", wrong="b")
    keep(store, "two", names="cab", repeat=2)
    keep(store, "other", dataset="digits")
    keep(store, "three", names="ac")
    keep(store, "four", expected=2)
    found = history_answer(view(store), case_id("b"), dataset="letters")
    assert (found.name, found.left_out) == ("b", 0)
    assert [(point.run_name, point.marks) for point in found.points] == [
        ("four", "p"),
        ("two", "pp"),
        ("one", "f"),
    ]
    assert [point.changed_case for point in found.points] == [True, False, False]
    assert [point.changed_output for point in found.points] == [True, True, False]
    assert [point.output for point in found.points] == ["2", "1", "0"]
    assert found.summary == "passes since 2 runs"


def test_a_run_that_has_the_case_is_enough(store: Store, view: View) -> None:
    keep(store, "old", wrong="a")
    newest = keep(store, "new")
    keep(store, "without", names="bc")
    viewed = view(store)
    by_run = history_answer(viewed, case_id("a"), run=newest)
    assert [point.run_name for point in by_run.points] == ["new", "old"]
    assert by_run == history_answer(viewed, case_id("a"), dataset="letters")


@pytest.mark.parametrize(
    ("wrong", "summary"),
    [
        (["", "", ""], "passed in all 3 runs"),
        (["a", "a"], "did not pass in any of 2 runs"),
        ([""], "passed in the only run"),
        (["a"], "did not pass in the only run"),
        (["a", "a", ""], "passes since the newest run"),
        (["", "", "a", "a"], "fails since 2 runs"),
        (["a", "", "a", ""], "unsteady: passed in 2 of 4 runs"),
    ],
)
def test_the_summary_says_how_the_case_fares(
    store: Store, view: View, wrong: list[str], summary: str
) -> None:
    for number, each in enumerate(wrong):
        keep(store, f"run {number}", wrong=each)
    assert history_answer(view(store), case_id("a"), dataset="letters").summary == summary


def test_what_is_not_there_is_refused(store: Store, view: View) -> None:
    keep(store, "one")
    viewed = view(store)
    with pytest.raises(Refusal, match="needs the dataset of the case, or a run"):
        history_answer(viewed, case_id("a"))
    for dataset in ("letters", "none", "../x"):
        with pytest.raises(Refusal, match="no case of the id"):
            history_answer(viewed, case_id("z"), dataset=dataset)


def test_postgresql_tells_the_same(store: Store, view: View, postgresql_url: str) -> None:
    with open_store(postgresql_url) as other:
        answers = []
        for each in (store, other):
            keep(each, "one", wrong="b")
            keep(each, "two", names="cba")
            answers.append(history_answer(view(each), case_id("b"), dataset="letters"))
    one, two = answers
    assert [(each.marks, each.output) for each in one.points] == [
        (each.marks, each.output) for each in two.points
    ]
    assert one.summary == two.summary
