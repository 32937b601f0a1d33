"""Cross-entropy: learns the distribution of inputs that fail, factor by factor (Rubinstein, 1999; De Boer et al., 2005).

Proposals are drawn from a distribution of its own, which begins as that of the space. After every few trials it moves towards the elite: the trials that
came nearest to a failure. Of a factor with numbers it learns a mean and a spread, so that it goes beyond what it has seen; of any other, how likely each
option is. In the end `probabilities` tells what failing inputs look like, and it is what importance sampling draws from.
"""

import random
from dataclasses import KW_ONLY, dataclass, field
from math import exp, sqrt
from typing import Any

from calipers.data.argument_checks import check_number, check_whole_number, is_number
from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidOptionError

from .factors import Factors
from .proposal import Proposal
from .trial_outcome import Outcome

_NARROWEST = 0.04
"""The spread of numbers is at least this share of their range, so that a search can move on."""


@dataclass
class CrossEntropy:
    """Draws from a distribution that moves towards what came near a failure."""

    space: Factors
    _: KW_ONLY
    batch: int = 10
    """After how many trials the distribution moves."""
    memory: int = 50
    """Of how many last trials the elite is."""
    elite: float = 0.2
    """Which share of them."""
    pace: float = 0.6
    """How far it moves: 1 forgets what it was."""
    floor: float = 0.1
    """The share of each factor that stays what the space has, so that nothing becomes impossible."""
    probabilities: dict[str, list[float]] = field(default_factory=dict, init=False, repr=False)
    """How likely each option of each factor is now."""

    def __post_init__(self) -> None:
        if not isinstance(self.space, Factors):
            raise InvalidOptionError(f"cross-entropy needs Factors(...), got {safe_repr(self.space):.200}")
        check_whole_number("batch", self.batch, at_least=2)
        check_whole_number("memory", self.memory, at_least=self.batch)
        for name in ("elite", "pace"):
            check_number(name, getattr(self, name), above=0, at_most=1)
        check_number("floor", self.floor, at_least=0, at_most=1)
        self.probabilities = {name: self.space.probabilities(name) for name in self.space.options}
        self._recent: list[Outcome] = []
        self._told = 0

    def ask(self, rng: random.Random) -> Proposal:
        """A draw from what is learned, and now and then from the space."""
        return self.space.proposal(
            {
                name: self.space.draw(name, rng)
                if rng.random() < self.floor
                else rng.choices(self.space.options[name], weights)[0]
                for name, weights in self.probabilities.items()
            }
        )

    def tell(self, outcome: Outcome) -> None:
        """Remember it, and move when a batch is complete."""
        if outcome.failed is None:
            return
        self._recent = [*self._recent, outcome][-self.memory :]
        self._told += 1
        if self._told % self.batch == 0:
            self._move()

    def _move(self) -> None:
        size = max(2, round(self.elite * len(self._recent)))
        ranked = sorted(self._recent, key=lambda outcome: (-outcome.reward, -outcome.number))
        elite = ranked[:size]
        if elite[0].reward == ranked[-1].reward:  # nothing to learn from
            return
        for name, options in self.space.options.items():
            seen = [outcome.proposal.choices[name] for outcome in elite]
            numbers = [option for option in options if is_number(option)]
            fitted = _normal(numbers, seen) if len(numbers) == len(options) > 2 else _counted(options, seen)
            self.probabilities[name] = [
                self.pace * new + (1 - self.pace) * old
                for new, old in zip(fitted, self.probabilities[name], strict=True)
            ]


def _counted(options: Any, seen: list[Any]) -> list[float]:
    return [seen.count(option) / len(seen) for option in options]


def _normal(options: list[Any], seen: list[Any]) -> list[float]:
    """How likely each number is under the normal distribution of those that were seen."""
    mean = sum(seen) / len(seen)
    width = max(options) - min(options)
    spread = max(sqrt(sum((each - mean) ** 2 for each in seen) / len(seen)), _NARROWEST * width) or 1.0
    weights = [exp(-(((option - mean) / spread) ** 2) / 2) for option in options]
    total = sum(weights)
    return [weight / total for weight in weights]
