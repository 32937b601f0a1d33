import collections
import enum
import functools
import random
import re
import sys
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.identity.value_bytes import NoFormError, written

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Place:
    name: str
    size: float = 1.0
    connection: Any = field(default=None, compare=False)


@dataclass
class OtherPlace:
    name: str
    size: float = 1.0


class Model(pydantic.BaseModel):
    a: int
    b: list[str] = []


class Record(msgspec.Struct):
    a: int


class Thing:
    def __init__(self, a):
        self.a = a


DIFFERENT = [
    None, True, False, 0, 1, -1, 1.0, 0.0, -0.0, float("inf"), float("nan"), 1j, "", "1", "None", b"", b"1",
    [], [1], [[1]], [1, 2], [2, 1], (), (1,), {}, {"a": 1}, {1: "a"}, {"1": "a"}, {"a": None}, set(), {1}, {1, 2},
    frozenset({1}), Colour.RED, Colour.BLUE, Point(1, 2), Point(2, 1), Place("a"), Place("b"), Place("a", 2.0),
    OtherPlace("a"), Model(a=1), Model(a=1, b=["x"]), Record(1), Record(2), Thing(1), Thing("1"), date(2020, 1, 1),
    datetime(2020, 1, 2, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC), "2020-01-01", timedelta(days=1), 86400.0, Decimal("1"),
    Decimal("1.0"), UUID(int=1), PurePosixPath("a"), re.compile("a"), re.compile("a", re.IGNORECASE), range(3),
    np.array([1, 2]), np.array([1.0, 2.0]), np.array([[1, 2]]), np.float64(1.0), np.int64(1), ...,
]  # fmt: skip


def test_values_that_differ_in_kind_or_content_have_different_bytes():
    found = [written(value) for value in DIFFERENT]
    same = [(DIFFERENT[a], DIFFERENT[b]) for a in range(len(found)) for b in range(a) if found[a] == found[b]]
    assert same == []


@given(PLAIN, PLAIN)
def test_equal_plain_values_have_equal_bytes_and_others_do_not(one, other):
    assert (written(one) == written(other)) is (repr(one) == repr(other))


@given(st.dictionaries(st.text(), PLAIN, min_size=2, max_size=5))
def test_the_order_of_keys_counts(mapping):
    assert written(dict(reversed(mapping.items()))) != written(mapping)
    assert written(dict(mapping.items())) == written(mapping)


@given(st.lists(st.text() | st.integers(), max_size=6))
def test_the_order_of_a_set_does_not_matter(items):
    backwards = functools.reduce(lambda found, item: found | {item}, reversed(items), set())
    assert written(set(items)) == written(backwards)


@given(st.lists(PLAIN, max_size=3), st.lists(PLAIN, max_size=3))
def test_two_values_one_after_the_other_cannot_be_taken_for_two_others(one, other):
    # Keys are made of several values: their bytes must not run into each other.
    joined = [written(value) for value in one], [written(value) for value in other]
    if b"".join(joined[0]) == b"".join(joined[1]):
        assert joined[0] == joined[1]


def test_what_is_not_compared_is_no_content():
    assert written(Place("a", connection=object())) == written(Place("a"))


def test_a_lone_surrogate_and_a_huge_integer_have_a_form():
    assert written("\ud800") != written("\ud801")
    assert written(1 << 20_000) != written(1 << 20_001)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (object(), "is a object, and what it holds cannot be read"),
        (len, "is code, not data"),
        (Thing, "is code, not data"),
        (functools.partial(print), "is code, not data"),
        ({"a": [object()]}, "cannot be read"),
        (Thing(object()), "Thing.a: "),
        (SimpleNamespace(a=1), "cannot be read"),
    ],
    ids=["object", "builtin", "class", "partial", "inside", "attribute", "library object"],
)
def test_what_has_no_form_is_said(value, said):
    with pytest.raises(NoFormError, match=re.escape(said)):
        written(value)


def test_what_contains_itself_has_no_form():
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(NoFormError, match="contains itself"):
        written(loop)


def test_functions_inside_a_value_are_named_by_the_function_given():
    assert written([len], lambda thing: thing.__name__) == written([len], lambda thing: "len")
    assert written([len], lambda thing: "a") != written([len], lambda thing: "b")


def test_a_value_has_its_bytes_while_another_thread_loads_numpy(monkeypatch):
    before = written(Thing(1))
    monkeypatch.setitem(sys.modules, "numpy", ModuleType("numpy"))
    assert written(Thing(1)) == before


class Unreadable(dict):
    def items(self):
        raise OSError("the disk is gone")


def test_a_value_that_cannot_be_read_has_no_form():
    with pytest.raises(NoFormError, match="cannot be read: OSError: the disk is gone"):
        written({"a": Unreadable()})


class Failed(Exception):
    pass


class Line(collections.deque):
    pass


class Private:
    __slots__ = ("__text",)

    def __init__(self, text):
        self.__text = text


@dataclass
class Empty:
    a: int = 0


class Own(Empty):
    def __init__(self, text):
        super().__init__()
        self.text = text


class Keyed(dict):
    pass


class Text(str):
    __slots__ = ("text",)


class Hidden(pydantic.BaseModel):
    a: int = 0
    _text: str = ""


class Random(random.Random):
    pass


def with_text(made, text, name="text"):
    setattr(made, name, text)
    return made


MADE = {
    "an exception": Failed,
    "an error of an import": lambda text: ImportError("a", name=text),
    "a deque": lambda text: collections.deque([text]),
    "a bounded deque": lambda text: collections.deque(maxlen=len(text)),
    "a kind of deque": lambda text: Line([text]),
    "a private slot": Private,
    "a constructor of its own": Own,
    "an attribute of a dict": lambda text: with_text(Keyed(), text),
    "an attribute of a text": lambda text: with_text(Text("a"), text),
    "a private attribute of a model": lambda text: with_text(Hidden(), text, "_text"),
    "a default": lambda text: collections.defaultdict(int if text == "one" else str),
    "a mask": lambda text: np.ma.array([1, 2], mask=[False, text == "one"]),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE.keys())
def test_content_in_an_unusual_place_counts(make):
    assert written(make("one")) == written(make("one"))
    assert written(make("one")) != written(make("other"))


def test_the_value_of_an_enumeration_counts():
    one, two = (enum.Enum("Same", {"A": value}).A for value in (1, 2))
    assert written(one) != written(two)


def test_what_is_hidden_in_a_base_class_has_no_form():
    with pytest.raises(NoFormError, match="cannot be read"):
        written(Random(1))
