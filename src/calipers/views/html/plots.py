"""Small drawings for a report, as SVG: an estimate on its scale, a curve in its square.

Colours and strokes come from the page's style sheet, by class. Each drawing says in words what it shows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from calipers.report.analysis import CalibrationCurve, LinePlot, PlotLine, PlotPoint, TreeNode, TreePlot
from calipers.stats import Estimate
from calipers.stats.number_text import confidence_text, mean_text, number, percent, plural, rate_text
from calipers.views.analysis_statement import span
from calipers.views.text import fit

from .markup import Markup, element, join
from .page_files import MarkName, shapes

_SHAPE = shapes()["glyph"]
"""The measures of a drawn interval, which the viewer draws the same."""
_SIZE = 12
"""Of a mark."""
_BINS = 24
"""Bars of the little histogram behind a mean."""
_SQUARE = 232
_LEFT, _BOTTOM = 34, 30
"""Room of a square plot for the numbers beside and below it."""
_SIDE = _SQUARE - _LEFT - 8


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high` on `width` units, with a margin for marks that stand on an end."""

    low: float
    high: float
    width: float
    margin: float = _SHAPE["edge"]

    def at(self, value: float) -> float:
        """Where a value stands."""
        return self.margin + (self.width - 2 * self.margin) * self.share(value)

    def share(self, value: float) -> float:
        """How far from `low` to `high` a value lies, from 0 to 1; in the middle where the two are one."""
        span = (
            self.high / 2 - self.low / 2
        )  # halves, since the difference of two finite floats may be infinite
        return min(max((value / 2 - self.low / 2) / span, 0.0), 1.0) if span > 0 else 0.5


def rate_plot(estimate: Estimate, *, width: int = 220, height: int = 22, labelled: bool = False) -> Markup:
    """A rate and its interval between 0 and 1; where it is `labelled`, the ends of the scale are written below it."""
    scale = Scale(0.0, 1.0, width)
    value, ends = rate_text(estimate.value, estimate.interval)
    return drawing(
        _track(scale, height / 2),
        _whisker(scale, estimate, height / 2),
        *(_scale_ends(scale, "0 %", "100 %", height + 6) if labelled else ()),
        width=width,
        height=height + 9 if labelled else height,
        words=_words(value, ends, estimate, "0 % to 100 %"),
    )


def mean_plot(estimate: Estimate, values: Sequence[float], *, width: int = 220) -> Markup:
    """A mean and its interval over the range of the data, before a histogram of the data."""
    interval = estimate.interval
    ends = [] if interval is None else [interval.low, interval.high]
    shown = [*values, *ends, estimate.value]
    scale = Scale(min(shown), max(shown), width)
    value, between = mean_text(estimate.value, interval)
    low, high = number(scale.low), number(scale.high)
    return drawing(
        *_histogram(scale, values, 20),
        _track(scale, 20),
        _whisker(scale, estimate, 20),
        *_scale_ends(scale, low, high, 37),
        width=width,
        height=40,
        words=_words(value, between, estimate, f"{low} to {high}"),
    )


def share_bar(share: float, *, width: int = 220, height: int = 10) -> Markup:
    """A share of a whole as a bar."""
    return element(
        "svg",
        element("rect", class_="track", width=width, height=height, rx=2),
        element("rect", class_="bar", width=max(width * share, 1.0), height=height, rx=2),
        class_="plot",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        aria_hidden="true",
    )


def difference_plot(
    value: float,
    interval: tuple[float, float] | None,
    *,
    extent: float,
    words: str,
    is_sure: bool = True,
    width: int = 120,
) -> Markup:
    """A difference around 0, where a higher value is better: grey unless it is sure that there is one."""
    height, middle = _SHAPE["height"], width / 2
    scale = Scale(-extent, extent, width)
    unclear = not is_sure or interval is None or interval[0] <= 0 <= interval[1]
    x, y = scale.at(value), height / 2
    if unclear:
        tone, dot = "unclear", f"M{x:g} {y - 3.4:g}l3.4 3.4-3.4 3.4-3.4-3.4z"
    elif value > 0:
        tone, dot = "better", f"M{x:g} {y - 3.6:g}l3.6 6.4h-7.2z"
    else:
        tone, dot = "worse", f"M{x:g} {y + 3.6:g}l3.6-6.4h-7.2z"
    marks = [
        element("line", class_="glyph-track", x1=scale.margin, x2=width - scale.margin, y1=y, y2=y),
        element("line", class_="glyph-zero", x1=middle, x2=middle, y1=1, y2=height - 1),
        *([] if interval is None else [_span(scale.at(interval[0]), scale.at(interval[1]), y)]),
        element("path", class_="glyph-dot", d=dot),
    ]
    return drawing(element("g", *marks, class_=f"glyph-{tone}"), width=width, height=height, words=words)


