"""What a rollout costs: turn by turn, and beside its turns.

A player is *priced* if it says so (an attribute `priced`, as a `ChatTarget` with prices has it) or once it has told a cost.
Any other player costs nothing. A priced player that does not tell what a move cost leaves the cost of that turn, and of the
rollout, unknown: `None`. A part of a cost is none.

What belongs to no turn is counted beside them, as `Graph.metadata["cost"]`: the call by which a language model ended the
conversation, an attack that the target failed to answer.
"""

from dataclasses import dataclass, field
from typing import Any

from .graph import Node
from .players import is_priced


@dataclass
class Bill:
    """The costs of one rollout under way."""

    tester: Any
    target: Any
    total: float | None = None
    """What is known to have been spent; `None`: nobody told, or somebody did not."""
    beside: float | None = None
    """What belongs to no turn; `None`: nothing does, or it is not known."""
    _turns: list[tuple[Node[Any, Any], float | None, float | None]] = field(default_factory=list)
    _others: list[float | None] = field(default_factory=list)
    _settled: int = 0
    """How many of the turns have their cost."""
    _known: list[float] = field(default_factory=list)
    _priced: tuple[bool, bool] = (False, False)

    def __post_init__(self) -> None:
        self._priced = (is_priced(self.tester), is_priced(self.target))

    def add_turn(self, node: Node[Any, Any], attack_cost: float | None, reply_cost: float | None) -> None:
        """A turn, with what each player told of it."""
        self._turns.append((node, attack_cost, reply_cost))
        self._tell(tester=attack_cost is not None, target=reply_cost is not None)

    def add_move(self, cost: float | None) -> None:
        """A move of the tester that led to no turn."""
        self._others.append(cost)
        self._tell(tester=cost is not None, target=False)

    def settle(self) -> None:
        """Give every turn its cost, and add them up."""
        for node, attack_cost, reply_cost in self._turns[self._settled :]:
            node.cost = self._sum(attack_cost, reply_cost)
            if node.cost is not None:
                self._known.append(node.cost)
        self._settled = len(self._turns)
        by_tester, _ = self._priced
        told = [cost for cost in self._others if cost is not None]
        self.beside = sum(told) if told and len(told) == len(self._others) else None
        complete = len(self._known) == len(self._turns) and not (by_tester and len(told) < len(self._others))
        self.total = sum(self._known) + sum(told) if complete and (self._known or told) else None

    @property
    def has_beside(self) -> bool:
        """Whether something that was paid for belongs to no turn."""
        return bool(self._others) and self._priced[0]

    def _tell(self, *, tester: bool, target: bool) -> None:
        priced = (self._priced[0] or tester, self._priced[1] or target)
        if priced != self._priced:
            # Those turns of which it did not tell are not known, the earlier ones too.
            self._priced, self._settled, self._known = priced, 0, []

    def _sum(self, *costs: float | None) -> float | None:
        known = [cost for cost in costs if cost is not None]
        untold = any(cost is None and priced for cost, priced in zip(costs, self._priced, strict=True))
        return sum(known) if known and not untold else None
