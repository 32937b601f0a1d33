"""Any object as plain JSON data."""

import collections
import dataclasses
import datetime as dt
import json
import math
import pathlib
import sys
import types
import uuid
from decimal import Decimal
from enum import Enum, IntEnum, IntFlag, StrEnum
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, LLMCall, ToolCall, Trace
from calipers.data.jsonable import loaded_types, plain, safe_repr


class Colour(Enum):
    RED = "red"
    PAIR = (1, 2)


class OldStr(str, Enum):  # noqa: UP042 - the older spelling, whose str() is 'OldStr.A'
    A = "a"


class New(StrEnum):
    A = "a"


class Level(IntEnum):
    LOW = 1


class Flags(IntFlag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Node:
    name: str
    children: list[Any] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class HalfMade:
    known: int
    later: int = dataclasses.field(init=False)


class Record(msgspec.Struct):
    a: int
    b: Any = None


class Model:
    """Dumps itself as pydantic models do."""

    def __init__(self, **fields):
        self.fields = fields

    def model_dump(self):
        return self.fields


class Attributed:
    """Lists its fields as attrs classes do."""

    __attrs_attrs__ = (types.SimpleNamespace(name="a"), types.SimpleNamespace(name="b"))

    def __init__(self):
        self.a, self.b, self._hidden = 1, {2}, 3


class Loud(str):
    __slots__ = ()

    def __str__(self):
        return "LOUD"


class Million(int):
    def __int__(self):
        return 0

    def __repr__(self):
        return "a million"


class Half(float):
    def __float__(self):
        return 0.0


class OwnToolCall(ToolCall):
    pass


class Unreadable:
    def __repr__(self):
        raise RuntimeError("no")


class Mutable(collections.UserDict):
    pass


class BrokenMapping(collections.UserDict):
    def __iter__(self):
        raise OSError("gone")

    def __repr__(self):
        return "BrokenMapping"


class BrokenList(list):
    def __iter__(self):
        raise OSError("gone")

    def __repr__(self):
        return "BrokenList"


class Pretends:
    """Its class cannot be asked for, like a proxy outside of what it stands for."""

    @property
    def __class__(self):
        raise RuntimeError("outside of a request")

    def __repr__(self):
        return "Pretends"


class BrokenModel(Model):
    def model_dump(self):
        raise ValueError

    def __repr__(self):
        return "BrokenModel"


class EndlessModel(Model):
    def model_dump(self):
        return EndlessModel()

    def __repr__(self):
        return "EndlessModel"


CALL = ToolCall("search", {"q": "x"}, output=(1, 2), latency_ms=3.5)
PLAIN_CALL = {
    "name": "search",
    "arguments": {"q": "x"},
    "output": [1, 2],
    "success": True,
    "error": None,
    "latency_ms": 3.5,
    "call_id": None,
    "timestamp": None,
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (2**1999, 2**1999),
        (2**20000, hex(2**20000)),
        (-(10**5000), hex(-(10**5000))),
        (0.5, 0.5),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        ("é 🙂", "é 🙂"),
        ("\ud800x", "\\ud800x"),
        ({"\udfff": 1}, {"\\udfff": 1}),
        ((1, (2,)), [1, [2]]),
        (Point(1, 2), [1, 2]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", 1}), ["b", 1]),
        ({frozenset({1}), frozenset({0})}, [[0], [1]]),
        ({"a": 1}.keys(), ["a"]),
        (b"\x00\xff", "AP8="),
        (bytearray(b"a"), "YQ=="),
        (memoryview(b"a"), "YQ=="),
        (dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC), "2026-01-02T03:04:00+00:00"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.time(3, 4), "03:04:00"),
        (dt.timedelta(minutes=1.5), 90.0),
        (Decimal("0.10"), "0.10"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (Fraction(1, 3), "Fraction(1, 3)"),
        (1 + 2j, "(1+2j)"),
        (Colour.RED, "red"),
        (Colour.PAIR, [1, 2]),
        (OldStr.A, "a"),
        (New.A, "a"),
        (Level.LOW, 1),
        (Flags.READ | Flags.WRITE, 3),
        (Loud("quiet"), "quiet"),
        (Million(10**6), 10**6),
        (Half(0.5), 0.5),
        (np.bool_(True), True),
        (np.int64(3), 3),
        (np.float64(0.5), 0.5),
        (np.float32("nan"), "NaN"),
        (np.longdouble(0.5), 0.5),
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), "YQ=="),
        (np.datetime64("2026-01-02T03:04:05.123456789"), "2026-01-02T03:04:05.123456789"),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.array([1.0, np.nan]), [1.0, "NaN"]),
        (np.array(5), 5),
        (np.array([{"a": (1,)}, None], dtype=object), [{"a": [1]}, None]),
        (Node("a", [Node("b")]), {"name": "a", "children": [{"name": "b", "children": []}]}),
        (HalfMade(1), {"known": 1}),
        (Record(1, b={2}), {"a": 1, "b": [2]}),
        (Model(a=(1,), b=Model(c=1)), {"a": [1], "b": {"c": 1}}),
        (Attributed(), {"a": 1, "b": [2]}),
        (CALL, PLAIN_CALL),
        (OwnToolCall("search", {"q": "x"}, output=(1, 2), latency_ms=3.5), PLAIN_CALL),
        (types.MappingProxyType({"a": (1,)}), {"a": [1]}),
        (collections.OrderedDict(a=1), {"a": 1}),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (Mutable(a=1), {"a": 1}),
        ({1: "int", "1": "str", 1.5: "f", None: "n", (1, 2): "t"}, {"1": "int", "1 (str)": "str", "1.5": "f", "None": "n", "(1, 2)": "t"}),
        ({Colour.RED: 1, OldStr.A: 2, dt.date(2026, 1, 2): 3, Loud("q"): 4}, {"red": 1, "a": 2, "2026-01-02": 3, "q": 4}),
        (Node, repr(Node)),
        (int, "<class 'int'>"),
        (range(3), "range(0, 3)"),
        (ValueError("x"), "ValueError('x')"),
        (Unreadable(), "<Unreadable whose repr failed>"),
        ({"a": Unreadable()}, {"a": "<Unreadable whose repr failed>"}),
        ({Unreadable: 1}, {repr(Unreadable): 1}),
        (BrokenMapping(), "BrokenMapping"),
        (BrokenList([1]), "BrokenList"),
        (Pretends(), "Pretends"),
        (BrokenModel(), "BrokenModel"),
        (EndlessModel(), "EndlessModel"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_every_kind_of_object_has_its_plain_form(value, expected):
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)


