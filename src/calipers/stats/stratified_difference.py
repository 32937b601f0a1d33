"""How much more often one group passes than another, at equal levels of something that explains passing.

Longer answers may pass more often because they are better. At each level (what people said of the answer) the two groups are compared
alone, and the differences of rates are put together: weighted by Mantel and Haenszel, n1 n2 / (n1 + n2) at each level ("Statistical Aspects
of the Analysis of Data from Retrospective Studies of Disease", 1959), their intervals by the distances of their ends (Donner and Zou
2012), as Newcombe's for one level. A level that holds one group only says nothing.
"""

from collections.abc import Hashable, Sequence
from math import fsum, sqrt

from calipers.stats.difference import Difference, compare_unpaired
from calipers.stats.estimate import Estimate
from calipers.stats.interval import Interval
from calipers.stats.sample import check_confidence


def difference_at_equal_levels(
    passes: Sequence[bool], levels: Sequence[Hashable], group: Sequence[bool], *, confidence: float = 0.95
) -> Estimate | None:
    """How much more often those of the group pass than the others; `None` if no level has both.

    Args:
        passes: whether each case passes.
        levels: what is held equal, of each case.
        group: whether each case belongs to the group.
        confidence: of the interval.
    """
    check_confidence(confidence)
    if not len(passes) == len(levels) == len(group):
        raise ValueError(
            f"each case needs a level and a group: got {len(passes)}, {len(levels)} and {len(group)}"
        )
    sides: dict[Hashable, tuple[list[list[float]], list[list[float]]]] = {}
    for passed, level, inside in zip(passes, levels, group, strict=True):
        sides.setdefault(level, ([], []))[0 if inside else 1].append([float(passed)])
    parts = [
        found
        for inside, outside in sides.values()
        if (found := compare_unpaired(inside, outside, confidence=confidence)) is not None
    ]
    return _together(parts, confidence) if parts else None


def _together(parts: Sequence[Difference], confidence: float) -> Estimate:
    weights = [part.n_first * part.n_second / (part.n_first + part.n_second) for part in parts]
    shares = [weight / fsum(weights) for weight in weights]
    value = fsum(share * part.value for share, part in zip(shares, parts, strict=True))
    below, above = [0.0], [0.0]
    for share, part in zip(shares, parts, strict=True):
        assert part.interval is not None  # of two rates there is always one
        below.append((share * (part.value - part.interval.low)) ** 2)
        above.append((share * (part.interval.high - part.value)) ** 2)
    low, high = max(-1.0, value - sqrt(fsum(below))), min(1.0, value + sqrt(fsum(above)))
    n = sum(part.n_first + part.n_second for part in parts)
    return Estimate(value, Interval(low, high, confidence, "donner-zou"), n, n)
