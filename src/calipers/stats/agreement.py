"""Do raters agree, beyond what chance would give? Cohen's kappa and Krippendorff's alpha.

Both are 1 - (disagreement seen) / (disagreement expected by chance): 1 is perfect, 0 what independent guessing with the same
base rates gives, and below 0 is worse than that.

- `cohen_kappa` is for two raters who both rated every unit (Cohen 1960; weighted: Cohen 1968). Chance keeps each rater's own
  base rates.
- `krippendorff_alpha` is for any number of raters, missing ratings, and nominal, ordinal or interval data (Krippendorff,
  *Content Analysis*, 2004). Chance pools all ratings.

Read either with the base rates: where 95 % of the cases pass, raters who agree on 92 % of them may have a kappa near 0, for
chance alone gives 90.5 % (Feinstein & Cicchetti, "High Agreement but Low Kappa", 1990). Where only one category was ever
used, neither is defined: `None`. Where one of two raters gave one category only, kappa is 0 whatever the other said, and has
no interval.

Intervals are Student's t with the jackknife's standard error, leaving out one unit at a time (Efron & Stein 1981); the lower end
is that of log(1 - kappa), since few disagreements that happen to be missing lift kappa and shorten its spread at once. Where one
category is rare, agreements on it may be missing, which does the same downwards: so the upper end of `cohen_kappa` reckons with one unit more,
on which both raters agree in the rarest category. Counted over all outcomes of 20 to 100 units and two categories, a value that is at a limit is said to lie above
it in at most 1.5 % of all samples (up to 10 % without the logarithm), and below it in at most 2.8 % (up to 40 % without the unit). With
fewer than 20 units intervals are rough. Where no one disagreed there is no spread to judge by, and Clopper and Pearson's bound on the share of
units that might disagree, each as badly as these data allow, stands in: thirty perfect agreements are no proof of perfection.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from math import exp, fsum, isfinite, isnan, sqrt
from typing import Any, Literal, get_args

import msgspec

from calipers.data.argument_checks import check_choice
from calipers.stats.distributions import student_t_quantile
from calipers.stats.interval import Interval, clopper_pearson
from calipers.stats.sample import check_confidence

Weights = Literal["linear", "quadratic"]
Level = Literal["nominal", "ordinal", "interval"]

_NO_SPREAD = 1e-24
_BEYOND_ALL = 100.0
"""The exponent of a number so large that no disagreement times it stays below 2."""


class Agreement(msgspec.Struct, frozen=True):
    """How far raters agree beyond chance."""

    value: float | None
    """1 - disagreement / chance_disagreement; `None` where only one category was used."""
    interval: Interval | None
    """Where the true value may lie; `None` when the data cannot tell."""
    same: float
    """The share of pairs of ratings of one unit that are equal, before any correction."""
    disagreement: float
    """The disagreement seen, in the units of the weights or of the level."""
    chance_disagreement: float
    """The disagreement that chance would give."""
    base_rates: tuple[tuple[Any, float], ...]
    """Each category that was used, with its share among all ratings counted."""
    n_units: int
    """Units with two ratings or more."""
    n_ratings: int
    """Their ratings."""


def cohen_kappa(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    *,
    weights: Weights | None = None,
    categories: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Agreement | None:
    """Cohen's kappa of two raters of the same units, in the same order; `None` without units.

    Args:
        first: the first rater's category of every unit.
        second: the second rater's.
        weights: how much a disagreement counts by how far apart it is; default: all count the same. With `quadratic`, kappa
            is about the intraclass correlation.
        categories: all of them, in their order; needed for weights unless they are numbers, whose distances count then.
        confidence: of the interval.
    """
    check_confidence(confidence)
    check_choice("weights", weights, get_args(Weights), or_none=True, error=ValueError)
    if len(first) != len(second):
        raise ValueError(f"both raters must rate every unit: got {len(first)} and {len(second)} ratings")
    places = _places(first, second, weights, categories)
    if not first:
        return None
    cells: Counter[tuple[Any, Any]] = Counter(zip(first, second, strict=True))
    n, furthest = len(first), max(places.values()) - min(places.values())

    def distance(a: Any, b: Any) -> float:
        if weights is None or a == b:
            return float(a != b)
        return (abs(places[a] - places[b]) / furthest) ** (1 if weights == "linear" else 2)

    seen, chance, left_out = _left_out(cells, distance)
    used = Counter([*first, *second])
    interval = _interval(seen, chance, left_out, n=n, worst=1.0, confidence=confidence)
    if interval is not None and interval.method == "jackknife":
        rarest = min(used, key=lambda category: (used[category], cells[category, category], repr(category)))
        with_one_more = _left_out(cells + Counter([(rarest, rarest)]), distance)
        upper = _interval(*with_one_more, n=n + 1, worst=1.0, confidence=confidence)
        if upper is not None:
            interval = msgspec.structs.replace(interval, high=upper.high)
    return Agreement(
        value=1 - seen / chance if chance > 0 else None,
        interval=interval,
        same=sum(count for (a, b), count in cells.items() if a == b) / n,
        disagreement=seen,
        chance_disagreement=chance,
        base_rates=tuple((category, used[category] / (2 * n)) for category in places if used[category]),
        n_units=n,
        n_ratings=2 * n,
    )


def _left_out(
    cells: Counter[tuple[Any, Any]], distance: Callable[[Any, Any], float]
) -> tuple[float, float, list[tuple[tuple[float, float], int]]]:
    """The disagreement seen and expected, and both without one unit of each cell, with the units that the cell has."""

    def without(cell: tuple[Any, Any] | None) -> tuple[float, float]:
        left = cells - Counter([cell]) if cell else cells
        size = left.total()
        rows: Counter[Any] = Counter()
        columns: Counter[Any] = Counter()
        for (a, b), count in left.items():
            rows[a] += count
            columns[b] += count
        seen = fsum(count * distance(*pair) for pair, count in left.items()) / size
        chance = fsum(p * q * distance(a, b) for a, p in rows.items() for b, q in columns.items()) / size**2
        return seen, chance

    left_out = [(without(cell), count) for cell, count in cells.items()] if cells.total() > 1 else []
    return (*without(None), left_out)


def krippendorff_alpha(
    units: Iterable[Sequence[Any]], *, level: Level = "nominal", confidence: float = 0.95
) -> Agreement | None:
    """Krippendorff's alpha over units, each given as its ratings; `None` if no unit has two ratings.

    Args:
        units: the ratings of every unit, by any raters in any order; `None` is a missing one. A unit with a single rating
            tells nothing about agreement and does not count.
        level: `nominal` for categories, `ordinal` for ranks, `interval` for numbers whose differences mean something.
        confidence: of the interval. For ordinal data the jackknife keeps the ranks of the whole sample.
    """
    check_confidence(confidence)
    check_choice("level", level, get_args(Level), error=ValueError)
    rated = [[rating for rating in unit if rating is not None] for unit in units]
    rated = [unit for unit in rated if len(unit) > 1]
    if not rated:
        return None
    used = Counter(rating for unit in rated for rating in unit)
    _check_numbers(used)
    pairs = _Pairs(rated, _positions(used, level))
    seen, chance = pairs.without(None)
    n = len(rated)
    left_out = [(pairs.without(index), 1) for index in range(n)] if n > 1 else []
    total = used.total()
    return Agreement(
        value=1 - seen / chance if chance > 0 else None,
        interval=_interval(seen, chance, left_out, n=n, worst=pairs.worst, confidence=confidence),
        same=fsum(_same(unit) * len(unit) for unit in rated) / total,
        disagreement=seen,
        chance_disagreement=chance,
        base_rates=tuple((category, count / total) for category, count in used.items()),
        n_units=n,
        n_ratings=total,
    )


class _Pairs:
    """Sums over the ratings from which any unit can be taken out again.

    A category is a point: a number (interval), its mid-rank (ordinal), or, for nominal data, a corner of its own. The
    disagreement of a pair is the squared distance, and squares over all pairs follow from sums: that of (x - y)² over
    ordered pairs of m ratings is 2 (m Σx² - (Σx)²), and that of x ≠ y is m² - Σ (count of each category)².
    """

    def __init__(self, units: list[list[Any]], positions: dict[Any, float] | None) -> None:
        self.used = Counter(rating for unit in units for rating in unit)
        self.size = self.used.total()
        self.worst = 1.0
        self.centred: dict[Any, float] | None = None
        if positions is not None:
            self.worst = (max(positions.values()) - min(positions.values())) ** 2
            centre = fsum(count * positions[rating] for rating, count in self.used.items()) / self.size
            self.centred = {rating: position - centre for rating, position in positions.items()}
        self.units = [(len(unit), Counter(unit)) for unit in units]
        self.sums = self._sums(self.used)
        self.parts = [self._spread(size, self._sums(counts)) / (size - 1) for size, counts in self.units]
        self.seen = fsum(self.parts)

    def without(self, index: int | None) -> tuple[float, float]:
        """The disagreement seen and expected, with one unit left out."""
        size, sums, seen = self.size, self.sums, self.seen
        if index is not None:
            gone, counts = self.units[index]
            size -= gone
            seen -= self.parts[index]
            if self.centred is None:
                lost = sum(self.used[r] ** 2 - (self.used[r] - count) ** 2 for r, count in counts.items())
                sums = (0.0, sums[1] - lost)
            else:
                first, second = self._sums(counts)
                sums = (sums[0] - first, sums[1] - second)
        chance = self._spread(size, sums) / (size * (size - 1))
        # What rounding leaves of a difference of sums is no spread.
        return max(0.0, seen) / size, (chance if chance > 1e-12 * self.worst else 0.0)

    def _sums(self, counts: Counter[Any]) -> tuple[float, float]:
        if self.centred is None:
            return 0.0, float(sum(count * count for count in counts.values()))
        points = [(self.centred[rating], count) for rating, count in counts.items()]
        return fsum(count * x for x, count in points), fsum(count * x * x for x, count in points)

    def _spread(self, size: int, sums: tuple[float, float]) -> float:
        if self.centred is None:
            return size * size - sums[1]
        return max(0.0, 2 * (size * sums[1] - sums[0] ** 2))


def _places(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    weights: Weights | None,
    categories: Sequence[Hashable] | None,
) -> dict[Any, float]:
    """Where every category stands; it means something only where distances count."""
    used = dict.fromkeys([*first, *second])
    if None in used:
        raise ValueError(
            "both raters must rate every unit, got None; leave the unit out, or use krippendorff_alpha()"
        )
    _check_numbers(used)
    if categories is not None:
        unknown = [category for category in used if category not in categories]
        if unknown:
            raise ValueError(f"not among the categories {list(categories)!r}: {unknown!r}")
        if len(set(categories)) != len(categories):
            raise ValueError(f"categories must differ, got {list(categories)!r}")
        return {category: float(place) for place, category in enumerate(categories)}
    if weights is None:
        return dict.fromkeys(used, 0.0)
    return {category: _number(category, "weights without categories=[...]") for category in used}


def _positions(used: Counter[Any], level: Level) -> dict[Any, float] | None:
    if level == "nominal":
        return None
    numbers = {rating: _number(rating, f"level={level!r}") for rating in used}
    if level == "interval":
        return numbers
    positions: dict[Any, float] = {}
    below = 0
    for rating in sorted(numbers, key=lambda rating: numbers[rating]):
        positions[rating] = below + used[rating] / 2
        below += used[rating]
    return positions


def _check_numbers(ratings: Iterable[Any]) -> None:
    if any(isinstance(rating, float) and isnan(rating) for rating in ratings):
        raise ValueError("a rating must be a category or a number, got nan; write None for a missing one")


def _number(rating: Any, why: str) -> float:
    if not isinstance(rating, int | float) or not isfinite(rating):
        raise ValueError(f"{why} needs ratings that are finite numbers, got {rating!r}")
    return float(rating)


def _same(unit: list[Any]) -> float:
    size = len(unit)
    return sum(count * (count - 1) for count in Counter(unit).values()) / (size * (size - 1))


def _interval(
    seen: float,
    chance: float,
    left_out: list[tuple[tuple[float, float], int]],
    *,
    n: int,
    worst: float,
    confidence: float,
) -> Interval | None:
    """The jackknife's interval; `left_out` has what is left without each unit, and how many units it stands for."""
    if chance <= 0 or n < 2 or any(other <= 0 for (_, other), _ in left_out):
        return None
    if seen == 0:
        bound = clopper_pearson(n, n, confidence=confidence)
        assert bound is not None
        low = 1 - (1 - bound.low) * worst / chance
        return Interval(max(-1.0, low), 1.0, confidence, "clopper-pearson")
    values = [(1 - part / whole, count) for (part, whole), count in left_out]
    mean = fsum(value * count for value, count in values) / n
    variance = (n - 1) / n * fsum(count * (value - mean) ** 2 for value, count in values)
    if variance <= _NO_SPREAD:  # a rater who gave one category: the value is 0 whichever unit is left out
        return None
    half = -student_t_quantile((1 - confidence) / 2, n - 1) * sqrt(variance)
    disagreement = seen / chance
    low = 1 - disagreement * exp(min(half / disagreement, _BEYOND_ALL))
    return Interval(max(-1.0, low), min(1.0, 1 - disagreement + half), confidence, "jackknife")
