"""How long until something happens, when some were not watched long enough to see it: the survival curve.

Each subject has a time, and either the event happened then, or watching ended then without it: the time is *censored*.
To drop the censored ones, or to call them events, would be wrong in either direction; Kaplan and Meier's product-limit
estimate ("Nonparametric Estimation from Incomplete Observations", 1958) counts each one for as long as it was watched:

    S(t) = Π over event times u <= t of (1 - d_u / n_u)      d_u events among n_u still watched just before u

A subject censored at t was watched through t: it still counts among those at risk for an event at t.

The estimate assumes that watching ended for reasons that have nothing to do with how near the event was. Where those
most likely to see it are given up first, the curve flatters.

Intervals are those of log(-log S) with Greenwood's variance, which stay inside [0, 1] (Kalbfleisch & Prentice, *The
Statistical Analysis of Failure Time Data*, 1980). With clusters the variance is the one between the clusters' sums of
each subject's influence on log S (Williams, "Product-Limit Survival Functions with Correlated Survival Times", 1995),
with Student's t for their number; with every subject in a cluster of its own those sums give Greenwood's variance. It is
never taken for less than Greenwood's: clusters that happen to agree are no proof. Where the estimate is exactly 1 or 0 it
shows no spread, and Clopper and Pearson's interval for those still at risk, or their clusters, stands in: none of n, or all
of n, is no proof either. The curve never rises, so an upper end that an earlier time excludes is excluded ever after.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from math import exp, fsum, isnan, log, sqrt

import msgspec

from calipers.stats.distributions import normal_quantile, student_t_quantile
from calipers.stats.interval import Interval, clopper_pearson
from calipers.stats.sample import check_confidence, finite_values

_HALF = 0.5 * (1 + 1e-12)
"""Half, with room for the rounding of a product of many factors."""


class SurvivalStep(msgspec.Struct, frozen=True):
    """What one of the observed times did to the curve."""

    time: float
    at_risk: int
    """Subjects still watched just before, those that leave at this time included."""
    events: int
    """Subjects the event happened to at this time."""
    censored: int
    """Subjects watched through this time and no longer."""
    survival: float
    """The estimated share of subjects without the event by this time, this time included."""
    interval: Interval | None
    """Where the true share may lie; `None` with a single cluster."""


class Survival(msgspec.Struct, frozen=True):
    """A survival curve."""

    steps: list[SurvivalStep]
    """One per observed time, whether of an event or not, in order."""
    n: int
    """Subjects."""
    n_events: int
    """Subjects the event happened to."""
    n_clusters: int | None = None
    """Clusters of subjects; `None` when none were declared."""

    def at(self, time: float) -> float | None:
        """The share without the event by `time`; `None` beyond the last observed time, unless all had it by then."""
        if isnan(time):
            raise ValueError(f"time must be a number, got {time!r}")
        index = bisect_right(self.steps, time, key=lambda step: step.time)
        if index == 0:
            return 1.0
        last = self.steps[index - 1]
        beyond = index == len(self.steps) and time > last.time
        return None if beyond and last.survival > 0 else last.survival

    @property
    def median(self) -> float | None:
        """The first time by which the event happened to at least half; `None` if it was not seen to."""
        return next((step.time for step in self.steps if step.survival <= _HALF), None)

    @property
    def median_interval(self) -> tuple[float | None, float | None]:
        """The times at which half may have had the event (Brookmeyer & Crowley 1982); `None`: beyond what was seen."""
        known = [(step.time, step.interval) for step in self.steps if step.interval is not None]
        low = next((time for time, interval in known if interval.low <= 0.5), None)
        high = next((time for time, interval in known if interval.high < 0.5), None)
        return low, high


def kaplan_meier(
    times: Sequence[float],
    happened: Sequence[bool],
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Survival | None:
    """The survival curve of subjects given by their times, and whether the event happened then; `None` without any.

    Args:
        times: of the event, or of the end of watching; not negative.
        happened: whether it was the event, in the same order.
        clusters: the group of each subject, where some resemble each other; default: all are independent.
        confidence: of the intervals.
    """
    check_confidence(confidence)
    sample = finite_values(times, name="times")
    for index, time in enumerate(sample):
        if time < 0:
            raise ValueError(f"times must not be negative, got {time!r} at index {index}")
    happened = list(happened)
    for index, event in enumerate(happened):
        if not isinstance(event, Hashable) or event not in {True, False}:
            raise ValueError(f"happened must be True or False, got {event!r} at index {index}")
    groups = None if clusters is None else list(clusters)
    for index, group in enumerate(groups or ()):
        if not isinstance(group, Hashable):
            raise TypeError(f"a cluster must be named by something hashable, got {group!r} at index {index}")
    for name, given in (("happened", happened), ("clusters", groups)):
        if given is not None and len(given) != len(sample):
            raise ValueError(f"every time needs its {name}: got {len(sample)} times and {len(given)}")
    if not sample:
        return None
    curve = _Curve(sample, happened, groups, confidence)
    return Survival(
        steps=curve.steps(),
        n=len(sample),
        n_events=sum(map(bool, happened)),
        n_clusters=None if groups is None else len(set(groups)),
    )


class _Curve:
    """The estimate, one observed time after the other."""

    def __init__(
        self,
        times: list[float],
        happened: list[bool],
        clusters: list[Hashable] | None,
        confidence: float,
    ) -> None:
        self.clustered = clusters is not None
        self.confidence = confidence
        self.n = len(times)
        self.leaving: dict[float, list[tuple[bool, Hashable]]] = defaultdict(list)
        """Who leaves at each time: whether the event happened, and the cluster."""
        for time, event, group in zip(times, happened, clusters or [None] * self.n, strict=True):
            self.leaving[time].append((bool(event), group))
        self.watched = Counter(clusters or ())
        """How many of each cluster are still watched."""
        self.n_groups = len(self.watched)
        self.influence: dict[Hashable, float] = dict.fromkeys(self.watched, 0.0)
        """What each cluster did to log S: the sum over its subjects."""
        self.greenwood = 0.0

    def steps(self) -> list[SurvivalStep]:
        found: list[SurvivalStep] = []
        survival, at_risk, highest = 1.0, self.n, 1.0
        for time in sorted(self.leaving):
            leaving = self.leaving[time]
            events = sum(event for event, _ in leaving)
            survival *= 1 - events / at_risk
            if 0 < events < at_risk:
                self._spread(leaving, events, at_risk)
            interval = self._interval(survival, at_risk)
            if interval is not None:
                highest = min(highest, interval.high)
                interval = msgspec.structs.replace(interval, high=highest)
            found.append(
                SurvivalStep(
                    time=time,
                    at_risk=at_risk,
                    events=events,
                    censored=len(leaving) - events,
                    survival=survival,
                    interval=interval,
                )
            )
            if self.clustered:
                self.watched -= Counter(group for _, group in leaving)
            at_risk -= len(leaving)
        return found

    def _spread(self, leaving: list[tuple[bool, Hashable]], events: int, at_risk: int) -> None:
        """Add the spread of log S that the events of one time bring."""
        self.greenwood += events / (at_risk * (at_risk - events))
        if self.clustered:
            mine = Counter(group for event, group in leaving if event)
            for group, watched in self.watched.items():
                self.influence[group] += (mine[group] - watched * events / at_risk) / (at_risk - events)

    def _interval(self, survival: float, at_risk: int) -> Interval | None:
        if self.n_groups == 1 and self.clustered:
            return None
        if survival in {0, 1}:
            units = len(self.watched) if self.clustered else at_risk
            return clopper_pearson(units * survival, units, confidence=self.confidence)
        tail = (1 - self.confidence) / 2
        variance, reach = self.greenwood, -normal_quantile(tail)
        if self.clustered:
            correction = self.n_groups / (self.n_groups - 1)
            between = correction * fsum(value * value for value in self.influence.values())
            variance = max(variance, between)
            reach = -student_t_quantile(tail, self.n_groups - 1)
        stretch = exp(
            min(reach * sqrt(variance) / -log(survival), 700.0)
        )  # beyond, exp overflows; both ends are there
        return Interval(survival**stretch, survival ** (1 / stretch), self.confidence, "log-log")
