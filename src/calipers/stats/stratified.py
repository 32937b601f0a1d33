"""Labels drawn in strata: which cases to label next, and the mean of all cases from the labels.

People label some cases of a run. A judge has said something of all of them, so it is known beforehand where a label teaches most: where
the judge is likely to err. Cases of which the judge says the same, and is equally sure, make a *stratum*. Within a stratum cases are
drawn at random, and strata are drawn from unequally, with probabilities that are known.

- `choose_next` draws. Each label goes to the stratum where it takes most from the variance of the mean: Neyman's allocation ("On the Two
  Different Aspects of the Representative Method", 1934), with whole numbers. How much labels vary within a stratum is guessed first and learned
  from the labels of earlier rounds. Every stratum gets two labels at least, as far as the count goes, so none has a probability of 0.
- `stratified_mean` estimates: the mean of the labels in each stratum, weighted by its share of all cases. Nothing is assumed about the
  judge. It is prediction-powered inference with the judge's verdict as the stratum (Fisch et al., "Stratified Prediction-Powered
  Inference for Hybrid Language Model Evaluation", 2024; Zrnic and Candès, "Active Statistical Inference", 2024): within a stratum the judge
  says the same of every case, so there is nothing left to adjust for.

Labels of several rounds count alike within their stratum. Strictly, a round that was planned by the labels of an earlier one makes the
mean of both a little dependent on them: strata whose first labels happened to agree get fewer labels later. The guess that `choose_next`
begins with keeps this small; `benchmarks/chosen_labels.py` measures it.

Labels between 0 and 1 get the interval of a beta distribution that has the mean and the variance of the estimate, as Clopper and
Pearson's has for one stratum (and with one stratum it is theirs). For the lower end one label more is reckoned with, a 0 that is spread
evenly over the strata, and for the upper end a 1: so a stratum whose labels all agree still leaves doubt, on the side where there is any.
In simulations with 20 labels and more it covers 94 % or more of the time, and mostly 96 % or more (docs/explanation/passports.md); there
is no proof, so it is marked approximate. The cases are a sample themselves: how the sizes of the strata would vary from run to run is a part of the variance. Labels
on another scale get Student's t, with Satterthwaite's degrees of freedom.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from math import fsum, inf, sqrt
from random import Random
from typing import NamedTuple

import msgspec

from calipers.stats.distributions import beta_quantile, student_t_quantile
from calipers.stats.interval import Interval
from calipers.stats.sample import check_confidence, finite_values

_FEWEST = 2
"""Labels that each stratum gets first: with one, nothing is seen of how labels vary."""
_NO_SPREAD = 1e-24
_GUESS = 4.0
"""As many labels is the guess of a stratum's mean worth."""


class Drawn(NamedTuple):
    """A case to label."""

    place: int
    """Which case, by its place in `strata`."""
    probability: float
    """With which it was drawn, of the cases of its stratum that had no label by then."""


class Stratum(msgspec.Struct, frozen=True):
    """What the labels say of one stratum."""

    stratum: Hashable
    """As `strata` names it."""
    size: int
    """Cases."""
    labels: int
    """Those with a label."""
    value: float
    """The mean of their labels."""


class StratifiedMean(msgspec.Struct, frozen=True):
    """A mean over all cases, from labels drawn in strata."""

    value: float
    """The mean of the strata's means, weighted by their sizes."""
    interval: Interval | None
    """Where the true mean may lie; `None` when the data cannot tell."""
    n_units: int
    """Cases."""
    n_labels: int
    """Those with a label."""
    strata: tuple[Stratum, ...]
    """Largest first."""


def choose_next(
    strata: Sequence[Hashable],
    labels: Mapping[int, float],
    count: int,
    *,
    seed: int,
    expected: Mapping[Hashable, float] | None = None,
) -> list[Drawn]:
    """Up to `count` cases that are worth labelling next, in random order.

    The order matters to a person who stops early: what is labelled by then is a random part of the draw.

    Args:
        strata: the stratum of every case.
        labels: what people gave so far, by the place of the case; between 0 and 1. Scores on another scale are to be mapped onto it.
        count: cases to draw; fewer are drawn where fewer have no label.
        seed: of the draw.
        expected: a guess of the mean label of each stratum, for as long as there are few labels; default 0.5. A good guess makes the draw
            better, and a bad one makes it worse; neither makes the estimate wrong.
    """
    if count < 0:
        raise ValueError(f"count must be 0 or more, got {count!r}")
    known = dict(zip(labels, finite_values(list(labels.values()), name="labels"), strict=True))
    for index, label in known.items():
        if not (0 <= index < len(strata) and 0 <= label <= 1):
            raise ValueError(
                f"labels must be between 0 and 1, for cases 0 to {len(strata) - 1}, got {label!r} for case {index!r}"
            )
    left: dict[Hashable, list[int]] = {}
    for index, stratum in enumerate(strata):
        left.setdefault(stratum, [])
        if index not in known:
            left[stratum].append(index)
    plan = _allocation(strata, known, {key: len(some) for key, some in left.items()}, count, expected or {})
    draw = Random(seed)  # noqa: S311 - the seed has to repeat the draw
    found = [
        Drawn(place, plan[key] / len(some))
        for key, some in left.items()
        if plan[key]
        for place in draw.sample(some, plan[key])
    ]
    draw.shuffle(found)
    return found


