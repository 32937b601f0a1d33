"""What a rule is held against: numbers by case, and the interval they give at any confidence.

The case is the unit: attempts at it are averaged first. Where all cases agree to the last digit there is no spread to make an
interval of, and a point would claim certainty that a few cases cannot give. Then one more thing is known: of n cases that
agree, the share that would not is bounded (Clopper and Pearson), and each of those can be off by no more than the range of the
values. Numbers without a range, such as seconds, are taken at their word from `ENOUGH_ALIKE` cases that agree.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import ceil, fsum, log
from typing import Protocol

from calipers.stats import (
    Interval,
    VarianceComponents,
    anytime_interval,
    cases_needed,
    clopper_pearson,
    compare_paired,
    mean,
    rate,
    ratio_of_totals,
)
from calipers.stats.moments import Moments

ENOUGH_ALIKE = 30
"""Cases that agree to the last digit, from which numbers without a range are believed."""
_NO_WIDTH = 1e-9
_MOST_CASES = 1_000_000

Cases = Sequence[Sequence[float]]
"""For every case, the values of its attempts."""


class Measure(Protocol):
    """An estimate with an interval at any confidence."""

    @property
    def n(self) -> int:
        """Cases behind it."""
        ...

    @property
    def value(self) -> float | None:
        """The estimate; `None` if there is none."""
        ...

    def interval(self, confidence: float) -> Interval | None:
        """Where the true value may lie; `None` when the data cannot tell."""
        ...

    def needed(self, limit: float, confidence: float) -> int | None:
        """About how many cases would tell the value from the limit, four times in five; `None` if nobody knows."""
        ...


@dataclass(frozen=True, kw_only=True)
class Level:
    """The mean over cases: a rate where `is_rate`."""

    cases: Cases
    clusters: Sequence[Hashable] | None = None
    bounds: tuple[float, float] | None = None
    """Between which all values lie; `None` if they have no bounds."""
    is_rate: bool = False
    anytime: bool = False

    @property
    def n(self) -> int:
        """Cases."""
        return len(self.cases)

    @property
    def means(self) -> list[float]:
        """Of every case."""
        return [fsum(values) / len(values) for values in self.cases]

    @property
    def value(self) -> float | None:
        """The mean."""
        return fsum(self.means) / self.n if self.n else None

    def interval(self, confidence: float) -> Interval | None:
        """The interval of the mean."""
        if not self.n:
            return None
        if self.anytime:
            return _anytime(self.means, self.bounds, self.clusters, confidence)
        if self.is_rate:
            counts = [(fsum(values), len(values)) for values in self.cases]
            found = rate(counts, clusters=self.clusters, confidence=confidence)
        else:
            found = mean(self.cases, clusters=self.clusters, confidence=confidence)
        interval = None if found is None else found.interval
        if interval is not None and interval.width > _NO_WIDTH:
            return interval
        return _of_agreeing(self.means, self.bounds, self.clusters, confidence)

    def needed(self, limit: float, confidence: float) -> int | None:
        """Cases that would tell the mean from the limit."""
        return _needed(self.means, limit, self.bounds, confidence)


@dataclass(frozen=True, kw_only=True)
class Change:
    """The mean difference on the same cases: the run minus the baseline."""

    run: Cases
    baseline: Cases
    clusters: Sequence[Hashable] | None = None
    bounds: tuple[float, float] | None = None
    """Between which all differences lie."""
    sign: int = 1
    """-1 where lower is better, so that a positive difference is always a gain."""
    anytime: bool = False

    @property
    def n(self) -> int:
        """Cases in both."""
        return len(self.run)

    @property
    def differences(self) -> list[float]:
        """Of every case: how much better the run is."""
        return [
            self.sign * (fsum(new) / len(new) - fsum(old) / len(old))
            for new, old in zip(self.run, self.baseline, strict=True)
        ]

    @property
    def value(self) -> float | None:
        """The mean difference."""
        return fsum(self.differences) / self.n if self.n else None

    def interval(self, confidence: float) -> Interval | None:
        """The interval of the mean difference."""
        if not self.n:
            return None
        if self.anytime:
            return _anytime(self.differences, self.bounds, self.clusters, confidence)
        first, second = (self.run, self.baseline) if self.sign > 0 else (self.baseline, self.run)
        found = compare_paired(first, second, clusters=self.clusters, confidence=confidence)
        if found is not None and found.interval is not None:
            return found.interval
        return _of_agreeing(self.differences, self.bounds, self.clusters, confidence)

    def needed(self, limit: float, confidence: float) -> int | None:
        """Cases that would tell the difference from the limit."""
        return _needed(self.differences, limit, self.bounds, confidence)


@dataclass(frozen=True, kw_only=True)
class Grown:
    """How much larger a total is than that of the baseline on the same cases, as a share: 0.1 is 10 % more."""

    run: Cases
    baseline: Cases
    clusters: Sequence[Hashable] | None = None

    @property
    def n(self) -> int:
        """Cases in both."""
        return len(self.run)

    def _units(self) -> tuple[list[float], list[float]]:
        """Both totals of every independent unit: a case, or a cluster of them."""
        groups = range(self.n) if self.clusters is None else self.clusters
        tops: dict[Hashable, list[float]] = {}
        bottoms: dict[Hashable, list[float]] = {}
        for group, new, old in zip(groups, self.run, self.baseline, strict=True):
            tops.setdefault(group, []).append(fsum(new) / len(new))
            bottoms.setdefault(group, []).append(fsum(old) / len(old))
        return [fsum(part) for part in tops.values()], [fsum(part) for part in bottoms.values()]

    @property
    def value(self) -> float | None:
        """The growth."""
        tops, bottoms = self._units()
        return fsum(tops) / fsum(bottoms) - 1 if fsum(bottoms) > 0 else None

    def interval(self, confidence: float) -> Interval | None:
        """Fieller's interval; without an upper end there is none."""
        tops, bottoms = self._units()
        if min([*tops, *bottoms], default=-1) < 0:
            return None  # a growth of what may be negative means nothing
        found = ratio_of_totals(tops, bottoms, confidence=confidence)
        if found is None or found.value is None:
            return None
        if found.low is not None and found.high is not None:
            return Interval(found.low - 1, found.high - 1, confidence, "fieller")
        alike = all(
            abs(top - found.value * bottom) <= _NO_WIDTH * top
            for top, bottom in zip(tops, bottoms, strict=True)
        )
        if alike and len(tops) >= ENOUGH_ALIKE:
            return Interval(found.value - 1, found.value - 1, confidence, "fieller")
        return None

    def needed(self, limit: float, confidence: float) -> int | None:
        """Cases that would tell the growth from the limit."""
        tops, bottoms = self._units()
        return _needed(
            [top - (1 + limit) * bottom for top, bottom in zip(tops, bottoms, strict=True)],
            0.0,
            None,
            confidence,
        )


