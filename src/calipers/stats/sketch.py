"""Quantiles of a stream in constant memory.

Values are counted in buckets whose bounds grow by a fixed factor, so that a quantile is known within a fixed share of
its value whatever the values are (Masson, Rim & Lee, "DDSketch", 2019). Here neighbouring bounds differ by 1 %, and a
bucket answers with its middle: half a percent at most. Values at or below a nanosecond share one bucket, for the values
are durations.
"""

from math import exp, floor, isfinite, log

__all__ = ["QuantileSketch"]

_PER_FACTOR = 1 / log(1.01)
_SMALLEST = 1e-9


class QuantileSketch:
    """Counts values as they come; knows how many, their mean, the largest, and any quantile within half a percent."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.largest = 0.0
        self._buckets: dict[int, int] = {}

    def add(self, value: float) -> None:
        """Count a value that is not negative."""
        if not (isfinite(value) and value >= 0):
            raise ValueError(f"a sketch counts finite values from 0, got {value!r}")
        self.count += 1
        self.total += value
        self.largest = max(self.largest, value)
        bucket = floor(log(max(value, _SMALLEST)) * _PER_FACTOR)
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1

    @property
    def mean(self) -> float | None:
        """The mean of the values; `None` if there are none."""
        return self.total / self.count if self.count else None

    def quantile(self, level: float) -> float | None:
        """The value below which a share `level` of the values lies; `None` if there are none."""
        if not 0 <= level <= 1:
            raise ValueError(f"a quantile level must lie between 0 and 1 (0.95 for p95), got {level!r}")
        if not self.count:
            return None
        rank = level * (self.count - 1)
        seen = 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen > rank:
                return min(self.largest, exp((bucket + 0.5) / _PER_FACTOR))
        return self.largest
