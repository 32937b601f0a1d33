"""Kinds of failure that have not been seen yet: how many there are at least, and how likely the next failure is of a new kind.

Failures are sorted into kinds, by what went wrong or by how alike they are. What was seen once tells about what was not seen: where many
kinds came up a single time, there are more to come.

- **The chance that the next failure is of a new kind** is Good and Turing's: the share of failures that are the only one of their kind (Good,
  "The population frequencies of species and the estimation of population parameters", 1953). Its upper end is Wilson's, with the size at which a rate
  would have the variance of that estimate (Zhang and Huang, "Turing's formula revisited", 2007); its lower end is theirs, which comes to 0 where all kinds may have been seen.
- **How many kinds there are at least** is Chao's (1984, with the correction for bias): `seen + f1 (f1 - 1) / (2 (f2 + 1))`, with `f1` kinds seen once and
  `f2` seen twice. It is an estimate of a lower bound: any number of very rare kinds may hide beyond it. Its interval is Chao's of 1987, on the scale of the
  logarithm of the unseen; it is for that bound, not for the number. Where what is hidden is no larger than its standard error allows, its lower end is what was seen.
- **How many new kinds further failures will show** is Good and Toulmin's (1956), for as many more as there were: beyond that the formula swings.

All of it counts failures that were found independently of each other. A search that goes where it found something finds the same kind again: count
the failures of random draws, or of independent searches.
"""

from collections import Counter
from collections.abc import Iterable
from math import exp, log, sqrt

import msgspec

from calipers.stats.distributions import normal_quantile
from calipers.stats.interval import Interval, wilson_of_rate
from calipers.stats.sample import check_confidence


class UnseenKinds(msgspec.Struct, frozen=True):
    """What the kinds that were seen tell of those that were not."""

    n: int
    """Failures."""
    seen: int
    """Kinds among them."""
    once: int
    """Kinds that were seen once."""
    twice: int
    """Kinds that were seen twice."""
    chance: float
    """How likely the next failure is of a kind that was not seen."""
    chance_interval: Interval
    kinds: float
    """How many kinds there are at least, those that were seen included."""
    kinds_interval: Interval
    """Of that bound."""
    sizes: tuple[int, ...] = ()
    """How often each kind was seen."""

    def new_kinds(self, failures: int) -> float | None:
        """How many new kinds so many further failures will show; `None` for more than there were, where no one can tell.

        Raises:
            ValueError: `failures` is below 0.
        """
        if failures < 0:
            raise ValueError(f"failures must be 0 or more, got {failures!r}")
        if failures > self.n:
            return None
        times = failures / self.n
        seen = sum(-((-times) ** often) * kinds for often, kinds in Counter(self.sizes).items())
        return max(0.0, seen)


def unseen_kinds(sizes: Iterable[int], *, confidence: float = 0.95) -> UnseenKinds | None:
    """What is known of kinds that were not seen; `None` without failures.

    Args:
        sizes: how often each kind was seen, 1 or more.
        confidence: of the intervals.

    Raises:
        ValueError: a kind was seen less than once.
    """
    check_confidence(confidence)
    counts = tuple(sizes)
    if any(count < 1 for count in counts):
        raise ValueError(f"a kind that was seen was seen once or more, got {min(counts)!r}")
    if not counts:
        return None
    n, seen = sum(counts), len(counts)
    once, twice = counts.count(1), counts.count(2)
    chance = once / n
    variance = (once * (1 - chance) + 2 * twice) / n**2
    size = n if variance == 0 or chance in {0.0, 1.0} else min(float(n), chance * (1 - chance) / variance)
    above = wilson_of_rate(chance, size, confidence=confidence)
    z = -normal_quantile((1 - confidence) / 2)
    lowest = max(0.0, chance - z * sqrt(variance)) if chance < 1 else above.low
    return UnseenKinds(
        n=n,
        seen=seen,
        once=once,
        twice=twice,
        chance=chance,
        chance_interval=Interval(min(lowest, above.low), above.high, confidence, "good-turing"),
        kinds=seen + _hidden(once, twice, n),
        kinds_interval=_kinds_interval(seen, once, twice, n, z, confidence),
        sizes=counts,
    )


def _hidden(once: int, twice: int, n: int) -> float:
    return (n - 1) / n * once * (once - 1) / (2 * (twice + 1))


def _kinds_interval(seen: int, once: int, twice: int, n: int, z: float, confidence: float) -> Interval:
    hidden = _hidden(once, twice, n)
    if (
        hidden == 0
    ):  # as if each kind had come up by chance as often as the others on average (Colwell, EstimateS)
        missed = exp(-n / seen)
        half = z * sqrt(seen * missed * (1 - missed)) / (1 - missed) if missed < 1 else 0.0
        whole = seen / (1 - missed)
        return Interval(float(seen), max(float(seen), whole + half), confidence, "chao")
    scale = (n - 1) / n
    variance = (
        scale * once * (once - 1) / (2 * (twice + 1))
        + scale**2 * once * (2 * once - 1) ** 2 / (4 * (twice + 1) ** 2)
        + scale**2 * once**2 * twice * (once - 1) ** 2 / (4 * (twice + 1) ** 4)
    )
    spread = exp(z * sqrt(log(1 + variance / hidden**2)))
    fewest = hidden / spread if hidden > z * sqrt(variance) else 0.0
    return Interval(seen + fewest, seen + hidden * spread, confidence, "chao")
