import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from calipers.report.analysis import LinePlot, PlotLine, PlotPoint
from calipers.report.report import Report
from calipers.stats import Interval, wilson
from calipers.views.html.analyses import analyses_section
from calipers.views.html.line_plot import line_plot

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
