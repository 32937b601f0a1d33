"""The tables of a run's cases, as they are asked for."""

from collections.abc import Callable
from typing import Any

import pytest

from calipers import Case, Dataset
from calipers.errors import FilterError, InvalidOptionError
from calipers.stores.store import Store
from calipers.viewer.case_id import case_id
from calipers.viewer.case_tables import cases_answer, facets_answer, groups_answer, selecting, slices_answer
from calipers.viewer.deadline import Deadline
from calipers.viewer.facets import facets
from calipers.viewer.refusal import Refusal
from calipers.viewer.viewed_store import ViewedStore

View = Callable[[Store], ViewedStore]


def right(output: Any, expected_output: Any) -> bool:
    return bool(output == expected_output)


@pytest.fixture
def viewed(store: Store, view: View) -> ViewedStore:
    cases = [
        Case(
            name=f"c{n:03}",
            inputs=n,
            expected_output=n if n % 3 else -1,
            metadata={"lang": ["de", "fr"][n % 2]},
        )
        for n in range(120)
    ]
    Dataset(name="many", cases=cases, evaluators=[right]).evaluate_sync(
        lambda inputs: inputs, store=store, progress=False
    )
    return view(store)


def test_a_window_has_the_rows_from_its_place_on(viewed: ViewedStore) -> None:
    found = cases_answer(viewed, "latest", at=118, limit=10)
    assert [(row.at, row.name, row.marks) for row in found.rows] == [(118, "c118", "p"), (119, "c119", "p")]
    assert (found.total, found.all, found.at, found.index.state) == (120, 120, 118, "ready")
    assert [column.name for column in found.columns] == ["right"]
    failed = cases_answer(viewed, "latest", q="status:failed", sort="-name", limit=2)
    assert (failed.total, [row.name for row in failed.rows]) == (40, ["c117", "c114"])
    assert cases_answer(viewed, "latest", at=10_000, limit=5).at == 119
    assert cases_answer(viewed, "latest", q="case:nowhere").rows == []


def test_a_window_can_be_put_around_a_case(viewed: ViewedStore) -> None:
    found = cases_answer(viewed, "latest", around=case_id("c060"), limit=10)
    assert (found.at, [row.name for row in found.rows][5]) == (55, "c060")
    assert cases_answer(viewed, "latest", around=case_id("c060"), q="status:passed", limit=10).at == 0
    assert cases_answer(viewed, "latest", around="no such id", limit=10).at == 0


def test_values_slices_and_groups_are_of_the_cases_that_meet_the_filter(viewed: ViewedStore) -> None:
    values = facets_answer(viewed, "latest", field="meta.lang", q="status:failed")
    assert [(each.value, each.cases) for each in values.values] == [("de", 20), ("fr", 20)]
    cut = slices_answer(viewed, "latest", by="meta.lang", evaluator="right")
    assert [each.cases for each in cut.slices] == [60, 60]
    assert cut.is_rate
    (group,) = groups_answer(viewed, "latest").groups
    assert (group.cases, group.example_name) == (40, "c000")


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda viewed: cases_answer(viewed, "latest", limit=201), Refusal, "limit must be from 0 to 200"),
        (
            lambda viewed: cases_answer(viewed, "latest", sort="nothing"),
            InvalidOptionError,
            "cannot be sorted by",
        ),
        (lambda viewed: cases_answer(viewed, "latest", q="nope:1"), FilterError, "nope"),
        (lambda viewed: facets_answer(viewed, "latest", field="nope"), InvalidOptionError, "nope"),
        (lambda viewed: slices_answer(viewed, "latest", by="tag", evaluator="x"), InvalidOptionError, "'x'"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    viewed: ViewedStore, ask: Callable[[ViewedStore], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ask(viewed)


def test_a_field_whose_values_take_too_long_says_so(viewed: ViewedStore) -> None:
    with selecting(viewed, "latest", "") as everything:
        found = facets(everything, "meta.lang", deadline=Deadline(0))
        assert (found.values, found.timed_out) == ([], True)
        assert not facets(everything, "meta.lang").timed_out
