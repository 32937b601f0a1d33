"""What is changed later does not change what was recorded."""

from collections import OrderedDict, defaultdict
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.agents.snapshot import snapshot


class Point(NamedTuple):
    x: int
    tags: list


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.frozensets(st.integers()),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner) | st.sets(st.integers())
    ),
    max_leaves=20,
)


def spoil(value):
    """Change every container that can be changed."""
    if isinstance(value, dict):
        for item in value.values():
            spoil(item)
        value["spoilt"] = True
    elif isinstance(value, list):
        for item in value:
            spoil(item)
        value.append("spoilt")
    elif isinstance(value, tuple):
        for item in value:
            spoil(item)
    elif isinstance(value, set):
        value.add("spoilt")


@given(VALUES)
def test_a_snapshot_is_equal_and_stays_so(value):
    first, second = snapshot(value), snapshot(value)
    assert first == value
    assert type(first) is type(value)
    spoil(value)
    assert first == second


@pytest.mark.parametrize(
    "value",
    [OrderedDict(a=[1]), defaultdict(list, a=[1]), Point(1, ["a"])],
    ids=["ordered dict", "default dict", "named tuple"],
)
def test_containers_of_other_classes_are_copied_as_what_they_hold(value):
    kept = snapshot(value)
    assert kept == value
    before = repr(list(kept))
    spoil(value)
    assert repr(list(kept)) == before


def test_a_named_tuple_keeps_its_names():
    assert snapshot(Point(1, ["a"])).tags == ["a"]


def test_other_objects_are_kept_as_they_are():
    thing = object()
    assert snapshot([thing])[0] is thing


def test_what_contains_itself_still_does():
    loop: list = [1]
    loop.append(loop)
    kept = snapshot(loop)
    assert kept is not loop
    assert kept[1] is kept
    assert kept[0] == 1


def test_what_cannot_be_copied_is_kept_as_it_is():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert snapshot(deep) is deep
    while deep:  # taking it apart: freeing it in one go may need more stack than there is
        deep = deep.pop()

    class Hostile(dict):
        def items(self):
            raise OSError("no")

    hostile = Hostile(a=1)
    assert snapshot(hostile) is hostile
