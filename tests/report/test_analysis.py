import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Report
from calipers.errors import InvalidOutputError, ReportFormatError
from calipers.report.analysis import (
    Aggregate,
    CalibrationCurve,
    ConfusionMatrix,
    LinePlot,
    PlotLine,
    PlotPoint,
    PrecisionRecall,
    RocCurve,
    ScalarResult,
    TableResult,
    TreeNode,
    TreePlot,
    checked,
)
from calipers.stats import CalibrationBin, Interval, PrecisionRecallPoint, RocPoint

HALF = Interval(low=0.2, high=0.8)
ONE_OF_EACH = [
    ConfusionMatrix(
        title="m",
        class_labels=["a", "b"],
        matrix=[[1, 0], [2, 3]],
        unanswered=[0, 1],
        accuracy=4 / 7,
        accuracy_interval=HALF,
        n=7,
    ),
    PrecisionRecall(
        title="pr",
        points=[PrecisionRecallPoint(threshold=0.5, precision=1.0, recall=0.5)],
        average_precision=0.75,
        n_positive=2,
        n_negative=1,
    ),
    RocCurve(
        title="roc",
        points=[RocPoint(threshold=None, false_positive_rate=0.0, true_positive_rate=0.0)],
        auc=None,
        n_positive=0,
        n_negative=3,
        note="no attempt is positive",
    ),
    CalibrationCurve(
        title="calibration",
        bins=[
            CalibrationBin(low=0, high=0.5, n=0, mean_predicted=None, observed_rate=None, interval=None),
            CalibrationBin(low=0.5, high=1, n=4, mean_predicted=0.7, observed_rate=0.5, interval=HALF),
        ],
        brier=0.25,
        ece=0.2,
        n_positive=2,
        n_negative=2,
    ),
    ScalarResult(title="cost", value=0.3, unit="USD", interval=Interval(low=0.1, high=0.5, method="t")),
    ScalarResult(title="nothing", value=None, note="no attempt has a cost"),
    TableResult(title="t", columns=["name", "n", "share", "ok"], rows=[["a", 1, 0.5, True], [None] * 4]),
    LinePlot(
        title="line",
        x_label="turn",
        y_label="score",
        lines=[PlotLine(name="a", points=[PlotPoint(x=1, y=0.5, interval=HALF, n=3), PlotPoint(x=2, y=0.7)])],
        stepped=True,
        rates=True,
    ),
    TreePlot(
        title="tree",
        nodes=[
            TreeNode(depth=1, tone="good", label="a", outcome="held", text="x"),
            TreeNode(depth=2, tone="bad", label="b", outcome="lost", text="y", answer="z"),
        ],
        left_out=3,
    ),
    Aggregate(title="tox", data={"summary": {"n": 2}, "details": [{"x": None}, {"x": 0.5}]}),
]

json_data = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def stored(*analyses):
    return Report(name="r", cases=[], analyses=list(analyses))


@pytest.mark.parametrize("analysis", ONE_OF_EACH)
def test_every_kind_of_analysis_is_stored_under_its_type_and_reads_back_as_itself(analysis):
    text = msgspec.json.encode(stored(analysis).to_dict())
    (back,) = Report.from_dict(msgspec.json.decode(text)).analyses
    assert type(back) is type(analysis)
    assert back == analysis


@pytest.mark.parametrize("analysis", ONE_OF_EACH)
def test_checking_an_analysis_that_is_right_changes_nothing(analysis):
    assert checked(analysis) == analysis


def test_the_kinds_have_distinct_types():
    types = [analysis["type"] for analysis in stored(*ONE_OF_EACH).to_dict()["analyses"]]
    assert types == [
        "confusion_matrix",
        "precision_recall",
        "roc_curve",
        "calibration_curve",
        "scalar",
        "scalar",
        "table",
        "line_plot",
        "tree_plot",
        "aggregate",
    ]


@given(json_data)
def test_an_aggregate_of_any_json_data_survives_checking_and_storing(data):
    found = checked(Aggregate(title="any", data=data))
    (back,) = Report.from_dict(stored(found).to_dict()).analyses
    assert back == found
    assert checked(back) == back


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda x: ScalarResult(title="s", value=x), "value"),
        (lambda x: ScalarResult(title="s", value=1.0, interval=Interval(low=0.0, high=x)), "interval.high"),
        (lambda x: TableResult(title="s", columns=["a", "b"], rows=[[1, 2], [3, x]]), r"rows\[1\]\[1\]"),
    ],
)
def test_a_number_that_is_not_finite_is_refused_with_its_place(make, where, number):
    with pytest.raises(InvalidOutputError, match=rf"'s' is not finite at {where}: use None"):
        checked(make(number))


