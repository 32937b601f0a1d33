"""Differences drawn side by side around 0, better to the right: as text, and on what scale."""

from collections.abc import Sequence
from typing import NamedTuple

from calipers.comparison.change import Change


class Span(NamedTuple):
    """A difference between -1 and 1 of its scale, where 1 is better."""

    value: float
    low: float | None
    high: float | None


def spans(changes: Sequence[Change]) -> list[Span | None]:
    """Where each change stands on the scale that it shares with others of its kind; plain numbers have their own.

    `None` where neither more nor less is better, as of the number of requests: it has no place between worse and better.
    """
    widest: dict[str, float] = {}
    for change in changes:
        if change.scale != "number" and change.better is not None:
            widest[change.scale] = max(widest.get(change.scale, 0.0), _reach(change))
    return [
        None if change.better is None else _span(change, widest.get(change.scale) or _reach(change))
        for change in changes
    ]


def text_plot(span: Span, width: int, *, glyphs: str = "├─●┤│") -> str:
    """A difference and its interval in an odd number of cells, with a mark at 0 in the middle.

    Args:
        span: what to draw.
        width: cells.
        glyphs: left end, line, value, right end, zero.
    """
    left, line, dot, right, zero = tuple(glyphs)
    half = width // 2
    cells = [" "] * (2 * half + 1)
    if span.low is not None and span.high is not None:
        low, high = _cell(span.low, half), _cell(span.high, half)
        for cell in range(low, high + 1):
            cells[cell] = line
        cells[low], cells[high] = left, right
    if cells[half] in {" ", line}:
        cells[half] = zero
    cells[_cell(span.value, half)] = dot
    return "".join(cells)


def _span(change: Change, whole: float) -> Span:
    sign = -1 if change.better == "lower" else 1
    scale = sign / whole if whole > 0 else 0.0
    if change.interval is None:
        return Span(_within(change.difference * scale), None, None)
    ends = sorted(_within(end * scale) for end in (change.interval.low, change.interval.high))
    return Span(_within(change.difference * scale), *ends)


def _reach(change: Change) -> float:
    interval = change.interval
    ends = [] if interval is None else [abs(interval.low), abs(interval.high)]
    return max([abs(change.difference), *ends])


def _within(value: float) -> float:
    return min(max(value, -1.0), 1.0)


def _cell(value: float, half: int) -> int:
    return half + round(value * half)