def stratified_mean(
    strata: Sequence[Hashable], labels: Mapping[int, float], *, confidence: float = 0.95
) -> StratifiedMean | None:
    """The mean label over all cases, from labels on cases drawn at random within each stratum; `None` without labels.

    Args:
        strata: the stratum of every case, those without a label included.
        labels: what people gave, by the place of the case; 0 and 1 for a rate.
        confidence: of the interval.

    Raises:
        ValueError: a stratum has no label: join it with another first.
    """
    check_confidence(confidence)
    if not labels:
        return None
    values = finite_values(list(labels.values()), name="labels")
    by_stratum: dict[Hashable, list[float]] = {}
    for index, value in zip(labels, values, strict=True):
        by_stratum.setdefault(strata[index], []).append(value)
    sizes = Counter(strata)
    empty = [stratum for stratum in sizes if stratum not in by_stratum]
    if empty:
        raise ValueError(f"every stratum needs a label, and {empty[0]!r} has none: join it with another")
    parts = [
        Stratum(stratum, size, len(by_stratum[stratum]), fsum(by_stratum[stratum]) / len(by_stratum[stratum]))
        for stratum, size in sizes.most_common()
    ]
    n = len(strata)
    value = fsum(part.size * part.value for part in parts) / n
    interval: Interval | None
    if all(0 <= each <= 1 for each in values):
        tail = (1 - confidence) / 2
        low, high = _beta_end(parts, 0.0, tail), _beta_end(parts, 1.0, 1 - tail)
        interval = Interval(min(low, value), max(high, value), confidence, "stratified-beta")
    else:
        interval = _t_interval(parts, by_stratum, value, confidence)
    return StratifiedMean(value, interval, n, len(values), tuple(parts))


def _allocation(
    strata: Sequence[Hashable],
    labels: Mapping[int, float],
    left: dict[Hashable, int],
    count: int,
    expected: Mapping[Hashable, float],
) -> dict[Hashable, int]:
    """How many labels each stratum gets: one at a time, where it takes most from the variance."""
    sizes = Counter(strata)
    given: dict[Hashable, list[float]] = {stratum: [] for stratum in sizes}
    for index, label in labels.items():
        given[strata[index]].append(label)
    spread = {}
    for stratum, some in given.items():
        mean = (_GUESS * expected.get(stratum, 0.5) + fsum(some)) / (_GUESS + len(some))
        spread[stratum] = sizes[stratum] ** 2 * mean * (1 - mean)

    def gain(stratum: Hashable) -> tuple[float, int]:
        if plan[stratum] == left[stratum]:
            return -1.0, 0
        have = len(given[stratum]) + plan[stratum]
        return inf if have < _FEWEST else spread[stratum] / (have * (have + 1)), sizes[stratum]

    plan = dict.fromkeys(sizes, 0)
    for _ in range(min(count, sum(left.values()))):
        plan[max(plan, key=gain)] += 1
    return plan


def _beta_end(parts: list[Stratum], one_more: float, quantile: float) -> float:
    """An end of the interval, reckoning with one more label of this value, a part of it in each stratum."""
    n, more = sum(part.size for part in parts), 1 / len(parts)
    means = [(part.value * part.labels + one_more * more) / (part.labels + more) for part in parts]
    shares = [part.size / n for part in parts]
    value = fsum(share * mean for share, mean in zip(shares, means, strict=True))
    variance = _between(parts, means, value) + fsum(
        share**2 * mean * (1 - mean) / (part.labels + more + 1)
        for part, share, mean in zip(parts, shares, means, strict=True)
    )
    if variance <= _NO_SPREAD:
        return value
    trials = value * (1 - value) / variance - 1
    if trials <= 0:  # more spread than any distribution between 0 and 1 has
        return one_more
    return beta_quantile(quantile, value * trials, (1 - value) * trials)


def _between(parts: list[Stratum], means: list[float], value: float) -> float:
    """What another run with the same chances would move, since its strata had other sizes."""
    n = sum(part.size for part in parts)
    return fsum(part.size * (mean - value) ** 2 for part, mean in zip(parts, means, strict=True)) / n / n


def _t_interval(
    parts: list[Stratum], labels: Mapping[Hashable, list[float]], value: float, confidence: float
) -> Interval | None:
    """Student's t over strata; a stratum with one label is taken to vary as the others do. `None` if none has two labels."""
    n, degrees = sum(part.size for part in parts), sum(part.labels - 1 for part in parts)
    squares = [fsum((each - part.value) ** 2 for each in labels[part.stratum]) for part in parts]
    if not degrees or fsum(squares) <= _NO_SPREAD:
        return None
    variance, doubt = _between(parts, [part.value for part in parts], value), 0.0
    for part, square in zip(parts, squares, strict=True):
        own = part.labels > 1
        within = square / (part.labels - 1) if own else fsum(squares) / degrees
        term = (part.size / n) ** 2 * within / part.labels
        variance += term
        doubt += term * term / (part.labels - 1 if own else degrees)
    half = -student_t_quantile((1 - confidence) / 2, variance * variance / doubt) * sqrt(variance)
    return Interval(value - half, value + half, confidence, "stratified-t")
