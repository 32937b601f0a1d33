"""A judgement belongs to the output that was judged, whichever run took it over."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from calipers import Case, CaseLifecycle, Dataset
from calipers.data.jsonable import are_plain, plain
from calipers.stores import MemoryStore, hide_matches
from calipers.stores.attempt_notes import attempt_notes
from calipers.stores.reuse import OutputType, form_of, output_type


def always(output):
    return True


def said(output):
    return output


def counting_task():
    numbers = itertools.count()

    def count(inputs):
        return f"output {next(numbers)}"

    count.version = "1"
    return count


def dataset(*evaluators, cases=1):
    return Dataset(
        name="d",
        cases=[Case(name=f"c{n}", inputs="the same") for n in range(cases)],
        evaluators=[*evaluators],
    )


def verdicts(report):
    return [(case.output, [result.value for result in case.results]) for case in report.cases]


def test_an_attempt_that_its_first_run_made_again_lends_no_results_to_the_copy_of_the_old_one(memory_store):
    task = counting_task()
    options = {"store": memory_store, "progress": False}
    first = dataset(always).evaluate_sync(task, **options, lifecycle=CaseLifecycle)
    options["lifecycle"] = CaseLifecycle  # with hooks, an attempt that lacks a result is made again
    dataset(always).evaluate_sync(task, **options, reuse=True)
    again = dataset(always, said).evaluate_sync(task, **options, resume=first.reuse.run)
    assert verdicts(again) == [("output 1", [True, "output 1"])]
    third = dataset(always, said).evaluate_sync(task, **options, reuse=True)
    assert verdicts(third) == [("output 2", [True, "output 2"])]


def test_copies_of_one_attempt_share_what_was_said_of_it(memory_store):
    task = counting_task()
    options = {"store": memory_store, "progress": False}
    dataset(always).evaluate_sync(task, **options)
    dataset(said).evaluate_sync(task, **options, reuse=True)
    both = dataset(always, said).evaluate_sync(task, **options, reuse=True)
    assert verdicts(both) == [("output 0", [True, "output 0"])]
    assert both.reuse.cells_reused == 2


class Model(BaseModel):
    a: int
    b: tuple[str, ...] = ()


@dataclass
class Data:
    a: int


class Record(msgspec.Struct):
    a: int


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        (Model(a=1, b=("x",)), Model),
        (Data(1), Data),
        (Record(1), Record),
        ((1, "a"), tuple[int, str]),
        ([Model(a=1)], list[Model]),
        ({1, 2}, set[int]),
        (None, Model | None),
        (Model(a=1), Model | None),
    ],
    ids=["pydantic", "dataclass", "msgspec", "tuple", "list", "set", "none", "optional"],
)
def test_an_output_is_made_again_of_its_plain_data(value, annotation):
    assert OutputType(annotation).restored(plain(value), form_of(value)) == (value, True)


@pytest.mark.parametrize(
    ("data", "annotation"),
    [
        ({"a": 1}, None),
        ({"a": "x"}, Model),
        ({"a": 1, "c": 2}, Model),
        ("YQ==", bytes),
        ({"a": 1}, "no type"),
    ],
    ids=["no type", "another", "more fields", "bytes", "nonsense"],
)
def test_where_there_is_no_exact_way_back_it_stays_plain_data(data, annotation):
    assert OutputType(annotation).restored(data, form_of(data)) == (data, False)


class First(BaseModel):
    a: int


class Second(BaseModel):
    a: int


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        (Second(a=1), First | Second),
        ({1: "one"}, dict),
        ({1: "one"}, dict[str, str]),
        ((1, 2), Sequence[int]),
        ((1, 2), list[int]),
        ([First(a=1)], list[Second]),
        (lambda: None, str),
    ],
    ids=["union", "numbers as keys", "texts as keys", "sequence", "list", "inside", "without form"],
)
def test_an_output_that_would_come_back_as_something_else_stays_plain_data(value, annotation):
    data = plain(value)
    assert OutputType(annotation).restored(data, form_of(value)) == (data, False)


def returns(x) -> Model:
    return Model(a=x)


async def awaits(x) -> Model:
    return Model(a=x)


class Callable:
    def __call__(self, x) -> Model:
        return Model(a=x)


class Invokable:
    def invoke(self, x) -> Model:
        return Model(a=x)


def says_nothing(x):
    return x


def says_anything(x) -> Any:
    return x


@pytest.mark.parametrize(
    ("task", "dataset_type", "found"),
    [
        (returns, None, Model),
        (awaits, None, Model),
        (Callable(), None, Model),
        (Invokable(), None, Model),
        (partial(returns), None, Model),
        (returns, Data, Data),
        (returns, Any, Model),
        (says_nothing, None, None),
        (says_anything, None, None),
        (len, None, None),
    ],
    ids=[
        "function",
        "async",
        "object",
        "invoke",
        "partial",
        "dataset",
        "any",
        "nothing",
        "anything",
        "builtin",
    ],
)
def test_the_type_is_what_the_dataset_says_or_else_the_task(task, dataset_type, found):
    assert output_type(task, dataset_type).annotation == found


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


@given(VALUES)
def test_plain_is_what_is_its_own_plain_form(value):
    if are_plain(value):
        assert repr(plain(value)) == repr(value)
    else:
        assert repr(plain(value)) != repr(value)


def test_what_contains_itself_or_is_nested_without_end_is_not_plain():
    circle: list[object] = []
    circle.append(circle)
    deep: object = 1
    for _ in range(5000):
        deep = [deep]
    assert not are_plain(circle)
    assert not are_plain({"a": deep})


def secret(inputs) -> Model:
    return Model(a=1, b=(inputs,))


def test_no_hash_is_kept_of_what_a_store_hides():
    data = Dataset(name="d", cases=[Case(name=text, inputs=text) for text in ("open", "hidden")])
    with MemoryStore(redact=[hide_matches("^hidden$")]) as store:
        data.evaluate_sync(secret, store=store, progress=False)
        noted = [attempt_notes(attempt.output) for attempt in store.attempts(store.run("latest").id)]
    assert [notes.form is None for notes in noted] == [False, True]