def test_an_object_may_say_itself_what_to_keep_of_it():
    @dataclasses.dataclass
    class Recording:
        frames: bytes

        def plain_data(self):
            return {"length": len(self.frames), "of": (1,)}

    assert plain([Recording(b"123")]) == [{"length": 3, "of": [1]}]


def test_a_trace_is_all_its_fields():
    trace = Trace(agent_name="bot", tool_calls=(CALL,), llm_calls=[LLMCall(model="m", input_tokens=2)])
    found = plain(trace)
    assert found["agent_name"] == "bot"
    assert found["tool_calls"] == [PLAIN_CALL]
    assert found["llm_calls"][0]["model"] == "m"
    assert found["total_input_tokens"] == 2
    assert found["total_latency_ms"] == 3.5
    assert [turn["turn_type"] for turn in found["turns"]] == ["llm_call", "tool_call"]
    assert found["turns"][1]["tool_call"] == PLAIN_CALL


def test_a_case_is_all_its_fields():
    assert plain(Case(name="a", inputs=(1,), expected_output=None))["inputs"] == [1]
    assert plain(Case(inputs=1))["has_expected_output"] is False


# ---------------------------------------------------------------------- what contains itself


def test_what_contains_itself_is_cut_where_it_does():
    loop: list[Any] = [1]
    loop.append(loop)
    assert plain(loop) == [1, "<the list that contains this>"]
    node = Node("a")
    node.children.append({"parent": node})
    assert plain(node) == {"name": "a", "children": [{"parent": "<the Node that contains this>"}]}
    model = Model()
    model.fields["self"] = model
    assert plain(model) == {"self": "<the Model that contains this>"}


