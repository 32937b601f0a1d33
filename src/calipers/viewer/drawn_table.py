"""The tables of a report as the page draws them: a cell is its text, how it looks, and the estimate behind it.

What a table says is decided in `views.report_table`, so that a new column of a report is a column here.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from calipers.stats.estimate import Estimate
from calipers.stats.number_text import confidence_text, mean_text, percent, plural, rate_text
from calipers.views.line import Line
from calipers.views.report_table import Cell as ReportCell
from calipers.views.report_table import Count, Labels, Measured, Missing, Named, Table

from .wire import Cell, Column, DrawnTable, WireLine, WirePart

Range = tuple[float, float]
"""The smallest and the largest value that a score can have."""

_LABELS: Final = 4
"""Labels of one evaluator that are named in its row."""


def wire_line(line: Line) -> WireLine:
    """A line of a statement. Text of others travels whole: the page cuts it."""
    return [WirePart(text=part.text, tone=part.tone) for part in line]


def drawn_table(table: Table, ranges: Mapping[str, Range] | None = None) -> DrawnTable:
    """A table of a report.

    Args:
        table: as the report has it.
        ranges: of the scores of evaluators that declare one, by their names.
    """
    columns = [Column(title=column.title, kind=column.kind) for column in table.columns]
    return DrawnTable(
        columns=columns,
        rows=[[_cell(each, ranges or {}) for each in row] for row in table.rows],
        note=table.note,
    )


def text_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numeric: Sequence[bool] | None = None,
    note: str | None = None,
) -> DrawnTable:
    """A table of texts; `numeric` says of each column whether it holds numbers."""
    flags = [False] * len(heads) if numeric is None else numeric
    columns = [
        Column(title=head, kind="count" if flag else "text") for head, flag in zip(heads, flags, strict=True)
    ]
    return DrawnTable(columns=columns, rows=[[Cell(text=each) for each in row] for row in rows], note=note)


def estimate_cell(estimate: Estimate, *, is_rate: bool, range: Range | None = None) -> Cell:  # noqa: A002 - the word of the answer
    """A rate or a mean as a cell."""
    value, ends = (rate_text if is_rate else mean_text)(estimate.value, estimate.interval)
    return Cell(
        text=f"{value}  {ends}".rstrip(),
        estimate=estimate,
        is_rate=is_rate,
        range=(0.0, 1.0) if is_rate else range,
        spoken=spoken(estimate, is_rate=is_rate),
    )


def spoken(estimate: Estimate, *, is_rate: bool, unit: str = "case") -> str:
    """An estimate for a reader who hears it: `81.4 %, 95 % interval 78.9 to 83.7, 1,000 cases`."""
    value, _ = (rate_text if is_rate else mean_text)(estimate.value, estimate.interval)
    said = [value]
    if (ends := estimate.interval) is not None:
        low, high = (
            (percent(ends.low, unit=False), percent(ends.high, unit=False))
            if is_rate
            else mean_text(estimate.value, ends)[1].strip("[]").split(", ")
        )
        said.append(f"{confidence_text(ends.confidence)} interval {low} to {high}")
    return ", ".join([*said, plural(estimate.n_units, unit)])


def _cell(cell: ReportCell, ranges: Mapping[str, Range]) -> Cell:
    match cell:
        case Named():
            return Cell(text=cell.name + cell.suffix, tone="strong")
        case Measured():
            return estimate_cell(cell.estimate, is_rate=cell.is_rate, range=_range(cell, ranges))
        case Labels():
            return Cell(text=_label_text(cell))
        case Missing():
            return Cell(text=cell.text, tone="bad" if cell.lost else "quiet")
        case Count():
            return Cell(text=cell.shown, tone=cell.tone if cell.shown else "plain")
        case str():
            return Cell(text=cell)


def _range(cell: Measured, ranges: Mapping[str, Range]) -> Range | None:
    """Between what a mean can lie: what its evaluator declares, or 0 and 1 for grades and where the interval was made for these."""
    summary, interval = cell.scores_of, cell.estimate.interval
    if summary is not None and summary.kind == "score" and summary.evaluator in ranges:
        return ranges[summary.evaluator]
    is_graded = summary is not None and summary.kind == "assertion"
    is_share = interval is not None and interval.method == "bounded-wilson"
    return (0.0, 1.0) if is_graded or is_share else None


def _label_text(cell: Labels) -> str:
    """The most frequent labels with their shares."""
    total = sum(cell.counts.values())
    shown = [f"{label} {percent(count / total)}" for label, count in cell.counts.items()]
    if len(shown) > _LABELS:
        shown = [*shown[:_LABELS], f"{len(shown) - _LABELS:,} more"]
    return ", ".join(shown)
