"""What report evaluators found, in the terminal: matrices and tables as grids, curves by a few of their points."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from calipers.report.analysis import (
    Aggregate,
    CalibrationCurve,
    ConfusionMatrix,
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
from calipers.stats.number_text import interval_line, mean_text, number, percent, plural, rate_text

from .aggregate import aggregate_rows
from .grid import Cell, Column, grid
from .line_plot import line_plot
from .page import Page
from .tree_plot import tree_plot

if TYPE_CHECKING:
    from rich.text import Text

    from calipers.stats import Interval

_POINTS = 6
"""Points of a curve that are shown."""
_ROWS = 20
"""Rows of a table that are shown."""
_LABEL = 14
"""Cells of a class label."""
_LARGEST_MATRIX = 12
"""Labels beyond which a matrix is hard to read: the most frequent confusions are listed instead."""


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
            yield page.line((f"{title}:", "bold"), f" {_measured(analysis.value, analysis.interval, unit)}")
            return
        case ConfusionMatrix():
            lines = _confusion(page, analysis)
        case PrecisionRecall():
            lines = _precision_recall(page, analysis)
        case RocCurve():
            lines = _roc(page, analysis)
        case CalibrationCurve():
            lines = _calibration(page, analysis)
        case JudgeCorrection():
            columns = [Column(""), Column("Result", "right"), Column("[95 % interval]"), Column("on")]
            lines = grid(page, columns, [list(row) for row in correction_rows(analysis)])
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


def _measured(value: float | None, interval: "Interval | None" = None, unit: str = "") -> str:
    if value is None:
        return "not measured"
    text, ends = mean_text(value, interval)
    return f"{text}{unit}  {ends}".rstrip()


def _confusion(page: Page, analysis: ConfusionMatrix) -> "Iterator[Text]":
    if analysis.accuracy is not None:
        value, ends = rate_text(analysis.accuracy, analysis.accuracy_interval)
        yield from page.facts([f"accuracy {value}  {ends}".rstrip(), f"n = {analysis.n:,}"])
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
    labels = analysis.class_labels
    wrong = [
        (count, labels[i], labels[j])
        for i, row in enumerate(analysis.matrix)
        for j, count in enumerate(row)
        if count and i != j
    ]
    wrong += [(count, labels[i], "(unanswered)") for i, count in enumerate(analysis.unanswered) if count]
    wrong.sort(key=lambda found: -found[0])
    columns = [
        Column("mistaken", "right"),
        Column("expected", least=8),
        Column("predicted", least=8),
    ]
    rows = [
        [f"{count:,}", page.fit(expected, 40), page.fit(got, 40)] for count, expected, got in wrong[:_ROWS]
    ]
    yield page.line((f"{plural(len(labels), 'label')}, {plural(len(wrong), 'kind')} of mistake", "dim"))
    if rows:
        yield from grid(page, columns, rows)
    yield from _more(page, len(wrong))


def correction_rows(analysis: JudgeCorrection) -> list[tuple[str, str, str, str]]:
    """What is said by whom, its value, its interval and what it rests on."""
    text = rate_text if analysis.is_rate else mean_text
    judged, labels = analysis.judged, plural(analysis.labels, "label")
    rows = [("judge", *text(judged.value, judged.interval), plural(judged.n_units, "case"))]
    if analysis.value is None:
        rows.append(("corrected", "not measured", "", labels))
    else:
        own = analysis.method == "labels alone"
        on = labels if own else f"{plural(judged.n_units, 'case')} and {labels}"
        rows.append(("labels alone" if own else "corrected", *text(analysis.value, analysis.interval), on))
    if analysis.agreement is not None:
        kappa = "" if analysis.kappa is None else f", kappa {analysis.kappa:.2f}"
        rows.append(("agreement", percent(analysis.agreement), "", f"{labels}{kappa}"))
    return rows


def _precision_recall(page: Page, analysis: PrecisionRecall) -> "Iterator[Text]":
    measured = f"average precision {_measured(analysis.average_precision)}"
    yield from page.facts([measured, *_classes(analysis)])
    columns = [Column("threshold", "right"), Column("precision", "right"), Column("recall", "right")]
    rows = [
        [number(point.threshold), percent(point.precision), percent(point.recall)]
        for point in some(analysis.points, _POINTS)
    ]
    if rows:
        yield from grid(page, columns, rows)


def _roc(page: Page, analysis: RocCurve) -> "Iterator[Text]":
    yield from page.facts([f"AUC {_measured(analysis.auc)}", *_classes(analysis)])
    columns = [
        Column("threshold", "right"),
        Column("false pos.", "right"),
        Column("true pos.", "right"),
    ]
    rows = [
        [
            "above all" if point.threshold is None else number(point.threshold),
            percent(point.false_positive_rate),
            percent(point.true_positive_rate),
        ]
        for point in some(analysis.points, _POINTS)
    ]
    if rows:
        yield from grid(page, columns, rows)


def _calibration(page: Page, analysis: CalibrationCurve) -> "Iterator[Text]":
    brier = f"Brier score {_measured(analysis.brier, analysis.brier_interval)}"
    error = f"calibration error {_measured(analysis.ece)}"
    yield from page.facts([brier, error, *_classes(analysis)])
    width = 30 if page.width >= 110 else 20
    glyphs = page.glyph("├─●┤", "[-o]")
    columns = [
        Column("bin"),
        Column("predicted", "right"),
        Column("observed", "right"),
        Column("interval", rank=2),
        Column("0 %" + "100 %".rjust(width - 3), rank=3, style="cyan"),
        Column("n", "right", rank=1),
    ]
    rows: list[list[Cell]] = []
    for found in analysis.bins:
        if found.mean_predicted is None or found.observed_rate is None:
            continue
        value, ends = rate_text(found.observed_rate, found.interval)
        rows.append(
            [
                f"{number(100 * found.low)} - {number(100 * found.high)} %",
                percent(found.mean_predicted),
                value,
                ends,
                interval_line(found.observed_rate, found.interval, width, glyphs=glyphs),
                f"{found.n:,}",
            ]
        )
    if rows:
        yield from grid(page, columns, rows)


def _table(page: Page, analysis: TableResult) -> "Iterator[Text]":
    if not analysis.columns:
        return
    numeric = [
        bool(analysis.rows) and all(_is_number(row[i]) or row[i] is None for row in analysis.rows)
        for i in range(len(analysis.columns))
    ]
    columns = [
        Column(page.fit(header, 30), "right", rank=i)
        if numeric[i]
        else Column(page.fit(header, 30), least=8, rank=i)
        for i, header in enumerate(analysis.columns)
    ]
    rows = [[_cell(page, cell) for cell in row] for row in analysis.rows[:_ROWS]]
    yield from grid(page, columns, rows, say_dropped=True)
    yield from _more(page, len(analysis.rows))


def _cell(page: Page, cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return number(cell) if _is_number(cell) else page.fit(str(cell), 60)


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _aggregate(page: Page, analysis: Aggregate) -> "Iterator[Text]":
    data = analysis.data
    if not isinstance(data, Mapping):
        yield page.line(page.fit_value(data, 3 * page.width))
        return
    rows = aggregate_rows(data)
    for key, value in rows[:_ROWS]:
        name = page.fit(key, 64)
        shown = number(value) if _is_number(value) else page.fit_value(value, page.width - len(name) - 4)
        yield page.line("  ", (f"{name}: ", "dim"), shown)
    yield from _more(page, len(rows))


def _more(page: Page, count: int) -> "Iterator[Text]":
    if count > _ROWS:
        yield page.line((f"{page.ellipsis} and {count - _ROWS:,} more", "dim"))


def _classes(analysis: PrecisionRecall | RocCurve | CalibrationCurve) -> tuple[str, str]:
    return f"{analysis.n_positive:,} positive", f"{analysis.n_negative:,} negative"
