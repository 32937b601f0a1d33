"""The three players of a conversation: a target, a tester, a moderator. Each needs one method, and no base class.

Any of the methods may be async. Players keep no state of a conversation: what happened so far is handed to them, so
that many rollouts, and many branches of one, run side by side.
"""

import random
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from calipers.trace import Trace

from .graph import Node


@dataclass(frozen=True)
class Message:
    """One thing that was said."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Reply:
    """What a target answered, with what it cost to get it. A target that has nothing to add may return the text."""

    text: str
    cost: float | None = None
    trace: Trace | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Attack:
    """What a tester says next. A tester that has nothing to add may return the text."""

    text: str
    name: str | None = None
    """Which transformation or strategy it came from."""
    rewind: int = 0
    """How many turns to take back before it is said: the target does not see them. 0: it sees all of them."""
    cost: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SoFar:
    """What has happened in one conversation, as the tester sees it before its next move."""

    goal: str
    """What the tester is after: a request the target should refuse, a persona's errand."""
    turns: tuple[Node[Any, Any], ...]
    """The turns of this branch, oldest first, each with the moderator's scores."""
    random: random.Random
    """The tester's source of chance: seeded by the rollout and the branch."""
    branch: int = 0
    """Which of the siblings this is, from 0, where the tree is wider than one."""
    opening: str = ""
    """The text the rollout began with, where it did not begin with silence."""

    @property
    def turn(self) -> int:
        """The number of the turn to come, from 1."""
        return len(self.turns) + 1

    @property
    def last(self) -> Node[Any, Any] | None:
        """The turn before, if there was one."""
        return self.turns[-1] if self.turns else None


@runtime_checkable
class Target(Protocol):
    """The system under test."""

    def reply(self, messages: Sequence[Message]) -> str | Reply | Awaitable[str | Reply]:
        """The answer to a conversation whose last message is the tester's."""
        ...


@runtime_checkable
class Tester(Protocol):
    """Chooses what to say next, given all that happened. Strategies, scripts, language models and searches are testers."""

    def next_attack(self, so_far: SoFar) -> "str | Attack | Awaitable[str | Attack | None] | None":
        """The next move; `None` when there is nothing left to try."""
        ...


@runtime_checkable
class Moderator(Protocol):
    """Scores texts from 0, harmless, to 1. `score` is the same method under its other name."""

    def moderate(self, texts: Sequence[str]) -> Sequence[float] | Awaitable[Sequence[float]]:
        """One score for each text, in the same order."""
        ...
