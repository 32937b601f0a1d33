"""How strong each of several variants is, from judgements of two at a time: the model of Bradley and Terry (1952).

Each comparison gives 1 point: to the winner or, in a tie, half to each. The model says that variant i takes a share of
1 / (1 + exp(b_j - b_i)) of the points against variant j. A strength b means something only against another one, so the strength of the
`reference` is 0. With two variants there is nothing to model: the strength is the log-odds of the mean points.

Ties count half. Davidson's model (1970) has a parameter for how often variants tie, and its answer depends on whether ties happen as it
says. Counting half needs no such belief: the fitted shares are those of *points*, whatever share of them came from ties, and the
interval goes by the spread that was seen. It is also the win rate that a reader knows.

The case is the unit. Several judgements of the same two variants at one case are averaged first, and the spread is
that between cases or, where `clusters` are given, between clusters of cases: all comparisons of one of these may stand or fall together (they share an
output). The variance is the cluster sandwich, with each cluster's influence enlarged by its pull on the fit; for two variants that is `clustered_variance`.
Each expected share gets Wilson's interval of the size that this variance implies, with Student's t for few clusters, and strengths are
the log-odds of those ends. So no interval of a share leaves 0 to 1, and that of a strength may reach to infinity, which is `None`.

A variant that never lost a point has no finite strength, and neither has one that never won any. More generally, finite strengths exist only among
variants that are linked in both directions by points won (Ford 1957): these form a *group*. Between groups there is no number, and none is given:
`value` is `None`. `seen` still has what was counted between two variants, with its interval.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from math import exp, fsum, inf, isfinite, log
from typing import NamedTuple

import msgspec

from calipers.stats.clusters import cluster_degrees, independent_groups
from calipers.stats.distributions import normal_quantile, student_t_quantile
from calipers.stats.estimate import Estimate, mean
from calipers.stats.interval import Interval, wilson_of_rate
from calipers.stats.sample import check_confidence

_MOST_STEPS = 200
_CLOSE_ENOUGH = 1e-11
_NO_SPREAD = 1e-18


class PairJudgement(NamedTuple):
    """One judgement of two variants at one case."""

    case: Hashable
    first: str
    second: str
    points: float
    """Of the first: 1 if it won, 0.5 in a tie, 0 if it lost; a mean of several is fine."""


class Strength(msgspec.Struct, frozen=True):
    """One variant among the others."""

    name: str
    value: float | None
    """Log-odds of winning against the reference; `None`: not finite, or not known."""
    low: float | None
    """The lower end of its interval; `None`: unbounded, or not known."""
    high: float | None
    """The upper end of its interval; `None`: unbounded, or not known."""
    points: float
    """What it won, each pair of variants at each case counting once."""
    compared: int
    """Pairs at cases that it was in."""
    group: int
    """Strengths of the same group can be compared with each other; groups count from 1 in the order of the variants."""

    @property
    def unbeaten(self) -> bool:
        """Whether it gave away no point, so that no finite strength is high enough."""
        return self.points == self.compared

    @property
    def winless(self) -> bool:
        """Whether it won no point, so that no finite strength is low enough."""
        return self.points == 0


class PairedShare(msgspec.Struct, frozen=True):
    """Which share of the points the first of two variants takes from the second."""

    first: str
    second: str
    value: float | None
    """By the model, from all comparisons; `None` where the two are of different groups."""
    interval: Interval | None
    """Where the true share may lie; `None` with the value, and when the data cannot tell."""
    seen: Estimate | None
    """Counted in comparisons of these two alone; `None` if there are none."""


class Strengths(msgspec.Struct, frozen=True):
    """Variants by strength, and what to expect of any two."""

    reference: str
    """The variant whose strength is 0."""
    strengths: tuple[Strength, ...]
    """Every variant, in the order in which they first appear."""
    pairs: tuple[PairedShare, ...]
    """Every two variants, the one that appears first before the other."""
    n_cases: int
    n_judgements: int
    """Before those of the same two variants at one case were averaged."""
    n_clusters: int | None
    """Clusters of cases; `None` when none were declared."""

    @property
    def connected(self) -> bool:
        """Whether all variants are of one group, so that every strength is a number."""
        return len({each.group for each in self.strengths}) == 1


def strengths(
    judgements: Iterable[PairJudgement | tuple[Hashable, str, str, float]],
    *,
    clusters: Mapping[Hashable, Hashable] | None = None,
    reference: str | None = None,
    confidence: float = 0.95,
) -> Strengths | None:
    """Strengths of the variants that were judged two at a time; `None` without judgements.

    Args:
        judgements: (case, first, second, points of the first) each.
        clusters: the cluster of each case, where some resemble each other.
        reference: the variant whose strength is 0; default: the first one that appears.
        confidence: of the intervals.
    """
    check_confidence(confidence)
    found = [_checked(PairJudgement(*each), index) for index, each in enumerate(judgements)]
    if not found:
        return None
    names = list(dict.fromkeys(name for each in found for name in (each.first, each.second)))
    if reference is None:
        reference = names[0]
    if reference not in names:
        raise ValueError(f"reference must be one of the variants {names!r}, got {reference!r}")
    cases = {each.case for each in found}
    if clusters is not None and not cases <= clusters.keys():
        missing = next(case for case in cases if case not in clusters)
        raise ValueError(f"every case needs its cluster: case {missing!r} has none")
    sides = _averaged(found, names, clusters)
    groups = _groups(len(names), sides)
    pairs = _pairs(names, sides, groups, declared=clusters is not None, confidence=confidence)
    return Strengths(
        reference=reference,
        strengths=tuple(
            _strength(names, place, sides, groups, pairs, reference) for place in range(len(names))
        ),
        pairs=tuple(pairs[place] for place in combinations(range(len(names)), 2)),
        n_cases=len(cases),
        n_judgements=len(found),
        n_clusters=None if clusters is None else len({clusters[case] for case in cases}),
    )


class _Side(NamedTuple):
    """What the first of two variants took from the second at one case."""

    cluster: Hashable
    first: int
    second: int
    points: float


def _checked(judgement: PairJudgement, index: int) -> PairJudgement:
    if judgement.first == judgement.second:
        raise ValueError(f"judgement {index} compares {judgement.first!r} with itself")
    if not (isinstance(judgement.points, int | float) and 0 <= judgement.points <= 1):
        raise ValueError(
            f"the points of judgement {index} must lie between 0 and 1, got {judgement.points!r}"
        )
    return judgement


def _averaged(
    judgements: Sequence[PairJudgement], names: Sequence[str], clusters: Mapping[Hashable, Hashable] | None
) -> list[_Side]:
    """Each pair of variants at each case once, the variant that appears first as the first."""
    place = {name: index for index, name in enumerate(names)}
    found: defaultdict[tuple[Hashable, int, int], list[float]] = defaultdict(list)
    for case, first, second, points in judgements:
        a, b = place[first], place[second]
        found[case, min(a, b), max(a, b)].append(points if a < b else 1 - points)
    return [
        _Side(case if clusters is None else clusters[case], a, b, fsum(points) / len(points))
        for (case, a, b), points in found.items()
    ]


def _groups(size: int, sides: Iterable[_Side]) -> list[int]:
    """The group of each variant: those that reach each other by points won."""
    won: defaultdict[int, set[int]] = defaultdict(set)
    for side in sides:
        if side.points > 0:
            won[side.first].add(side.second)
        if side.points < 1:
            won[side.second].add(side.first)
    reached = [_reached(start, won) for start in range(size)]
    groups: list[int] = []
    for place in range(size):
        mates = [other for other in range(place) if other in reached[place] and place in reached[other]]
        groups.append(groups[mates[0]] if mates else max(groups, default=0) + 1)
    return groups


def _reached(start: int, won: Mapping[int, set[int]]) -> set[int]:
    found, waiting = {start}, [start]
    while waiting:
        for other in won.get(waiting.pop(), ()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def _pairs(
    names: Sequence[str], sides: Sequence[_Side], groups: Sequence[int], *, declared: bool, confidence: float
) -> dict[tuple[int, int], PairedShare]:
    """What to expect of every two variants, by their places, the smaller one first."""
    fits = {
        group: _Fit(sides, [place for place, its in enumerate(groups) if its == group])
        for group in set(groups)
    }
    found = {}
    for a, b in combinations(range(len(names)), 2):
        direct = [side for side in sides if (side.first, side.second) == (a, b)]
        seen = mean(
            [[side.points] for side in direct],
            bounds=(0.0, 1.0),
            clusters=[side.cluster for side in direct] if declared else None,
            confidence=confidence,
        )
        value = interval = None
        if groups[a] == groups[b]:
            fit = fits[groups[a]]
            alone = len(fit.members) == 2
            assert not alone or seen is not None
            value = seen.value if alone and seen else fit.share(a, b)
            interval = seen.interval if alone and seen else fit.interval(a, b, confidence)
        found[a, b] = PairedShare(names[a], names[b], value, interval, seen)
    return found


def _strength(
    names: Sequence[str],
    place: int,
    sides: Iterable[_Side],
    groups: Sequence[int],
    pairs: Mapping[tuple[int, int], PairedShare],
    reference: str,
) -> Strength:
    own = [side.points if side.first == place else 1 - side.points for side in sides if place in side[1:3]]
    origin = names.index(reference)
    value: float | None = None
    low: float | None = None
    high: float | None = None
    if place == origin:
        value = low = high = 0.0
    elif groups[place] == groups[origin]:
        pair = pairs[min(place, origin), max(place, origin)]
        sign = 1 if place < origin else -1
        assert pair.value is not None
        value = sign * _log_odds(pair.value)
        if pair.interval is not None:
            ends = sorted(sign * _log_odds(end) for end in (pair.interval.low, pair.interval.high))
            low, high = (end if isfinite(end) else None for end in ends)
    return Strength(names[place], value, low, high, fsum(own), len(own), groups[place])


class _Fit:
    """The strengths within one group, and what each cluster moves them by."""

    def __init__(self, sides: Sequence[_Side], members: Sequence[int]) -> None:
        self.members = members
        row = {member: index for index, member in enumerate(members)}
        self.clusters: defaultdict[Hashable, list[tuple[int, int, float]]] = defaultdict(list)
        for side in sides:
            if side.first in row and side.second in row:
                self.clusters[side.cluster].append((row[side.first], row[side.second], side.points))
        self.sizes = [len(own) for own in self.clusters.values()]
        self.row = row
        self.values = [0.0] * len(members)
        self._moves: list[tuple[list[float], list[float]]] | None = None
        if len(members) > 2:
            self._solve([each for own in self.clusters.values() for each in own])

    def share(self, a: int, b: int) -> float:
        return _logistic(self.values[self.row[a]] - self.values[self.row[b]])

    def interval(self, a: int, b: int, confidence: float) -> Interval | None:
        """Wilson's interval of the size that the spread between clusters implies; `None` for one cluster."""
        if len(self.sizes) < 2:
            return None
        share = self.share(a, b)
        first, second = self.row[a], self.row[b]
        if self._moves is None:
            self._moves = self._moved()
        plain = [(move[first] - move[second], pulled[first] - pulled[second]) for move, pulled in self._moves]
        variance = (share * (1 - share)) ** 2 * fsum(x * y for x, y in plain)
        tail = (1 - confidence) / 2
        size = independent_groups(self.sizes)
        if variance > _NO_SPREAD:
            reach = normal_quantile(tail) / student_t_quantile(tail, cluster_degrees(self.sizes))
            size = share * (1 - share) / variance * reach * reach
        return wilson_of_rate(share, size, confidence=confidence, method="clustered-wilson")

    def _solve(self, sides: Sequence[tuple[int, int, float]]) -> None:
        """Newton's steps, halved while they lower the likelihood; it has one maximum, since the group is linked."""
        best = _likelihood(self.values, sides)
        for _ in range(_MOST_STEPS):
            gradient, curvature = _derivatives(self.values, sides)
            step = _solved(curvature, gradient)
            assert step is not None
            scale = 1.0
            while True:
                tried = [value + scale * move for value, move in zip(self.values, step, strict=True)]
                found = _likelihood(tried, sides)
                if found >= best or scale < 1e-6:
                    break
                scale /= 2
            self.values, best = tried, found
            if max(map(abs, step)) < _CLOSE_ENOUGH:
                return

    def _moved(self) -> list[tuple[list[float], list[float]]]:
        """For each cluster, how far it moves the strengths: as the fit stands, and as a fit without it would say."""
        _, whole = _derivatives(self.values, [each for own in self.clusters.values() for each in own])
        found = []
        for own in self.clusters.values():
            gradient, part = _derivatives(self.values, own)
            rest = [[x - y for x, y in zip(*rows, strict=True)] for rows in zip(whole, part, strict=True)]
            plain = _solved(whole, gradient)
            assert plain is not None
            # Without the only cluster that links two variants there is no fit: its pull cannot be told.
            found.append((plain, _solved(rest, gradient) or plain))
        return found


