"""Single-turn attacks, one per turn: each in the order they are given, or drawn.

Each begins the conversation anew, by taking back the turns before it, because a single-turn attack is meant for a target
that has heard nothing yet. With `fresh=False` the target sees them all, and what it makes of a user who tries one trick
after the other is part of the measurement.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from calipers.rollouts.attacks.library import as_attacks
from calipers.rollouts.attacks.transformation import Transformation
from calipers.rollouts.players import Attack, SoFar


@dataclass(frozen=True)
class EachAttack:
    """Tries every attack once, in order, whatever came of the others. It needs as many turns as there are attacks."""

    attacks: Sequence[Transformation | str] | None = None
    """Transformations, or names from `ATTACKS`; `None`: all of `ATTACKS`."""
    fresh: bool = True
    """Whether each begins the conversation anew."""

    blocking: ClassVar[bool] = False
    """It only works with texts, so it needs no thread."""

    def __post_init__(self) -> None:
        as_attacks(self.attacks)

    def next_attack(self, so_far: SoFar) -> Attack | None:
        """The attack whose turn it is; `None` when each was tried."""
        attacks = as_attacks(self.attacks)
        return (
            made(attacks[so_far.turn - 1], so_far, fresh=self.fresh) if so_far.turn <= len(attacks) else None
        )


@dataclass(frozen=True)
class SampledAttack:
    """Tries attacks that are drawn, none twice. Of many rollouts, each sees others."""

    attacks: Sequence[Transformation | str] | None = None
    """Transformations, or names from `ATTACKS`; `None`: all of `ATTACKS`."""
    fresh: bool = True
    """Whether each begins the conversation anew."""

    blocking: ClassVar[bool] = False
    """It only works with texts, so it needs no thread."""

    def __post_init__(self) -> None:
        as_attacks(self.attacks)

    def next_attack(self, so_far: SoFar) -> Attack | None:
        """One that was not tried yet; `None` when each was."""
        tried = set(names_tried(so_far))
        left = [attack for attack in as_attacks(self.attacks) if attack.label not in tried]
        return made(so_far.random.choice(left), so_far, fresh=self.fresh) if left else None


def made(transformation: Transformation, so_far: SoFar, *, fresh: bool) -> Attack:
    """The attack by a transformation, in the conversation or at the beginning of a new one."""
    attack = transformation.apply(so_far.goal, so_far.random)
    return replace(attack, rewind=len(so_far.seen)) if fresh else attack


def names_tried(so_far: SoFar) -> list[str]:
    """The name of the attack of each turn; empty where a turn has none."""
    return [str(turn.metadata.get("attack", "")) for turn in so_far.turns]
