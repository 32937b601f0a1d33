"""Statistics that may be looked at after every case: stop as soon as it is decided, and stay honest.

An ordinary 95 % interval is right once, at a size fixed before. Looked at after each of a hundred cases, it misses at some
look for far more than 5 % of runs. What is here is right at all looks together.

The method is betting (Waudby-Smith & Ramdas, "Estimating Means of Bounded Random Variables by Betting", 2024; Ramdas et al.,
"Game-Theoretic Statistics and Safe Anytime-Valid Inference", 2023). To test that the mean of values in [0, 1] is at most m,
start with a capital of 1 and bet on every value that it will be higher: the capital is multiplied by

    1 + c (x / m - 1)          0 < c < 1, the share at stake

If the mean is at most m, no strategy grows the capital on average, and the chance that it *ever* reaches 1 / level is at
most the level (Ville 1939). The capital is the *e-value*. Here the stakes c = 0.05, 0.10, …, 0.95 get an equal part of the
capital each. Being fixed beforehand, they need no tuning; and the result does not depend on the order of the cases, only
on which have been seen. Where the largest number of values is known, `stakes_for` bets what grows fastest within it.

What must hold: the values lie within known bounds, and cases come in an order that has nothing to do with their result
(shuffle them). They are taken as a sample of all the cases there could be; repeats of a case are averaged first.

The price: at the same n, an interval about 1.5 to 2 times as wide as the ordinary one. When n is fixed and you look
only at the end, use the ordinary one.
"""

from collections import Counter
from collections.abc import Iterable
from math import exp, fsum, log, log1p, sqrt
from typing import Literal, TypeAlias, get_args

from calipers.data.argument_checks import check_choice
from calipers.stats.difference import Decision, check_margin
from calipers.stats.interval import Interval
from calipers.stats.sample import check_bounds, check_confidence, finite_values

_STAKES = tuple(place / 20 for place in range(1, 20))
_LARGEST_STAKE = 0.95
_REACH = 4.5
"""Standard errors, at the largest number of values, that the main stake is made for; chosen by simulation for few values used."""
_PLANNED = 1.96 + 0.84
"""Standard errors between a limit and what a plan expects, if it finds it four times in five."""
_SPREADS = ((0.5, 0.04), (1.0, 0.73), (2.5, 0.17), (8.0, 0.03), (40.0, 0.03))
"""Multiples of the main stake, and their parts of the capital: larger ones end what is clear, or varies less, sooner."""
_HALVINGS = 50
_LARGEST_LOG = 700.0  # exp() overflows soon after

Side = Literal["greater", "less"]


Stakes: TypeAlias = tuple[tuple[float, float], ...]
"""What is bet on one unit between the bounds, at most what is left, and which part of the capital does so."""


