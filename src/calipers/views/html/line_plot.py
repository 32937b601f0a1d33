"""Lines with their bands, as SVG: how a number goes with the turn, say."""

from collections.abc import Sequence

from calipers.report.analysis import LinePlot, PlotLine, PlotPoint
from calipers.stats.number_text import mean_text, number, percent, plural, rate_text
from calipers.views.line_plot import span

from .markup import Markup, element
from .plots import Scale

_WIDTH, _HEIGHT = 380, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 10, 8, 34
_LEGEND = 14
"""Height of a line of the legend."""
_LINES = 4
"""Lines that can be told apart; further ones are listed with the points."""
_TICKS = 12
"""Places along x that have room for their number."""


def line_plot(analysis: LinePlot) -> Markup:
    """The lines in one frame, each in its own stroke, with a legend where there are several."""
    lines = [line for line in analysis.lines if line.points][:_LINES]
    places = sorted({point.x for line in lines for point in line.points})
    across = Scale(places[0], places[-1], _WIDTH - _LEFT - _RIGHT, margin=8)
    up = Scale(*span(analysis), _HEIGHT - _TOP - _BOTTOM, margin=0 if analysis.rates else 6)
    frame = _Frame(across, up)
    marks = frame.axes(analysis, places)
    for index, line in enumerate(lines):
        points = _corners(line.points) if analysis.stepped else line.points
        marks += frame.line(points, index)
        marks += [] if analysis.stepped else [frame.dot(point) for point in line.points]
    if len(lines) > 1:
        marks += [mark for index, line in enumerate(lines) for mark in _legend(line.name, index)]
    height = _HEIGHT + (_LEGEND * len(lines) + 6 if len(lines) > 1 else 0)
    return element(
        "svg",
        *marks,
        class_="plot",
        viewBox=f"0 0 {_WIDTH} {height}",
        width=_WIDTH,
        height=height,
        role="img",
        aria_label=_words(analysis, lines),
    )


class _Frame:
    """Places in the drawing."""

    def __init__(self, across: Scale, up: Scale) -> None:
        self.across = across
        self.up = up

    def x(self, value: float) -> float:
        return _LEFT + self.across.at(value)

    def y(self, value: float) -> float:
        return _HEIGHT - _BOTTOM - self.up.at(value)

    def dot(self, point: PlotPoint) -> Markup:
        return element("circle", class_="dot", cx=self.x(point.x), cy=self.y(point.y), r=3)

    def line(self, points: Sequence[PlotPoint], index: int) -> list[Markup]:
        """The band, where there is one, and the line on it."""
        known = [(self.x(point.x), point.interval) for point in points if point.interval is not None]
        marks: list[Markup] = []
        if len(known) > 1:
            top = [(x, self.y(interval.high)) for x, interval in known]
            bottom = [(x, self.y(interval.low)) for x, interval in reversed(known)]
            marks.append(element("polygon", class_="band", points=_path([*top, *bottom])))
        elif known:
            ((x, only),) = known
            marks.append(
                element("line", class_="interval thin", x1=x, y1=self.y(only.high), x2=x, y2=self.y(only.low))
            )
        path = _path([(self.x(point.x), self.y(point.y)) for point in points])
        return [*marks, element("polyline", class_=f"curve curve-{index}", points=path)]

    def axes(self, analysis: LinePlot, places: Sequence[float]) -> list[Markup]:
        left, right, bottom = _LEFT, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        marks = [
            element("rect", class_="frame", x=left, y=_TOP, width=right - left, height=bottom - _TOP),
            element("text", analysis.x_label, class_="middle", x=(left + right) / 2, y=_HEIGHT - 4),
            element(
                "text",
                analysis.y_label,
                class_="middle",
                x=10,
                y=(_TOP + bottom) / 2,
                transform=f"rotate(-90 10 {(_TOP + bottom) / 2:g})",
            ),
        ]
        write = percent if analysis.rates else number
        for share in (0.0, 0.5, 1.0):
            value = self.up.low * (1 - share) + self.up.high * share
            y = self.y(value)
            if 0 < share < 1:
                marks.append(element("line", class_="grid", x1=left, y1=y, x2=right, y2=y))
            marks.append(element("text", write(value), class_="end", x=left - 4, y=y + 3))
        every = -(-len(places) // _TICKS)
        return marks + [
            element("text", number(place), class_="middle", x=self.x(place), y=bottom + 13)
            for place in places[::every]
        ]


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _corners(points: Sequence[PlotPoint]) -> list[PlotPoint]:
    """A staircase through the points: each level holds until the next point."""
    stairs: list[PlotPoint] = []
    for point in points:
        if stairs:
            before = stairs[-1]
            stairs.append(PlotPoint(x=point.x, y=before.y, interval=before.interval))
        stairs.append(point)
    return stairs


def _legend(name: str, index: int) -> list[Markup]:
    y = _HEIGHT + 8 + _LEGEND * index
    return [
        element("line", class_=f"curve curve-{index}", x1=_LEFT, y1=y, x2=_LEFT + 28, y2=y),
        element("text", name[:80], x=_LEFT + 34, y=y + 3),
    ]


def _words(analysis: LinePlot, lines: Sequence[PlotLine]) -> str:
    """What the drawing shows, for those who do not see it: both ends of every line."""
    text = rate_text if analysis.rates else mean_text
    parts: list[str] = []
    for line in lines:
        first, last = line.points[0], line.points[-1]
        ends = [f"{' '.join(text(p.y, p.interval)).strip()} at {number(p.x)}" for p in (first, last)]
        parts.append(f"{line.name}: {' to '.join(ends if len(line.points) > 1 else ends[:1])}")
    left_out = len([line for line in analysis.lines if line.points]) - len(lines)
    parts += [f"{plural(left_out, 'further line')} not drawn"] if left_out else []
    return f"{analysis.y_label} over {analysis.x_label}; {'; '.join(parts)}"
