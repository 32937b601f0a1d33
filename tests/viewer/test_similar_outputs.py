"""Outputs that mean nearly the same are put together, without being told what to look for."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from calipers import Case, Dataset
from calipers.errors import NotKnownError
from calipers.stores.store import Store
from calipers.viewer.case_tables import cases_answer, groups_answer
from calipers.viewer.similar_outputs import MOST_CASES
from calipers.viewer.viewed_store import ViewedStore
from calipers.viewer.wire import GroupsAnswer

from .conftest import until

View = Callable[[Store], ViewedStore]

REFUSALS = (
    "I am sorry, but I cannot give refunds for order {}.",
    "A refund of order {} is not possible, sorry.",
    "Sorry, I cannot refund the order {}.",
)
DELIVERIES = (
    "The parcel {} will arrive tomorrow by mail.",
    "Tomorrow the mail brings your parcel {}.",
)


def similar(viewed: ViewedStore, q: str = "") -> GroupsAnswer:
    viewed.index(viewed.find_run("latest").id, patience=60)  # until all of it was read, on a busy machine too
    found: GroupsAnswer = until(
        lambda: groups_answer(viewed, "latest", q=q, by="meaning"), lambda answer: answer.is_ready
    )
    return found


def keep(store: Store, answers: list[Any], evaluator: Callable[..., Any], **options: Any) -> None:
    cases = [Case(name=f"c{n:04}", inputs=n, metadata={"half": n % 2}) for n in range(len(answers))]
    Dataset(name="answers", cases=cases, evaluators=[evaluator]).evaluate_sync(
        lambda n: answers[n], store=store, progress=False, **options
    )


def is_right(output: Any) -> bool:
    return "right" in str(output)


def test_outputs_that_mean_the_same_are_one_group(store: Store, view: View) -> None:
    refusals = [text.format(1000 + n) for n, text in enumerate(REFUSALS * 2)]
    deliveries = [text.format(n) for n, text in enumerate(DELIVERIES * 2)]
    others = ["The moon is made of green cheese.", "all right", 17, "", None]
    keep(store, [*refusals, *deliveries, *others], is_right)
    viewed = view(store)
    found = similar(viewed)
    assert [group.cases for group in found.groups] == [6, 4]
    assert [
        group.said in texts for group, texts in zip(found.groups, (refusals, deliveries), strict=True)
    ] == [True, True]
    # One passed; of the others, the moon, the number and those that said nothing are like no other.
    assert (found.looked_at, found.of, found.ungrouped) == (14, 14, 4)
    rows = cases_answer(viewed, "latest", q=found.groups[0].filter).rows
    assert [row.name for row in rows] == [f"c{n:04}" for n in range(6)]
    assert [group.cases for group in similar(viewed, "meta.half:0").groups] == [3, 2]


def test_of_very_many_an_even_part_is_looked_at_and_said_to_be(store: Store, view: View) -> None:
    keep(store, ["no idea"] * (MOST_CASES + 2), is_right)
    found = similar(view(store))
    (group,) = found.groups
    assert (found.of, found.looked_at, group.cases, group.share) == (
        MOST_CASES + 2,
        MOST_CASES // 2 + 1,
        MOST_CASES // 2 + 1,
        1.0,
    )
    assert group.filter == ""  # too many to be named


def test_a_run_in_which_nothing_was_answered_has_no_groups(store: Store, view: View) -> None:
    def broken(inputs: Any) -> Any:
        raise RuntimeError(inputs)

    Dataset(cases=[Case(inputs=1)], evaluators=[is_right]).evaluate_sync(broken, store=store, progress=False)
    found = similar(view(store))
    assert (found.groups, found.looked_at, found.ungrouped) == ([], 0, 0)


def test_without_what_makes_vectors_it_says_what_to_install(
    store: Store, view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(store, ["a"], is_right)
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(NotKnownError, match=r"pip install 'calipers\[embeddings\]'"):
        groups_answer(view(store), "latest", by="meaning")
