"""Pictures of a rollout: its tree as text for a terminal, as SVG for a page, and as an analysis for a report.

They show for every turn whether the target gave way, which attack was said, and what came back. What testers and targets
said is data: it is shown on one line, shortened, and escaped. A tree of any size can be drawn: of a large one the first
levels are shown, and the rest is counted.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, Literal

from calipers.data.argument_checks import check_whole_number
from calipers.report.analysis import TreeNode, TreePlot
from calipers.rollouts.graph import Graph, Node, numbered_turns
from calipers.rollouts.rollout_outcome import as_text, attack_name, goal_of, read_rollout
from calipers.stats.number_text import number
from calipers.views import analyses as terminal
from calipers.views.html import plots as html
from calipers.views.html.markup import Markup
from calipers.views.page import Page
from calipers.views.text import fit

_OUTCOMES: Final[dict[bool | None, tuple[Literal["good", "bad", "unknown"], str]]] = {
    True: ("bad", "gave way"),
    False: ("good", "held"),
    None: ("unknown", "not judged"),
}
_SAID: Final = 200
"""Characters of an attack or of a response that a picture keeps."""
_STYLE: Final = Markup(
    ".tree{font:11px system-ui,sans-serif;fill:#777}.tree .name{font-size:12px;fill:#333}"
    ".tree .edge{fill:none;stroke:#999;stroke-width:1.2}.tree .good{fill:#fff;stroke:#2563a8;stroke-width:2}"
    ".tree .bad{fill:#c0392b;stroke:#c0392b;stroke-width:2}.tree .unknown{fill:#ddd;stroke:#999;stroke-width:2}"
    "@media(prefers-color-scheme:dark){.tree{fill:#999}.tree .name{fill:#ddd}.tree .good{fill:#111;stroke:#7fb2e8}}"
)
"""A picture that stands alone brings its own colours."""


def tree_text(graph: Graph[Any, Any] | Mapping[str, Any], *, width: int = 100, max_turns: int = 60) -> str:
    """The rollout as lines of text: one per turn, each with its number, and branches where several were tried.

    Args:
        graph: the rollout, or its stored form.
        width: of a line, in cells.
        max_turns: how many turns to show, the first levels first; the rest is counted.
    """
    check_whole_number("width", width, at_least=20)
    graph = read_rollout(graph)
    plot = rollout_tree(graph, max_turns=max_turns)
    lines = [line.plain for line in terminal.tree_plot(Page(width), plot)]
    foot = [fit(f"ended: {graph.stopped}", width)] if graph.stopped else []
    return "\n".join([fit(plot.title, width), *lines, *foot])


def tree_svg(graph: Graph[Any, Any] | Mapping[str, Any], *, max_turns: int = 60) -> str:
    """The rollout as an SVG picture that stands alone: turns from left to right, what was tried instead below each other.

    Args:
        graph: the rollout, or its stored form.
        max_turns: how many turns to draw, the first levels first; the rest is counted.
    """
    graph = read_rollout(graph)
    plot = rollout_tree(graph, max_turns=max_turns)
    footer = f"ended: {graph.stopped}" if graph.stopped else ""
    return html.tree_plot(plot, heading=plot.title, footer=footer, style=_STYLE)


def rollout_tree(graph: Graph[Any, Any] | Mapping[str, Any], *, max_turns: int = 60) -> TreePlot:
    """The rollout as an analysis, for a report that is to show it.

    Args:
        graph: the rollout, or its stored form.
        max_turns: how many turns to keep, the first levels first; the rest is counted.
    """
    check_whole_number("max_turns", max_turns, at_least=1)
    graph = read_rollout(graph)
    turns = list(numbered_turns(graph))
    nodes = [_node(depth, node) for depth, node in _first_levels(turns, max_turns)]
    seed = "" if graph.seed is None else f"  (seed {fit(as_text(graph.seed), 40)})"
    return TreePlot(
        title=f"{fit(goal_of(graph), _SAID) or 'a rollout'}{seed}",
        nodes=nodes,
        left_out=len(turns) - len(nodes),
        note=f"ended: {fit(graph.stopped, _SAID)}" if graph.stopped else None,
    )


def _first_levels(turns: list[tuple[int, Node[Any, Any]]], most: int) -> list[tuple[int, Node[Any, Any]]]:
    """So many of the turns, the first levels first, in the order of the tree."""
    room = Counter(depth for depth, _ in turns)
    for depth in sorted(room):
        room[depth] = min(room[depth], most)
        most -= room[depth]
    kept: list[tuple[int, Node[Any, Any]]] = []
    for depth, node in turns:
        if room[depth]:
            room[depth] -= 1
            kept.append((depth, node))
    return kept


def _node(depth: int, node: Node[Any, Any]) -> TreeNode:
    tone, outcome = _OUTCOMES[None if node.success is None else bool(node.success)]
    name, attack, response = attack_name(node), as_text(node.attack), as_text(node.response)
    score = "" if node.response_score is None else f" · {number(node.response_score)}"
    said = fit(attack, _SAID)
    return TreeNode(
        depth=depth,
        tone=tone,
        label=fit(name or attack, 40),
        outcome=f"{outcome}{score}",
        text=f"{name}: {said}" if name else said,
        answer=fit(response, _SAID),
    )
