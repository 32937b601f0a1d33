"""The pass rate of each tag: which tags the views show, and their table in the terminal."""

from typing import TYPE_CHECKING, NamedTuple

from calipers.report.report import Report
from calipers.report.summary import Slice
from calipers.stats.number_text import confidence_text, interval_line, plural, rate_text

from .grid import Cell, Column, grid
from .page import Page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

_SHOWN = 12
"""Tags that are shown: those with the most attempts."""
_VALUE = 7
"""Cells of a value, so that the intervals stand in line: `100.0 %`."""


class ShownSlices(NamedTuple):
    """The tags that a view shows."""

    slices: list[Slice]
    more: int
    """How many tags there are beside them."""

    @property
    def note(self) -> str | None:
        """That there are more, and where; `None` if there are not."""
        if not self.more:
            return None
        return f"and {plural(self.more, 'more tag')} with fewer attempts, which the JSON report has"


def shown_slices(report: Report, *, confidence: float) -> ShownSlices:
    """The tags worth a row: those of which anything was asserted, as many as a reader looks at."""
    found = [one for one in report.slices(confidence=confidence).values() if one.pass_rate is not None]
    return ShownSlices(found[:_SHOWN], len(found[_SHOWN:]))


def slice_table(page: Page, report: Report, *, confidence: float) -> "Iterator[Text]":
    """One line per tag, with the interval of its pass rate and the number of its cases."""
    found = shown_slices(report, confidence=confidence)
    if not found.slices:
        return
    plot = 30 if page.width >= 110 else 20 if page.width >= 90 else 14
    glyphs = page.glyph("├─●┤", "[-o]")
    rows: list[list[Cell]] = []
    for one in found.slices:
        assert one.pass_rate is not None
        value, ends = rate_text(one.pass_rate.value, one.pass_rate.interval)
        drawn = interval_line(one.pass_rate.value, one.pass_rate.interval, plot, glyphs=glyphs)
        rows.append(
            [page.fit(one.tag, 200), f"{value:>{_VALUE}}  {ends}", drawn, f"{one.pass_rate.n_units:,}"]
        )
    header = f"{'Passed':>{_VALUE}}  [{confidence_text(confidence)} interval]"
    columns = [
        Column("Tag", least=10),
        Column(header, least=max(len(header), *(len(str(row[1])) for row in rows))),
        Column("0 %" + "100 %".rjust(plot - 3), rank=4, extra=True, style="cyan"),
        Column("cases", "right", rank=1),
    ]
    yield from grid(page, columns, rows)
    if found.note:
        yield page.line((f"{page.ellipsis} {found.note}", "dim"))
