"""Tree search over turns: which turn to take after which others, as adaptive stress testing does (Lee et al., 2020).

A node of the tree is a beginning of a conversation. A trial walks down from the root, takes the child with the highest upper bound at each
node, tries a new turn where a node was visited often enough for one more (progressive widening: Coulom, 2007), and goes on by chance from there. What came
of the trial counts for every node on its way. So beginnings that come near a failure are continued, and the rest of the tree stays thin.

Beside the mean of its trials, a node counts its best one: the system may need only one way to fail.
"""

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from math import ceil, log, sqrt
from typing import Any, Protocol, runtime_checkable

from calipers.data.argument_checks import check_number, check_whole_number
from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidOptionError

from .factors import Factors
from .proposal import Proposal
from .trial_outcome import Outcome

_DRAWS = 20
"""How often a step is drawn anew that was taken already."""


@runtime_checkable
class Steps(Protocol):
    """A space whose inputs are made step by step."""

    @property
    def depth(self) -> int:
        """How many steps there are."""
        ...

    def step(self, before: tuple[Any, ...], rng: random.Random) -> Any:
        """The next step after these, as the stated distribution has it. A step can be compared, and is plain data."""
        ...

    def of_steps(self, steps: Sequence[Any]) -> Proposal:
        """The inputs that these steps make."""
        ...


@dataclass(frozen=True)
class TurnScripts:
    """Conversations of several turns, for an `Environment`, or for any task that takes a list of texts."""

    turns: Sequence[str] | Callable[[tuple[str, ...], random.Random], str]
    """What may be said; or a function that gives the next turn after those that were said."""
    _: KW_ONLY
    depth: int = 4
    """How many turns a conversation has."""
    goal: str | None = None
    """What the tester is after: the inputs are then those of a conversation, `{"goal": ..., "says": [...]}`."""

    def __post_init__(self) -> None:
        check_whole_number("depth", self.depth, at_least=1)
        if isinstance(self.turns, str) or not (
            callable(self.turns) or (isinstance(self.turns, Sequence) and self.turns)
        ):
            raise InvalidOptionError(
                f"turns must be a list of at least one text, or a function that gives the next, got {safe_repr(self.turns):.200}"
            )

    @property
    def keeps_distribution(self) -> bool:
        """Whether turns are drawn on their own: where they are a list."""
        return not callable(self.turns)

    def sample(self, rng: random.Random) -> Proposal:
        """A conversation."""
        said: tuple[str, ...] = ()
        for _ in range(self.depth):
            said = (*said, self.step(said, rng))
        return self.of_steps(said)

    def redraw(self, proposal: Proposal, rng: random.Random) -> Proposal:
        """The conversation with one turn drawn anew."""
        said = list(proposal.inputs if self.goal is None else proposal.inputs["says"])
        at = rng.randrange(len(said))
        said[at] = self.step(tuple(said[:at]), rng)
        return self.of_steps(said)

    def step(self, before: tuple[Any, ...], rng: random.Random) -> str:
        """What is said next."""
        return self.turns(before, rng) if callable(self.turns) else rng.choice(self.turns)

    def of_steps(self, steps: Sequence[Any]) -> Proposal:
        """The inputs of a conversation."""
        inputs = list(steps) if self.goal is None else {"goal": self.goal, "says": list(steps)}
        return Proposal(inputs, choices={f"turn {number}": each for number, each in enumerate(steps, 1)})


@dataclass(frozen=True)
class _FactorSteps:
    """Factors, one after the other."""

    space: Factors

    @property
    def depth(self) -> int:
        return len(self.space.options)

    def step(self, before: tuple[Any, ...], rng: random.Random) -> Any:
        name = list(self.space.options)[len(before)]
        return self.space.draw(name, rng)

    def of_steps(self, steps: Sequence[Any]) -> Proposal:
        return self.space.proposal(dict(zip(self.space.options, steps, strict=True)))


@dataclass
class _Node:
    """A beginning."""

    visits: int = 0
    total: float = 0.0
    best: float = 0.0
    own: float = 0.0
    """The highest reward of its own turn, as far as turns are judged one by one."""
    near: float = 0.0
    """How near its own turn came to a failure at most, however ordinary it was."""
    children: dict[Hashable, tuple[Any, "_Node"]] = field(default_factory=dict)
    """By what tells steps apart, each with its step."""

    def child(self, step: Any) -> "_Node | None":
        found = self.children.get(_key(step))
        return None if found is None else found[1]

    def add(self, step: Any) -> "_Node":
        node = _Node(visits=1)
        self.children[_key(step)] = (step, node)
        return node


def _key(step: Any) -> Hashable:
    return step if isinstance(step, str | int | float | bool | None) else repr(step)


