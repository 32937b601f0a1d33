"""Lines in the terminal: the points of each, with their intervals side by side on one scale."""

from typing import TYPE_CHECKING

from calipers.report.analysis import LinePlot, some
from calipers.stats import Interval
from calipers.stats.number_text import interval_line, mean_text, number, rate_text

from .grid import Cell, Column, grid
from .page import Page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

_POINTS = 12
"""Points of a line that are shown."""
_LINES = 8
"""Lines that are shown."""


def line_plot(page: Page, analysis: LinePlot) -> "Iterator[Text]":
    """The points of every line, one row each: the value, its interval, and both drawn."""
    text = rate_text if analysis.rates else mean_text
    low, high = span(analysis)
    width = 30 if page.width >= 110 else 20
    glyphs = page.glyph("├─●┤", "[-o]")
    first, last = ("0 %", "100 %") if analysis.rates else (number(low), number(high))
    several = len(analysis.lines) > 1
    columns = [
        *([Column("line", least=6)] if several else []),
        Column(page.fit(analysis.x_label, 20), "right"),
        Column(page.fit(analysis.y_label, 24), "right"),
        Column("interval", rank=2),
        Column(f"{first}{last.rjust(max(width - len(first), len(last) + 1))}", rank=3, style="cyan"),
        Column("n", "right", rank=1),
    ]
    rows: list[list[Cell]] = []
    for line in analysis.lines[:_LINES]:
        name: list[Cell] = [page.fit(line.name, 30)] if several else []
        for point in some(line.points, _POINTS):
            value, ends = text(point.y, point.interval)
            drawn = interval_line(
                _share(point.y, low, high), _shares(point.interval, low, high), width, glyphs=glyphs
            )
            n = "" if point.n is None else f"{point.n:,}"
            rows.append([*name, number(point.x), value, ends, drawn.rstrip(), n])
    if rows:
        yield from grid(page, columns, rows)
    else:
        yield page.line(("nothing to draw", "dim"))
    if len(analysis.lines) > _LINES:
        yield page.line((f"{page.ellipsis} and {len(analysis.lines) - _LINES:,} more lines", "dim"))


def span(analysis: LinePlot) -> tuple[float, float]:
    """The lowest and the highest y to show; 0 and 1 for rates."""
    if analysis.rates:
        return 0.0, 1.0
    shown = [point.y for line in analysis.lines for point in line.points]
    for line in analysis.lines:
        for point in line.points:
            if point.interval is not None:
                shown += [point.interval.low, point.interval.high]
    return min(shown, default=0.0), max(shown, default=1.0)


def _share(value: float, low: float, high: float) -> float:
    half = high / 2 - low / 2  # halves, for the difference of two finite floats may be infinite
    return (value / 2 - low / 2) / half if half > 0 else 0.5


def _shares(interval: Interval | None, low: float, high: float) -> Interval | None:
    if interval is None:
        return None
    return Interval(_share(interval.low, low, high), _share(interval.high, low, high))
