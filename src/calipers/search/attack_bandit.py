"""A tester that learns across rollouts which attacks work, by a bandit: for an `Environment`, where no search runs around it."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from calipers.rollouts.attacks.library import as_attacks
from calipers.rollouts.attacks.transformation import Transformation
from calipers.rollouts.players import Attack, NeedsNoThread, SoFar, TurnOutcome
from calipers.rollouts.strategies import AttackTester, has_won

from .bandits import ThompsonBandit
from .factors import Factors
from .trial_outcome import Outcome

_ATTACK = "attack"


@dataclass(frozen=True)
class AttackBandit(AttackTester, NeedsNoThread):
    """In each turn the attack that is best in a draw from what all turns of all rollouts have told.

    It learns, so the same seed gives the same rollout only in the same place of the same run, one rollout at a time.
    """

    attacks: Sequence[Transformation | str] | None = None
    """Transformations, or names from `ATTACKS`; `None`: all of `ATTACKS`."""
    _bandit: ThompsonBandit = field(init=False, repr=False, compare=False)
    _lock: Any = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        labels = [attack.label for attack in as_attacks(self.attacks)]
        object.__setattr__(self, "_bandit", ThompsonBandit(Factors({_ATTACK: labels})))

    def next_attack(self, so_far: SoFar) -> Attack | None:
        """The attack that is chosen; `None` after a success."""
        if has_won(so_far):
            return None
        with self._lock:
            label = self._bandit.ask(so_far.random).choices[_ATTACK]
        chosen = next(attack for attack in as_attacks(self.attacks) if attack.label == label)
        return self._made(chosen, so_far)

    def told(self, outcome: TurnOutcome) -> None:
        """Learn what came of a turn. One that was not judged tells nothing."""
        if outcome.attack is None:
            return
        won = outcome.success
        score = outcome.turn.response_score
        reward = 1.0 if won else min(max(score or 0.0, 0.0), 1.0)
        proposal = self._bandit.space.proposal({_ATTACK: outcome.attack})
        known = won if won is not None or score is None else False
        with self._lock:
            self._bandit.tell(Outcome(0, proposal, failed=known, reward=reward))

    @property
    def tried(self) -> dict[str, tuple[int, float]]:
        """How often each attack was tried, and the mean of its rewards; an attack that was not tried is left out."""
        labels = self._bandit.space.options[_ATTACK]
        with self._lock:
            return {
                label: (arm.asked, arm.reward / arm.asked)
                for label, arm in zip(labels, self._bandit.arms[_ATTACK], strict=True)
                if arm.asked
            }