def stakes_for(
    n: int, null: float, *, low: float = 0.0, high: float = 1.0, distance: float | None = None
) -> Stakes:
    """Stakes for a test that sees at most `n` values, which are chosen before the first one.

    Args:
        n: the largest number of values.
        null: the mean that is doubted, strictly between the bounds.
        low: the smallest value there can be.
        high: the largest.
        distance: for values that vary little, such as differences between two runs: how far from `null` the mean is expected,
            where `n` values were planned to find that, or 0. Default: values are taken to vary as passes do.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n!r}")
    m = _scaled(null, low, high)
    spread = sqrt(m * (1 - m))
    if distance is not None:
        spread /= 2
    if distance:
        spread = min(spread, abs(distance) / (high - low) * sqrt(n) / _PLANNED)
    main = _REACH / (sqrt(n) * spread)
    return tuple((times * main, part) for times, part in _SPREADS)


def anytime_interval(
    values: Iterable[float],
    *,
    low: float = 0.0,
    high: float = 1.0,
    confidence: float = 0.95,
    stakes: Stakes | None = None,
) -> Interval | None:
    """The confidence sequence of a mean, now: where the true mean of values in [low, high] may lie; `None` without values.

    The intervals after each value, all of them together, cover the true mean with the chance `confidence`. For a paired
    difference of scores in [0, 1] the bounds are -1 and 1. `stakes` are those of `stakes_for`, if they were chosen beforehand.
    """
    check_confidence(confidence)
    counts = Counter(_scaled(value, low, high) for value in finite_values(values))
    if not counts:
        return None
    # Each end is a one-sided test with half the doubt.
    threshold = log(2 / (1 - confidence))
    mirrored: Counter[float] = Counter()
    for value, count in counts.items():
        mirrored[1 - value] += count  # two values may become one: 1 - 1e-17 is 1
    width = high - low
    return Interval(
        low=low + width * _lower_end(counts, threshold, stakes),
        high=high - width * _lower_end(mirrored, threshold, stakes),
        confidence=confidence,
        method="betting",
    )


def _shares(stakes: Stakes | None, m: float) -> list[tuple[float, float]]:
    """Each share c that is at stake against a mean of m, and the logarithm of the capital it begins with."""
    if stakes is None:
        return [(stake, -log(len(_STAKES))) for stake in _STAKES]
    return [(min(_LARGEST_STAKE, stake * m), log(part)) for stake, part in stakes]


def _lower_end(counts: Counter[float], threshold: float, stakes: Stakes | None) -> float:
    """The largest mean that is refuted; those below it are as well, for the capital falls as m grows."""
    refuted = 0.0
    open_ = fsum(value * count for value, count in counts.items()) / counts.total()
    for _ in range(_HALVINGS):
        m = (refuted + open_) / 2
        if m in {refuted, open_}:
            break
        capitals = [
            capital + fsum(count * log1p(stake * (value / m - 1)) for value, count in counts.items())
            for stake, capital in _shares(stakes, m)
        ]
        if _log_sum_exp(capitals) >= threshold:
            refuted = m
        else:
            open_ = m
    return refuted


class EProcess:
    """Evidence that grows with every value: against "the mean is at most `null`", or at least it.

    Args:
        null: the mean that is doubted, strictly between the bounds.
        low: the smallest value there can be.
        high: the largest.
        alternative: `greater` gathers evidence that the mean is above `null`, `less` that it is below.
        stakes: those of `stakes_for`, where the largest number of values is known. Default: good ones for any number.

    Stop and reject when `e_value` reaches 1 / level: 20 for 5 %. The chance that it ever does, if the mean is not beyond
    `null`, is at most the level. E-values of several processes may be averaged, whatever their dependence.
    """

    def __init__(
        self,
        null: float,
        *,
        low: float = 0.0,
        high: float = 1.0,
        alternative: Side = "greater",
        stakes: Stakes | None = None,
    ) -> None:
        check_choice("alternative", alternative, get_args(Side), error=ValueError)
        scaled = _scaled(null, low, high)
        if not 0 < scaled < 1:
            raise ValueError(f"null must lie strictly between low={low!r} and high={high!r}, got {null!r}")
        self.null = null
        self.low = low
        self.high = high
        self.alternative = alternative
        self.n = 0
        self._m = scaled if alternative == "greater" else 1 - scaled
        shares = _shares(stakes, self._m)
        self._stakes = [stake for stake, _ in shares]
        self._capitals = [capital for _, capital in shares]
        self._peak = 0.0

    def add(self, value: float) -> float:
        """Take in one more value; the e-value then."""
        x = _scaled(value, self.low, self.high)
        ratio = (x if self.alternative == "greater" else 1 - x) / self._m - 1
        self._capitals = [
            capital + log1p(stake * ratio)
            for capital, stake in zip(self._capitals, self._stakes, strict=True)
        ]
        self.n += 1
        self._peak = max(self._peak, self._log_value())
        return self.e_value

    @property
    def e_value(self) -> float:
        """The capital now: 1 at the start, large where the null is refuted; at most e^700."""
        return exp(min(self._log_value(), _LARGEST_LOG))

    @property
    def p_value(self) -> float:
        """One over the largest e-value so far: a p-value that holds at every look."""
        return exp(-self._peak)

    def _log_value(self) -> float:
        return _log_sum_exp(self._capitals)


class SequentialComparison:
    """A paired comparison that says after every case what is decided; the words are those of `decide`.

    Args:
        margin: the loss below which it does not matter, in the units of the scores.
        low: the smallest score there can be.
        high: the largest.
        confidence: 1 minus the chance that a decision is wrong, each kind by itself, however often one looks.

    One e-process stands against each of "not better than the old one", "worse by the margin or more" and "not worse by
    more than the margin". A decision stays; `non-inferior` may still become `superior`.
    """

    def __init__(
        self, *, margin: float = 0.0, low: float = 0.0, high: float = 1.0, confidence: float = 0.95
    ) -> None:
        check_margin(margin)
        check_confidence(confidence)
        check_bounds(low, high)
        reach = high - low
        if not margin < reach:
            raise ValueError(f"margin must be less than the range of scores, {reach!r}, got {margin!r}")
        self.margin = margin
        self.low = low
        self.high = high
        self.confidence = confidence
        self._better = EProcess(0.0, low=-reach, high=reach)
        self._no_worse = EProcess(-margin, low=-reach, high=reach)
        self._worse = EProcess(-margin, low=-reach, high=reach, alternative="less")

    @property
    def n(self) -> int:
        """Cases so far."""
        return self._better.n

    def add(self, new: float, old: float) -> Decision:
        """Take in the scores of one more case, each the mean of its attempts; what is decided then."""
        for score in (new, old):
            _scaled(score, self.low, self.high)
        for process in (self._better, self._no_worse, self._worse):
            process.add(new - old)
        return self.decision

    @property
    def decision(self) -> Decision:
        """What is decided so far."""
        level = 1 - self.confidence
        if self._better.p_value <= level:
            return "superior"
        if self._no_worse.p_value <= level:
            return "non-inferior"
        return "inferior" if self._worse.p_value <= level else "undecided"


def _log_sum_exp(logs: list[float]) -> float:
    largest = max(logs)
    return largest + log(fsum(exp(each - largest) for each in logs))


def _scaled(value: float, low: float, high: float) -> float:
    """Where the value lies between the bounds, from 0 to 1."""
    check_bounds(low, high)
    if not low <= value <= high:
        raise ValueError(
            f"a value must lie between low={low!r} and high={high!r}, got {value!r}; "
            f"betting needs bounds that hold for every value there can be"
        )
    return (value - low) / (high - low)
