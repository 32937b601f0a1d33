import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.report.analysis import CalibrationCurve, LinePlot, PlotLine, PlotPoint, TreeNode, TreePlot
from calipers.report.report import Report
from calipers.stats import CalibrationBin, Interval, mean, rate, wilson
from calipers.views.html.analyses import analyses_section
from calipers.views.html.document import report_html
from calipers.views.html.plots import (
    Scale,
    calibration_plot,
    curve_plot,
    line_plot,
    mean_plot,
    rate_plot,
    share_bar,
    tree_plot,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, FINITE, FINITE)
def test_every_value_has_its_place_on_the_scale(one, other, value):
    scale = Scale(min(one, other), max(one, other), 100, margin=10)
    assert 10 <= scale.at(value) <= 90
    if scale.share(scale.high) > scale.share(scale.low):
        assert (scale.at(scale.low), scale.at(scale.high)) == (10, 90)


def test_a_rate_is_drawn_between_nothing_and_all_and_said_in_words():
    plot = rate_plot(rate([(1, 1)] * 3 + [(0, 1)]), width=112, height=20)
    assert 'aria-label="75.0 %, 95 % interval [30.1, 95.4]; scale 0 % to 100 %"' in plot
    assert '<circle class="glyph-dot glyph-dot-few" cx="82" cy="10" r="2.6"/>' in plot, "over few cases"
    low, high = wilson(3, 4).low, wilson(3, 4).high
    assert f'<rect class="glyph-bar" x="{4 + 104 * low:.6g}"' in plot
    assert f'width="{104 * (high - low):.6g}"' in plot
    assert 'class="glyph-dot"' in rate_plot(rate([(1, 1)] * 20))


def test_a_mean_is_drawn_over_the_range_of_its_data():
    values = [0.2, 0.4, 0.9]
    plot = mean_plot(mean([[value] for value in values]), values)
    assert "scale -0.3957 to 1.396" in plot, "the interval may reach beyond the data"
    assert plot.count('class="spread"') == 3


@pytest.mark.parametrize("values", [[5.0], [1e308, -1e308], [0.0, 5e-324]])
def test_odd_scores_can_be_drawn(values):
    estimate = mean([[value] for value in values[:1]])
    plot = mean_plot(estimate, values)
    assert "nan" not in plot
    assert "inf" not in re.sub("interval", "", plot)
    assert "no interval" in plot


def test_curves_go_through_their_points():
    plot = curve_plot([(0, 0), (0.5, 1), (1, 1)], across="a", up="b", diagonal=True, words="<curve>")
    assert 'points="34.0,202.0 129.0,12.0 224.0,12.0"' in plot
    assert 'aria-label="&lt;curve&gt;"' in plot
    assert plot.count('class="guide"') == 1


def test_empty_bins_are_not_drawn():
    bins = [CalibrationBin(0, 0.5, 4, 0.3, 0.25, wilson(1, 4)), CalibrationBin(0.5, 1, 0, None, None, None)]
    curve = CalibrationCurve(title="c", bins=bins, brier=0.1, ece=0.1, n_positive=1, n_negative=3)
    assert calibration_plot(curve, words="").count("<circle") == 1


def test_a_share_too_small_to_see_is_still_drawn():
    assert 'class="bar" width="1"' in share_bar(0.0001)


# ---------------------------------------------------------------------- lines


POINTS = [PlotPoint(x=k, y=k / 4, interval=wilson(k, 4), n=4) for k in range(1, 4)]


def plot(*lines, **options):
    return LinePlot(
        **{"title": "t", "x_label": "turn", "y_label": "held", "lines": list(lines), "rates": True, **options}
    )


def line(name="old", points=POINTS):
    return PlotLine(name=name, points=points)


