"""The cases of a report as units of inference, and what is counted of each: passes and numbers.

Attempts at one case are one unit, and cases of one cluster are one source. Most cases are attempted once and name no
cluster: they are alike, and only counted.
"""

from array import array
from collections.abc import Hashable, Iterable, Sequence
from math import fsum
from typing import TypeAlias

from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.stats import Estimate, mean, mean_from_moments, rate, rate_from_counts

CasePasses: TypeAlias = tuple[list[tuple[int, int]], list[Hashable] | None]
"""(passes, attempts) of each case, and the clusters of these cases if they name any."""

_LARGEST_SCORE = 1e150
"""Beyond this, squares overflow, and a mean could have no interval."""

_ALONE = -1
"""The unit of a case that was attempted once and names no cluster: one of many alike, and not worth a number."""


class Units:
    """The cases of a report: the units of inference. Those that are repeated or in a cluster are numbered."""

    def __init__(self) -> None:
        self.count = 0
        self.attempts = 0
        self._numbers: dict[str, int] = {}
        self._clusters: list[str | None] = []
        self.clustered = False

    def of(self, record: ReportCase | ReportCaseFailure) -> int:
        """The number of the case that a record is an attempt at."""
        self.attempts += 1
        name, cluster = record.source_case_name, record.cluster
        if name is None and cluster is None:
            self.count += 1
            return _ALONE
        unit = None if name is None else self._numbers.get(name)
        if unit is None:
            unit = len(self._clusters)
            self.count += 1
            self._clusters.append(cluster)
            self.clustered = self.clustered or cluster is not None
            if name is not None:
                self._numbers[name] = unit
        return unit

    def clusters_of(self, units: Iterable[int], alone: int) -> list[Hashable] | None:
        """The cluster of each unit, then of the lone ones; what names none stands alone. `None` if no case names one."""
        if not self.clustered:
            return None
        known = self._clusters
        named: list[Hashable] = [unit if (cluster := known[unit]) is None else cluster for unit in units]
        return [*named, *((_ALONE, number) for number in range(alone))]


class Passes:
    """Attempts that passed or did not, by case."""

    __slots__ = ("alone", "alone_passed", "passed", "units")

    def __init__(self) -> None:
        self.alone = 0
        self.alone_passed = 0
        self.units = array("I")
        self.passed = array("b")

    def add(self, unit: int, passed: bool) -> None:
        """Count an attempt at a case."""
        if unit == _ALONE:
            self.alone += 1
            self.alone_passed += passed
        else:
            self.units.append(unit)
            self.passed.append(passed)

    @property
    def count(self) -> int:
        """All attempts."""
        return self.alone + len(self.units)

    @property
    def held(self) -> int:
        """Those that passed."""
        return self.alone_passed + sum(self.passed)

    def all_passed(self) -> "Passes":
        """The same attempts, as if all had passed."""
        found = Passes()
        found.alone = found.alone_passed = self.alone
        found.units, found.passed = self.units, array("b", [1]) * len(self.units)
        return found

    def by_case(self, units: Units, lost: "Sequence[Passes]" = ()) -> CasePasses:
        """(passes, attempts) of each case, and the clusters of these cases; what was lost is added."""
        counts: dict[int, tuple[int, int]] = {}
        alone, alone_passed = self.alone, self.alone_passed
        for part in (self, *lost):
            for unit, passed in zip(part.units, part.passed, strict=True):
                passes, attempts = counts.get(unit, (0, 0))
                counts[unit] = (passes + passed, attempts + 1)
            if part is not self:
                alone, alone_passed = alone + part.alone, alone_passed + part.alone_passed
        cases = [*counts.values(), *[(1, 1)] * alone_passed, *[(0, 1)] * (alone - alone_passed)]
        return cases, units.clusters_of(counts, alone)

    def rate(self, units: Units, lost: "Sequence[Passes]", confidence: float) -> Estimate | None:
        """The pass rate over cases, with what was lost added: as not passed, unless it is `all_passed`."""
        parts = (self, *lost)
        if not units.clustered and not any(part.units for part in parts):
            passed, alone = (
                sum(part.alone_passed for part in parts),
                sum(part.alone for part in parts),
            )
            return rate_from_counts(passed, alone, confidence=confidence)
        cases, clusters = self.by_case(units, lost)
        return rate(cases, clusters=clusters, confidence=confidence)


class Scores:
    """Numbers, by case."""

    __slots__ = ("alone", "units", "values")

    def __init__(self) -> None:
        self.alone = array("d")
        self.units = array("I")
        self.values = array("d")

    def add(self, unit: int, value: float) -> None:
        """Note the number of an attempt at a case."""
        if unit == _ALONE:
            self.alone.append(value)
        else:
            self.units.append(unit)
            self.values.append(value)

    def mean(
        self,
        units: Units,
        confidence: float,
        *,
        bounds: tuple[float, float] | None = None,
        bounded: bool = True,
    ) -> Estimate | None:
        """The mean over cases; `None` if there is nothing to average, or numbers whose squares no float can hold.

        Args:
            units: the cases.
            confidence: of the interval.
            bounds: between which they lie, where that was declared. Those that do not keep to them have none; those that are all
                from 0 to 1 have these.
            bounded: False of amounts, such as costs: that they are all below 1 sets no bound to them.
        """
        largest = max((abs(value) for part in (self.alone, self.values) for value in part), default=None)
        if largest is None or largest > _LARGEST_SCORE:
            return None
        bounds = self._kept(bounds) if bounded else None
        if bounds is None and not units.clustered and not self.units:
            n = len(self.alone)
            average = fsum(self.alone) / n
            variance = fsum((value - average) ** 2 for value in self.alone) / (n - 1) if n > 1 else None
            return mean_from_moments(n, average, variance, confidence=confidence)
        by_unit: dict[int, list[float]] = {}
        for unit, value in zip(self.units, self.values, strict=True):
            by_unit.setdefault(unit, []).append(value)
        cases: list[Sequence[float]] = [*by_unit.values(), *((value,) for value in self.alone)]
        clusters = units.clusters_of(by_unit, len(self.alone))
        return mean(cases, bounds=bounds, clusters=clusters, confidence=confidence)

    def _kept(self, bounds: tuple[float, float] | None) -> tuple[float, float] | None:
        """The bounds that all numbers keep to: those that were declared, else 0 and 1, else `None`."""
        parts = [part for part in (self.alone, self.values) if part]
        least, most = min(map(min, parts)), max(map(max, parts))
        for low, high in ((0.0, 1.0),) if bounds is None else (bounds,):
            if low <= least and most <= high:
                return low, high
        return None
