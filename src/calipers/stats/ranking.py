"""How well a score ranks positives above negatives: precision-recall, ROC and Kolmogorov-Smirnov.

`rank` sorts once; every measure then reads the same cumulative counts. An item is predicted positive when its
score is at least the threshold. Items with equal scores cross a threshold together: no measure depends on the
order in which they were given.

- Average precision is Σ (recall step) x precision. It is not the area under a line through the points:
  precision is not linear between them, and the trapezoid flatters (Davis & Goadrich 2006).
- ROC AUC is the chance that a positive outscores a negative, ties counting half (Mann & Whitney 1947).
- The KS statistic is the largest gap between the two classes' score distributions.

A measure whose class is missing (no positives, no negatives) is `None`.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import fsum

import msgspec

from calipers.stats.sample import finite_values

__all__ = ["PrecisionRecallPoint", "Ranking", "RocPoint", "rank"]


class PrecisionRecallPoint(msgspec.Struct, frozen=True):
    """Precision and recall of predicting positive at and above a threshold."""

    threshold: float
    """The score from which on an item is predicted positive."""
    precision: float
    """Of those predicted positive, the share that is."""
    recall: float
    """Of the positives, the share predicted so."""


class RocPoint(msgspec.Struct, frozen=True):
    """The two rates of predicting positive at and above a threshold."""

    threshold: float | None
    """The score from which on an item is predicted positive; `None` lies above every score."""
    false_positive_rate: float
    """Of the negatives, the share predicted positive."""
    true_positive_rate: float
    """Of the positives, the share predicted positive."""


class Ranking(msgspec.Struct, frozen=True):
    """Cumulative counts at every distinct score, highest first; build it with `rank`."""

    thresholds: tuple[float, ...]
    """The distinct scores, descending."""
    true_positives: tuple[int, ...]
    """Positives that score at least the threshold."""
    false_positives: tuple[int, ...]
    """Negatives that score at least the threshold."""

    @property
    def n_positive(self) -> int:
        """All positives."""
        return self.true_positives[-1] if self.true_positives else 0

    @property
    def n_negative(self) -> int:
        """All negatives."""
        return self.false_positives[-1] if self.false_positives else 0

    def precision_recall(self) -> list[PrecisionRecallPoint] | None:
        """One point per distinct score, recall rising; none at recall 0, where nothing is predicted."""
        positives = self.n_positive
        if positives == 0:
            return None
        return [
            PrecisionRecallPoint(
                threshold=threshold, precision=hits / (hits + misses), recall=hits / positives
            )
            for threshold, hits, misses in self._steps()
        ]

    def average_precision(self) -> float | None:
        """The precision averaged over the positives, each at its own threshold."""
        positives = self.n_positive
        if positives == 0:
            return None
        terms = []
        earlier = 0
        for _, hits, misses in self._steps():
            terms.append((hits - earlier) * hits / (hits + misses))
            earlier = hits
        return fsum(terms) / positives

    def roc(self) -> list[RocPoint] | None:
        """The ROC curve from (0, 0) to (1, 1), one point per distinct score after the first."""
        positives, negatives = self.n_positive, self.n_negative
        if positives == 0 or negatives == 0:
            return None
        points = [RocPoint(threshold=None, false_positive_rate=0.0, true_positive_rate=0.0)]
        points.extend(
            RocPoint(
                threshold=threshold,
                false_positive_rate=misses / negatives,
                true_positive_rate=hits / positives,
            )
            for threshold, hits, misses in self._steps()
        )
        return points

    def roc_auc(self) -> float | None:
        """The chance that a random positive outscores a random negative, ties counting half."""
        positives, negatives = self.n_positive, self.n_negative
        if positives == 0 or negatives == 0:
            return None
        corners = [(0, 0), *zip(self.true_positives, self.false_positives, strict=True)]
        doubled = sum((b[1] - a[1]) * (a[0] + b[0]) for a, b in pairwise(corners))
        return doubled / (2 * positives * negatives)

    def ks_statistic(self) -> float | None:
        """The largest distance between the score distributions of positives and negatives, in [0, 1]."""
        found = self._ks()
        return None if found is None else found[0]

    def ks_threshold(self) -> float | None:
        """The highest score at and above which the two shares differ by the KS statistic."""
        found = self._ks()
        return None if found is None else found[1]

    def _ks(self) -> tuple[float, float] | None:
        positives, negatives = self.n_positive, self.n_negative
        if positives == 0 or negatives == 0:
            return None
        gaps = [abs(hits * negatives - misses * positives) for _, hits, misses in self._steps()]
        largest = max(gaps)
        return largest / (positives * negatives), self.thresholds[gaps.index(largest)]

    def _steps(self) -> Iterable[tuple[float, int, int]]:
        return zip(self.thresholds, self.true_positives, self.false_positives, strict=True)


def rank(scores: Sequence[float], positives: Sequence[bool]) -> Ranking:
    """Sort items by score, given which of them are positive."""
    values = finite_values(scores, name="scores")
    if len(values) != len(positives):
        raise ValueError(
            f"every score needs its class: got {len(values)} scores and {len(positives)} classes"
        )
    thresholds: list[float] = []
    hits: list[int] = []
    misses: list[int] = []
    hit = miss = 0
    for value, positive in sorted(zip(values, positives, strict=True), key=lambda item: -item[0]):
        if not thresholds or value != thresholds[-1]:
            thresholds.append(value)
            hits.append(hit)
            misses.append(miss)
        if positive:
            hit += 1
            hits[-1] = hit
        else:
            miss += 1
            misses[-1] = miss
    return Ranking(thresholds=tuple(thresholds), true_positives=tuple(hits), false_positives=tuple(misses))
