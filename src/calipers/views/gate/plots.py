"""A rule drawn: the interval, with its limit in the middle and the good side to the right.

Each rule has its own scale, for what counts is on which side of its limit the interval lies.
"""

from math import isfinite

from calipers.gate.verdict import Finding
from calipers.views.comparison.plots import Span

WIDTH = 31
"""Cells of a drawn rule."""
MISSES, MEETS = "misses", "meets"
"""The words for the two sides."""
_APART = 2 / (WIDTH - 1)
"""The least distance from the limit of an end that is not on it, so that rounding to cells never moves it there."""


def span_of(finding: Finding) -> Span | None:
    """Where the interval of a rule lies; `None` where no interval decides."""
    value, limit, interval = finding.value, finding.limit, finding.interval
    if value is None or limit is None or interval is None:
        return None
    sign = 1 if finding.above else -1
    distances = [sign * (each - limit) for each in (value, interval.low, interval.high)]
    reach = max(map(abs, distances))
    if not isfinite(reach):
        return None
    middle, *ends = (_apart(distance / reach) if reach > 0 else 0.0 for distance in distances)
    return Span(middle, *sorted(ends))


def _apart(share: float) -> float:
    if share == 0:
        return 0.0
    return max(share, _APART) if share > 0 else min(share, -_APART)