def test_a_line_goes_through_its_points_on_its_band():
    svg = line_plot(plot(line()))
    ET.fromstring(svg)
    assert svg.count('class="dot"') == 3
    (curve,) = re.findall(r'class="curve curve-0" points="([^"]+)"', svg)
    (band,) = re.findall(r'class="band" points="([^"]+)"', svg)
    places = [tuple(map(float, pair.split(","))) for pair in curve.split()]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True), "up is up"
    assert len(band.split()) == 6


def test_a_step_holds_its_level_until_the_next_point():
    (curve,) = re.findall(r'class="curve curve-0" points="([^"]+)"', line_plot(plot(line(), stepped=True)))
    places = [tuple(map(float, pair.split(","))) for pair in curve.split()]
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(places))


def test_the_drawing_says_what_it_shows():
    svg = line_plot(plot(line(), *[line(f"new {k}") for k in range(5)]))
    assert "held over turn; old: 25.0 % [4.6, 69.9] at 1 to 75.0 % [30.1, 95.4] at 3" in svg
    assert "2 further lines not drawn" in svg
    assert "new 2" in svg


@pytest.mark.parametrize(
    "points",
    [
        POINTS[:1],
        [PlotPoint(x=0, y=-1e308), PlotPoint(x=1e308, y=1e308)],
        [PlotPoint(x=1, y=3.0, interval=Interval(3.0, 3.0))] * 1,
    ],
)
def test_odd_lines_can_be_drawn(points):
    svg = line_plot(plot(line(points=points), rates=False))
    ET.fromstring(svg)
    assert "nan" not in svg
    assert not re.search(r'"-?inf', svg)


def test_names_of_others_are_shown_and_not_obeyed():
    svg = line_plot(plot(line("</svg><script>"), line("b\x1b"), x_label="<b>", y_label='"'))
    ET.fromstring(svg)
    assert "<script" not in svg


def test_a_report_shows_the_drawing_and_its_points():
    page = analyses_section(Report(name="r", cases=[], analyses=[plot(line()), plot()]))
    assert page.count("<svg") == 1
    assert "nothing to draw" in page
    assert page.count("<td") == 15


# ---------------------------------------------------------------------- trees


def node(depth, tone="good", **fields):
    return TreeNode(
        **{"depth": depth, "tone": tone, "label": "l", "outcome": tone, "text": f"t{depth}", **fields}
    )


TREE = TreePlot(title="t", nodes=[node(1), node(2, "bad"), node(2), node(1), node(2, "unknown")], left_out=4)


def test_every_step_has_a_dot_and_an_edge():
    svg = tree_plot(TREE)
    ET.fromstring(svg)
    dots = re.findall(r'<circle class="(\w+)" cx="([\d.]+)" cy="([\d.]+)"', svg)
    assert [tone for tone, _, _ in dots] == ["unknown", "good", "bad", "good", "good", "unknown"]
    assert len({place for _, *place in map(list, dots) for place in [tuple(place)]}) == 6, (
        "none lies on another"
    )
    assert svg.count("<path") == 5
    assert "A tree of 9 turns; 1 of the 5 drawn went wrong" in svg
    assert "4 more turns not drawn" in svg


def test_a_tree_without_steps_is_its_root():
    svg = tree_plot(TreePlot(title="t", nodes=[]))
    ET.fromstring(svg)
    assert svg.count("<circle") == 1


def test_what_others_said_is_shown_and_not_obeyed():
    hostile = "</title></svg><script>alert(1)</script>\x00"
    plot = TreePlot(
        title=hostile, nodes=[node(1, label=hostile, outcome=hostile, text=hostile, answer=hostile)]
    )
    svg = tree_plot(plot, heading=hostile, footer=hostile)
    ET.fromstring(svg)
    assert "<script" not in svg
    assert "<script>alert" not in analyses_section(Report(name="r", cases=[], analyses=[plot]))


def test_in_a_page_the_tree_brings_no_style_of_its_own():
    page = report_html(Report(name="r", cases=[], analyses=[TREE]))
    assert 'class="plot tree"' in page
    assert page.count("<style") == 1, "the policy of the page allows only its own"
