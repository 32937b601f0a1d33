"""Pictures of a rollout."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.rollouts import (
    Environment,
    Graph,
    LeakModerator,
    Node,
    OnSuccess,
    rollout_tree,
    tree_svg,
    tree_text,
)
from calipers.rollouts.demo import GOAL, VaultAssistant
from calipers.rollouts.strategies import SampledAttack

HOSTILE = "</svg><script>alert(1)</script>\x1b[31m\u202e\n]]>&\x00"


def turn(attack, *children, success=False, **fields):
    return Node("", attack, f"re {attack}", 0.0, list(children), success=success, **fields)


TREE = Graph(
    "",
    [
        turn("a", turn("b"), turn("c", success=True, metadata={"attack": "base64"}, response_score=0.9)),
        turn("d", turn("e", turn("f", success=None))),
    ],
    seed=3,
    stopped="3 turns",
    metadata={"goal": "get it"},
)

trees = st.recursive(
    st.just([]),
    lambda children: st.lists(
        st.tuples(st.text(max_size=20), st.sampled_from([True, False, None]), children), max_size=3
    ),
    max_leaves=15,
)


def grown(tree):
    return [Node("", text, text, 0.0, grown(below), success=success) for text, success, below in tree]


def test_the_text_shows_branches_and_lets_conversations_run_straight_on():
    assert tree_text(TREE).splitlines() == [
        "get it  (seed 3)",
        "├─ ○ 1 held  a → re a",
        "│  ├─ ○ 2 held  b → re b",
        "│  └─ ● 2 gave way · 0.9  base64: c → re c",
        "└─ ○ 1 held  d → re d",
        "   ○ 2 held  e → re e",
        "   · 3 not judged  f → re f",
        "ended: 3 turns",
    ]


def test_a_large_tree_is_shown_in_part_and_the_rest_is_counted():
    lines = tree_text(TREE, max_turns=2).splitlines()
    assert lines[3] == "… and 4 more turns"
    svg = tree_svg(TREE, max_turns=2)
    assert "4 more turns not drawn" in svg
    assert svg.count("<circle") == 3
    assert svg.count("<path") == 2


def test_the_svg_has_a_dot_per_turn_in_the_colour_of_its_outcome():
    svg = tree_svg(TREE)
    assert len(re.findall(r'<circle class="good"', svg)) == 4
    assert len(re.findall(r'<circle class="bad"', svg)) == 1
    assert len(re.findall(r'<circle class="unknown"', svg)) == 2, (
        "the beginning, and the turn that was not judged"
    )
    assert ">base64<" in svg
    assert "gave way · 0.9" in svg
    assert "A tree of 6 turns; 1 of the 6 drawn went wrong" in svg


def test_turns_do_not_lie_on_each_other():
    places = re.findall(r'<circle class="\w+" cx="([\d.]+)" cy="([\d.]+)"', tree_svg(TREE))
    assert len(set(places)) == len(places) == 7


@given(trees)
def test_any_tree_can_be_drawn(tree):
    graph = Graph("", grown(tree))
    root = ET.fromstring(tree_svg(graph, max_turns=7))
    drawn = root.iter("{http://www.w3.org/2000/svg}circle")
    assert len(list(drawn)) == 1 + min(7, len(list(graph.walk())))
    assert len(tree_text(graph).splitlines()) == 1 + len(list(graph.walk()))


def test_what_was_said_is_shown_and_not_obeyed():
    graph = Graph(
        "",
        [turn(HOSTILE, metadata={"attack": HOSTILE})],
        seed=HOSTILE,
        stopped=HOSTILE,
        metadata={"goal": HOSTILE},
    )
    svg = tree_svg(graph)
    ET.fromstring(svg)
    assert "<script" not in svg
    for text in (svg, tree_text(graph)):
        assert not set("\x1b\u202e\x00") & set(text)
    assert len(tree_text(graph).splitlines()) == 3


def test_very_long_conversations_and_texts_stay_in_their_lines():
    node = turn("x" * 100_000)
    for _ in range(3000):
        node = turn("deep" * 50, node, turn("side"))
    text = tree_text(Graph("", [node]), width=80, max_turns=500)
    assert max(map(len, text.splitlines())) <= 80 + 30
    assert "5,501 more turns" in text
    assert len(tree_svg(Graph("", [node]))) < 100_000


def test_things_other_than_text_are_shown_as_data():
    graph = Graph({"state": 1}, [Node({"state": 1}, {"move": [1, None]}, 3.5, success=True)])
    assert '{"move": [1, null]} → 3.5' in tree_text(graph)
    ET.fromstring(tree_svg(graph))


def test_the_picture_of_the_documentation_is_what_the_code_draws():
    judge = LeakModerator(VaultAssistant().secret)
    tester = SampledAttack(["direct", "base64", "role_play", "hex", "fiction", "authority_claim"])
    target = VaultAssistant.hardened()
    environment = Environment(target, tester, judge, goals=[GOAL], width=2, depth=3, stop=OnSuccess())
    page = Path(__file__).parents[2] / "docs" / "explanation"
    assert tree_svg(environment.rollout(seed=11)) + "\n" == (page / "rollout-tree.svg").read_text(
        encoding="utf-8"
    )
    assert "](rollout-tree.svg)" in (page / "rollouts.md").read_text(encoding="utf-8")


def test_a_turn_may_stand_at_two_places_of_the_tree():
    shared = turn("s", turn("t"))
    graph = Graph("", [shared, turn("u", turn("v", shared))])
    assert len(rollout_tree(graph).nodes) == 6
    assert [node.depth for node in rollout_tree(graph, max_turns=4).nodes] == [1, 2, 1, 2]


@pytest.mark.parametrize("options", [{"max_turns": 0}, {"max_turns": True}, {"width": 3}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InvalidOptionError, match=next(iter(options))):
        tree_text(TREE, **options)
