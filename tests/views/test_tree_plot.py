from calipers.report.analysis import TreeNode, TreePlot
from calipers.views.page import Page
from calipers.views.tree_plot import family, tree_plot


def node(depth, tone="good", **fields):
    return TreeNode(
        **{"depth": depth, "tone": tone, "label": "l", "outcome": tone, "text": f"t{depth}", **fields}
    )


def drawn(*nodes, width=80, encoding="utf-8", **fields):
    plot = TreePlot(title="t", nodes=list(nodes), **fields)
    return [line.plain.rstrip() for line in tree_plot(Page(width, encoding), plot)]


def test_only_branches_are_indented():
    assert drawn(node(1), node(2, "bad", answer="no"), node(2), node(3, "unknown"), left_out=2) == [
        "○ 1 good  t1",
        "├─ ● 2 bad  t2 → no",
        "└─ ○ 2 good  t2",
        "   · 3 unknown  t3",
        "… and 2 more turns",
    ]


def test_where_there_is_no_unicode_there_is_ascii():
    lines = drawn(node(1), node(2, answer="é"), node(2), left_out=1, encoding="ascii")
    assert all(line.isascii() for line in lines)
    assert lines[1].startswith("|- o 2 good  t2 > ")


def test_both_what_was_said_and_what_came_back_have_room():
    (line,) = drawn(node(1, text="a" * 500, answer="b" * 500), width=60)
    assert len(line) <= 60
    assert line.count("a") > 5
    assert line.count("b") > 5


def test_a_deep_tree_of_branches_stops_being_indented():
    ordered = [node(1), *(each for depth in range(2, 100) for each in (node(depth), node(depth)))]
    assert all(len(line) <= 80 for line in drawn(*ordered))


def test_of_every_node_its_siblings_are_known():
    assert family([1, 2, 2, 1]) == ([2, 2, 2, 2], [False, False, True, True])
    assert family([]) == ([], [])