def _likelihood(values: Sequence[float], sides: Iterable[tuple[int, int, float]]) -> float:
    return fsum(
        points * _log_logistic(values[a] - values[b]) + (1 - points) * _log_logistic(values[b] - values[a])
        for a, b, points in sides
    )


def _derivatives(
    values: Sequence[float], sides: Iterable[tuple[int, int, float]]
) -> tuple[list[float], list[list[float]]]:
    """The gradient of the log-likelihood, and its curvature with the sign turned."""
    size = len(values)
    gradient = [0.0] * size
    curvature = [[0.0] * size for _ in range(size)]
    for a, b, points in sides:
        share = _logistic(values[a] - values[b])
        weight = share * (1 - share)
        gradient[a] += points - share
        gradient[b] -= points - share
        curvature[a][a] += weight
        curvature[b][b] += weight
        curvature[a][b] -= weight
        curvature[b][a] -= weight
    return gradient, curvature


def _solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float] | None:
    """The solution whose first entry is 0, for strengths are known up to a constant; `None` where there is none."""
    size = len(right) - 1
    rows = [[*matrix[i + 1][1:], right[i + 1]] for i in range(size)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda i: abs(rows[i][column]))
        if abs(rows[pivot][column]) <= 1e-12 * max(1.0, *(abs(matrix[i][i]) for i in range(size + 1))):
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for i in range(size):
            if i != column:
                factor = rows[i][column] / rows[column][column]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[column], strict=True)]
    return [0.0, *(rows[i][size] / rows[i][i] for i in range(size))]


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x)) if x > -700 else 0.0


def _log_logistic(x: float) -> float:
    return x if x < -700 else -log(1 + exp(-x))


def _log_odds(share: float) -> float:
    if share <= 0:
        return -inf
    return inf if share >= 1 else log(share / (1 - share))
