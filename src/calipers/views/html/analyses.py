"""What report evaluators found, each as a figure: matrices and tables as tables, curves as drawings with their points."""

from collections.abc import Mapping, Sequence

from calipers.data.argument_checks import is_number
from calipers.data.jsonable import plain
from calipers.report.analysis import (
    Aggregate,
    Analysis,
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
from calipers.stats.number_text import mean_text, number
from calipers.views.analysis_statement import (
    FAULT_HEADS,
    Curve,
    accuracy_facts,
    aggregate_rows,
    cell_text,
    correction_rows,
    curve_facts,
    curve_numbers,
    curve_rows,
    fault_rows,
    mistakes,
    numeric_columns,
    point_cells,
)

from .markup import Content, Markup, element, join, lines
from .plots import calibration_plot, curve_plot, line_plot, tree_plot
from .records import json_text, shown_text
from .statement import DOT

_POINTS = 12
"""Points of a curve that are listed; all of them are drawn."""
_ROWS = 200
"""Rows of a table that are shown."""
_LARGEST_MATRIX = 16
"""Labels beyond which a matrix is hard to read: the most frequent confusions are listed instead."""
_SHADES = 8
"""Steps of a matrix cell's shade; the style sheet has as many."""
_LONGEST = 4000
"""Characters of a message or of an aggregate's data."""


def analyses_section(report: Report) -> Markup:
    """Each analysis under its title, and the report evaluators that failed."""
    figures = [_figure(analysis) for analysis in report.analyses]
    failed: list[Markup] = []
    for failure in report.report_evaluator_failures:
        parts: list[Content] = [
            element("strong", "Report evaluator ", element("bdi", repr(failure.name)), " failed: "),
            shown_text(failure.error_message, _LONGEST),
        ]
        if failure.error_stacktrace:
            stack = lines(shown_text(failure.error_stacktrace, _LONGEST, keep_end=True))
            parts.append(element("details", element("summary", "traceback"), element("pre", stack)))
        failed.append(element("div", *parts, class_="alerts"))
    if not figures and not failed:
        return Markup("")
    return element(
        "section",
        element("h2", "Analyses", id="analyses"),
        *failed,
        element("div", *figures, class_="figures"),
        aria_labelledby="analyses",
    )


def _figure(analysis: Analysis) -> Markup:
    body = Markup("")  # of a kind that is not known here, the title is shown
    match analysis:
        case ScalarResult():
            unit = f" {analysis.unit}" if analysis.unit else ""
            body = _scalar(analysis, unit)
        case ConfusionMatrix():
            body = _confusion(analysis)
        case PrecisionRecall() | RocCurve() | CalibrationCurve():
            body = _curve(analysis)
        case JudgeCorrection():
            body = _correction(analysis)
        case FaultTolerance():
            body = _faults(analysis)
        case TableResult():
            body = _table(analysis)
        case LinePlot():
            body = _lines(analysis)
        case TreePlot():
            body = _scroller(tree_plot(analysis))
        case Aggregate():
            body = _aggregate(analysis)
    remarks = join([element("p", remark, class_="note") for remark in getattr(analysis, "remarks", ())])
    return element("figure", element("figcaption", element("bdi", analysis.title)), body, remarks)


def _facts(*facts: str) -> Markup:
    return element("p", DOT.join(facts), class_="facts")


def _scalar(analysis: ScalarResult, unit: str) -> Markup:
    if analysis.value is None:
        return element("p", "not measured", class_="quiet")
    value, ends = mean_text(analysis.value, analysis.interval)
    return element(
        "p", element("span", f"{value}{unit}", class_="scalar"), " ", element("span", ends, class_="ends")
    )


def _correction(analysis: JudgeCorrection) -> Markup:
    heads = [
        element("th", "", scope="col"),
        element("th", "result", scope="col", class_="number"),
        element("th", "95 % interval", scope="col"),
        element("th", "on", scope="col"),
    ]
    rows = [
        element(
            "tr",
            element("th", who, scope="row"),
            element("td", value, class_="number"),
            element("td", ends),
            element("td", on),
        )
        for who, value, ends, on in correction_rows(analysis)
    ]
    table = element("table", element("thead", element("tr", *heads)), element("tbody", *rows), class_="grid")
    return _scroller(table)


def _faults(analysis: FaultTolerance) -> Markup:
    heads = [element("th", head, scope="col") for head in FAULT_HEADS]
    rows = [
        element(
            "tr", element("th", element("bdi", fault), scope="row"), *[element("td", cell) for cell in cells]
        )
        for fault, *cells in fault_rows(analysis)
    ]
    table = element("table", element("thead", element("tr", *heads)), element("tbody", *rows), class_="grid")
    return _scroller(table)


def _confusion(analysis: ConfusionMatrix) -> Markup:
    facts = accuracy_facts(analysis)
    parts = [_facts(*facts)] if facts else []
    labels = analysis.class_labels
    if len(labels) > _LARGEST_MATRIX:
        return join([*parts, _confusions(analysis)])
    unanswered = any(analysis.unanswered)
    extra = [element("th", "unanswered", scope="col", class_="number")] if unanswered else []
    heads = [element("th", element("bdi", label), scope="col", class_="number") for label in labels]
    head = element("tr", element("th", "expected", scope="col"), *heads, *extra)
    rows: list[Markup] = []
    for i, counts in enumerate(analysis.matrix):
        whole = sum(counts) + analysis.unanswered[i]
        cells = [_shaded(count, whole, right=i == j) for j, count in enumerate(counts)]
        if unanswered:
            lost = analysis.unanswered[i]
            cells.append(element("td", f"{lost:,}" if lost else "", class_="number bad"))
        rows.append(element("tr", element("th", element("bdi", labels[i]), scope="row"), *cells))
    table = element("table", element("thead", head), element("tbody", *rows), class_="matrix")
    return join([*parts, element("p", "columns: predicted", class_="note"), _scroller(table)])


def _shaded(count: int, whole: int, *, right: bool) -> Markup:
    """A cell whose shade is the share of its row."""
    if not count:
        return element("td", "·", class_="number quiet")
    shade = max(1, round(_SHADES * count / whole))
    return element("td", f"{count:,}", class_=f"number {'right' if right else 'wrong'} shade-{shade}")


def _confusions(analysis: ConfusionMatrix) -> Markup:
    """The pairs that were mistaken most often."""
    lead, found = mistakes(analysis)
    table = _grid(found.heads, found.rows[:_ROWS], numeric=[True, False, False])
    return join([element("p", lead, class_="note"), table, _more(len(found.rows))])


def _curve(analysis: Curve) -> Markup:
    """A drawing, with the numbers behind it below."""
    facts = _facts(*curve_facts(analysis))
    found = curve_rows(analysis, _POINTS)
    if not found.rows:
        return facts
    listed = _grid(found.heads, found.rows, numeric=[True] * len(found.heads))
    return join([facts, _drawn(analysis), element("details", element("summary", "points"), listed)])


def _drawn(analysis: Curve) -> Markup:
    numbers = "; ".join(curve_numbers(analysis))
    match analysis:
        case PrecisionRecall():
            points = [(point.recall, point.precision) for point in analysis.points]
            words = f"precision over recall; {numbers}"
            return curve_plot(points, across="recall", up="precision", diagonal=False, words=words)
        case RocCurve():
            points = [(point.false_positive_rate, point.true_positive_rate) for point in analysis.points]
            words = f"true over false positives; {numbers}"
            return curve_plot(
                points, across="false positives", up="true positives", diagonal=True, words=words
            )
        case CalibrationCurve():
            return calibration_plot(analysis, words=f"observed over predicted rates; {numbers}")


def _lines(analysis: LinePlot) -> Markup:
    heads = ["line", analysis.x_label, analysis.y_label, "interval", "n"]
    rows = [
        [line.name, *point_cells(analysis, point)]
        for line in analysis.lines
        for point in some(line.points, _POINTS)
    ]
    if not rows:
        return element("p", "nothing to draw", class_="quiet")
    listed = _grid(heads, rows, numeric=[False, *[True] * 4])
    return join([line_plot(analysis), element("details", element("summary", "points"), listed)])


def _table(analysis: TableResult) -> Markup:
    if not analysis.columns:
        return Markup("")
    rows = [[shown_text(cell_text(cell), _LONGEST) for cell in row] for row in analysis.rows[:_ROWS]]
    return join([_grid(analysis.columns, rows, numeric=numeric_columns(analysis)), _more(len(analysis.rows))])


def _aggregate(analysis: Aggregate) -> Markup:
    data = analysis.data
    if not isinstance(data, Mapping):
        return element("pre", lines(shown_text(json_text(plain(data)), _LONGEST)))
    rows: list[Markup] = []
    found = aggregate_rows(data)
    for key, value in found[:_ROWS]:
        if is_number(value):
            shown = Markup(number(value))
        else:
            shown = lines(shown_text(value if isinstance(value, str) else json_text(plain(value)), _LONGEST))
        tone = "number" if is_number(value) else "text"
        rows.append(element("tr", element("th", key, scope="row"), element("td", shown, class_=tone)))
    return join([_scroller(element("table", element("tbody", *rows), class_="grid")), _more(len(found))])


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]], *, numeric: Sequence[bool]) -> Markup:
    kinds = ["number" if flag else "text" for flag in numeric]
    head = element(
        "tr", *(element("th", h, scope="col", class_=k) for h, k in zip(heads, kinds, strict=True))
    )
    body = [
        element("tr", *(element("td", cell, class_=k) for cell, k in zip(row, kinds, strict=True)))
        for row in rows
    ]
    return _scroller(element("table", element("thead", head), element("tbody", *body), class_="grid"))


def _scroller(wide: Markup) -> Markup:
    """What is wide scrolls by itself, and the page does not."""
    return element("div", wide, class_="scroller")


def _more(count: int) -> Markup:
    return element("p", f"… and {count - _ROWS:,} more", class_="note") if count > _ROWS else Markup("")