def mark(name: MarkName) -> Markup:
    """A shape that says in a word what came of something."""
    word = shapes()["words"][name]
    drawn = [
        element(tag, **{f"{key}_": value for key, value in attributes.items()})
        for tag, attributes in shapes()["marks"][name]
    ]
    return element(
        "svg",
        element("title", word),
        *drawn,
        class_=f"mark mark-{name}",
        viewBox=f"0 0 {_SIZE} {_SIZE}",
        width=_SIZE,
        height=_SIZE,
        role="img",
        aria_label=word,
    )


def curve_plot(
    points: Sequence[tuple[float, float]], *, across: str, up: str, diagonal: bool, words: str
) -> Markup:
    """A curve of rates in the unit square."""
    path = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in points)
    guide = [element("line", class_="guide", x1=_x(0), y1=_y(0), x2=_x(1), y2=_y(1))] if diagonal else []
    return drawing(
        *_frame(across, up),
        *guide,
        element("polyline", class_="curve", points=path),
        width=_SQUARE,
        height=_SQUARE,
        words=words,
    )


def calibration_plot(analysis: CalibrationCurve, *, words: str) -> Markup:
    """Observed against predicted rates, each bin with its interval; the larger the dot, the more predictions."""
    most = max((found.n for found in analysis.bins), default=0)
    marks: list[Markup] = []
    for found in analysis.bins:
        if found.mean_predicted is None or found.observed_rate is None:
            continue
        x, y = _x(found.mean_predicted), _y(found.observed_rate)
        if found.interval is not None:
            top, bottom = _y(found.interval.high), _y(found.interval.low)
            marks.append(element("line", class_="interval thin", x1=x, y1=top, x2=x, y2=bottom))
        marks.append(element("circle", class_="dot", cx=x, cy=y, r=2.0 + 3.5 * (found.n / most) ** 0.5))
    guide = element("line", class_="guide", x1=_x(0), y1=_y(0), x2=_x(1), y2=_y(1))
    return drawing(
        *_frame("predicted", "observed"), guide, *marks, width=_SQUARE, height=_SQUARE, words=words
    )


def drawing(*marks: Markup, width: float, height: float, words: str) -> Markup:
    """A picture with its marks; the words say what it shows."""
    return element(
        "svg",
        *marks,
        class_="plot",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
        aria_label=words,
    )


def _words(value: str, ends: str, estimate: Estimate, scale: str) -> str:
    if estimate.interval is None:
        return f"{value}, no interval; scale {scale}"
    return f"{value}, {confidence_text(estimate.interval.confidence)} interval {ends}; scale {scale}"


def _scale_ends(scale: Scale, low: str, high: str, y: float) -> list[Markup]:
    """Where a scale begins and ends, in words."""
    return [
        element("text", low, x=scale.margin, y=y, class_="small"),
        element("text", high, x=scale.width - scale.margin, y=y, class_="small end"),
    ]


def _track(scale: Scale, y: float) -> Markup:
    """The scale as a line, with a tick at each end."""
    left, right, tick = scale.margin, scale.width - scale.margin, _SHAPE["tick"]
    ends = f"M{left:g} {y - tick / 2:g}v{tick}M{right:g} {y - tick / 2:g}v{tick}"
    return join(
        [
            element("line", class_="glyph-track", x1=left, x2=right, y1=y, y2=y),
            element("path", class_="glyph-ends", d=ends),
        ]
    )


def _whisker(scale: Scale, estimate: Estimate, y: float) -> Markup:
    """The interval as a bar, and the value on it: a hollow dot where it is over few cases."""
    marks: list[Markup] = []
    if estimate.interval is not None:
        marks.append(_span(scale.at(estimate.interval.low), scale.at(estimate.interval.high), y))
    few = estimate.n_units < _SHAPE["few"]
    look, radius = ("glyph-dot glyph-dot-few", "fewDot") if few else ("glyph-dot", "dot")
    marks.append(element("circle", class_=look, cx=scale.at(estimate.value), cy=y, r=_SHAPE[radius]))
    return join(marks)


def _span(low: float, high: float, y: float) -> Markup:
    height = _SHAPE["bar"]
    return element(
        "rect", class_="glyph-bar", x=low, y=y - height / 2, width=max(high - low, 1.0), height=height, rx=1
    )


def _histogram(scale: Scale, values: Sequence[float], base: float) -> list[Markup]:
    """How the values spread, as bars that stand on the axis."""
    if scale.high <= scale.low:
        return []
    counts = [0] * _BINS
    for value in values:
        counts[min(int(scale.share(value) * _BINS), _BINS - 1)] += 1
    most = max(counts)
    width = (scale.width - 2 * scale.margin) / _BINS
    return [
        element(
            "rect",
            class_="spread",
            x=scale.margin + i * width,
            y=base - 17 * count / most,
            width=width - 0.8,
            height=17 * count / most,
        )
        for i, count in enumerate(counts)
        if count
    ]


