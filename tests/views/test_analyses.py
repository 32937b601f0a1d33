from types import SimpleNamespace

import pytest

from calipers.report.analysis import (
    Aggregate,
    CalibrationCurve,
    ConfusionMatrix,
    PrecisionRecall,
    RocCurve,
    ScalarResult,
    TableResult,
)
from calipers.stats import CalibrationBin, Interval, PrecisionRecallPoint, RocPoint, wilson
from calipers.views.analyses import analyses
from calipers.views.page import Page


def drawn(records, *found, width: int = 80, encoding: str = "utf-8", **fields) -> list[str]:
    report = records.report(analyses=list(found), **fields)
    return [line.plain.rstrip() for line in analyses(Page(width, encoding), report)]


CONFUSION = ConfusionMatrix(
    title="Intent",
    class_labels=["book", "cancel", "refund"],
    matrix=[[10, 2, 0], [0, 8, 1], [3, 0, 12]],
    unanswered=[0, 1, 0],
    accuracy=30 / 37,
    accuracy_interval=wilson(30, 37),
    n=37,
    note="2 attempts had no expected label",
)


def test_a_confusion_matrix_is_a_grid(records):
    assert drawn(records, CONFUSION) == [
        "Intent",
        "accuracy 81.1 %  [65.8, 90.5] · n = 37",
        "columns: predicted",
        "expected  book  cancel  refund  unanswered",
        "book        10       2       ·",
        "cancel       ·       8       1           1",
        "refund       3       ·      12",
        "2 attempts had no expected label",
    ]


def test_a_confusion_matrix_without_room_is_the_list_of_mistakes(records):
    assert drawn(records, CONFUSION, width=40)[2:-1] == [
        "3 labels, 4 kinds of mistake",
        "mistaken  expected  predicted",
        "       3  refund    book",
        "       2  book      cancel",
        "       1  cancel    refund",
        "       1  cancel    (unanswered)",
    ]


def test_a_perfect_matrix_without_room_lists_nothing(records):
    size = 20
    matrix = ConfusionMatrix(
        title="Many",
        class_labels=[f"label {i}" for i in range(size)],
        matrix=[[int(i == j) for i in range(size)] for j in range(size)],
        unanswered=[0] * size,
        accuracy=1.0,
        n=size,
    )
    assert drawn(records, matrix) == ["Many", "accuracy 100.0 % · n = 20", "20 labels, 0 kinds of mistake"]


def test_curves_are_shown_by_their_ends_and_some_points_between(records):
    curve = PrecisionRecall(
        title="PR",
        points=[PrecisionRecallPoint(1 - i / 20, 1 - i / 40, i / 20) for i in range(21)],
        average_precision=0.83,
        n_positive=30,
        n_negative=40,
    )
    assert drawn(records, curve) == [
        "PR",
        "average precision 0.83 · 30 positive · 40 negative",
        "threshold  precision   recall",
        "        1    100.0 %    0.0 %",
        "      0.8     90.0 %   20.0 %",
        "      0.6     80.0 %   40.0 %",
        "      0.4     70.0 %   60.0 %",
        "      0.2     60.0 %   80.0 %",
        "        0     50.0 %  100.0 %",
    ]


def test_a_roc_curve_begins_above_all_scores(records):
    curve = RocCurve(
        title="ROC",
        points=[RocPoint(None, 0, 0), RocPoint(0.5, 0.25, 0.75), RocPoint(0.1, 1, 1)],
        auc=0.75,
        n_positive=4,
        n_negative=4,
    )
    assert drawn(records, curve, width=40) == [
        "ROC",
        "AUC 0.75 · 4 positive · 4 negative",
        "threshold  false pos.  true pos.",
        "above all       0.0 %      0.0 %",
        "      0.5      25.0 %     75.0 %",
        "      0.1     100.0 %    100.0 %",
    ]


def test_a_curve_that_could_not_be_measured_says_so(records):
    curve = RocCurve(title="ROC", points=[], auc=None, n_positive=0, n_negative=9, note="no positives")
    assert drawn(records, curve) == ["ROC", "AUC not measured · 0 positive · 9 negative", "no positives"]


