"""What a rule limits: numbers by case, and the interval they give at any confidence.

The case is the unit: attempts at it are averaged first. A gate promises how rarely it errs, so it allows for cases not seen that lie
at a bound. Hence Gaffke's interval (`calipers.stats.bounded`), which is that of Clopper and Pearson where cases pass or not, and for
the difference of two agents on cases that each passed or not once, the exact one in Tango's order (`calipers.stats.tango`). Both are
wider than the intervals that reports show, which are right on average over rates (Wilson, Newcombe) or for values that are about
normal (t), and so too sure for some agents at the limit. With clusters, Gaffke's is joined with the t interval of the clusters, which
knows better how unequal ones vary.

Where a policy asks about *these cases* and no others, the attempt is the unit (`attempts_apart`): attempts are independent, and
each case has as many. Their mean varies less than that of as many attempts at cases drawn by chance, so the same interval holds
(Hoeffding, "On the Distribution of the Number of Successes in Independent Trials", 1956, proves it for passes).

Numbers without bounds, such as seconds without a time-out, or scores outside 0 and 1 of which no bounds are stated, have a t interval
or, where they are compared as totals, Fieller's; from `ENOUGH_ALIKE` cases that agree to the last digit they are believed. Such an
interval is approximate: it does not allow for a rare value that is much larger than those seen.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, fsum, inf
from typing import Protocol

from calipers.stats import (
    Interval,
    VarianceComponents,
    anytime_interval,
    cases_needed,
    compare_paired,
    mean,
    ratio_of_totals,
)
from calipers.stats.bounded import bounded_interval, cases_to_clear, shape_of
from calipers.stats.clusters import (
    clustered_interval,
    clustered_variance,
    clusters_agree,
    independent_groups,
)
from calipers.stats.sequential import Stakes
from calipers.stats.tango import exact_paired

ENOUGH_ALIKE = 30
"""Cases that agree to the last digit, from which numbers without a range are believed."""
_NO_WIDTH = 1e-9
_CLOSE = 1e-5
"""Of one plus a growth: how well the ends of its interval are known."""
_ROUNDING = 1e-12
"""Of the largest number that a measure is made of, be that 1e-10 or 1e10: what differs by no more is equal."""
_MOST_CASES = 1_000_000

Cases = Sequence[Sequence[float]]
"""For every case, the values of its attempts."""


def attempts_apart(*sides: Cases) -> list[list[Sequence[float]]]:
    """Each side with as many units for each case as the case with the fewest attempts has; a unit is one attempt, or several."""
    parts = min((len(values) for cases in sides for values in cases), default=0)
    return [[unit for values in cases for unit in _in_parts(values, parts)] for cases in sides]


def _in_parts(values: Sequence[float], parts: int) -> list[Sequence[float]]:
    """So many parts of the values, as equal in size as they can be."""
    cuts = [round(place * len(values) / parts) for place in range(parts + 1)]
    return [values[start:end] for start, end in pairwise(cuts)]


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
        """About how many cases would tell the value from the limit, four times in five; `None` if no number would, or it is not known.

        Against a baseline, how many would tell an agent that is as good as it: what is seen of this agent may be luck, and the
        number would follow the luck.
        """
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
    stakes: Stakes | None = None
    """Of an interval that allows many looks, where the largest number of cases was known; `None` if not."""

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
            return _anytime(self.means, self._bounds, self.clusters, confidence, self.stakes)
        found = _bounded(self.means, self._bounds, self.clusters, confidence)
        if found is not None:
            return found
        estimate = mean(self.cases, clusters=self.clusters, confidence=confidence)
        interval = None if estimate is None else estimate.interval
        if interval is not None and interval.width > _ROUNDING * _largest(self.cases):
            return interval
        return _of_agreeing(self.means, self.clusters, confidence, scale=_largest(self.cases))

    @property
    def _bounds(self) -> tuple[float, float] | None:
        return (0.0, 1.0) if self.is_rate else self.bounds

    def needed(self, limit: float, confidence: float) -> int | None:
        """Cases that would tell the mean from the limit."""
        scale = _largest(self.cases)
        return _needed(self.means, limit, self._bounds, self.clusters, confidence, scale=scale)


@dataclass(frozen=True, kw_only=True)
class MeanDifference:
    """The mean difference on the same cases: the run minus the baseline."""

    run: Cases
    baseline: Cases
    clusters: Sequence[Hashable] | None = None
    bounds: tuple[float, float] | None = None
    """Between which all differences lie."""
    is_rate: bool = False
    """Whether an attempt either passes, 1, or does not, 0: nothing in between is possible, seen or not."""
    anytime: bool = False
    stakes: Stakes | None = None
    """Of an interval that allows many looks, where the largest number of cases was known; `None` if not."""

    @property
    def n(self) -> int:
        """Cases in both."""
        return len(self.run)

    @property
    def differences(self) -> list[float]:
        """Of every case: how much higher the run is."""
        return [
            fsum(new) / len(new) - fsum(old) / len(old)
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
            return _anytime(self.differences, self._bounds, self.clusters, confidence, self.stakes)
        if self.is_rate and self.clusters is None and self._once:
            flips = Counter(self.differences)
            return exact_paired(flips[1.0], flips[-1.0], self.n, confidence=confidence)
        bounded = _bounded(self.differences, self._bounds, self.clusters, confidence)
        if bounded is not None:
            return bounded
        try:
            found = compare_paired(self.run, self.baseline, clusters=self.clusters, confidence=confidence)
        except ValueError:  # the spread is too large, or too small, for a float
            return None
        if found is not None and found.interval is not None:
            return found.interval
        return _of_agreeing(
            self.differences, self.clusters, confidence, scale=_largest(self.run, self.baseline)
        )

    @property
    def _bounds(self) -> tuple[float, float] | None:
        return (-1.0, 1.0) if self.is_rate else self.bounds

    @property
    def _once(self) -> bool:
        """Whether every case has one attempt on each side, so that it came out better, worse or the same."""
        return all(len(values) == 1 for cases in (self.run, self.baseline) for values in cases)

    def needed(self, limit: float, confidence: float) -> int | None:
        """Cases that would tell a difference of 0 from the limit or, where the limit is 0, the difference that is seen."""
        scale = _largest(self.run, self.baseline)
        values, groups = self.differences, self.clusters
        if limit:
            values, groups = [*values, *(-value for value in values)], _twice(groups, self.n)
        return _needed(values, limit, self._bounds, groups, confidence, scale=scale)


@dataclass(frozen=True, kw_only=True)
class TotalGrowth:
    """How much larger a total is than that of the baseline on the same cases, as a share: 0.1 is 10 % more."""

    run: Cases
    baseline: Cases
    clusters: Sequence[Hashable] | None = None
    most: float | None = None
    """The largest value that there can be; the smallest is 0. `None` if there is no largest."""

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
        """The interval by the largest value; without one Fieller's, and without an upper end none."""
        if self.most is not None and self.n > 1 and (self.value or 0.0) > -1:
            bounded = self._between_bounds(self.most, confidence)
            if bounded is not None:
                return bounded
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

    def _between_bounds(self, most: float, confidence: float) -> Interval | None:
        """The growths g for which the mean of new - (1 + g) old may be 0, by the interval of values between bounds.

        It falls with g, so each end of the interval has one place where it is 0.
        """
        new, old = ([fsum(each) / len(each) for each in side] for side in (self.run, self.baseline))
        value = self.value
        if value is None or min(*new, *old) < 0 or max(*new, *old) > most * (1 + _NO_WIDTH):
            return None

        def end(growth: float, *, upper: bool) -> float:
            times = 1 + growth
            values = [top - times * bottom for top, bottom in zip(new, old, strict=True)]
            found = _bounded(values, (-times * most, most), self.clusters, confidence)
            return inf if found is None else found.high if upper else found.low

        high = _zero_above(lambda growth: end(growth, upper=True), value)
        low = _zero_above(lambda down: -end(value - down, upper=False), 0.0, most=1 + value)
        return None if high is None or low is None else Interval(value - low, high, confidence, "gaffke")

    def needed(self, limit: float, confidence: float) -> int | None:
        """Cases that would tell a growth of 0 from the limit or, where the limit is 0, the growth that is seen."""
        tops, bottoms = self._units()
        signs = (1, -1) if limit else (1,)
        bounds = None
        if self.most is not None and self.clusters is None:
            bounds = (-(1 + limit) * self.most, self.most)
        units = _needed(
            [
                sign * (top - bottom) - limit * bottom
                for sign in signs
                for top, bottom in zip(tops, bottoms, strict=True)
            ],
            0.0,
            bounds,
            None,
            confidence,
            scale=max(map(abs, [*tops, *bottoms]), default=0.0),
        )
        return None if units is None else ceil(units * self.n / len(tops))


