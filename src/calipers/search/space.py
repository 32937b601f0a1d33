"""A space: where the inputs of a search come from.

A space states a distribution: what ordinary use would send. `sample` draws from it, so the share of failures among samples estimates how
often the system fails. `redraw` changes one part of a proposal. Where the new part is drawn as `sample` draws it, given the other parts, a
chain of redraws keeps the distribution, which multilevel splitting needs: a space says so with `keeps_distribution = True`.
"""

import random
from typing import Protocol, runtime_checkable

from .proposal import Proposal


@runtime_checkable
class Space(Protocol):
    """Where the inputs of a search come from."""

    @property
    def keeps_distribution(self) -> bool:
        """Whether a chain of redraws has the same distribution as samples."""
        ...

    def sample(self, rng: random.Random) -> Proposal:
        """A proposal, as the stated distribution has it."""
        ...

    def redraw(self, proposal: Proposal, rng: random.Random) -> Proposal:
        """The proposal with one part changed. Its parents are left to the caller."""
        ...
