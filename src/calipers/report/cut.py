"""Some cases of a run beside the rest: what they say, by how much they differ, and what remains of that when many are looked at.

Estimates are those of the report of these cases: the unit is the case, and clusters are respected. Whether a slice differs is asked of
many slices at once, so p-values are adjusted by Holm over all that were looked at.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from calipers.stats.case_moments import CaseMoments, compare_moments
from calipers.stats.difference import Difference, compare_unpaired
from calipers.stats.estimate import Estimate, mean, rate
from calipers.stats.interval import Interval
from calipers.stats.p_values import holm

MOST: Final = 100
"""Slices by one field that are looked at: those with the most cases."""
LEVEL: Final = 0.05
CORRECTION: Final = "Holm"


class ClusteredCases(NamedTuple):
    """The numbers of cases that are in clusters, each those of its attempts."""

    numbers: Sequence[Sequence[float]]
    clusters: Sequence[Hashable]


Cases: TypeAlias = CaseMoments | ClusteredCases
"""What is known of some cases."""


class Scale(NamedTuple):
    """What the numbers of cases are."""

    is_rate: bool
    """Whether an attempt passed, or held: 0 or 1."""
    bounds: tuple[float, float] | None = None
    """Between what scores lie; `None`: not known."""


class Cut(NamedTuple):
    """Some cases beside the rest."""

    estimate: Estimate | None
    """`None` if nothing of them was asserted."""
    difference: float | None = None
    """From the rest; `None` if either has no numbers."""
    interval: Interval | None = None
    p_value: float | None = None


class Adjusted(NamedTuple):
    """What remains of a cut among many."""

    cut: Cut
    place: int
    """Of the cut among those that were given."""
    p_value: float | None
    differs: bool


def estimate(cases: Cases | None, scale: Scale) -> Estimate | None:
    """The rate, or the mean score, of cases; `None` if there are none."""
    match cases:
        case None:
            return None
        case CaseMoments():
            return cases.rate() if scale.is_rate else cases.score(bounds=scale.bounds)
        case ClusteredCases(numbers, clusters):
            if not scale.is_rate:
                return mean(numbers, bounds=scale.bounds, clusters=clusters)
            return rate([(sum(each), len(each)) for each in numbers], clusters=clusters)


def cut(cases: Cases | None, rest: Cases | None, scale: Scale) -> Cut:
    """Cases beside the rest; `None` where there are none with a number."""
    found = estimate(cases, scale)
    difference = _difference(cases, rest)
    if difference is None:
        return Cut(found)
    return Cut(found, difference.value, difference.interval, difference.p_value)


def _difference(cases: Cases | None, rest: Cases | None) -> Difference | None:
    if isinstance(cases, CaseMoments) and isinstance(rest, CaseMoments):
        return compare_moments(cases, rest)
    if isinstance(cases, ClusteredCases) and isinstance(rest, ClusteredCases):
        return compare_unpaired(
            cases.numbers, rest.numbers, first_clusters=cases.clusters, second_clusters=rest.clusters
        )
    return None


def adjusted(cuts: Iterable[Cut]) -> list[Adjusted]:
    """Cuts with p-values adjusted for being many; those that certainly differ most come first."""
    listed = list(cuts)
    places = [place for place, each in enumerate(listed) if each.p_value is not None]
    known = dict(zip(places, holm([listed[place].p_value or 0.0 for place in places]), strict=True))
    found = [
        Adjusted(each, place, known.get(place), known.get(place, 1.0) < LEVEL)
        for place, each in enumerate(listed)
    ]
    return sorted(found, key=lambda each: -_certain(each.cut.interval))


def _certain(interval: Interval | None) -> float:
    """How far the near end of a difference's interval is from 0; below 0, if 0 is within."""
    return -float("inf") if interval is None else max(interval.low, -interval.high)
