"""Which steps of a trace are sent, and what is said of the others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.viewer.step_tree import StepTree

sizes = st.integers(0, 40)


@st.composite
def parents(draw: st.DrawFn) -> list[int]:
    """Any parents: below each other, missing, in circles, of themselves."""
    size = draw(sizes)
    return draw(st.lists(st.integers(-3, size + 2), min_size=size, max_size=size))


@st.composite
def trees(draw: st.DrawFn) -> StepTree:
    return StepTree(draw(parents()))


@given(parents())
def test_every_step_has_one_id_and_stands_behind_the_one_above_it(given_parents: list[int]) -> None:
    tree = StepTree(given_parents)
    assert sorted(tree.place.tolist()) == list(range(len(given_parents)))
    assert [int(tree.id[tree.place[each]]) for each in range(len(tree))] == list(range(len(tree)))
    for each, parent in enumerate(tree.parent.tolist()):
        assert parent < each
        if parent >= 0:
            assert given_parents[tree.place[each]] == tree.place[parent], "no step is put below another one"
            assert tree.depth[each] == tree.depth[parent] + 1
            assert each <= parent + tree.below[parent], "what is below a step follows it at once"


@given(parents())
def test_only_what_is_in_a_circle_or_has_no_parent_moves_to_the_top(given_parents: list[int]) -> None:
    tree = StepTree(given_parents)
    known = set(range(len(given_parents)))
    for each, parent in enumerate(tree.parent.tolist()):
        place = int(tree.place[each])
        if parent < 0 and given_parents[place] in known:
            at, seen = given_parents[place], {place}
            while at in known and at not in seen:
                seen.add(at)
                at = given_parents[at]
            assert at == place, "it is in a circle"


@given(trees(), st.data())
def test_what_is_missing_below_a_step_is_counted_exactly(tree: StepTree, data: st.DataObject) -> None:
    failed = np.array([data.draw(st.booleans()) for _ in range(len(tree))], dtype=bool)
    limit = data.draw(st.integers(1, 45))
    levels = data.draw(st.none() | st.integers(1, 4))
    parent = data.draw(st.integers(-1, len(tree) - 1)) if len(tree) else -1
    sent = tree.chosen(failed, parent=parent, levels=levels, limit=limit)
    listed = sent.tolist()
    assert listed == sorted(set(listed))
    assert len(listed) <= limit
    for each in listed:
        above = int(tree.parent[each])
        assert above == parent or above in listed, "no step comes without those above it"
    for each, missing in zip(listed, tree.missing(sent).tolist(), strict=True):
        below = range(each + 1, each + 1 + int(tree.below[each]))
        assert missing == len(set(below) - set(listed))
    everything = tree.range_of(parent).tolist()
    if len(everything) <= limit and levels is None:
        assert listed == everything


@given(trees(), st.data())
def test_the_parts_that_are_asked_for_after_each_other_are_the_whole(
    tree: StepTree, data: st.DataObject
) -> None:
    parent = data.draw(st.integers(-1, len(tree) - 1)) if len(tree) else -1
    size = data.draw(st.integers(1, 7))
    found: list[int] = []
    while some := tree.range_of(parent, found[-1] if found else -1)[:size].tolist():
        found += some
    assert found == tree.range_of(parent).tolist()


def test_of_a_trace_that_is_too_long_each_turn_has_as_many_steps_and_all_failures_are_there() -> None:
    turns, steps = 100, 500
    listed = [-1 if at % steps == 0 else at - at % steps for at in range(turns * steps)]
    tree = StepTree(listed)
    failed = np.zeros(len(tree), dtype=bool)
    failed[[499, 7_777, 49_999]] = True
    sent = tree.chosen(failed, limit=2_000)
    assert {499, 7_777, 49_999} <= set(sent.tolist())
    assert {at * steps for at in range(turns)} <= set(sent.tolist())
    below = [int(((sent > at * steps) & (sent < (at + 1) * steps)).sum()) for at in range(turns)]
    assert set(below) <= {18, 19, 20}
    assert len(sent) > 1_800
    assert int(tree.missing(sent).sum()) == len(tree) - len(sent)


def test_a_deep_failure_comes_with_the_way_to_it() -> None:
    tree = StepTree([*range(-1, 29_999)])
    failed = np.zeros(30_000, dtype=bool)
    failed[150] = True
    sent = tree.chosen(failed, limit=1_000)
    assert sent.tolist() == list(range(151))
    assert tree.missing(sent)[0] == 29_849


@pytest.mark.parametrize("count", [25_000, 60_000])
def test_more_failures_than_there_is_room_for_leave_room_for_the_rest(count: int) -> None:
    tree = StepTree([-1] * count)
    sent = tree.chosen(np.ones(count, dtype=bool))
    assert len(sent) == 20_000
    assert sent[0] == 0
