from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from calipers.plain import plain
from calipers.stores.output_type import OutputType, are_plain, output_type


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
    assert OutputType(annotation).restored(plain(value)) == (value, True)


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
    assert OutputType(annotation).restored(data) == (data, False)


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
