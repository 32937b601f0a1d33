"""What is planned: a comparison by Student's t (`ComparisonDesign`), or of what passes or not (`RateDesign`), or a gate (`GateDesign`).

All answer the same questions: how many independent units, which are cases or clusters of them, show an effect or pass a
margin; how small an effect or margin a number of units allows; and how many attempts at each would make up for too few.
"""

from dataclasses import dataclass

from calipers.stats.clearance import Shape, cases_to_clear, expected_low, least_number
from calipers.stats.power import cases_needed, power_of_paired_rates, repeats_needed, smallest_effect
from calipers.stats.variance import VarianceComponents

__all__ = ["ComparisonDesign", "GateDesign", "RateDesign"]

_MANY_FLIPS = 500
"""From so many cases that flip on, the t test and McNemar's have the same power to a tenth of a point."""
_MOST_REPEATS = 10_000


@dataclass(frozen=True, kw_only=True)
class ComparisonDesign:
    """A comparison that finds a true difference."""

    spread: VarianceComponents
    """Of the difference of one unit."""
    power: float
    confidence: float

    def units(self, effect: float, repeats: int) -> int:
        """Units that show the effect."""
        return cases_needed(
            effect, self.spread, repeats=repeats, power=self.power, confidence=self.confidence
        )

    def reach(self, n: int, repeats: int) -> float:
        """The smallest effect that `n` units show."""
        return smallest_effect(n, self.spread, repeats=repeats, power=self.power, confidence=self.confidence)

    def repeats(self, effect: float, n: int) -> int | None:
        """Attempts at each unit that show the effect; `None` if no number does."""
        return repeats_needed(effect, n, self.spread, power=self.power, confidence=self.confidence)


@dataclass(frozen=True, kw_only=True)
class RateDesign(ComparisonDesign):
    """A comparison of what passes or not, once each, which McNemar's mid-p test will judge.

    Where many cases flip, Student's t says how many it takes. Few come in steps, so there the power is counted out.
    """

    def units(self, effect: float, repeats: int) -> int:
        """Units that show the effect."""
        n = super().units(effect, repeats)
        flips = min(1.0, self.spread.of_mean(1) + effect * effect)
        first, second = (flips + abs(effect)) / 2, max(0.0, flips - abs(effect)) / 2
        while n * flips < _MANY_FLIPS and self._power(n, first, second) < self.power:
            n += 1
        return n

    def _power(self, n: int, first: float, second: float) -> float:
        return power_of_paired_rates(n, first, second, confidence=self.confidence)


@dataclass(frozen=True, kw_only=True)
class GateDesign(ComparisonDesign):
    """A gate that is passed where nothing differs, by differences between -1 and 1.

    Of all differences with one variance, those that are -1, 0 or 1 leave its interval widest.
    """

    is_clustered: bool = False
    """Whether the units are clusters: then the gate's interval is joined with that of Student's t."""

    def units(self, effect: float, repeats: int) -> int:
        """Units that pass the margin."""
        if not 0 < effect < 1:
            raise ValueError(f"margin must lie between 0 and 1, got {effect!r}")
        found = cases_to_clear(
            self._shape(repeats), (1 - effect) / 2, power=self.power, confidence=self.confidence
        )
        if found is None:
            raise ValueError(f"margin={effect!r} is too small to plan for beside a spread of {self.spread!r}")
        return max(found, super().units(effect, repeats)) if self.is_clustered else found

    def reach(self, n: int, repeats: int) -> float:
        """The smallest margin that `n` units pass."""
        shape = self._shape(repeats)
        found = 1 - 2 * expected_low(shape, n, power=self.power, confidence=self.confidence)
        return max(found, super().reach(n, repeats)) if self.is_clustered else found

    def repeats(self, effect: float, n: int) -> int | None:
        """Attempts at each unit that pass the margin; `None` if no number does."""
        return least_number(lambda repeats: self.reach(n, repeats) <= effect, first=1, most=_MOST_REPEATS)

    def _shape(self, repeats: int) -> Shape:
        share = min(1.0, self.spread.of_mean(1, repeats=repeats))
        return [(0.0, share / 2), (0.5, 1 - share), (1.0, share / 2)]
