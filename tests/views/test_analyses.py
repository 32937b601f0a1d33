from types import SimpleNamespace
from typing import get_args

import pytest

from calipers.report.analysis import (
    Aggregate,
    Analysis,
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
)
from calipers.stats import CalibrationBin, Interval, PrecisionRecallPoint, RocPoint, wilson
from calipers.views import analyses as terminal_analyses
from calipers.views.analyses import analyses, family, line_plot, some, span, tree_plot
from calipers.views.html import analyses as html_analyses
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


def test_html_shows_an_unknown_analysis_by_its_title(records):
    assert "New kind" in html_analyses.analyses_section(
        records.report(analyses=[SimpleNamespace(title="New kind")])
    )


@pytest.mark.parametrize("view", [terminal_analyses, html_analyses], ids=["terminal", "html"])
def test_every_kind_of_analysis_has_its_drawing(view):
    assert not [
        kind.__name__ for kind in get_args(Analysis) if getattr(view, kind.__name__, None) is not kind
    ]


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


# ---------------------------------------------------------------------- lines


def line_plot_text(plot, width=80, encoding="utf-8"):
    return [line.plain.rstrip() for line in line_plot(Page(width, encoding), plot)]


def plot(*lines, **options):
    return LinePlot(
        **{"title": "t", "x_label": "turn", "y_label": "held", "lines": list(lines), "rates": True, **options}
    )


RATES = PlotLine(
    name="old", points=[PlotPoint(x=k, y=k / 4, interval=wilson(k, 4), n=4) for k in range(1, 4)]
)


def test_a_line_is_a_row_per_point_with_its_interval_on_one_scale():
    assert line_plot_text(plot(RATES)) == [
        "turn    held  interval      0 %            100 %  n",
        "   1  25.0 %  [4.6, 69.9]   ├────●───────┤        4",
        "   2  50.0 %  [15.0, 85.0]     ├──────●─────┤     4",
        "   3  75.0 %  [30.1, 95.4]        ├────────●───┤  4",
    ]


def test_several_lines_have_their_names():
    other = PlotLine(name="new\x1b[31m", points=[PlotPoint(x=1, y=0.5)])
    lines = line_plot_text(plot(RATES, other))
    assert lines[0].startswith("line")
    assert [line.split()[0] for line in lines[1:]] == ["old", "old", "old", r"new\x1b[31m"]


def test_where_there_is_no_unicode_there_is_ascii():
    assert all(line.isascii() for line in line_plot_text(plot(RATES), encoding="ascii"))


def test_a_narrow_page_keeps_the_numbers():
    assert line_plot_text(plot(RATES), width=20)[1].split()[:2] == ["1", "25.0"]


def test_numbers_of_any_kind_are_drawn_on_the_scale_of_the_data():
    line = PlotLine(
        name="a", points=[PlotPoint(x=1, y=-2.0, interval=Interval(-3.0, -1.0)), PlotPoint(x=2, y=1e3)]
    )
    found = plot(line, rates=False)
    assert span(found) == (-3, 1000)
    assert "├" in line_plot_text(found)[1] or "●" in line_plot_text(found)[1]


def test_a_scale_without_width_or_beyond_all_floats_is_drawn_all_the_same():
    for values in ([2.0, 2.0], [-1e308, 1e308]):
        line = PlotLine(name="a", points=[PlotPoint(x=x, y=y) for x, y in enumerate(values)])
        assert len(line_plot_text(plot(line, rates=False))) == 3


def test_long_lines_keep_both_ends_and_many_lines_are_counted():
    long = PlotLine(name="a", points=[PlotPoint(x=x, y=0.5) for x in range(1000)])
    rows = line_plot_text(plot(long))
    assert len(rows) == 13
    assert rows[1].split()[0] == "0"
    assert rows[-1].split()[0] == "999"
    assert line_plot_text(plot(*[RATES] * 10))[-1] == "… and 2 more lines"
    assert some([1, 2, 3], 5) == [1, 2, 3]


def test_nothing_to_draw_says_so():
    assert line_plot_text(plot()) == ["nothing to draw"]


# ---------------------------------------------------------------------- trees


def node(depth, tone="good", **fields):
    return TreeNode(
        **{"depth": depth, "tone": tone, "label": "l", "outcome": tone, "text": f"t{depth}", **fields}
    )


def tree_plot_text(*nodes, width=80, encoding="utf-8", **fields):
    plot = TreePlot(title="t", nodes=list(nodes), **fields)
    return [line.plain.rstrip() for line in tree_plot(Page(width, encoding), plot)]


def test_only_branches_are_indented():
    assert tree_plot_text(node(1), node(2, "bad", answer="no"), node(2), node(3, "unknown"), left_out=2) == [
        "○ 1 good  t1",
        "├─ ● 2 bad  t2 → no",
        "└─ ○ 2 good  t2",
        "   · 3 unknown  t3",
        "… and 2 more turns",
    ]


def test_where_there_is_no_unicode_a_tree_is_ascii():
    lines = tree_plot_text(node(1), node(2, answer="é"), node(2), left_out=1, encoding="ascii")
    assert all(line.isascii() for line in lines)
    assert lines[1].startswith("|- o 2 good  t2 > ")


def test_both_what_was_said_and_what_came_back_have_room():
    (line,) = tree_plot_text(node(1, text="a" * 500, answer="b" * 500), width=60)
    assert len(line) <= 60
    assert line.count("a") > 5
    assert line.count("b") > 5


def test_a_deep_tree_of_branches_stops_being_indented():
    ordered = [node(1), *(each for depth in range(2, 100) for each in (node(depth), node(depth)))]
    assert all(len(line) <= 80 for line in tree_plot_text(*ordered))


def test_of_every_node_its_siblings_are_known():
    assert family([1, 2, 2, 1]) == ([2, 2, 2, 2], [False, False, True, True])
    assert family([]) == ([], [])
