"""The tree of turns."""

import copy
import pickle
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidRolloutError
from calipers.rollouts import Graph, Node
from calipers.rollouts.graph import numbered_turns


def turn(name, *children):
    return Node("", name, f"re {name}", 0.0, list(children))


def chain(length):
    """A conversation of so many turns."""
    node = None
    for number in range(length, 0, -1):
        node = Node("", str(number), "", 0.0, [] if node is None else [node])
    return Graph("", [] if node is None else [node])


TREE = Graph("", [turn("a", turn("b"), turn("c", turn("d"))), turn("e")])


def test_a_tree_is_walked_each_turn_before_its_children():
    assert [node.attack for node in TREE.walk()] == ["a", "b", "c", "d", "e"]
    assert [(number, node.attack) for number, node in numbered_turns(TREE)] == [
        (1, "a"), (2, "b"), (2, "c"), (3, "d"), (1, "e"),
    ]  # fmt: skip


def test_the_paths_are_the_conversations_from_the_root_to_each_leaf():
    assert ["".join(node.attack for node in path) for path in TREE.paths()] == ["ab", "acd", "e"]
    assert [node.attack for node in TREE.leaves()] == ["b", "d", "e"]
    assert TREE.depth == 3


def test_a_rollout_in_which_nothing_was_said_has_no_turns():
    empty = Graph("hello", [])
    assert (list(empty.walk()), list(empty.paths()), list(empty.leaves()), empty.depth) == ([], [], [], 0)


def test_a_conversation_of_ten_thousand_turns_is_as_good_as_any():
    long = chain(10_000)
    assert long.depth == 10_000
    (path,) = long.paths()
    assert [node.attack for node in path] == [str(number) for number in range(1, 10_001)]
    assert repr(long) == "Graph(context='', seed=None, stopped=None, metadata={}, broke_off=False)"


SHAPES = st.recursive(st.just([]), lambda inner: st.lists(inner, max_size=3), max_leaves=12)


@pytest.mark.parametrize(
    "again", [lambda graph: pickle.loads(pickle.dumps(graph)), copy.deepcopy], ids=["pickle", "deepcopy"]
)
def test_a_conversation_of_any_depth_is_copied_and_compared(again):
    graph = chain(2000)
    copied = again(graph)
    assert copied == graph
    assert copied.children[0] is not graph.children[0]
    assert graph.depth == 2000, "the original stays whole"
    next(copied.leaves()).response = "other"
    assert copied != graph
    assert chain(1999) != graph


def test_rollouts_are_compared_by_their_turns_and_where_they_stand():
    leaf = Node("c", "a", "r")
    assert Graph("o", [leaf, leaf]) != Graph("o", [Node("c", "a", "r", 0.0, [leaf])])
    assert Graph("o", [leaf]) == Graph("o", (leaf,))
    assert Graph("o", [leaf]) != Graph("o", [leaf], broke_off=True)
    assert Graph("o", []) != "o"


def test_a_shallow_copy_shares_its_turns():
    graph = Graph("o", [Node("c", "a", "r")])
    assert copy.copy(graph).children is graph.children


def test_turns_of_another_kind_are_copied_as_they_are():
    @dataclass(frozen=True)
    class Plain:
        children: tuple = ()

    graph = Graph("o", [Plain((Plain(),))])
    assert copy.deepcopy(graph) == graph


@given(SHAPES)
def test_the_paths_of_any_tree_agree_with_its_turns_and_its_depth(shape):
    def node(shape):
        return turn("x", *map(node, shape))

    graph = Graph("", [node(part) for part in shape])
    paths = list(graph.paths())
    assert len(paths) == len(list(graph.leaves()))
    assert {id(node) for path in paths for node in path} == {id(node) for node in graph.walk()}
    assert max(map(len, paths), default=0) == graph.depth
    assert [path[-1] for path in paths] == list(graph.leaves())


def test_a_turn_that_follows_itself_is_refused_rather_than_walked_for_ever():
    first = turn("a")
    first.children = [turn("b", first)]
    with pytest.raises(InvalidRolloutError, match="turn 3 of a rollout is also one of the turns before it"):
        list(Graph("", [first]).walk())


def test_a_turn_may_stand_at_several_places_of_the_tree():
    shared = turn("c")
    graph = Graph("", [turn("a", shared, shared), turn("b", shared)])
    assert [node.attack for node in graph.walk()] == ["a", "c", "c", "b", "c"]


def test_a_tree_may_be_made_of_any_objects_with_children():
    class Bare:
        children = None

    class Root:
        children = (Bare(), Bare())

    assert [number for number, _ in numbered_turns(Root())] == [1, 1]
    assert list(numbered_turns(object())) == []


def test_an_attack_is_also_a_probe():
    node = Node("", probe="p", response="r")
    assert (node.attack, node.probe) == ("p", "p")
    node.probe = "q"
    assert node.attack == "q"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"response": "r"}, "one attack, .* got neither"),
        ({"attack": "a", "probe": "b", "response": "r"}, "got 'a' and 'b'"),
        ({"attack": "a"}, "pass response="),
    ],
)
def test_a_turn_needs_one_attack_and_a_response(fields, says):
    with pytest.raises(InvalidRolloutError, match=says):
        Node("", **fields)


def test_a_subclass_may_add_fields_as_a_dataclass_does():
    @dataclass
    class Timed(Node):
        tokens: int = 0

    node = Timed("", "a", "r", 0.5, [], tokens=7)
    assert (node.attack, node.reward, node.tokens) == ("a", 0.5, 7)
