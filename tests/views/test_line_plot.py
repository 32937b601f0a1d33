from calipers.report.analysis import LinePlot, PlotLine, PlotPoint
from calipers.stats import Interval, wilson
from calipers.views.line_plot import line_plot, some, span
from calipers.views.page import Page


def drawn(plot, width=80, encoding="utf-8"):
    return [line.plain.rstrip() for line in line_plot(Page(width, encoding), plot)]


def plot(*lines, **options):
    return LinePlot(
        **{"title": "t", "x_label": "turn", "y_label": "held", "lines": list(lines), "rates": True, **options}
    )


RATES = PlotLine(
    name="old", points=[PlotPoint(x=k, y=k / 4, interval=wilson(k, 4), n=4) for k in range(1, 4)]
)


def test_a_line_is_a_row_per_point_with_its_interval_on_one_scale():
    assert drawn(plot(RATES)) == [
        "turn    held  interval      0 %            100 %  n",
        "   1  25.0 %  [4.6, 69.9]   ├────●───────┤        4",
        "   2  50.0 %  [15.0, 85.0]     ├──────●─────┤     4",
        "   3  75.0 %  [30.1, 95.4]        ├────────●───┤  4",
    ]


def test_several_lines_have_their_names():
    other = PlotLine(name="new\x1b[31m", points=[PlotPoint(x=1, y=0.5)])
    lines = drawn(plot(RATES, other))
    assert lines[0].startswith("line")
    assert [line.split()[0] for line in lines[1:]] == ["old", "old", "old", r"new\x1b[31m"]


def test_where_there_is_no_unicode_there_is_ascii():
    assert all(line.isascii() for line in drawn(plot(RATES), encoding="ascii"))


def test_a_narrow_page_keeps_the_numbers():
    assert drawn(plot(RATES), width=20)[1].split()[:2] == ["1", "25.0"]


def test_numbers_of_any_kind_are_drawn_on_the_scale_of_the_data():
    line = PlotLine(
        name="a", points=[PlotPoint(x=1, y=-2.0, interval=Interval(-3.0, -1.0)), PlotPoint(x=2, y=1e3)]
    )
    found = plot(line, rates=False)
    assert span(found) == (-3, 1000)
    assert "├" in drawn(found)[1] or "●" in drawn(found)[1]


def test_a_scale_without_width_or_beyond_all_floats_is_drawn_all_the_same():
    for values in ([2.0, 2.0], [-1e308, 1e308]):
        line = PlotLine(name="a", points=[PlotPoint(x=x, y=y) for x, y in enumerate(values)])
        assert len(drawn(plot(line, rates=False))) == 3


def test_long_lines_keep_both_ends_and_many_lines_are_counted():
    long = PlotLine(name="a", points=[PlotPoint(x=x, y=0.5) for x in range(1000)])
    rows = drawn(plot(long))
    assert len(rows) == 13
    assert rows[1].split()[0] == "0"
    assert rows[-1].split()[0] == "999"
    assert drawn(plot(*[RATES] * 10))[-1] == "… and 2 more lines"
    assert some([1, 2, 3], 5) == [1, 2, 3]


def test_nothing_to_draw_says_so():
    assert drawn(plot()) == ["nothing to draw"]
