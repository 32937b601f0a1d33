"""The three players of a conversation: a target, a tester, a moderator. Each needs one method, and no base class.

Any of the methods may be async. Players keep no state of a conversation: they are given what happened so far, so that many
rollouts, and many branches of one, run side by side. For chance, a tester has `SoFar.random`, and a target `turn_seed()`.

**Which thread.** An async method runs on the event loop. A sync one is called in a thread, several at once. A player with an
attribute `blocking = False` does not wait, and is called on the event loop, one call at a time: it saves the cost of a thread,
and suits what threads cannot share. `ask` calls a player of either kind.

**A rewind.** An attack may take back turns: the target does not see them any more. The tree keeps them: the new turn is a child
of the turn before it, so a path is all that the tester tried, in order. What was taken back is noted at the new turn, as
`metadata["rewind"]`, and `context` is what the target saw.
"""

import inspect
import random
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from calipers.data.trace import Trace
from calipers.process.user_code import call_in_thread

from .graph import Graph, Node


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
    """How many of the turns that the target still sees to take back before it is said; no more than there are."""
    cost: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    stop: bool = False
    """Say nothing and end the conversation, as `None` does, with what it cost to decide so; the text is not said."""


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
    """What the target said first, where it did not wait to be asked."""
    calls: int = 0
    """How often the target has been asked in the whole rollout, in every branch."""
    cost: float | None = None
    """What the whole rollout has cost; `None`: no player told, or one that has a price did not tell of every turn."""
    elapsed: float = 0.0
    """Seconds since the rollout began. A tester that looks at it does not do the same twice."""

    @property
    def seen(self) -> "tuple[Node[Any, Any], ...]":
        """The turns that the target still sees: all but those that were taken back."""
        return seen_by_target(self.turns)

    @property
    def turn(self) -> int:
        """The number of the turn to come, from 1."""
        return len(self.turns) + 1

    @property
    def last(self) -> Node[Any, Any] | None:
        """The turn before, if there was one."""
        return self.turns[-1] if self.turns else None


@dataclass(frozen=True)
class TurnOutcome:
    """What came of a turn, for a tester that learns: one with a method `told(outcome)`, sync or async.

    It is told of every turn once that is judged: the last one, too, and one whose success ends the conversation. Turns of one
    rollout come in their order; many rollouts at once are told as they go on, so a tester that learns does not do the same twice.
    """

    goal: str
    """What the tester was after."""
    turns: tuple[Node[Any, Any], ...]
    """The turns of this branch up to the one that it is about, each with the moderator's scores, its success and its reward."""
    rollout: Graph[Any, Any]
    """The whole rollout, as far as it has grown."""

    @property
    def turn(self) -> Node[Any, Any]:
        """The turn that it is about."""
        return self.turns[-1]

    @property
    def attack(self) -> str | None:
        """The name of the attack or strategy that the turn came from; `None` if it had none."""
        name = self.turn.metadata.get("attack")
        return name if isinstance(name, str) else None

    @property
    def reward(self) -> float:
        """What the turn was worth."""
        return self.turn.reward

    @property
    def success(self) -> bool | None:
        """Whether the target gave way; `None` if that was not judged."""
        return self.turn.success


def seen_by_target(turns: Sequence[Node[Any, Any]]) -> tuple[Node[Any, Any], ...]:
    """The turns that a target still sees: all but those that were taken back, as `metadata["rewind"]` tells."""
    seen: list[Node[Any, Any]] = []
    for turn in turns:
        taken_back = turn.metadata.get("rewind", 0)
        del seen[max(len(seen) - taken_back, 0) :]
        seen.append(turn)
    return tuple(seen)


_TURN_SEED: ContextVar[int | None] = ContextVar("calipers_turn_seed", default=None)


def turn_seed() -> int | None:
    """The seed for what a target draws in this turn; `None` outside a rollout.

    It follows from the seed of the rollout and the place of the turn in the tree, not from the order in which branches
    happen to finish.
    """
    return _TURN_SEED.get()


@contextmanager
def turn_seeded(seed: int) -> Iterator[None]:
    """A block in which `turn_seed()` is this one."""
    token = _TURN_SEED.set(seed)
    try:
        yield
    finally:
        _TURN_SEED.reset(token)


@runtime_checkable
class Target(Protocol):
    """The system under test.

    A sync `reply` is called in a thread, unless the target has an attribute `blocking = False`.
    """

    def reply(self, messages: Sequence[Message]) -> str | Reply | Awaitable[str | Reply]:
        """The answer to a conversation whose last message is the tester's."""
        ...


@runtime_checkable
class Tester(Protocol):
    """Chooses what to say next, given all that happened. Strategies, scripts, language models and searches are testers.

    A sync `next_attack` is called in a thread, unless the tester has an attribute `blocking = False`. A tester that learns has a
    method `told(outcome)` as well, which gets the `TurnOutcome` of every turn.
    """

    # Abstract: else pytest would collect the class, by its name, wherever it is imported.
    @abstractmethod
    def next_attack(self, so_far: SoFar) -> "str | Attack | Awaitable[str | Attack | None] | None":
        """The next move; `None` when there is nothing left to try."""
        ...


@runtime_checkable
class Moderator(Protocol):
    """Scores texts from 0, harmless, to 1. `score` is the same method under its other name.

    A sync `moderate` is called in a thread, unless the moderator has an attribute `blocking = False`.
    """

    def moderate(self, texts: Sequence[str]) -> Sequence[float] | Awaitable[Sequence[float]]:
        """One score for each text, in the same order."""
        ...


class NeedsNoThread:
    """Base of players that do not wait, such as those that only work with texts: they are called on the event loop."""

    blocking: ClassVar[bool] = False


@dataclass(frozen=True)
class FunctionPlayer:
    """Base of players that call a function: it runs in a thread, unless it is async or says otherwise."""

    function: Callable[..., Any]

    @property
    def blocking(self) -> bool:
        """Whether the function is called in a thread."""
        return not is_async(self.function) and is_blocking(self.function)

    @property
    def name(self) -> str:
        """What to call it in reports."""
        return player_name(self.function)


def player_name(x: Any) -> str:
    """What to call a player: the name it gives itself, else that of its function or class."""
    for attribute in ("name", "__name__"):
        named = getattr(x, attribute, None)
        if isinstance(named, str) and named and named != "<lambda>":
            return named
    return type(x).__name__


def is_priced(player: Any) -> bool:
    """Whether a player says that what it does has a price."""
    return getattr(player, "priced", False) is True


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives something to await, as far as it tells."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def is_blocking(player: Any, *, unless_told: bool = True) -> bool:
    """Whether a sync method of a player belongs in a thread: its attribute `blocking`, if it is True or False.

    A player may be a function, which says it by an attribute of its own, or a method, whose object says it.
    """
    for each in (player, getattr(player, "__self__", None)):
        if isinstance(told := getattr(each, "blocking", None), bool):
            return told
    return unless_told


async def ask(method: Callable[..., Any], *arguments: Any, blocking: bool) -> Any:
    """What a method of a player gives."""
    if blocking and not is_async(method):
        given = await call_in_thread(method, *arguments)
    else:
        given = method(*arguments)
    return await given if inspect.isawaitable(given) else given