def test_a_loop_with_many_ways_round_ends():
    loop: list[Any] = []
    loop.extend([loop] * 50)
    web = [{"name": i} for i in range(7)]
    for node in web:
        node["others"] = [other for other in web if other is not node]
    assert plain(loop) == ["<the list that contains this>"] * 50
    json.dumps(plain(web))


def test_what_stands_in_two_places_stands_in_both():
    shared = [1]
    assert plain([shared, shared, {"again": shared}]) == [[1], [1], {"again": [1]}]


def test_nesting_beyond_reading_is_shown_by_its_repr():
    deep: Any = "end"
    for _ in range(5000):
        deep = [deep]
    found = plain(deep)
    json.dumps(found)
    depth = 0
    while isinstance(found, list):
        [found] = found
        depth += 1
    assert depth == 100
    assert isinstance(found, str)


# ---------------------------------------------------------------------- laws

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(categories=None))  # lone surrogates, too
    | st.binary()
    | st.decimals()
    | st.fractions()
    | st.datetimes()
    | st.timedeltas()
    | st.uuids()
    | st.complex_numbers()
    | st.sampled_from(
        [*Colour, OldStr.A, Level.LOW, np.int8(1), np.bool_(False), np.array([1.5]), BrokenList(), object]
    )
)
_KEYS = (
    st.text(st.characters(categories=None))
    | st.integers()
    | st.floats()
    | st.booleans()
    | st.none()
    | st.dates()
)


def _nested(inner):
    return (
        st.lists(inner, max_size=4)
        | st.dictionaries(_KEYS, inner, max_size=4)
        | st.tuples(inner, inner)
        | st.builds(Node, st.text(), st.lists(inner, max_size=2))
        | st.builds(Record, st.integers(), inner)
        | st.builds(Model, a=inner)
        | st.builds(ToolCall, st.just("t"), st.dictionaries(st.text(), inner, max_size=2), output=inner)
        | st.builds(
            Trace, tool_calls=st.just((CALL,)), metadata=st.dictionaries(st.text(), inner, max_size=2)
        )
    )


_ANYTHING = st.recursive(_SCALARS | st.sets(st.integers() | st.text(), max_size=4), _nested, max_leaves=12)


@given(_ANYTHING)
def test_anything_becomes_strict_json_that_reads_back_as_itself(value):
    found = plain(value)
    text = json.dumps(found, allow_nan=False, ensure_ascii=False)
    assert json.loads(text.encode("utf-8")) == found


@given(_ANYTHING)
def test_making_plain_data_plain_again_changes_nothing(value):
    once = plain(value)
    assert plain(once) == once
    assert repr(plain(once)) == repr(once), "types and order, too"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(_JSON)
def test_what_is_plain_already_stays_equal_and_is_copied(value):
    found = plain(value)
    assert repr(found) == repr(value)
    if isinstance(value, list | dict):
        assert found is not value


@given(st.sets(st.integers() | st.text(max_size=2) | st.booleans() | st.none()))
def test_the_order_of_a_set_does_not_depend_on_how_it_was_filled(items):
    backwards = set()
    for item in reversed(list(items)):
        backwards.add(item)
    assert plain(items) == plain(backwards)


def test_safe_repr_shows_anything_even_what_cannot_be_written():
    assert safe_repr("\ud800") == "'\\ud800'"
    assert safe_repr(Unreadable()) == "<Unreadable whose repr failed>"


# ---------------------------------------------------------------------- a module that another thread is loading


def test_types_of_a_module_that_is_being_loaded_are_left_out(monkeypatch):
    assert loaded_types("numpy", "generic", "ndarray") == (np.generic, np.ndarray)
    half = types.ModuleType("numpy")
    half.ndarray = np.ndarray
    monkeypatch.setitem(sys.modules, "numpy", half)
    assert loaded_types("numpy", "generic", "ndarray") == (np.ndarray,)
    assert loaded_types("no_such_module", "generic") == ()
    assert plain({"when": dt.date(2020, 1, 1), "what": Fraction(1, 3)}) == {
        "when": "2020-01-01",
        "what": "Fraction(1, 3)",
    }