def _frame(across: str, up: str) -> list[Markup]:
    """The axes of the unit square, with their names."""
    marks = [element("rect", class_="frame", x=_x(0), y=_y(1), width=_SIDE, height=_SIDE)]
    for share in (0.25, 0.5, 0.75):
        marks.append(element("line", class_="grid", x1=_x(share), y1=_y(0), x2=_x(share), y2=_y(1)))
        marks.append(element("line", class_="grid", x1=_x(0), y1=_y(share), x2=_x(1), y2=_y(share)))
    middle_x, middle_y = _x(0.5), _y(0.5)
    marks += [
        element("text", "0", class_="small end", x=_x(0) - 5, y=_y(0) + 3),
        element("text", "1", class_="small end", x=_x(0) - 5, y=_y(1) + 7),
        element("text", "0", class_="small", x=_x(0), y=_y(0) + 14),
        element("text", "1", class_="small end", x=_x(1), y=_y(0) + 14),
        element("text", across, class_="small middle", x=middle_x, y=_y(0) + 20),
        element(
            "text",
            up,
            class_="small middle",
            x=_LEFT - 16,
            y=middle_y,
            transform=f"rotate(-90 {_LEFT - 16} {middle_y:g})",
        ),
    ]
    return marks


def _x(share: float) -> float:
    return _LEFT + _SIDE * share


def _y(share: float) -> float:
    return _SQUARE - _BOTTOM - _SIDE * share


# ---------------------------------------------------------------------- trees


_COLUMN, _ROW = 200, 46
_BEND = 44
"""How much of a column an edge takes to reach another row."""
_TREE_LEFT, _MARGIN = 24, 8
_LABEL = 20
"""Characters of a label; a column has room for no more."""
_TOOLTIP = 300
"""Characters of the words that appear beside the pointer."""


def tree_plot(
    analysis: TreePlot, *, heading: str = "", footer: str = "", style: Markup | None = None
) -> Markup:
    """The tree. Colours come from the page's style sheet, or from one that the picture brings along."""
    top = _MARGIN + (22 if heading else 0)
    rows = _tree_rows(analysis.nodes)
    spots = [(0, rows[0]), *((node.depth, row) for node, row in zip(analysis.nodes, rows[1:], strict=True))]
    points = [(_TREE_LEFT + _COLUMN * depth, top + _ROW * (row + 0.5)) for depth, row in spots]
    foot = [footer] if footer else []
    foot += [f"{plural(analysis.left_out, 'more turn')} not drawn"] if analysis.left_out else []
    width = _TREE_LEFT + _COLUMN * (max(depth for depth, _ in spots) + 1)
    height = top + _ROW * (max(rows) + 1) + (22 if foot else _MARGIN)
    edges = [_edge(points[parent], points[child]) for child, parent in enumerate(_parents(analysis.nodes), 1)]
    return element(
        "svg",
        element("title", _tree_words(analysis)),
        *([] if style is None else [element("style", style)]),
        *([element("text", fit(heading, 90), class_="name", x=_TREE_LEFT - 8, y=18)] if heading else []),
        *edges,
        element("circle", class_="unknown", cx=points[0][0], cy=points[0][1], r=4),
        *(_dot(node, *point) for node, point in zip(analysis.nodes, points[1:], strict=True)),
        *([element("text", fit(" · ".join(foot), 100), x=_TREE_LEFT - 8, y=height - 8)] if foot else []),
        xmlns="http://www.w3.org/2000/svg",
        class_="plot tree",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
    )


def _parents(nodes: Sequence[TreeNode]) -> list[int]:
    """The place of the node before each, where 0 is the root and the first node is 1."""
    above = [0]
    found: list[int] = []
    for place, node in enumerate(nodes, 1):
        del above[node.depth :]
        found.append(above[-1])
        above.append(place)
    return found


def _tree_rows(nodes: Sequence[TreeNode]) -> list[float]:
    """The row of the root and of each node: beside the middle of those that follow it."""
    children: list[list[int]] = [[] for _ in range(len(nodes) + 1)]
    for child, parent in enumerate(_parents(nodes), 1):
        children[parent].append(child)
    rows = [0.0] * len(children)
    leaves = 0
    for place, followers in enumerate(children):
        if not followers:
            rows[place] = float(leaves)
            leaves += 1
    for place in range(len(children) - 1, -1, -1):
        if children[place]:
            rows[place] = (rows[children[place][0]] + rows[children[place][-1]]) / 2
    return rows