@dataclass
class TreeSearch:
    """Goes on with beginnings that came near a failure."""

    space: Any
    """`TurnScripts`, `Factors` in their order, or a space of your own with `depth`, `step` and `of_steps`."""
    _: KW_ONLY
    widening: float = 1.5
    """A node has at most this times the root of its visits as children."""
    margin: float = 0.15
    """How much a node gains for being visited little."""
    best: float = 0.8
    """How much the best trial of a node counts beside the mean of all."""
    returns: float = 0.7
    """The share of trials that go back to the turn that came nearest to a failure, and try something else after it, where turns are judged one by one."""

    def __post_init__(self) -> None:
        for name in ("widening", "margin", "best", "returns"):
            check_number(name, getattr(self, name), at_least=0)
        self._steps: Steps = _FactorSteps(self.space) if isinstance(self.space, Factors) else self.space
        if not isinstance(self._steps, Steps):
            raise InvalidOptionError(
                f"a tree search needs TurnScripts(...), Factors(...), or a space with depth, step and of_steps, got {safe_repr(self.space):.200}"
            )
        self._root = _Node()
        self._paths = list[tuple[Any, ...]]()
        """The steps of the trials in flight, in the order of their proposals."""
        self._peaks = list[tuple[tuple[Any, ...], _Node]]()
        """The beginnings whose last turn came nearest to a failure, as far as something can follow them."""

    def ask(self, rng: random.Random) -> Proposal:
        """A walk down the tree, and on by chance."""
        steps, node = self._beginning(rng)
        while len(steps) < self._steps.depth:
            step = None if node is None else self._chosen(node, steps, rng)
            if step is None:
                step = (self._steps.step(steps, rng),)
            steps = (*steps, step[0])
            node = None if node is None else node.child(step[0])
        self._walk(steps, visits=1)
        self._paths.append(steps)
        return self._steps.of_steps(steps)

    def tell(self, outcome: Outcome) -> None:
        """Count what came of a trial for every node on its way."""
        steps = self._paths.pop(0)
        told = outcome.turn_rewards
        if outcome.failed is None:
            self._walk(steps, visits=-1)
            return
        # The way of the best trial so far is kept to its end; of any other, one step more than was known.
        new = len(steps) if outcome.reward > self._root.best else 1
        node = self._root
        for number in range(len(steps) + 1):
            if number:
                child = node.child(steps[number - 1])
                if child is None:
                    if not new:
                        return
                    new -= 1
                    child = node.add(steps[number - 1])
                node = child
                if number <= len(told):
                    node.own = max(node.own, told[number - 1])
                    node.near = max(node.near, outcome.nearness[number - 1])
                self._note_peak(steps[:number], node)
            # What came of earlier turns is no merit of this one.
            reward = max(told[max(number - 1, 0) :], default=0.0) if told else outcome.reward
            node.total += reward
            node.best = max(node.best, reward)

    def _beginning(self, rng: random.Random) -> "tuple[tuple[Any, ...], _Node | None]":
        """Where to go on: mostly after the turn that came nearest to a failure, by a step that was not taken there; else from the root."""
        if not self._peaks or rng.random() >= self.returns:
            return (), self._root
        fewest = min(len(node.children) for _, node in self._peaks)
        steps, node = rng.choice([peak for peak in self._peaks if len(peak[1].children) == fewest])
        drawn = self._steps.step(steps, rng)
        for _ in range(_DRAWS):
            if node.child(drawn) is None:
                break
            drawn = self._steps.step(steps, rng)
        return (*steps, drawn), node.child(drawn)

    def _note_peak(self, steps: tuple[Any, ...], node: _Node) -> None:
        highest = self._peaks[0][1].near if self._peaks else 0.0
        if not highest <= node.near < 1 or node.near == 0 or len(steps) == self._steps.depth:
            return
        if node.near > highest:
            self._peaks.clear()
        if not any(node is each for _, each in self._peaks):
            self._peaks.append((steps, node))

    def _chosen(self, node: _Node, steps: tuple[Any, ...], rng: random.Random) -> tuple[Any] | None:
        """The step to take from a node, in a tuple; `None`: one that is drawn."""
        room = ceil(self.widening * sqrt(node.visits + 1))
        if len(node.children) < room:
            drawn = self._steps.step(steps, rng)
            if node.child(drawn) is None:
                return (drawn,)
        if not node.children:
            return None
        spread = log(node.visits + 1)

        def bound(child: _Node) -> float:
            mean = child.total / max(child.visits, 1)
            value = self.best * child.best + (1 - min(self.best, 1.0)) * mean
            value = max(value, child.own)
            return value + self.margin * sqrt(spread / max(child.visits, 1))

        bounds = [(bound(child), step) for step, child in node.children.values()]
        highest = max(value for value, _ in bounds)
        return (rng.choice([step for value, step in bounds if value >= highest]),)

    def _walk(self, steps: Sequence[Any], *, visits: int) -> None:
        """Count the visits of every node on the way."""
        node: _Node | None = self._root
        for step in [*steps, None]:
            if node is None:
                return
            node.visits += visits
            node = node.child(step)