def test_a_number_that_is_not_finite_in_free_form_data_becomes_none_and_is_noted():
    found = checked(
        Aggregate(title="a", note="partial", data={"mean": math.nan, "runs": [{"x": 1.0}, {"x": math.inf}]})
    )
    assert found.data == {"mean": None, "runs": [{"x": 1.0}, {"x": None}]}
    assert found.note == "partial; None stands for a number that is not finite at data.mean, data.runs[1].x"


def test_numpy_scalars_become_plain_numbers():
    found = checked(TableResult(title="t", columns=["x", "y"], rows=[[np.int64(3), np.float32(0.5)]]))
    assert found.rows == [[3, 0.5]]
    assert [type(cell) for cell in found.rows[0]] == [int, float]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (None, "returned None, which is no analysis: return one of ConfusionMatrix"),
        (0.5, "returned 0.5, which is no analysis"),
        ({"title": "t"}, "which is no analysis"),
        (ScalarResult(title="s", value="high"), "ScalarResult 's' is not valid: Expected `float | null`"),
        (ScalarResult(title="s", value=True), "ScalarResult 's' is not valid"),
        (TableResult(title="t", columns=["a"], rows=[[["nested"]]]), "TableResult 't' is not valid"),
    ],
)
def test_what_is_no_analysis_is_refused(wrong, message):
    with pytest.raises(InvalidOutputError) as caught:
        checked(wrong)
    assert message in str(caught.value)


def test_a_table_refuses_a_row_that_does_not_fit_its_columns():
    with pytest.raises(InvalidOutputError, match="row 2 of the table 't' has 1 cells for 2 columns"):
        TableResult(title="t", columns=["a", "b"], rows=[[1, 2], [3]])


@pytest.mark.parametrize(
    ("matrix", "unanswered"), [([[1]], [0, 0]), ([[1, 2], [3]], [0, 0]), ([[1, 2], [3, 4]], [0])]
)
def test_a_confusion_matrix_is_square(matrix, unanswered):
    with pytest.raises(InvalidOutputError, match="a confusion matrix of 2 labels needs 2 rows of 2 counts"):
        ConfusionMatrix(
            title="m", class_labels=["a", "b"], matrix=matrix, unanswered=unanswered, accuracy=None, n=1
        )


@pytest.mark.parametrize(
    "damaged",
    [
        {"type": "no such type", "title": "x"},
        {"title": "x", "value": 1.0},
        {"type": "table", "title": "x", "columns": ["a"], "rows": [[1, 2]]},
    ],
)
def test_a_stored_analysis_that_cannot_be_read_is_a_format_error(damaged):
    data = stored().to_dict() | {"analyses": [damaged]}
    with pytest.raises(ReportFormatError, match="the stored report is damaged"):
        Report.from_dict(data)


@pytest.mark.parametrize(
    ("points", "rates", "message"),
    [
        ([(1, 0.5), (1, 0.6)], False, r"'a' must go from left to right, got x = \[1, 1\]"),
        ([(2, 0.5), (1, 0.6)], False, "left to right"),
        ([(1, 1.5)], True, r"leaves \[0, 1\]"),
    ],
)
def test_a_line_that_cannot_be_drawn_is_refused(points, rates, message):
    line = PlotLine(name="a", points=[PlotPoint(x=x, y=y) for x, y in points])
    with pytest.raises(InvalidOutputError, match=message):
        LinePlot(title="t", x_label="x", y_label="y", lines=[line], rates=rates)


@pytest.mark.parametrize("depths", [[2], [0], [1, 3], [1, 2, 4]])
def test_a_node_that_follows_nothing_is_refused(depths):
    nodes = [TreeNode(depth=depth, tone="good", label="a", outcome="b", text="c") for depth in depths]
    with pytest.raises(InvalidOutputError, match="it follows nothing"):
        TreePlot(title="t", nodes=nodes)


@pytest.mark.parametrize(
    ("matrix", "unanswered", "n", "accuracy"),
    [
        ([[4, 1], [0, 5]], {}, 10, 0.9),
        ([[4, 1], [0, 5]], {"unanswered": [0, 10]}, 20, 0.45),
        ([[0, 0], [0, 0]], {"unanswered": [3, 0]}, 3, None),
        ([[0, 0], [0, 0]], {}, 0, None),
    ],
)
def test_a_confusion_matrix_made_by_hand_counts_what_follows_from_it(matrix, unanswered, n, accuracy):
    made = ConfusionMatrix(title="m", class_labels=["a", "b"], matrix=matrix, **unanswered)
    assert (made.n, made.accuracy, made.accuracy_interval) == (n, accuracy, None)
    assert checked(made) == made