def _anytime(
    values: list[float],
    bounds: tuple[float, float] | None,
    clusters: Sequence[Hashable] | None,
    confidence: float,
) -> Interval | None:
    if bounds is None or clusters is not None or not all(bounds[0] <= value <= bounds[1] for value in values):
        return None
    return anytime_interval(values, low=bounds[0], high=bounds[1], confidence=confidence)


def _of_agreeing(
    values: list[float],
    bounds: tuple[float, float] | None,
    clusters: Sequence[Hashable] | None,
    confidence: float,
) -> Interval | None:
    """The interval of units that all agree; `None` if they do not, or nothing bounds those not seen."""
    units = len(values) if clusters is None else len(set(clusters))
    value = fsum(values) / len(values)
    if max(values) - min(values) > _NO_WIDTH * max(1.0, abs(value)) or units < 2:
        return None
    if bounds is None:
        return Interval(value, value, confidence, "t") if units >= ENOUGH_ALIKE else None
    low, high = bounds
    found = clopper_pearson(units, units, confidence=confidence)
    if found is None or not low <= value <= high:
        return None
    share = 1 - found.low
    return Interval(
        value - share * (value - low), value + share * (high - value), confidence, "clopper-pearson"
    )


def _needed(
    values: list[float], limit: float, bounds: tuple[float, float] | None, confidence: float
) -> int | None:
    if len(values) < 2:
        return None
    centre = fsum(values) / len(values)
    distance = abs(centre - limit)
    variance = Moments.of(values).variance or 0.0
    if distance <= _NO_WIDTH:
        return None
    if variance <= _NO_WIDTH**2:
        if bounds is None:
            return ENOUGH_ALIKE
        reach = centre - bounds[0] if limit < centre else bounds[1] - centre
        return ceil(log((1 - confidence) / 2) / log(1 - distance / reach)) if 0 < distance < reach else None
    try:
        found = cases_needed(distance, VarianceComponents(variance, 0.0), confidence=confidence)
    except ValueError:  # the distance is too small beside the spread for any plan
        return None
    return found if found <= _MOST_CASES else None
