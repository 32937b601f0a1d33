"""Pictures of a rollout: its tree as text for a terminal, and as SVG for a page.

Both show for every turn whether the target gave way, which attack was said, and what came back. What testers and targets
said is data: it is shown on one line, shortened, and escaped. A tree of any size can be drawn: the text shows the first
turns as they stand in the tree, the SVG the first levels, and both say how many turns they left out.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from calipers.errors import InvalidOptionError
from calipers.views.html.markup import Markup, element
from calipers.views.numbers import number, plural
from calipers.views.text import fit

from .graph import Graph, Node
from .outcome import as_text, attack_name, calls_of, goal_of

_MARKS: Final = {True: ("●", "gave way"), False: ("○", "held"), None: ("·", "not judged")}
_CLASSES: Final = {True: "lost", False: "held", None: "open"}

_COLUMN, _ROW = 200, 46
_BEND = 44
"""How much of a column an edge takes to reach another row."""
_LEFT, _TOP, _BOTTOM = 24, 44, 26
_LABEL = 20
"""Characters of a label; a column has room for no more."""
_TOOLTIP = 400
"""Characters of a text in the words that appear beside the pointer."""
_STYLE: Final = Markup(
    ".tree{font:12px system-ui,sans-serif;fill:#333}.tree .edge{fill:none;stroke:#999;stroke-width:1.2}"
    ".tree .held{fill:#fff;stroke:#2563a8;stroke-width:2}.tree .lost{fill:#c0392b;stroke:#c0392b;stroke-width:2}"
    ".tree .open{fill:#ddd;stroke:#999;stroke-width:2}.tree .quiet{fill:#777;font-size:11px}"
    "@media(prefers-color-scheme:dark){.tree{fill:#ddd}.tree .held{fill:#111;stroke:#7fb2e8}.tree .quiet{fill:#999}}"
)
"""The picture stands alone: it brings its own colours."""


def tree_text(graph: Graph[Any, Any], *, width: int = 100, max_turns: int = 60) -> str:
    """The rollout as lines of text: one per turn, each with its number, and branches where several were tried.

    Args:
        graph: the rollout.
        width: of a line, in cells.
        max_turns: how many turns to show; the rest is counted.
    """
    from rich.cells import cell_len

    _check(max_turns, width)
    lines = [fit(_headline(graph), width)]
    for shown, turn in enumerate(_turns(graph, deepest=max(width // 12, 1))):
        if shown == max_turns:
            lines.append(f"… and {plural(calls_of(graph) - shown, 'more turn')}")
            break
        mark, words = _MARKS[turn.node.success]
        name = attack_name(turn.node)
        label = f"{name}: " if name else ""
        lead = f"{turn.lead}{mark} {turn.number} {words}  "
        room = max(width - len(lead) - 3, 12)
        response = fit(as_text(turn.node.response), room // 2)
        attack = fit(label + as_text(turn.node.attack), room - cell_len(response))
        lines.append(f"{lead}{attack} → {response}")
    if graph.stopped:
        lines.append(fit(f"ended: {graph.stopped}", width))
    return "\n".join(lines)


def tree_svg(graph: Graph[Any, Any], *, max_turns: int = 60) -> str:
    """The rollout as an SVG picture that stands alone: turns from left to right, what was tried instead below each other.

    Args:
        graph: the rollout.
        max_turns: how many turns to draw, the first levels first; the rest is counted.
    """
    _check(max_turns)
    root = _placed(graph, max_turns)
    spots = list(_all_spots(root))
    left_out = calls_of(graph) - (len(spots) - 1)
    width = _LEFT + _COLUMN * (max(spot.depth for spot in spots) + 1)
    height = _TOP + _ROW * (max(spot.row for spot in spots) + 1) + _BOTTOM
    edges = [_edge(spot, child) for spot in spots for child in spot.children]
    dots = [_dot(spot) for spot in spots if spot.node is not None]
    lost = sum(1 for spot in spots if spot.node is not None and spot.node.success)
    words = f"A rollout of {plural(calls_of(graph), 'turn')}; the target gave way in {lost} of those drawn"
    foot = [f"ended: {graph.stopped}"] if graph.stopped else []
    foot += [f"{plural(left_out, 'more turn')} not drawn"] if left_out else []
    return element(
        "svg",
        element("title", words),
        element("style", _STYLE),
        element("text", fit(_headline(graph), 90), x=_LEFT - 8, y=18),
        *edges,
        element("circle", class_="open", cx=_x(root), cy=_y(root), r=4),
        *dots,
        element("text", fit(" · ".join(foot), 100), class_="quiet", x=_LEFT - 8, y=height - 8),
        xmlns="http://www.w3.org/2000/svg",
        class_="tree",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
    )


def _check(max_turns: int, width: int = 80) -> None:
    for name, value, least in (("max_turns", max_turns, 1), ("width", width, 20)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InvalidOptionError(f"{name} must be a whole number from {least}, got {value!r}")


def _headline(graph: Graph[Any, Any]) -> str:
    seed = "" if graph.seed is None else f"  (seed {as_text(graph.seed)})"
    return f"{goal_of(graph) or 'a rollout'}{seed}"


# ---------------------------------------------------------------------- as text


@dataclass(frozen=True)
class _Turn:
    """A turn, and the lines that lead to it."""

    node: Node[Any, Any]
    number: int
    lead: str


def _turns(graph: Graph[Any, Any], *, deepest: int) -> Iterator[_Turn]:
    """The turns in order. Only branches are indented, and no deeper than `deepest` of them: conversations may be long."""
    waiting: list[tuple[Node[Any, Any], int, str, str]] = []

    def add(children: Sequence[Node[Any, Any]], number: int, below: str) -> None:
        crowded = len(below) >= 3 * deepest
        last = len(children) - 1
        for place in range(last, -1, -1):
            if last == 0 or crowded:
                waiting.append((children[place], number, below, below))
            else:
                branch, rest = ("└─ ", "   ") if place == last else ("├─ ", "│  ")
                waiting.append((children[place], number, below + branch, below + rest))

    add(graph.children, 1, "")
    while waiting:
        node, number, lead, below = waiting.pop()
        yield _Turn(node, number, lead)
        add(node.children, number + 1, below)


# ---------------------------------------------------------------------- as SVG


@dataclass
class _Spot:
    """A turn and its place in the picture; the root has no turn."""

    node: Node[Any, Any] | None
    depth: int
    children: "list[_Spot]" = field(default_factory=list)
    row: float = 0.0


def _placed(graph: Graph[Any, Any], most: int) -> _Spot:
    """The first turns, level by level, each beside the middle of the turns that follow it."""
    root = _Spot(None, 0)
    waiting = deque((root, child) for child in graph.children)
    order = [root]
    while waiting and len(order) <= most:
        parent, node = waiting.popleft()
        spot = _Spot(node, parent.depth + 1)
        parent.children.append(spot)
        order.append(spot)
        waiting.extend((spot, child) for child in node.children)
    leaves = 0
    for spot in _all_spots(root):
        if not spot.children:
            spot.row = float(leaves)
            leaves += 1
    for spot in reversed(order):  # children were added after their parents
        if spot.children:
            spot.row = (spot.children[0].row + spot.children[-1].row) / 2
    return root


def _all_spots(root: _Spot) -> Iterator[_Spot]:
    waiting = [root]
    while waiting:
        spot = waiting.pop()
        yield spot
        waiting.extend(reversed(spot.children))


def _x(spot: _Spot) -> float:
    return _LEFT + _COLUMN * spot.depth


def _y(spot: _Spot) -> float:
    return _TOP + _ROW * spot.row + _ROW / 2


def _edge(spot: _Spot, child: _Spot) -> Markup:
    """Straight on below the label of the turn, and then over to the next one."""
    x, y, to_x, to_y = _x(spot), _y(spot), _x(child), _y(child)
    turn, middle = to_x - _BEND, to_x - _BEND / 2
    return element(
        "path",
        class_="edge",
        d=f"M{x:g} {y:g} H{turn:g} C{middle:g} {y:g} {middle:g} {to_y:g} {to_x:g} {to_y:g}",
    )


def _dot(spot: _Spot) -> Markup:
    """One turn: the dot, the attack above it, what the target did below it, and all of both beside the pointer."""
    node = spot.node
    assert node is not None
    x, y = _x(spot), _y(spot)
    score = "" if node.response_score is None else f" · {number(node.response_score)}"
    words = f"{_MARKS[node.success][1]}{score}"
    attack, response = as_text(node.attack), as_text(node.response)
    tip = f"turn {spot.depth}, {words}: {fit(attack, _TOOLTIP)} → {fit(response, _TOOLTIP)}"
    return element(
        "g",
        element("title", tip),
        element("circle", class_=_CLASSES[node.success], cx=x, cy=y, r=7),
        element("text", fit(attack_name(node) or attack, _LABEL), x=x + 11, y=y - 4),
        element("text", words, class_="quiet", x=x + 11, y=y + 12),
    )
