"""Adaptive: choose the next attack by what the last ones achieved. A small example of a search."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, ClassVar

from calipers.rollouts.attacks.library import as_attacks
from calipers.rollouts.attacks.transformation import Transformation
from calipers.rollouts.graph import Node
from calipers.rollouts.players import Attack, SoFar

from .single_turn import made, names_tried
from calipers.rollouts.strategy_file import has_won


@dataclass(frozen=True)
class Adaptive:
    """Draws attacks until one has an effect, then tries that one in a row with each of the others.

    The effect of a turn is the moderator's score of the response. Two attacks in a row get past a target that each alone
    only moves. Every choice follows from the turns so far, so it can be resumed, branched and repeated, as any tester can;
    a search of your own needs no more than this one has.
    """

    attacks: Sequence[Transformation | str] | None = None
    """Transformations, or names from `ATTACKS`; `None`: all of `ATTACKS`."""
    fresh: bool = True
    """Whether each begins the conversation anew."""

    blocking: ClassVar[bool] = False
    """It only works with texts, so it needs no thread."""

    def __post_init__(self) -> None:
        as_attacks(self.attacks)

    def next_attack(self, so_far: SoFar) -> Attack | None:
        """The next attack; `None` when there are none left, or after a success."""
        if has_won(so_far):
            return None
        singles = as_attacks(self.attacks)
        tried = dict(zip(names_tried(so_far), map(effect, so_far.turns), strict=True))
        moved = [attack for attack in singles if tried.get(attack.label, 0) > 0]
        best = max(moved, key=lambda attack: tried[attack.label], default=None)
        rows = [a + b for a, b in permutations(singles, 2) if best is a or best is b]
        for options in (rows, singles):
            left = [attack for attack in options if attack.label not in tried]
            if left:
                return made(so_far.random.choice(left), so_far, fresh=self.fresh)
        return None


def effect(turn: Node[Any, Any]) -> float:
    """What a turn achieved, from 0 to 1; 0 where nobody measured it."""
    return turn.response_score or 0.0
