"""The outcome of a trial: what a strategy is told of a proposal once it was tried and judged.

A trial is one attempt of a run. It *fails*, and the search has found something, where the system under test did what it should
not: an assertion did not hold, the task raised, the target of a conversation gave way. Where something else got in the way (a
server that was down, a judge that crashed), `failed` is `None`: nothing is known, and the trial counts for neither.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from math import isfinite
from typing import Any

from calipers.rollouts.graph import Graph, Node
from calipers.rollouts.rollout_outcome import is_rollout, read_rollout, success_of
from calipers.stats.interval import Interval

from .proposal import Proposal


@dataclass(frozen=True)
class Outcome:
    """What came of a proposal."""

    number: int
    """Of the trial, from 1, in the order of the proposals."""
    proposal: Proposal
    _: KW_ONLY
    failed: bool | None
    """Whether the system failed, so that the search found something; `None`: that is not known."""
    reward: float
    """How near it came to a failure, from 0 to 1; 1 for a failure, 0 where nothing is known. With an objective that has `realism`, that is part of it."""
    severity: float | None = None
    """How bad the judges found it, from 0 to 1: the reward as it is before a failure counts as 1; `None`: no one said."""
    realism: float | None = None
    """How ordinary it was, by the `realism` of the objective; `None`: that is not known, or not asked."""
    realism_interval: Interval | None = None
    """Where its realism lies, given so many real turns."""
    results: Mapping[str, Any] = field(default_factory=dict)
    """What the evaluators said, by name: assertions, scores and labels."""
    turn_rewards: tuple[float, ...] = ()
    """How near each turn came, where it was a conversation without branches; none where it was not."""
    turn_severities: tuple[float, ...] = ()
    """The same without `realism`; none where the rewards are without it."""
    output: Any = None
    """What the task returned; `None` also where it raised."""
    error: str | None = None
    """The type of the error that the task raised; `None`: it returned."""
    calls: int = 1
    """How often the system was asked: once, or in each turn of a conversation."""
    cost: float | None = None
    """US dollars; `None`: not known."""
    seconds: float = 0.0
    """How long the task took."""

    @property
    def rollout(self) -> Graph[Any, Any] | None:
        """The conversation with the scores of the moderator; `None` if it was none."""
        return read_rollout(self.output) if is_rollout(self.output) else None

    @property
    def nearness(self) -> tuple[float, ...]:
        """How near each turn came to a failure, however ordinary it was."""
        return self.turn_severities or self.turn_rewards

    @property
    def signature(self) -> str:
        """In which way it failed: the error, or the assertions that did not hold. Failures of one signature are alike."""
        if self.error is not None:
            return self.error
        broken = sorted(name for name, value in self.results.items() if value is False)
        return ", ".join(broken)


def turn_rewards(graph: Graph[Any, Any]) -> tuple[float, ...]:
    """How near each turn of a conversation came; none of a tree with branches."""
    found: list[float] = []
    level = graph.children
    while len(level) == 1:
        found.append(turn_reward(level[0]))
        level = level[0].children
    return () if level else tuple(found)


def turn_reward(node: Node[Any, Any]) -> float:
    """How near a turn came to a success of the tester: its reward or the score of the response, whichever is higher; 1 for a success."""
    if success_of(node):
        return 1.0
    told = [each for each in (node.reward, node.response_score) if isinstance(each, int | float)]
    return within(max(told, default=0.0))


def within(value: float) -> float:
    """The number, or the end of the range from 0 to 1 that it lies beyond; 0 where it is not finite."""
    return min(max(value, 0.0), 1.0) if isfinite(value) else 0.0
