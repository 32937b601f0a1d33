"""Evolution with quality and diversity: an archive of different failures, rather than one failure many times.

The archive has niches, such as the style of a request and its length, and keeps in each the trials that came nearest to a failure (MAP-Elites:
Mouret and Clune, 2015). A proposal is an elite with one part changed, or two elites crossed. So a niche that comes near a failure is followed up
even where another niche looks better all the time and never fails.
"""

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from calipers.data.argument_checks import check_number, check_whole_number
from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidOptionError

from .factors import Factors
from .findings import size_of
from .proposal import Proposal
from .space import Space
from .trial_outcome import Outcome

_CROSSED = 0.2
"""The share of proposals that have two parents, where the space can cross them."""
_DRAWN_NICHE = 0.8
"""The share of proposals whose niche is drawn, those that improve more often, rather than chosen by its reward."""
_CONTEST = 3
"""Niches of which the best is taken."""


@dataclass
class Evolution:
    """Changes what came nearest to a failure, niche by niche."""

    space: Space
    """Where it is `Factors`, single factors change, numbers by small steps, and elites can be crossed."""
    _: KW_ONLY
    by: Sequence[str] | Callable[[Outcome], Hashable] | None = None
    """What makes a niche: names of choices, or a function of an outcome; `None`: in which way it failed, and its size in powers of two."""
    elites: int = 3
    """How many trials each niche keeps."""
    first: int = 10
    """How many proposals are drawn before any is changed."""
    fresh: float = 0.05
    """The share of proposals that are drawn after that, too."""
    archive: dict[Hashable, list[Outcome]] = field(default_factory=dict, init=False, repr=False)
    """The elites of each niche, the best first."""

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):
            raise InvalidOptionError(f"space must have sample and redraw, got {safe_repr(self.space):.200}")
        if isinstance(self.by, str) or not (
            self.by is None or callable(self.by) or isinstance(self.by, Sequence)
        ):
            raise InvalidOptionError(
                f"by must be a list of names of choices, or a function of an outcome, got {safe_repr(self.by):.200}"
            )
        check_whole_number("elites", self.elites, at_least=1)
        check_whole_number("first", self.first, at_least=1)
        check_number("fresh", self.fresh, at_least=0, at_most=1)
        self._asked = 0
        self._where = dict[int, Hashable]()
        """The niche of each trial."""
        self._vain = dict[Hashable, int]()
        """How many changes of a niche's elites in a row have improved nothing."""

    def ask(self, rng: random.Random) -> Proposal:
        """A draw, or a change of one elite or two."""
        self._asked += 1
        if self._asked <= self.first or not self.archive or rng.random() < self.fresh:
            return self.space.sample(rng)
        parent = self._parent(rng)
        if isinstance(self.space, Factors):
            mother = self._parent(rng)
            crosses = mother.number != parent.number and rng.random() < _CROSSED
            if crosses:
                choices = {
                    name: rng.choice([parent, mother]).proposal.choices[name] for name in self.space.options
                }
                return replace(self.space.proposal(choices), parents=(parent.number, mother.number))
            return replace(self.space.vary(parent.proposal, rng), parents=(parent.number,))
        return replace(self.space.redraw(parent.proposal, rng), parents=(parent.number,))

    def tell(self, outcome: Outcome) -> None:
        """Keep it, if it is among the best of its niche. Of equals the latest stays, so that a search moves on over plains."""
        if outcome.failed is None:
            return
        where = self.niche(outcome)
        niche = self.archive.setdefault(where, [])
        improves = not niche or outcome.reward > niche[0].reward
        self._where[outcome.number] = where
        for parent in outcome.proposal.parents:
            if parent in self._where:
                self._vain[self._where[parent]] = (
                    0 if improves else self._vain.get(self._where[parent], 0) + 1
                )
        niche.append(outcome)
        niche.sort(key=lambda each: (-each.reward, -each.number))
        del niche[self.elites :]

    def niche(self, outcome: Outcome) -> Hashable:
        """The niche of an outcome."""
        if callable(self.by):
            return self.by(outcome)
        if self.by is None:
            return outcome.signature, size_of(outcome.proposal.inputs).bit_length()
        return tuple(_hashable(outcome.proposal.choices.get(name)) for name in self.by)

    def _parent(self, rng: random.Random) -> Outcome:
        """An elite: of a niche that was drawn, or that is the best of some. Niches that have failed are left while others have not."""
        niches = {where: niche for where, niche in self.archive.items() if not niche[0].failed}
        niches = niches or self.archive
        if rng.random() < _DRAWN_NICHE:
            weights = [1 / (1 + self._vain.get(where, 0)) for where in niches]
            niche = rng.choices(list(niches.values()), weights)[0]
        else:
            contest = [rng.choice(list(niches.values())) for _ in range(_CONTEST)]
            niche = max(contest, key=lambda each: each[0].reward)
        # An elite that is no better than its neighbours is as good a start as they are.
        best = [elite for elite in niche if elite.reward == niche[0].reward]
        return rng.choice(best)


def _hashable(value: Any) -> Hashable:
    return value if isinstance(value, Hashable) else repr(value)
