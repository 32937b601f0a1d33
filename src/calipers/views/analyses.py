"""What report evaluators found, in the terminal: matrices and tables as grids, curves by a few of their points, trees as lines."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from calipers.data.argument_checks import is_number
from calipers.report.analysis import (
    Aggregate,
    CalibrationCurve,
    ConfusionMatrix,
    FaultTolerance,
    JudgeCorrection,
    LinePlot,
    PrecisionRecall,
    RocCurve,
    ScalarResult,
    TableResult,
    TreePlot,
    some,
)
from calipers.report.report import Report
from calipers.stats import Interval
from calipers.stats.number_text import interval_line, number, plural

from .analysis_statement import (
    FAULT_HEADS,
    Curve,
    accuracy_facts,
    aggregate_rows,
    cell_text,
    correction_rows,
    curve_facts,
    curve_rows,
    fault_rows,
    measured_text,
    mistakes,
    numeric_columns,
    point_cells,
    span,
)
from .grid import Cell, Column, grid
from .page import Page

if TYPE_CHECKING:
    from rich.text import Text

_POINTS = 6
"""Points of a curve that are shown."""
_ROWS = 20
"""Rows of a table that are shown."""
_LABEL = 14
"""Cells of a class label."""
_LARGEST_MATRIX = 12
"""Labels beyond which a matrix is hard to read: the most frequent confusions are listed instead."""
_LINES, _POINTS_OF_LINE = 8, 12
"""Lines of a plot, and points of each, that are shown."""
_TREE_STYLES = {"good": "", "bad": "red", "unknown": "dim"}
_STEP = 12
"""Cells for the text of a step of a tree, however deep it stands."""


def analyses(page: Page, report: Report) -> "Iterator[Text]":
    """Each analysis under its title, and the report evaluators that failed."""
    first = True
    for analysis in report.analyses:
        if not first:
            yield page.line()
        first = False
        yield from _analysis(page, analysis)
        for remark in getattr(analysis, "remarks", ()):
            yield page.line((page.fit(remark, 4 * page.width), "dim"))
    for failure in report.report_evaluator_failures:
        yield page.line(
            (f"Report evaluator {page.fit_value(failure.name, 60)} failed: ", "bold red"),
            (page.fit(failure.error_message, 3 * page.width), "red"),
        )


def _analysis(page: Page, analysis: Any) -> "Iterator[Text]":
    title = page.fit(str(getattr(analysis, "title", type(analysis).__name__)), 200)
    match analysis:
        case ScalarResult():
            unit = f" {page.fit(analysis.unit, 40)}" if analysis.unit else ""
            yield page.line(
                (f"{title}:", "bold"), f" {measured_text(analysis.value, analysis.interval, unit)}"
            )
            return
        case ConfusionMatrix():
            lines = _confusion(page, analysis)
        case PrecisionRecall() | RocCurve() | CalibrationCurve():
            lines = _curve(page, analysis)
        case JudgeCorrection():
            columns = [Column(""), Column("Result", "right"), Column("[95 % interval]"), Column("on")]
            lines = grid(page, columns, [list(row) for row in correction_rows(analysis)])
        case FaultTolerance():
            first_to_go = FAULT_HEADS.index("called again %")
            ranks = [int(place == first_to_go) for place in range(1, len(FAULT_HEADS))]
            columns = [
                Column(FAULT_HEADS[0], least=8),
                *(Column(head, rank=rank) for head, rank in zip(FAULT_HEADS[1:], ranks, strict=True)),
            ]
            rows = [[page.fit(cell, 40) for cell in row] for row in fault_rows(analysis)]
            lines = grid(page, columns, rows, say_dropped=True)
        case TableResult():
            lines = _table(page, analysis)
        case LinePlot():
            lines = line_plot(page, analysis)
        case TreePlot():
            lines = tree_plot(page, analysis)
        case Aggregate():
            lines = _aggregate(page, analysis)
        case _:
            lines = iter(())
    yield page.line((title, "bold"))
    yield from lines


def _confusion(page: Page, analysis: ConfusionMatrix) -> "Iterator[Text]":
    if facts := accuracy_facts(analysis):
        yield from page.facts(facts)
    names = [page.fit(label, _LABEL) for label in analysis.class_labels]
    unanswered = any(analysis.unanswered)
    cells = sum(max(6, len(name)) + 2 for name in names)
    if len(names) > _LARGEST_MATRIX or cells + _LABEL + 14 * unanswered > page.width:
        yield from _confusions(page, analysis)
        return
    columns = [Column("expected", least=6), *(Column(name, "right") for name in names)]
    columns += [Column("unanswered", "right")] if unanswered else []
    rows: list[list[Cell]] = []
    for i, counts in enumerate(analysis.matrix):
        row: list[Cell] = [names[i]]
        for j, count in enumerate(counts):
            row.append(
                (f"{count:,}", "green" if i == j else "red") if count else (page.glyph("·", "."), "dim")
            )
        if unanswered:
            row.append((f"{analysis.unanswered[i]:,}", "red") if analysis.unanswered[i] else "")
        rows.append(row)
    yield page.line(("columns: predicted", "dim"))
    yield from grid(page, columns, rows, say_dropped=True)


def _confusions(page: Page, analysis: ConfusionMatrix) -> "Iterator[Text]":
    """The pairs that were mistaken most often."""
    lead, found = mistakes(analysis)
    columns = [Column(found.heads[0], "right"), *(Column(head, least=8) for head in found.heads[1:])]
    yield page.line((lead, "dim"))
    if found.rows:
        yield from grid(page, columns, [[page.fit(cell, 40) for cell in row] for row in found.rows[:_ROWS]])
    yield from _more(page, len(found.rows))


def _curve(page: Page, analysis: Curve) -> "Iterator[Text]":
    yield from page.facts(curve_facts(analysis))
    found = curve_rows(analysis, _POINTS)
    columns = [Column(head, "right") for head in found.heads]
    rows = found.rows
    if isinstance(analysis, CalibrationCurve):
        width = 30 if page.width >= 110 else 20
        glyphs = page.glyph("├─●┤", "[-o]")
        scale = Column("0 %" + "100 %".rjust(width - 3), rank=3, style="cyan")
        columns = [
            Column("bin"),
            *columns[1:3],
            Column("interval", rank=2),
            scale,
            Column("n", "right", rank=1),
        ]
        drawn = [
            interval_line(each.observed_rate, each.interval, width, glyphs=glyphs)
            for each in analysis.bins
            if each.mean_predicted is not None and each.observed_rate is not None
        ]
        rows = [[*row[:-1], plot, row[-1]] for row, plot in zip(rows, drawn, strict=True)]
    if rows:
        yield from grid(page, columns, rows)


def _table(page: Page, analysis: TableResult) -> "Iterator[Text]":
    if not analysis.columns:
        return
    columns = [
        Column(page.fit(header, 30), "right", rank=i)
        if numeric
        else Column(page.fit(header, 30), least=8, rank=i)
        for i, (header, numeric) in enumerate(zip(analysis.columns, numeric_columns(analysis), strict=True))
    ]
    rows = [[page.fit(cell_text(cell), 60) for cell in row] for row in analysis.rows[:_ROWS]]
    yield from grid(page, columns, rows, say_dropped=True)
    yield from _more(page, len(analysis.rows))


def _aggregate(page: Page, analysis: Aggregate) -> "Iterator[Text]":
    data = analysis.data
    if not isinstance(data, Mapping):
        yield page.line(page.fit_value(data, 3 * page.width))
        return
    rows = aggregate_rows(data)
    for key, value in rows[:_ROWS]:
        name = page.fit(key, 64)
        shown = number(value) if is_number(value) else page.fit_value(value, page.width - len(name) - 4)
        yield page.line("  ", (f"{name}: ", "dim"), shown)
    yield from _more(page, len(rows))


def _more(page: Page, count: int) -> "Iterator[Text]":
    if count > _ROWS:
        yield page.line((f"{page.ellipsis} and {count - _ROWS:,} more", "dim"))


# ---------------------------------------------------------------------- lines


def line_plot(page: Page, analysis: LinePlot) -> "Iterator[Text]":
    """The points of every line, one row each: the value, its interval, and both drawn."""
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
        for point in some(line.points, _POINTS_OF_LINE):
            x, value, ends, n = point_cells(analysis, point)
            drawn = interval_line(
                _share(point.y, low, high), _shares(point.interval, low, high), width, glyphs=glyphs
            )
            rows.append([*name, x, value, ends, drawn.rstrip(), n])
    if rows:
        yield from grid(page, columns, rows)
    else:
        yield page.line(("nothing to draw", "dim"))
    if len(analysis.lines) > _LINES:
        yield page.line((f"{page.ellipsis} and {len(analysis.lines) - _LINES:,} more lines", "dim"))


def _share(value: float, low: float, high: float) -> float:
    half = high / 2 - low / 2  # halves, since the difference of two finite floats may be infinite
    return (value / 2 - low / 2) / half if half > 0 else 0.5


def _shares(interval: Interval | None, low: float, high: float) -> Interval | None:
    if interval is None:
        return None
    return Interval(_share(interval.low, low, high), _share(interval.high, low, high))


# ---------------------------------------------------------------------- trees


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
        room = max(page.width - len(before) - len(arrow), _STEP)
        answer = page.fit(node.answer, room // 2)
        text = page.fit(node.text, room - cell_len(answer))
        yield page.line((before, _TREE_STYLES[node.tone]), text, (arrow, "dim") if answer else "", answer)
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
