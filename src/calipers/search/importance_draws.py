"""Importance sampling: draws where failures are, and weighs each draw by how likely the space would give it.

A part of the draws, `plain`, comes from the space itself. So no weight exceeds `1 / plain`, and a failure that the proposal cannot draw still
has its chance.
"""

import random
from collections import deque
from math import exp

from calipers.data.argument_checks import check_share
from calipers.errors import InvalidOptionError
from calipers.stats.importance import importance_rate

from .factors import Factors
from .failure_rate import FailureRate
from .proposal import Proposal
from .trial_outcome import Outcome


class ImportanceDraws:
    """Estimates how often a system fails, from draws of a proposal.

    ```python
    ImportanceDraws(space, where_it_fails.proposal_space())
    ```
    """

    def __init__(self, space: Factors, proposal: Factors, *, plain: float = 0.2) -> None:
        """Draws from a proposal.

        Args:
            space: states the distribution that the estimate is for.
            proposal: where failures are likelier: the same factors and options with other weights.
            plain: the share of draws from the space itself.

        Raises:
            InvalidOptionError: the two do not have the same factors, with the same options.
        """
        check_share("plain", plain, or_zero=False, or_one=False)
        if {name: list(each) for name, each in space.options.items()} != {
            name: list(each) for name, each in proposal.options.items()
        }:
            raise InvalidOptionError(
                f"the proposal must have the factors and options of the space, got {', '.join(proposal.options)} "
                f"for {', '.join(space.options)}"
            )
        self.space = space
        self.proposal = proposal
        self.plain = plain
        self._asked = deque[float]()
        self._weights = list[float]()
        self._failed = list[bool]()
        self._unknown = 0

    def ask(self, rng: random.Random) -> Proposal:
        """A draw of the mixture."""
        source = self.space if rng.random() < self.plain else self.proposal
        choices = source.sample(rng).choices
        self._asked.append(self._weight(choices))
        return self.space.proposal(choices)

    def tell(self, outcome: Outcome) -> None:
        """Note whether it failed, and what that counts."""
        weight = self._asked.popleft()
        if outcome.failed is None:
            self._unknown += 1
        else:
            self._weights.append(weight)
            self._failed.append(outcome.failed)

    def estimate(self, confidence: float = 0.95) -> FailureRate:
        """How likely a draw of the space fails."""
        found = importance_rate(self._failed, self._weights, confidence=confidence)
        return FailureRate.of_weighted(found, self._unknown)

    def _weight(self, choices: object) -> float:
        assert isinstance(choices, dict)
        likely = exp(self.space.log_probability(choices))
        drawn = self.plain * likely + (1 - self.plain) * exp(self.proposal.log_probability(choices))
        return likely / drawn
