"""Trees as SVG: steps from left to right, and what was tried instead below each other."""

from collections.abc import Sequence

from calipers.report.analysis import TreeNode, TreePlot
from calipers.stats.number_text import plural
from calipers.views.text import fit

from .markup import Markup, element

_COLUMN, _ROW = 200, 46
_BEND = 44
"""How much of a column an edge takes to reach another row."""
_LEFT, _MARGIN = 24, 8
_LABEL = 20
"""Characters of a label; a column has room for no more."""
_TOOLTIP = 300
"""Characters of the words that appear beside the pointer."""


def tree_plot(
    analysis: TreePlot, *, heading: str = "", footer: str = "", style: Markup | None = None
) -> Markup:
    """The tree. Colours come from the page's style sheet, or from one that the picture brings along.

    Args:
        analysis: the tree.
        heading: a line above it.
        footer: a line below it.
        style: the style sheet of a picture that stands alone.
    """
    top = _MARGIN + (22 if heading else 0)
    rows = _rows(analysis.nodes)
    spots = [(0, rows[0]), *((node.depth, row) for node, row in zip(analysis.nodes, rows[1:], strict=True))]
    points = [(_LEFT + _COLUMN * depth, top + _ROW * (row + 0.5)) for depth, row in spots]
    foot = [footer] if footer else []
    foot += [f"{plural(analysis.left_out, 'more turn')} not drawn"] if analysis.left_out else []
    width = _LEFT + _COLUMN * (max(depth for depth, _ in spots) + 1)
    height = top + _ROW * (max(rows) + 1) + (22 if foot else _MARGIN)
    edges = [_edge(points[parent], points[child]) for child, parent in enumerate(_parents(analysis.nodes), 1)]
    return element(
        "svg",
        element("title", _words(analysis)),
        *([] if style is None else [element("style", style)]),
        *([element("text", fit(heading, 90), class_="name", x=_LEFT - 8, y=18)] if heading else []),
        *edges,
        element("circle", class_="unknown", cx=points[0][0], cy=points[0][1], r=4),
        *(_dot(node, *point) for node, point in zip(analysis.nodes, points[1:], strict=True)),
        *([element("text", fit(" · ".join(foot), 100), x=_LEFT - 8, y=height - 8)] if foot else []),
        xmlns="http://www.w3.org/2000/svg",
        class_="plot tree",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
    )


def _parents(nodes: Sequence[TreeNode]) -> list[int]:
    """The place of the node before each, where 0 is the root and the first node is 1."""
    above = [0]
    found: list[int] = []
    for place, node in enumerate(nodes, 1):
        del above[node.depth :]
        found.append(above[-1])
        above.append(place)
    return found


def _rows(nodes: Sequence[TreeNode]) -> list[float]:
    """The row of the root and of each node: beside the middle of those that follow it."""
    children: list[list[int]] = [[] for _ in range(len(nodes) + 1)]
    for child, parent in enumerate(_parents(nodes), 1):
        children[parent].append(child)
    rows = [0.0] * len(children)
    leaves = 0
    for place, followers in enumerate(children):
        if not followers:
            rows[place] = float(leaves)
            leaves += 1
    for place in range(len(children) - 1, -1, -1):
        if children[place]:
            rows[place] = (rows[children[place][0]] + rows[children[place][-1]]) / 2
    return rows


def _edge(start: tuple[float, float], end: tuple[float, float]) -> Markup:
    """Straight on below the label of a step, and then over to the next one."""
    (x, y), (to_x, to_y) = start, end
    turn, middle = to_x - _BEND, to_x - _BEND / 2
    path = f"M{x:g} {y:g} H{turn:g} C{middle:g} {y:g} {middle:g} {to_y:g} {to_x:g} {to_y:g}"
    return element("path", class_="edge", d=path)


def _dot(node: TreeNode, x: float, y: float) -> Markup:
    """One step: its dot and label, what came of it below, and all of it beside the pointer."""
    said = " → ".join(fit(text, _TOOLTIP) for text in (node.text, node.answer) if text)
    return element(
        "g",
        element("title", f"{node.depth} {node.outcome}: {said}"),
        element("circle", class_=node.tone, cx=x, cy=y, r=7),
        element("text", fit(node.label, _LABEL), class_="name", x=x + 11, y=y - 4),
        element("text", fit(node.outcome, _LABEL), x=x + 11, y=y + 12),
    )


def _words(analysis: TreePlot) -> str:
    total = len(analysis.nodes) + analysis.left_out
    bad = sum(node.tone == "bad" for node in analysis.nodes)
    return f"A tree of {plural(total, 'turn')}; {bad} of the {len(analysis.nodes)} drawn went wrong"
