"""What report evaluators found, as charts."""

from typing import Any, get_args

import msgspec
import pytest

from calipers.report.analysis import (
    Aggregate,
    Analysis,
    CalibrationCurve,
    ConfusionMatrix,
    FaultEffect,
    FaultTolerance,
    JudgeCorrection,
    LinePlot,
    PlotLine,
    PlotPoint,
    PrecisionRecall,
    RocCurve,
    ScalarResult,
    TableResult,
    TreeNode,
    TreePlot,
)
from calipers.stats import CalibrationBin, Estimate, Interval, PrecisionRecallPoint, RocPoint
from calipers.viewer.charts import chart
from calipers.viewer.wire import Chart
from calipers.views.analysis_statement import correction_rows, curve_facts, fault_rows

ENDS = Interval(0.7, 0.9, 0.95, "wilson")
RATE = Estimate(0.8, ENDS, 40, 40)

ANALYSES: dict[type[Any], Any] = {
    ScalarResult: ScalarResult(title="Bits", value=0.82, unit="bits", interval=ENDS),
    ConfusionMatrix: ConfusionMatrix(
        title="Labels", class_labels=["a", "b"], matrix=[[3, 1], [0, 4]], unanswered=[0, 2]
    ),
    PrecisionRecall: PrecisionRecall(
        title="PR",
        points=[PrecisionRecallPoint(0.9, 1.0, 0.25), PrecisionRecallPoint(0.1, 0.5, 1.0)],
        average_precision=0.7,
        n_positive=4,
        n_negative=4,
    ),
    RocCurve: RocCurve(
        title="ROC",
        points=[RocPoint(None, 0.0, 0.0), RocPoint(0.5, 0.25, 0.75), RocPoint(0.1, 1.0, 1.0)],
        auc=0.8,
        n_positive=4,
        n_negative=4,
    ),
    CalibrationCurve: CalibrationCurve(
        title="Calibration",
        bins=[CalibrationBin(0.0, 0.5, 8, 0.3, 0.25, ENDS), CalibrationBin(0.5, 1.0, 0, None, None, None)],
        brier=0.1,
        ece=0.05,
        n_positive=2,
        n_negative=6,
    ),
    JudgeCorrection: JudgeCorrection(
        title="tone, corrected", judge="tone", judged=RATE, value=0.75, interval=ENDS, labels=20, is_rate=True
    ),
    FaultTolerance: FaultTolerance(
        title="Faults",
        effects=[
            FaultEffect(
                fault="timeout",
                attempts=10,
                struck=8,
                cases=8,
                calls=30,
                strikes=8,
                misses=0,
                success=RATE,
                clean=RATE,
                difference=-0.1,
                difference_interval=Interval(-0.2, 0.0, 0.95, "tango-exact"),
                recovery=RATE,
                harm=None,
            )
        ],
    ),
    TableResult: TableResult(title="Rows", columns=["what", "n"], rows=[["x", 1], ["y", None]]),
    LinePlot: LinePlot(
        title="Survival",
        x_label="turn",
        y_label="still safe",
        lines=[
            PlotLine(name="all", points=[PlotPoint(x=1, y=1.0, interval=ENDS, n=9), PlotPoint(x=2, y=0.5)])
        ],
        stepped=True,
        rates=True,
    ),
    TreePlot: TreePlot(
        title="a rollout",
        nodes=[TreeNode(depth=1, tone="bad", label="ask", outcome="gave way", text="please", answer="ok")],
        left_out=3,
    ),
    Aggregate: Aggregate(title="own words", data={"rate": 0.5, "by": {"de": 1, "fr": 2}, "list": [1, 2]}),
}


@pytest.mark.parametrize("kind", get_args(Analysis), ids=lambda kind: kind.__name__)
def test_every_kind_of_analysis_has_a_chart_that_can_be_sent(kind: type[Any]) -> None:
    found = chart(ANALYSES[kind])
    assert found.title == ANALYSES[kind].title
    assert found.facts or found.table or found.lines or found.matrix or found.nodes
    assert msgspec.json.decode(msgspec.json.encode(found), type=Chart) == found


def test_a_curve_says_what_the_report_says_and_has_every_point() -> None:
    analysis = ANALYSES[RocCurve]
    found = chart(analysis)
    assert found.facts == curve_facts(analysis)
    assert (found.lines[0].x, found.lines[0].y) == ([0.0, 0.25, 1.0], [0.0, 0.75, 1.0])
    assert found.diagonal
    assert found.table is not None
    assert [cell.text for cell in found.table.rows[0]] == ["above all", "0.0 %", "0.0 %"]


def test_a_calibration_leaves_out_empty_bins_and_keeps_the_intervals() -> None:
    (line,) = chart(ANALYSES[CalibrationCurve]).lines
    assert (line.x, line.y, line.low, line.high) == ([0.3], [0.25], [0.7], [0.9])


def test_a_line_without_intervals_has_no_band_and_a_point_without_one_has_none_in_it() -> None:
    (line,) = chart(ANALYSES[LinePlot]).lines
    assert (line.low, line.high, line.stepped) == ([0.7, None], [0.9, None], True)
    bare = LinePlot(
        title="t", x_label="x", y_label="y", lines=[PlotLine(name="l", points=[PlotPoint(x=1, y=2)])]
    )
    assert chart(bare).lines[0].low == []


def test_tables_of_corrections_and_faults_are_those_of_the_report() -> None:
    for kind, rows in ((JudgeCorrection, correction_rows), (FaultTolerance, fault_rows)):
        table = chart(ANALYSES[kind]).table
        assert table is not None
        assert [[cell.text for cell in row] for row in table.rows] == [
            list(row) for row in rows(ANALYSES[kind])
        ]


def test_a_matrix_of_many_labels_is_a_table_of_its_mistakes() -> None:
    size = 50
    labels = [f"label {number}" for number in range(size)]
    matrix = [[int(i == j) + (i == 0 and j == 1) for j in range(size)] for i in range(size)]
    found = chart(ConfusionMatrix(title="many", class_labels=labels, matrix=matrix))
    assert found.kind == "table"
    assert found.table is not None
    assert [cell.text for cell in found.table.rows[0]] == ["1", "label 0", "label 1"]
    assert chart(ANALYSES[ConfusionMatrix]).unanswered == [0, 2]


def test_a_long_table_says_how_many_rows_it_leaves_out() -> None:
    table = chart(TableResult(title="t", columns=["n"], rows=[[n] for n in range(1_500)])).table
    assert table is not None
    assert len(table.rows) == 1_000
    assert table.note == "… and 500 more rows"


def test_later_changes_of_evaluators_stand_in_the_note() -> None:
    analysis = ScalarResult(title="t", value=1, note="few cases", outdated={"tone": "replaced"})
    assert chart(analysis).note == "few cases; made before evaluator tone was replaced"
    assert chart(TreePlot(title="t", nodes=[], left_out=3)).facts == ["3 more steps not shown"]
