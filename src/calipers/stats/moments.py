"""Count, mean and variance of a stream of numbers, in constant memory.

`Moments` takes one value at a time (Welford 1962) and two of them merge into what one stream would have given
(Chan, Golub & LeVeque 1979), so shards of a run are summarised apart and added up later.
"""

from collections.abc import Iterable
from math import isfinite
from typing import Self

import msgspec

__all__ = ["Moments"]


class Moments(msgspec.Struct):
    """A running summary of numbers; `Moments()` is empty."""

    n: int = 0
    """How many values were added."""
    mean: float | None = None
    """Their mean; `None` when there are none."""
    m2: float = 0.0
    """Sum of squared deviations from the mean."""

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """The summary of `values`."""
        moments = cls()
        for value in values:
            moments.add(value)
        return moments

    @property
    def variance(self) -> float | None:
        """Sample variance, divisor n - 1; `None` for fewer than two values."""
        return self.m2 / (self.n - 1) if self.n > 1 else None

    def add(self, value: float) -> None:
        """Take in one more value."""
        if not isfinite(value):
            raise ValueError(
                f"a value must be a finite number, got {value!r}; leave out what was not measured"
            )
        self.n += 1
        if self.mean is None:
            self.mean = float(value)
            return
        delta = value - self.mean
        self.mean += delta / self.n
        self.m2 += delta * (value - self.mean)

    def merge(self, other: "Moments") -> None:
        """Take in everything that `other` has seen; `other` stays as it is."""
        if other.mean is None:
            return
        if self.mean is None:
            self.n, self.mean, self.m2 = other.n, other.mean, other.m2
            return
        n = self.n + other.n
        delta = other.mean - self.mean
        self.mean += delta * (other.n / n)
        self.m2 += other.m2 + delta * delta * (self.n * other.n / n)
        self.n = n
