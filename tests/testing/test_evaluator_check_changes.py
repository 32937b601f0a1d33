import threading
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, ToolCall, Trace
from calipers.testing.evaluator_check import state_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
)


@dataclass
class Plain:
    items: list = field(default_factory=list)


class Slotted:
    __slots__ = ("items",)

    def __init__(self):
        self.items = []


class Record(msgspec.Struct):
    items: list


class Sub(list):
    pass


def cyclic():
    value = {"items": []}
    value["self"] = value
    return value


@given(JSON)
def test_what_was_not_touched_has_not_changed(value):
    assert state_of(value) == state_of(value)


@pytest.mark.parametrize(
    ("value", "change"),
    [
        ([1], lambda v: v.append(2)),
        ([1], lambda v: v.__setitem__(0, True)),
        ([1], lambda v: v.__setitem__(0, 1.0)),
        ([0.0], lambda v: v.__setitem__(0, -0.0)),
        ({"a": [1]}, lambda v: v["a"].clear()),
        ({"a": 1, "b": 2}, lambda v: v.update(a=v.pop("a"))),
        ({1}, lambda v: v.add(2)),
        (([],), lambda v: v[0].append(1)),
        (Plain(), lambda v: v.items.append(1)),
        (Slotted(), lambda v: v.items.append(1)),
        (Record([]), lambda v: v.items.append(1)),
        (SimpleNamespace(a=SimpleNamespace(b=1)), lambda v: setattr(v.a, "b", 2)),
        (Sub([1]), lambda v: v.append(2)),
        (OrderedDict(a=1), lambda v: v.update(b=2)),
        (defaultdict(list), lambda v: v["new"]),
        (deque([1]), lambda v: v.popleft()),
        (bytearray(b"a"), lambda v: v.extend(b"b")),
        (np.zeros(3), lambda v: v.fill(1)),
        (ToolCall("t", {"a": 1}), lambda v: v.arguments.update(a=2)),
        (ToolCall("t"), lambda v: setattr(v, "success", False)),
        (Trace(metadata={"a": [1]}), lambda v: v.metadata["a"].append(2)),
        (Trace(tool_calls=[ToolCall("t")]), lambda v: v.tool_calls[0].arguments.update(a=2)),
        (Case(inputs=[1]), lambda v: v.inputs.append(2)),
        (cyclic(), lambda v: v["items"].append(1)),
    ],
)
def test_a_change_shows_however_deep(value, change):
    before = state_of(value)
    assert state_of(value) == before
    change(value)
    assert state_of(value) != before


def test_many_short_lived_states_are_not_mistaken_for_each_other():
    value = [Slotted() for _ in range(500)]
    before = state_of(value)
    assert all(state_of(value) == before for _ in range(20))


@pytest.mark.parametrize("value", [threading.Lock(), (n for n in "ab"), lambda: 1, object(), int])
def test_what_cannot_be_taken_apart_counts_as_unchanged(value):
    assert state_of([value]) == state_of([value])


def test_nesting_beyond_the_recursion_limit_counts_as_unchanged():
    value: list = []
    for _ in range(100_000):
        value = [value]
    assert state_of(value) == state_of(value)