def _zero_above(falling: Callable[[float], float], start: float, *, most: float = 1e6) -> float | None:
    """Where a function that falls from `start` on is no longer above 0; at most `start` + `most`."""
    step = 0.05
    few, enough = start, start + min(step, most)
    above, below = 1.0, falling(enough)
    while below > 0 and enough < start + most:
        step *= 2
        few, above, enough = enough, below, start + min(step, most)
        below = falling(enough)
    if below > 0:
        return start + most if most < 1e6 else None
    side = 0
    for _ in range(60):
        if enough - few <= _CLOSE * (1 + abs(enough)):
            break
        # False position; an end that stays twice is halved (the Illinois rule), or the other would creep.
        place = few + (enough - few) * (above / (above - below) if above > below else 0.5)
        place = place if few < place < enough else (few + enough) / 2
        found = falling(place)
        if found > 0:
            below = below / 2 if side > 0 else below
            few, above, side = place, found, 1
        else:
            above = above / 2 if side < 0 else above
            enough, below, side = place, found, -1
    return enough


def _anytime(
    values: list[float],
    bounds: tuple[float, float] | None,
    clusters: Sequence[Hashable] | None,
    confidence: float,
    stakes: Stakes | None,
) -> Interval | None:
    if bounds is None or clusters is not None or not all(bounds[0] <= value <= bounds[1] for value in values):
        return None
    return anytime_interval(values, low=bounds[0], high=bounds[1], confidence=confidence, stakes=stakes)


