"""The random strategy: draws from the space, whatever came of it. What every other strategy has to beat."""

import random
from dataclasses import dataclass

from .proposal import Proposal
from .space import Space
from .trial_outcome import Outcome


@dataclass
class RandomDraws:
    """Draws each proposal from the space. The share of failures among its trials estimates how often the system fails."""

    space: Space

    def ask(self, rng: random.Random) -> Proposal:
        """A draw."""
        return self.space.sample(rng)

    def tell(self, outcome: Outcome) -> None:
        """Learns nothing."""
