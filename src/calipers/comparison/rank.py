"""The places that runs may have among each other, where every two of them were compared.

The intervals of all pairs hold together, so whatever follows from them holds at the same confidence: a run has at best the
place after all that are certainly better, and at worst the one before all that are certainly worse (Mogstad, Romano, Shaikh &
Wilhelm, "Inference for Ranks", 2024). Where two runs were not judged alike, neither is certainly better.
"""

from collections.abc import Sequence

import msgspec

from .comparison import Comparison


class Rank(msgspec.Struct, frozen=True, kw_only=True):
    """The places that a run may have, by its pass rate; 1 is the best."""

    label: str
    best: int
    worst: int

    @property
    def text(self) -> str:
        """`2`, or `1 to 3`."""
        return str(self.best) if self.best == self.worst else f"{self.best} to {self.worst}"


def ranks(comparisons: Sequence[Comparison]) -> list[Rank]:
    """The places of all runs, the best first; empty unless every two of at least three were compared by their pass rates.

    Args:
        comparisons: from `compare_many`.
    """
    labels = list(
        dict.fromkeys(side.label for each in comparisons for side in (each.baseline, each.candidate))
    )
    pairs = {frozenset((each.baseline.label, each.candidate.label)) for each in comparisons}
    if len(labels) < 3 or 2 * len(pairs) != len(labels) * (len(labels) - 1):
        return []
    if any(each.pass_rate is None for each in comparisons):
        return []
    better, worse = dict.fromkeys(labels, 0), dict.fromkeys(labels, 0)
    for each in comparisons:
        one, two = each.baseline.label, each.candidate.label
        change = each.pass_rate
        if change is None or change.warning is not None or change.interval is None:
            continue
        if change.interval.low > 0:
            better[one], worse[two] = better[one] + 1, worse[two] + 1
        elif change.interval.high < 0:
            better[two], worse[one] = better[two] + 1, worse[one] + 1
    found = [Rank(label=label, best=1 + better[label], worst=len(labels) - worse[label]) for label in labels]
    return sorted(found, key=lambda rank: (rank.best, rank.worst))