def is_inside(value: float, bounds: tuple[float, float]) -> bool:
    """Whether a value keeps to the bounds, but for what rounding adds to a mean or to a difference."""
    low, high = bounds
    slack = _NO_WIDTH * (high - low)
    return low - slack <= value <= high + slack


def _bounded(
    values: list[float],
    bounds: tuple[float, float] | None,
    clusters: Sequence[Hashable] | None,
    confidence: float,
) -> Interval | None:
    """The interval of values between bounds; `None` if they have none, do not keep to them, or are fewer than two."""
    if bounds is None:
        return None
    low, high = bounds
    if not all(is_inside(value, bounds) for value in (min(values), max(values))):
        return None
    kept = [min(max(value, low), high) for value in values]
    found = bounded_interval(kept, low=low, high=high, clusters=clusters, confidence=confidence)
    if found is None or clusters is None:
        return found
    other = clustered_interval(kept, clusters, confidence=confidence)
    if other is None:
        return found
    return Interval(
        max(low, min(found.low, other.low)), min(high, max(found.high, other.high)), confidence, found.method
    )


def _of_agreeing(
    values: list[float], clusters: Sequence[Hashable] | None, confidence: float, *, scale: float
) -> Interval | None:
    """The interval of enough units that all agree, though nothing bounds them; `None` otherwise."""
    units = len(values) if clusters is None else len(set(clusters))
    value = fsum(values) / len(values)
    alike = max(values) - min(values) <= _ROUNDING * scale
    return Interval(value, value, confidence, "t") if alike and units >= ENOUGH_ALIKE else None


def _twice(clusters: Sequence[Hashable] | None, n: int) -> list[Hashable] | None:
    """The clusters of values that are there twice, once turned around: those turned are clusters of their own."""
    if clusters is None:
        return None
    return [(side, cluster) for side in (0, 1) for cluster in clusters[:n]]


def _largest(*sides: Cases) -> float:
    """The size of the numbers."""
    return max((abs(value) for cases in sides for values in cases for value in values), default=0.0)


def _needed(
    values: list[float],
    limit: float,
    bounds: tuple[float, float] | None,
    clusters: Sequence[Hashable] | None,
    confidence: float,
    *,
    scale: float,
) -> int | None:
    """Cases after which the interval tells the mean from the limit, if more come in clusters such as these."""
    groups = range(len(values)) if clusters is None else clusters
    units = len(set(groups))
    if units < 2:
        return None
    distance = abs(fsum(values) / len(values) - limit)
    if distance <= _ROUNDING * max(scale, abs(limit)):
        return None
    tiny = _ROUNDING * scale
    if bounds is None and max(values) - min(values) <= tiny:
        needed: list[int | None] = [ceil(ENOUGH_ALIKE * len(values) / units)]
    elif bounds is None:
        needed = [_needed_by_t(values, groups, distance, confidence, tiny=tiny)]
    elif not bounds[0] < limit < bounds[1]:
        return None
    else:
        needed = [_needed_between(values, groups, limit, bounds, confidence)]
        if clusters is not None and not clusters_agree(values, clusters, scale=scale):
            # The interval of clusters is joined with that of Student's t, so both have to tell.
            needed.append(_needed_by_t(values, groups, distance, confidence, tiny=tiny))
    found = max(inf if each is None else each for each in needed)
    return int(found) if found <= _MOST_CASES else None


def _needed_between(
    values: list[float],
    groups: Sequence[Hashable],
    limit: float,
    bounds: tuple[float, float],
    confidence: float,
) -> int | None:
    """By Gaffke's interval, in which a cluster counts by its mean and with the share of its size."""
    members: dict[Hashable, list[float]] = {}
    for group, value in zip(groups, values, strict=True):
        members.setdefault(group, []).append(value)
    means = {group: fsum(each) / len(each) for group, each in members.items()}
    low, high = bounds
    shape, edge = (
        shape_of([means[group] for group in groups], low=low, high=high),
        (limit - low) / (high - low),
    )
    if limit > fsum(values) / len(values):
        shape, edge = [(1 - value, share) for value, share in shape], 1 - edge
    found = cases_to_clear(shape, edge, confidence=confidence, most=_MOST_CASES)
    size = len(values) / independent_groups(map(len, members.values()))
    return None if found is None else ceil(found * size)


def _needed_by_t(
    values: list[float], groups: Sequence[Hashable], distance: float, confidence: float, *, tiny: float
) -> int | None:
    """By the t interval of clusters, or of cases that are each one of their own; `None` if clusters agree by luck."""
    units = len(set(groups))
    variance = units * (clustered_variance(values, groups) or 0.0)
    if variance <= tiny**2:
        return None
    try:
        found = cases_needed(distance, VarianceComponents(variance, 0.0), confidence=confidence)
    except ValueError:  # the distance is too small beside the spread for any plan
        return None
    return ceil(found * len(values) / units)
