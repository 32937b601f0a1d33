"""What report evaluators found, as charts: the numbers of an analysis, its facts in words, and a table of what is drawn.

What an analysis says is decided in `views.analysis_statement`. A drawing has its points in a table, too, for readers who cannot see it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

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
    TreeNode,
    TreePlot,
    some,
)
from calipers.stats.interval import Interval
from calipers.stats.number_text import number, plural
from calipers.views.analysis_statement import (
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
)
from calipers.views.html.records import json_text

from .drawn_table import text_table
from .wire import Chart, ChartLine, DrawnTable, TreeTurn

_ROWS = 1_000
"""Rows of a table, and points of a drawing, that are sent."""
_LABELS = 40
"""Labels beyond which a matrix is a table of its mistakes: it could not be read."""
_LONGEST = 4_000
"""Characters of a cell of others."""


def chart(analysis: Analysis) -> Chart:
    """An analysis as a chart."""
    match analysis:
        case ScalarResult():
            unit = f" {analysis.unit}" if analysis.unit else ""
            return _chart(analysis, "scalar", facts=[measured_text(analysis.value, analysis.interval, unit)])
        case ConfusionMatrix():
            return _matrix(analysis)
        case PrecisionRecall() | RocCurve() | CalibrationCurve():
            return _curve(analysis)
        case JudgeCorrection():
            heads = ["", "result", "95 % interval", "on"]
            return _chart(analysis, "table", table=text_table(heads, correction_rows(analysis)))
        case FaultTolerance():
            return _chart(analysis, "table", table=text_table(FAULT_HEADS, fault_rows(analysis)))
        case TableResult():
            rows = [[_cut(cell_text(cell)) for cell in row] for row in analysis.rows[:_ROWS]]
            table = _table(analysis.columns, rows, len(analysis.rows), numeric=numeric_columns(analysis))
            return _chart(analysis, "table", table=table)
        case LinePlot():
            return _line_plot(analysis)
        case TreePlot():
            return _tree(analysis)
        case Aggregate():
            return _aggregate(analysis)
    assert_never(analysis)


def _chart(analysis: Analysis, kind: Any, **parts: Any) -> Chart:
    """A chart with what all analyses have. Its note has later changes of evaluators, too."""
    remarks = [remark for remark in analysis.remarks if remark != analysis.description]
    return Chart(
        title=analysis.title,
        description=analysis.description,
        note="; ".join(remarks) or None,
        kind=kind,
        **parts,
    )


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], count: int, *, numeric: Sequence[bool] | None = None
) -> DrawnTable:
    note = f"… and {plural(count - len(rows), 'more row')}" if count > len(rows) else None
    return text_table(heads, rows, numeric=numeric, note=note)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


# ---------------------------------------------------------------------- matrices and curves


def _matrix(analysis: ConfusionMatrix) -> Chart:
    lead, wrong = mistakes(analysis)
    rows = wrong.rows[:_ROWS]
    table = _table(wrong.heads, rows, len(wrong.rows), numeric=[True, False, False])
    facts = [*accuracy_facts(analysis), lead]
    if len(analysis.class_labels) > _LABELS:
        return _chart(analysis, "table", facts=facts, table=table)
    return _chart(
        analysis,
        "matrix",
        facts=facts,
        labels=analysis.class_labels,
        matrix=analysis.matrix,
        unanswered=analysis.unanswered if any(analysis.unanswered) else [],
        table=table,
    )


def _curve(analysis: Curve) -> Chart:
    found = curve_rows(analysis, _ROWS)
    table = text_table(found.heads, found.rows, numeric=[True] * len(found.heads))
    match analysis:
        case PrecisionRecall():
            steps = some(analysis.points, _ROWS)
            line = _line("precision", [each.recall for each in steps], [each.precision for each in steps])
            labels = ("recall", "precision")
        case RocCurve():
            points = some(analysis.points, _ROWS)
            line = _line(
                "true positives",
                [each.false_positive_rate for each in points],
                [each.true_positive_rate for each in points],
            )
            labels = ("false positives", "true positives")
        case CalibrationCurve():
            known = [
                (each.mean_predicted, each.observed_rate, each.interval)
                for each in analysis.bins
                if each.mean_predicted is not None and each.observed_rate is not None
            ]
            line = _line(
                "observed",
                [predicted for predicted, _, _ in known],
                [observed for _, observed, _ in known],
                [interval for _, _, interval in known],
            )
            labels = ("predicted", "observed")
    return _chart(
        analysis,
        "lines",
        facts=curve_facts(analysis),
        lines=[line] if line.x else [],
        x_label=labels[0],
        y_label=labels[1],
        is_rate=True,
        x_is_rate=True,
        diagonal=not isinstance(analysis, PrecisionRecall),
        table=table,
    )


def _line(
    name: str,
    x: list[float],
    y: list[float],
    intervals: Sequence[Interval | None] = (),
    *,
    stepped: bool = False,
) -> ChartLine:
    banded = any(each is not None for each in intervals)
    return ChartLine(
        name=name,
        x=x,
        y=y,
        low=[None if each is None else each.low for each in intervals] if banded else [],
        high=[None if each is None else each.high for each in intervals] if banded else [],
        stepped=stepped,
    )


def _line_plot(analysis: LinePlot) -> Chart:
    lines: list[ChartLine] = []
    rows: list[list[str]] = []
    count = 0
    for line in analysis.lines:
        points = some(line.points, _ROWS)
        lines.append(
            _line(
                line.name,
                [point.x for point in points],
                [point.y for point in points],
                [point.interval for point in points],
                stepped=analysis.stepped,
            )
        )
        count += len(line.points)
        rows += [[line.name, *point_cells(analysis, point)] for point in points]
    heads = ["line", analysis.x_label, analysis.y_label, "interval", "n"]
    table = _table(heads, rows[:_ROWS], count, numeric=[False, *[True] * 4])
    return _chart(
        analysis,
        "lines",
        lines=lines,
        x_label=analysis.x_label,
        y_label=analysis.y_label,
        is_rate=analysis.rates,
        table=table,
    )


# ---------------------------------------------------------------------- trees and aggregates


def _tree(analysis: TreePlot) -> Chart:
    facts = [f"{plural(analysis.left_out, 'more step')} not shown"] if analysis.left_out else []
    return _chart(analysis, "tree", nodes=tree_turns(analysis.nodes), facts=facts)


def tree_turns(nodes: Iterable[TreeNode]) -> list[TreeTurn]:
    """The turns of a tree, whose labels stand beside their texts and not in them."""
    return [
        TreeTurn(
            depth=node.depth,
            tone=node.tone,
            label=node.label,
            outcome=node.outcome,
            text=node.text.removeprefix(f"{node.label}: "),
            answer=node.answer,
        )
        for node in nodes
    ]


def _aggregate(analysis: Aggregate) -> Chart:
    if not isinstance(analysis.data, Mapping):
        return _chart(analysis, "facts", facts=[_shown(analysis.data)])
    rows = [[key, _shown(value)] for key, value in aggregate_rows(analysis.data)]
    return _chart(analysis, "table", table=_table(["", "value"], rows[:_ROWS], len(rows)))


def _shown(value: Any) -> str:
    if is_number(value):
        return number(value)
    return _cut(value if isinstance(value, str) else json_text(plain(value)))
