"""Predictions against what was so: labels (confusion), probabilities (calibration) and scores (ranking).

A measure with nothing to divide by (the precision of a label never predicted, the rate of an empty bin, a ranking
without positives) was not measured: `None`.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import fsum

import msgspec

from calipers.stats.interval import Interval, wilson
from calipers.stats.sample import check_confidence, finite_values


class Confusion(msgspec.Struct, frozen=True):
    """How often each expected label was met with each predicted one; build it with `confusion`."""

    labels: tuple[str, ...]
    """Every label met on either side, sorted."""
    counts: tuple[tuple[int, ...], ...]
    """`counts[i][j]`: how often `labels[i]` was expected and `labels[j]` predicted."""

    @property
    def n(self) -> int:
        """How many pairs were counted."""
        return sum(map(sum, self.counts))

    @property
    def accuracy(self) -> float | None:
        """The share of pairs that agree."""
        return _ratio(sum(row[i] for i, row in enumerate(self.counts)), self.n)

    def count(self, expected: str, predicted: str) -> int:
        """How often `expected` was met with `predicted`."""
        return self.counts[self._index(expected)][self._index(predicted)]

    def precision(self, label: str) -> float | None:
        """Of those predicted as `label`, the share expected so."""
        i = self._index(label)
        return _ratio(self.counts[i][i], sum(row[i] for row in self.counts))

    def recall(self, label: str) -> float | None:
        """Of those expected as `label`, the share predicted so."""
        i = self._index(label)
        return _ratio(self.counts[i][i], sum(self.counts[i]))

    def f1(self, label: str) -> float | None:
        """The harmonic mean of precision and recall: 2 hits over everything expected or predicted as `label`."""
        i = self._index(label)
        return _ratio(2 * self.counts[i][i], sum(self.counts[i]) + sum(row[i] for row in self.counts))

    def _index(self, label: str) -> int:
        try:
            return self.labels.index(label)
        except ValueError:
            raise ValueError(f"no such label: {label!r}; the labels are {list(self.labels)!r}") from None


def confusion(pairs: Iterable[tuple[str, str]]) -> Confusion:
    """Count (expected, predicted) pairs."""
    counted = Counter(pairs)
    labels = tuple(sorted({label for pair in counted for label in pair}))
    rows = tuple(tuple(counted[expected, predicted] for predicted in labels) for expected in labels)
    return Confusion(labels=labels, counts=rows)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


class CalibrationBin(msgspec.Struct, frozen=True):
    """What was predicted and what happened, for predictions of about one size."""

    low: float
    """The smallest prediction that belongs here."""
    high: float
    """Where the next bin begins; the last bin includes 1."""
    n: int
    """Predictions in the bin."""
    mean_predicted: float | None
    """Their mean; `None` in an empty bin."""
    observed_rate: float | None
    """How often the outcome happened; `None` in an empty bin."""
    interval: Interval | None
    """Wilson interval of the observed rate; `None` in an empty bin."""


class Calibration(msgspec.Struct, frozen=True):
    """A reliability diagram as data, with its two summaries."""

    bins: tuple[CalibrationBin, ...]
    """From 0 to 1, empty ones included."""
    n: int
    """Predictions in all bins."""
    brier_score: float
    """Mean squared distance of prediction and outcome."""
    expected_error: float
    """Expected calibration error over these bins."""


def calibration(
    predicted: Sequence[float], outcomes: Sequence[bool], *, n_bins: int = 10, confidence: float = 0.95
) -> Calibration | None:
    """Of the things a model called 80 % likely, did 80 % happen? `None` without predictions.

    Bins are of equal width, closed below and open above, the last closed on both sides. An empty bin stays in the list with
    nothing measured, so that a gap is seen as a gap. The expected calibration error is Σ over bins of (n_bin / n) x |mean
    predicted - observed rate| (Naeini et al. 2015). It depends on the number of bins, and is biased upwards where bins are
    thin: read it beside the bins' intervals.
    """
    values = _probabilities(predicted, outcomes)
    check_confidence(confidence)
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins!r}")
    if not values:
        return None
    edges = [i / n_bins for i in range(n_bins + 1)]
    members: list[list[float]] = [[] for _ in range(n_bins)]
    happened = [0] * n_bins
    for value, outcome in zip(values, outcomes, strict=True):
        # Looking the edge up, not multiplying: 0.29 * 100 falls short of 29.
        index = min(bisect_right(edges, value) - 1, n_bins - 1)
        members[index].append(value)
        happened[index] += bool(outcome)
    bins = tuple(_bin(edges[i], edges[i + 1], members[i], happened[i], confidence) for i in range(n_bins))
    error = fsum(abs(fsum(inside) - count) for inside, count in zip(members, happened, strict=True))
    return Calibration(
        bins=bins,
        n=len(values),
        brier_score=_brier(values, outcomes),
        expected_error=error / len(values),
    )


def brier_score(predicted: Sequence[float], outcomes: Sequence[bool]) -> float | None:
    """Mean of (predicted - outcome)², lower is better (Brier 1950, in its form for two outcomes). `None` without predictions."""
    values = _probabilities(predicted, outcomes)
    return _brier(values, outcomes) if values else None


def _brier(values: list[float], outcomes: Sequence[bool]) -> float:
    return fsum((value - bool(outcome)) ** 2 for value, outcome in zip(values, outcomes, strict=True)) / len(
        values
    )


def _probabilities(predicted: Sequence[float], outcomes: Sequence[bool]) -> list[float]:
    values = finite_values(predicted, name="predicted")
    if len(values) != len(outcomes):
        raise ValueError(
            f"every prediction needs its outcome: got {len(values)} predictions and {len(outcomes)} outcomes"
        )
    for index, value in enumerate(values):
        if not 0 <= value <= 1:
            raise ValueError(
                f"a predicted probability must lie between 0 and 1, got {value!r} at index {index}"
            )
    return values


def _bin(low: float, high: float, members: list[float], happened: int, confidence: float) -> CalibrationBin:
    n = len(members)
    return CalibrationBin(
        low=low,
        high=high,
        n=n,
        mean_predicted=fsum(members) / n if n else None,
        observed_rate=happened / n if n else None,
        interval=wilson(happened, n, confidence=confidence),
    )


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
    """How well a score ranks positives above negatives: precision-recall, ROC and Kolmogorov-Smirnov.

    It sorts once; every measure then reads the same cumulative counts. An item is predicted positive when its score is at
    least the threshold. Items with equal scores cross a threshold together, so their order does not matter.

    - Average precision is Σ (recall step) x precision. It is not the area under a line through the points: precision is
      not linear between them, and the trapezoid flatters (Davis & Goadrich 2006).
    - ROC AUC is the chance that a positive outscores a negative, ties counting half (Mann & Whitney 1947).
    - The KS statistic is the largest gap between the two classes' score distributions.
    """
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
