"""Confusion matrix: how often each expected label was met with each predicted one.

A ratio with nothing below the line (the precision of a label never predicted, the recall of one never
expected) was not measured: `None`.
"""

from collections import Counter
from collections.abc import Iterable

import msgspec

__all__ = ["Confusion", "confusion"]


class Confusion(msgspec.Struct, frozen=True):
    """Counts of pairs of labels; build it with `confusion`."""

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
