"""Trees in the terminal: one line per step, with branches where several were tried."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from calipers.report.analysis import TreePlot
from calipers.stats.number_text import plural

from .page import Page

if TYPE_CHECKING:
    from rich.text import Text

_STYLES = {"good": "", "bad": "red", "unknown": "dim"}
_LEAST = 12
"""Cells for the text of a step, however deep it stands."""


def tree_plot(page: Page, analysis: TreePlot) -> "Iterator[Text]":
    """The steps in order. Only branches are indented, so that a long conversation does not run off the page."""
    from rich.cells import cell_len

    arrow = page.glyph(" → ", " > ")
    marks = {
        "good": page.glyph("○", "o"),
        "bad": page.glyph("●", "x"),
        "unknown": page.glyph("·", "?"),
    }
    deepest = max(page.width // 12, 1)
    for lead, index in _leads(page, [node.depth for node in analysis.nodes], deepest):
        node = analysis.nodes[index]
        before = f"{lead}{marks[node.tone]} {node.depth} {page.fit(node.outcome, 30)}  "
        room = max(page.width - len(before) - len(arrow), _LEAST)
        answer = page.fit(node.answer, room // 2)
        text = page.fit(node.text, room - cell_len(answer))
        yield page.line((before, _STYLES[node.tone]), text, (arrow, "dim") if answer else "", answer)
    if analysis.left_out:
        yield page.line((f"{page.ellipsis} and {plural(analysis.left_out, 'more turn')}", "dim"))


def _leads(page: Page, depths: list[int], deepest: int) -> Iterator[tuple[str, int]]:
    """The lines that lead to each node, with its place."""
    tee, corner = page.glyph("├─ ", "|- "), page.glyph("└─ ", "`- ")
    through, gap = page.glyph("│  ", "|  "), "   "
    siblings, last = family(depths)
    below = [""]
    """What stands before the nodes of each depth."""
    for index, depth in enumerate(depths):
        del below[depth:]
        under = below[depth - 1]
        if siblings[index] == 1 or len(under) >= 3 * deepest:
            below.append(under)
            yield under, index
        else:
            below.append(under + (gap if last[index] else through))
            yield under + (corner if last[index] else tee), index


def family(depths: list[int]) -> tuple[list[int], list[bool]]:
    """Of each node: how many it is with its siblings, and whether it is the last of them."""
    parents: list[int] = []
    above: list[int] = [-1]
    for index, depth in enumerate(depths):
        del above[depth:]
        parents.append(above[-1])
        above.append(index)
    counts: dict[int, int] = {}
    latest: dict[int, int] = {}
    for index, parent in enumerate(parents):
        counts[parent] = counts.get(parent, 0) + 1
        latest[parent] = index
    return [counts[parent] for parent in parents], [latest[parent] == i for i, parent in enumerate(parents)]
