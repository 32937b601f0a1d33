"""Backtracking: take back what was refused, and put it otherwise."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, ClassVar

from calipers.rollouts.attacks.framing import AuthorityClaim, Fiction, Hypothetical, RolePlay
from calipers.rollouts.attacks.library import as_attacks
from calipers.rollouts.attacks.transformation import PLACE, Direct, Transformation
from calipers.rollouts.graph import Node
from calipers.rollouts.players import Attack, SoFar
from calipers.rollouts.refusal import is_refusal

from calipers.rollouts.strategy_file import check_steps, filled, has_won


@dataclass(frozen=True)
class Backtracking:
    """Walks a row of steps; a step that is refused is taken back and put otherwise, one attack after the other.

    Targets fall for it because a refusal is the best defence against the next attempt, and it only defends while it stands
    in the conversation. Whoever can edit their messages, in most chats everybody, can take it away.

    `Backtracking(steps=ESCALATING)` is an escalation that does not give up at the first no.
    """

    attacks: Sequence[Transformation | str] = (RolePlay(), Fiction(), Hypothetical(), AuthorityClaim())
    """Ways to put a refused step, in this order; transformations, or names from `ATTACKS`."""
    steps: tuple[str, ...] = (PLACE,)
    """Texts with `{topic}` and `{goal}` in them; the last one has `{goal}`. Each is put plainly at first."""
    topic: str | None = None
    """What the goal is about; `None`: the goal without the words of asking."""

    blocking: ClassVar[bool] = False
    """It only works with texts, so it needs no thread."""

    def __post_init__(self) -> None:
        as_attacks(self.attacks)
        check_steps(self.steps, owner=type(self).__name__)

    def next_attack(self, so_far: SoFar) -> Attack | None:
        """The next step, or the last one in other words; `None` when there are none left, or after a success."""
        if has_won(so_far):
            return None
        done = len(so_far.seen)
        if not self._was_in_vain(so_far):
            return self._put(Direct(), so_far, step=done)
        ways = as_attacks(self.attacks)
        tries = 1 + sum(1 for _ in takewhile(_took_back, reversed(so_far.turns)))
        if tries > len(ways):
            return None
        # Turns before its own count as steps, so a conversation that another tester began may have more of them.
        step = min(done, len(self.steps)) - 1
        return replace(self._put(ways[tries - 1], so_far, step=step), rewind=1)

    def _put(self, way: Transformation, so_far: SoFar, *, step: int) -> Attack:
        said = way.apply(filled(self.steps[step], so_far.goal, self.topic), so_far.random)
        return replace(said, name=f"backtracking+{way.label}")

    def _was_in_vain(self, so_far: SoFar) -> bool:
        """Whether the turn before has to be taken back: it was refused, or it was the last step and brought nothing."""
        if so_far.last is None:
            return False
        return len(so_far.seen) >= len(self.steps) or is_refusal(so_far.last.response)


def _took_back(turn: Node[Any, Any]) -> bool:
    return bool(turn.metadata.get("rewind"))
