"""Whether a judge of pairs goes by the order in which it is shown them.

Each pair is judged twice: A before B, and B before A. A judge that goes by the content names the same one both times, which is once the
first and once the second. A judge that names the first both times, or the second both times, went by the position.

Two numbers, because two things lead to that. `followed` is the share of pairs where the verdict followed the position. A judge that
throws coins follows it in half of all pairs without any bias: `followed` says how far one verdict can be believed at all (Shi et al., "Judging the
Judges", 2024, call its complement positional consistency). `first_share` is the share of all points that went to whatever
stood first: 0.5 for a judge that does not care about the order, noisy or not, since it errs in both directions alike. It is biased where
the interval leaves out 0.5, and `favours` says which place.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Literal

import msgspec

from calipers.stats.estimate import Estimate, mean
from calipers.stats.sample import check_clusters, check_confidence

_POINTS = (0.0, 0.5, 1.0)


class OrderBias(msgspec.Struct, frozen=True):
    """How far the order decided."""

    followed: Estimate
    """The share of pairs where the same position won in both orders."""
    first_share: Estimate
    """The share of points that went to the one shown first; 0.5: no bias."""
    favours: Literal["first", "second"] | None
    """The position that it prefers; `None`: the data do not show any."""
    conflicts: int
    """Pairs whose verdict changed with the order, one tie included."""
    n_pairs: int


def measure_order_bias(
    pairs: Iterable[tuple[float, float]],
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> OrderBias | None:
    """The bias of a judge that saw each pair in both orders; `None` without pairs.

    Args:
        pairs: for each pair, the points of *the same one of the two* when it was shown first, and when it was shown second: 1 for a win,
            0.5 for a tie, 0 for a loss. A judge without bias gives the same twice.
        clusters: the group of each pair, usually its case, where several pairs are of one case.
        confidence: of the intervals.
    """
    check_confidence(confidence)
    known = list(pairs)
    check_clusters(clusters, len(known))
    for index, pair in enumerate(known):
        if len(pair) != 2 or any(points not in _POINTS for points in pair):
            raise ValueError(f"pair {index} must have two verdicts of 0, 0.5 or 1 point each, got {pair!r}")
    followed = mean(
        [[float({*pair} == {0, 1})] for pair in known],
        bounds=(0, 1),
        clusters=clusters,
        confidence=confidence,
    )
    # Shown second, its points are what the one shown first did not get.
    first = mean(
        [[(shown_first + 1 - shown_second) / 2] for shown_first, shown_second in known],
        bounds=(0, 1),
        clusters=clusters,
        confidence=confidence,
    )
    if followed is None or first is None:
        return None
    favours: Literal["first", "second"] | None = None
    if first.interval is not None and 0.5 not in first.interval:
        favours = "first" if first.value > 0.5 else "second"
    conflicts = sum(shown_first != shown_second for shown_first, shown_second in known)
    return OrderBias(followed, first, favours, conflicts, len(known))
