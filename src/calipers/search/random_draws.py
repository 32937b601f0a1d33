"""The random strategy: draws from the space, whatever the outcomes. Every other strategy has to beat it."""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

from .failure_rate import FailureRate
from .proposal import Proposal
from .space import Space
from .trial_outcome import Outcome


@dataclass
class RandomDraws:
    """Draws each proposal from the space. The share of failures among its trials estimates how often the system fails."""

    space: Space
    is_sample: ClassVar = True
    """The report gives the rates of its trials as those of any sample."""
    _kinds: Counter[str] = field(default_factory=Counter, init=False, repr=False)
    _known: int = field(default=0, init=False, repr=False)
    _unknown: int = field(default=0, init=False, repr=False)

    def ask(self, rng: random.Random) -> Proposal:
        """A draw."""
        return self.space.sample(rng)

    def tell(self, outcome: Outcome) -> None:
        """Count it."""
        if outcome.failed is None:
            self._unknown += 1
            return
        self._known += 1
        if outcome.failed:
            self._kinds[outcome.signature] += 1

    def estimate(self, confidence: float = 0.95) -> FailureRate:
        """How likely a draw of the space fails, and what the kinds of failure tell of those not seen yet."""
        return FailureRate.of_draws(self._kinds.values(), self._known, self._unknown, confidence=confidence)
