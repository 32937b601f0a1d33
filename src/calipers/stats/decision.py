"""What an interval of a difference lets one decide, against the margin below which a loss does not matter.

The difference is the new way minus the old one, and higher is better:

    superior       the whole interval lies above 0
    non-inferior   it lies above -margin: if the new way is worse, then by less than matters
    inferior       it lies below -margin: worse by more than matters
    undecided      it holds -margin: more cases could tell

(Piaggio et al., "Reporting of Noninferiority and Equivalence Randomized Trials", 2012). Not significant is no decision: a
handful of cases makes everything undecided, and nothing equal. `non-inferior` may well be significantly worse than 0;
choose the margin, before looking, as the largest loss you would ship.
"""

from math import isfinite
from typing import Literal

from calipers.stats.interval import Interval

__all__ = ["Decision", "check_margin", "decide"]

Decision = Literal["superior", "non-inferior", "inferior", "undecided"]
"""What is known about a difference; see `decide`."""


def decide(interval: Interval | None, *, margin: float = 0.0) -> Decision:
    """The decision that the interval of a difference allows; `undecided` where there is none.

    Args:
        interval: of the new way minus the old one, from `compare_paired`, or from `anytime_interval` when it is looked at
            more than once.
        margin: the loss below which it does not matter, in the units of the difference.
    """
    check_margin(margin)
    if interval is None:
        return "undecided"
    if not isinstance(interval, Interval):
        raise TypeError(
            f"decide() takes the interval of a difference, such as difference.interval, got {interval!r}"
        )
    if interval.low > 0:
        return "superior"
    if interval.low > -margin:
        return "non-inferior"
    return "inferior" if interval.high < -margin else "undecided"


def check_margin(margin: float) -> None:
    """Refuse a margin that is negative or no number."""
    if not (margin >= 0 and isfinite(margin)):
        raise ValueError(f"margin must be finite and not negative, got {margin!r}")
