"""One total over another, such as cost per success, with the interval of Fieller.

The ratio of the totals, not the mean of each unit's ratio: a unit without a success has none. The interval holds every
ratio R for which the mean of `top - R * bottom` over the units is not distinguishable from 0 by a t test (Fieller, "Some
Problems in Interval Estimation", 1954). It needs no random draws, and it is honest where the bottom may be 0: the upper
end is then open (`None`), because no finite ratio is excluded. A bootstrap would have to leave out the redraws without a
success, and with them the very doubt that the open end expresses.

Fieller's interval assumes that the two means are about normal. With few units, or a bottom that is rarely not 0, it is
rough: with some five successes in all, simulated 95 % intervals cover about 92 %, and 94 % from ten on.
"""

from collections.abc import Sequence
from math import fsum, sqrt

import msgspec

from calipers.stats.distributions import student_t_quantile
from calipers.stats.interval import check_confidence
from calipers.stats.sample import finite_values

__all__ = ["Ratio", "ratio_of_totals"]


class Ratio(msgspec.Struct, frozen=True):
    """One total over another."""

    value: float | None
    """The ratio; `None` if the bottom is 0 in all."""
    low: float | None
    """The lower end of its interval; `None` with fewer than two units, or where the data bound nothing."""
    high: float | None
    """The upper end; `None` also where no finite ratio is excluded."""
    top: float
    """The upper total."""
    bottom: float
    """The lower total."""
    n: int
    """Units."""
    confidence: float = 0.95


def ratio_of_totals(
    tops: Sequence[float], bottoms: Sequence[float], *, confidence: float = 0.95
) -> Ratio | None:
    """The total of `tops` over the total of `bottoms`, each with one value per independent unit; `None` without units.

    Neither may be negative.
    """
    check_confidence(confidence)
    above, below = finite_values(tops, name="tops"), finite_values(bottoms, name="bottoms")
    if len(above) != len(below):
        raise ValueError(f"every unit needs both its values: got {len(above)} tops and {len(below)} bottoms")
    for name, values in (("tops", above), ("bottoms", below)):
        if min(values, default=0) < 0:
            raise ValueError(f"{name} must not be negative, got {min(values)!r}")
    n = len(above)
    if n == 0:
        return None
    top, bottom = fsum(above), fsum(below)
    value = top / bottom if bottom else None
    low, high = _fieller(above, below, confidence) if n > 1 and bottom else (None, None)
    return Ratio(value, low, high, top, bottom, n, confidence)


def _fieller(tops: list[float], bottoms: list[float], confidence: float) -> tuple[float | None, float | None]:
    """The ends of the interval: the roots of a R² - 2 b R + c, where the quadratic opens upwards."""
    n = len(tops)
    top, bottom = fsum(tops) / n, fsum(bottoms) / n
    t2 = student_t_quantile((1 - confidence) / 2, n - 1) ** 2 / (n * (n - 1))
    a = bottom**2 - t2 * fsum((x - bottom) ** 2 for x in bottoms)
    b = top * bottom - t2 * fsum((x - top) * (y - bottom) for x, y in zip(tops, bottoms, strict=True))
    c = top**2 - t2 * fsum((x - top) ** 2 for x in tops)
    root = b * b - a * c
    if (
        root < 0
    ):  # no ratio is excluded; it cannot be below 0 by rounding where a > 0, for the estimate is inside
        return (top / bottom, top / bottom) if a > 0 else (None, None)
    if a > 0:
        return max(0.0, (b - sqrt(root)) / a), (b + sqrt(root)) / a
    # The ratios between the two roots are excluded: of those that can be, what lies above the upper one remains.
    if c <= 0 or b <= 0:
        return None, None
    return max(0.0, c / (b + sqrt(root))), None