def _edge(start: tuple[float, float], end: tuple[float, float]) -> Markup:
    """Straight on below the label of a step, and then over to the next one."""
    (x, y), (to_x, to_y) = start, end
    turn, middle = to_x - _BEND, to_x - _BEND / 2
    path = f"M{x:g} {y:g} H{turn:g} C{middle:g} {y:g} {middle:g} {to_y:g} {to_x:g} {to_y:g}"
    return element("path", class_="edge", d=path)


def _dot(node: TreeNode, x: float, y: float) -> Markup:
    """One step: its dot and label, what came of it below, and all of it beside the pointer."""
    said = " → ".join(fit(text, _TOOLTIP) for text in (node.text, node.answer) if text)
    return element(
        "g",
        element("title", f"{node.depth} {node.outcome}: {said}"),
        element("circle", class_=node.tone, cx=x, cy=y, r=7),
        element("text", fit(node.label, _LABEL), class_="name", x=x + 11, y=y - 4),
        element("text", fit(node.outcome, _LABEL), x=x + 11, y=y + 12),
    )


def _tree_words(analysis: TreePlot) -> str:
    total = len(analysis.nodes) + analysis.left_out
    bad = sum(node.tone == "bad" for node in analysis.nodes)
    return f"A tree of {plural(total, 'turn')}; {bad} of the {len(analysis.nodes)} drawn went wrong"


# ---------------------------------------------------------------------- lines


_FRAME_WIDTH, _FRAME_HEIGHT = 380, 220
_FRAME_LEFT, _FRAME_RIGHT, _FRAME_TOP, _FRAME_BOTTOM = 52, 10, 8, 34
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
    across = Scale(places[0], places[-1], _FRAME_WIDTH - _FRAME_LEFT - _FRAME_RIGHT, margin=8)
    up = Scale(*span(analysis), _FRAME_HEIGHT - _FRAME_TOP - _FRAME_BOTTOM, margin=0 if analysis.rates else 6)
    frame = _LineFrame(across, up)
    marks = frame.axes(analysis, places)
    for index, line in enumerate(lines):
        points = _corners(line.points) if analysis.stepped else line.points
        marks += frame.line(points, index)
        marks += [] if analysis.stepped else [frame.dot(point) for point in line.points]
    if len(lines) > 1:
        marks += [mark for index, line in enumerate(lines) for mark in _legend(line.name, index)]
    height = _FRAME_HEIGHT + (_LEGEND * len(lines) + 6 if len(lines) > 1 else 0)
    return drawing(*marks, width=_FRAME_WIDTH, height=height, words=_lines_words(analysis, lines))


class _LineFrame:
    """Places in the drawing."""

    def __init__(self, across: Scale, up: Scale) -> None:
        self.across = across
        self.up = up

    def x(self, value: float) -> float:
        return _FRAME_LEFT + self.across.at(value)

    def y(self, value: float) -> float:
        return _FRAME_HEIGHT - _FRAME_BOTTOM - self.up.at(value)

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
        left, right, bottom = _FRAME_LEFT, _FRAME_WIDTH - _FRAME_RIGHT, _FRAME_HEIGHT - _FRAME_BOTTOM
        marks = [
            element(
                "rect", class_="frame", x=left, y=_FRAME_TOP, width=right - left, height=bottom - _FRAME_TOP
            ),
            element("text", analysis.x_label, class_="middle", x=(left + right) / 2, y=_FRAME_HEIGHT - 4),
            element(
                "text",
                analysis.y_label,
                class_="middle",
                x=10,
                y=(_FRAME_TOP + bottom) / 2,
                transform=f"rotate(-90 10 {(_FRAME_TOP + bottom) / 2:g})",
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
    y = _FRAME_HEIGHT + 8 + _LEGEND * index
    return [
        element("line", class_=f"curve curve-{index}", x1=_FRAME_LEFT, y1=y, x2=_FRAME_LEFT + 28, y2=y),
        element("text", name[:80], x=_FRAME_LEFT + 34, y=y + 3),
    ]


def _lines_words(analysis: LinePlot, lines: Sequence[PlotLine]) -> str:
    """What the drawing shows, for readers who do not see it: both ends of every line."""
    text = rate_text if analysis.rates else mean_text
    parts: list[str] = []
    for line in lines:
        first, last = line.points[0], line.points[-1]
        ends = [f"{' '.join(text(p.y, p.interval)).strip()} at {number(p.x)}" for p in (first, last)]
        parts.append(f"{line.name}: {' to '.join(ends if len(line.points) > 1 else ends[:1])}")
    left_out = len([line for line in analysis.lines if line.points]) - len(lines)
    parts += [f"{plural(left_out, 'further line')} not drawn"] if left_out else []
    return f"{analysis.y_label} over {analysis.x_label}; {'; '.join(parts)}"