def test_a_calibration_curve_leaves_out_empty_bins(records):
    curve = CalibrationCurve(
        title="Confidence",
        bins=[
            CalibrationBin(0, 0.5, 10, 0.3, 0.2, wilson(2, 10)),
            CalibrationBin(0.5, 0.75, 0, None, None, None),
            CalibrationBin(0.75, 1, 10, 0.9, 0.9, wilson(9, 10)),
        ],
        brier=0.12,
        brier_interval=Interval(0.07, 0.17),
        ece=0.034,
        n_positive=11,
        n_negative=9,
    )
    assert drawn(records, curve) == [
        "Confidence",
        "Brier score 0.120  [0.070, 0.170] · calibration error 0.034 · 11 positive",
        "9 negative",
        "bin         predicted  observed  interval      0 %            100 %   n",
        "0 - 50 %       30.0 %    20.0 %  [5.7, 51.0]    ├──●─────┤           10",
        "75 - 100 %     90.0 %    90.0 %  [59.6, 98.2]             ├──────●┤  10",
    ]


@pytest.mark.parametrize(
    ("scalar", "shown"),
    [
        (ScalarResult(title="Cost", value=12.345, unit="EUR"), ["Cost: 12.35 EUR"]),
        (ScalarResult(title="Kappa", value=None, note="one rater"), ["Kappa: not measured", "one rater"]),
        (
            ScalarResult(title="Lift", value=0.5, interval=Interval(0.25, 0.75)),
            ["Lift: 0.500  [0.250, 0.750]"],
        ),
    ],
)
def test_a_scalar_is_one_line(records, scalar: ScalarResult, shown: list[str]):
    assert drawn(records, scalar) == shown


TABLE = TableResult(
    title="By language",
    columns=["language", "n", "rate", "comment", "ok"],
    rows=[["de", 12, 0.5, "some comment about it", True], ["fr", 2000, 0.75, None, False]],
)


def test_a_table_is_a_grid(records):
    assert drawn(records, TABLE) == [
        "By language",
        "language      n  rate  comment                ok",
        "de           12   0.5  some comment about it  yes",
        "fr        2,000  0.75                         no",
    ]


def test_a_table_names_the_columns_without_room(records):
    assert drawn(records, TABLE, width=33)[-1] == "no room for: ok"


def test_a_long_table_is_cut_and_says_so(records):
    table = TableResult(title="T", columns=["n"], rows=[[i] for i in range(50)])
    assert len(drawn(records, table)) == 23
    assert drawn(records, table)[-1] == "… and 30 more"


@pytest.mark.parametrize("rows", [[], [[]]])
def test_an_empty_table_is_its_title(records, rows: list[list[str]]):
    assert drawn(records, TableResult(title="T", columns=[], rows=rows)) == ["T"]


def test_an_aggregate_is_shown_by_its_keys(records):
    assert drawn(records, Aggregate(title="toxicity", data={"mean": 0.125, "worst": {"case": "x"}})) == [
        "toxicity",
        "  mean: 0.125",
        "  worst.case: 'x'",
    ]
    assert drawn(records, Aggregate(title="toxicity", data=[1, 2])) == ["toxicity", "[1, 2]"]


def test_an_unknown_analysis_is_shown_by_its_title(records):
    assert drawn(records, SimpleNamespace(title="New kind")) == ["New kind"]
    assert drawn(records, object()) == ["object"]


def test_analyses_are_apart_and_failures_come_last(records):
    shown = drawn(
        records,
        ScalarResult(title="A", value=1),
        ScalarResult(title="B", value=2),
        report_evaluator_failures=[records.broken("Kappa", "ValueError: no raters")],
    )
    assert shown == ["A: 1", "", "B: 2", "Report evaluator 'Kappa' failed: ValueError: no raters"]


def test_plain_consoles_get_plain_glyphs(records):
    assert all(line.isascii() for line in drawn(records, CONFUSION, TABLE, encoding="ascii"))
