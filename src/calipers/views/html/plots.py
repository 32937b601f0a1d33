"""Small drawings for a report, as SVG: an estimate on its scale, a curve in its square.

Colours and strokes come from the page's style sheet, by class. Each drawing says in words what it shows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from calipers.report.analysis import CalibrationCurve
from calipers.stats import Estimate
from calipers.stats.number_text import confidence_text, mean_text, number, rate_text

from .markup import Markup, element, join

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
    margin: float = 6.0

    def at(self, value: float) -> float:
        """Where a value stands."""
        return self.margin + (self.width - 2 * self.margin) * self.share(value)

    def share(self, value: float) -> float:
        """How far from `low` to `high` a value lies, from 0 to 1; in the middle where the two are one."""
        span = self.high / 2 - self.low / 2  # halves, for the difference of two finite floats may be infinite
        return min(max((value / 2 - self.low / 2) / span, 0.0), 1.0) if span > 0 else 0.5


def rate_plot(estimate: Estimate, *, width: int = 220, height: int = 22, labelled: bool = False) -> Markup:
    """A rate and its interval between 0 and 1; where it is `labelled`, the ends of the scale are written below it."""
    scale = Scale(0.0, 1.0, width)
    value, ends = rate_text(estimate.value, estimate.interval)
    ticks = [
        _tick(scale.at(share), height / 2, 5 if share in {0, 1} else 3) for share in (0, 0.25, 0.5, 0.75, 1)
    ]
    return _drawing(
        _axis(scale, height / 2),
        *ticks,
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
    return _drawing(
        *_histogram(scale, values, 20),
        _axis(scale, 20),
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


def curve_plot(
    points: Sequence[tuple[float, float]], *, across: str, up: str, diagonal: bool, words: str
) -> Markup:
    """A curve of rates in the unit square."""
    path = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in points)
    guide = [element("line", class_="guide", x1=_x(0), y1=_y(0), x2=_x(1), y2=_y(1))] if diagonal else []
    return _drawing(
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
    return _drawing(
        *_frame("predicted", "observed"), guide, *marks, width=_SQUARE, height=_SQUARE, words=words
    )


def _drawing(*marks: Markup, width: float, height: float, words: str) -> Markup:
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


def _axis(scale: Scale, y: float) -> Markup:
    return element("line", class_="axis", x1=scale.margin, y1=y, x2=scale.width - scale.margin, y2=y)


def _tick(x: float, y: float, half: float) -> Markup:
    return element("line", class_="axis", x1=x, y1=y - half, x2=x, y2=y + half)


def _whisker(scale: Scale, estimate: Estimate, y: float) -> Markup:
    """The interval with a cap at each end, and the value on it."""
    marks: list[Markup] = []
    if estimate.interval is not None:
        low, high = scale.at(estimate.interval.low), scale.at(estimate.interval.high)
        marks.append(element("line", class_="interval", x1=low, y1=y, x2=high, y2=y))
        marks += [element("line", class_="interval", x1=x, y1=y - 4, x2=x, y2=y + 4) for x in (low, high)]
    marks.append(element("circle", class_="dot", cx=scale.at(estimate.value), cy=y, r=4))
    return join(marks)


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
