"""One rollout: a tree of turns. `Graph` is its root, `Node` one turn.

A turn is one attack and the response to it. `Node.context` is the state before the attack; the children of a node are
the turns that were tried next. A rollout without branches is a tree of width one.

Two generations of names are in use for the tester's move: `attack` is the field, and `probe` is the same thing under
its other name, when a node is made and when it is read.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from itertools import zip_longest
from typing import Any, Final, Generic

from typing_extensions import TypeVar

from calipers.data.argument_checks import is_whole_number
from calipers.data.redaction import masked_fields
from calipers.data.trace import ToolCall, Trace
from calipers.errors import InvalidRolloutError

StateT = TypeVar("StateT", default=str)
ActionT = TypeVar("ActionT", default=str)

_ABSENT: Final[Any] = object()
"""Stands for an attack that was not given under this name."""


@dataclass(init=False)
class Node(Generic[StateT, ActionT]):
    """One turn. A subclass may add fields, as a dataclass does."""

    context: StateT
    """The state before the attack."""
    attack: ActionT
    """What the tester said; also read as `probe`."""
    response: StateT
    """What the target answered."""
    reward: float
    """What the turn was worth to the tester."""
    children: "Sequence[Node[StateT, ActionT]]" = field(repr=False)
    """The turns tried next; empty at a leaf."""
    _: KW_ONLY
    success: bool | None = None
    """Whether the target gave way in this turn; `None`: it was not judged."""
    attack_score: float | None = None
    """How harmful the moderator finds the attack, from 0 to 1; `None`: not measured."""
    response_score: float | None = None
    """How harmful the moderator finds the response, from 0 to 1; `None`: not measured."""
    duration: float | None = None
    """Seconds the target took."""
    cost: float | None = None
    """What the turn cost, tester and target together, in the unit of the user's prices."""
    trace: Trace | None = None
    """What the target did, where it tells."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Anything else: which attack it was, say."""

    def __init__(
        self,
        context: StateT,
        attack: ActionT = _ABSENT,
        response: StateT = _ABSENT,
        reward: float = 0.0,
        children: "Sequence[Node[StateT, ActionT]]" = (),
        *,
        probe: ActionT = _ABSENT,
        success: bool | None = None,
        attack_score: float | None = None,
        response_score: float | None = None,
        duration: float | None = None,
        cost: float | None = None,
        trace: Trace | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        if (attack is _ABSENT) is (probe is _ABSENT):
            given = "neither" if attack is _ABSENT else f"{attack!r} and {probe!r}"
            raise InvalidRolloutError(f"a turn has one attack, given as attack= or as probe=, got {given}")
        if response is _ABSENT:
            raise InvalidRolloutError("a turn needs the target's response: pass response=")
        self.context = context
        self.attack = attack if probe is _ABSENT else probe
        self.response = response
        self.reward = reward
        self.children = children
        self.success = success
        self.attack_score = attack_score
        self.response_score = response_score
        self.duration = duration
        self.cost = cost
        self.trace = trace
        self.metadata = {} if metadata is None else metadata

    @property
    def probe(self) -> ActionT:
        """The attack, under its other name."""
        return self.attack

    @probe.setter
    def probe(self, value: ActionT) -> None:
        self.attack = value


@dataclass
class Graph(Generic[StateT, ActionT]):  # noqa: PLW1641 - it grows, so it has no hash
    """A rollout: where it began, and the turns that were tried first.

    It may be of any depth: comparing, copying and pickling do not recurse from turn to turn, as those of a `Node` do.
    """

    context: StateT
    """The state before anything was said."""
    children: Sequence[Node[StateT, ActionT]] = field(repr=False)
    """The turns tried first; none where nothing was said."""
    seed: Any = None
    """What the rollout was drawn from; the same seed gives the same rollout, as far as its players allow."""
    stopped: str | None = None
    """Why it ended, in a few words; `None`: it does not say."""
    metadata: dict[str, Any] = field(default_factory=dict)
    broke_off: bool = False
    """Whether a player failed, so that a conversation ended before its time: that nothing succeeded then says nothing."""
    unfinished: tuple[Trace, ...] = field(default=(), repr=False)
    """What the target did in turns that it did not finish, where that was recorded."""

    def walk(self) -> Iterator[Node[StateT, ActionT]]:
        """Every turn of the tree, each before its children, first children first."""
        return (node for _, node in numbered_turns(self))

    def paths(self) -> Iterator[tuple[Node[StateT, ActionT], ...]]:
        """Every conversation of the tree: the turns from the root to each leaf. None, if there are no turns."""
        path: list[Node[StateT, ActionT]] = []
        for number, node in numbered_turns(self):
            del path[number - 1 :]
            path.append(node)
            if not node.children:
                yield tuple(path)

    def leaves(self) -> Iterator[Node[StateT, ActionT]]:
        """The last turn of every conversation."""
        return (node for node in self.walk() if not node.children)

    @property
    def depth(self) -> int:
        """Turns in the longest conversation."""
        return max((number for number, _ in numbered_turns(self)), default=0)

    def to_dict(self) -> dict[str, Any]:
        """The rollout as plain JSON data, with a version; `from_dict` reads it back."""
        from .graph_data import graph_data

        return graph_data(self)

    @classmethod
    def from_dict(cls, data: Any) -> "Graph[Any, Any]":
        """A rollout from what `to_dict` gave, or from the output of a stored report.

        Raises:
            InvalidRolloutError: the data is not a stored rollout, or one of a later version.
        """
        from .graph_data import read_graph

        return read_graph(data)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from calipers.views.notebook import rollout_cell

        return rollout_cell(self)

    def attempt_trace(self) -> Trace | None:
        """What the target did in every turn, as one trace; `None` where a turn does not tell.

        `calipers.rollouts.conversation` says how the turns are joined.
        """
        from .conversation import conversation_trace, tells_calls

        return conversation_trace(self) if tells_calls(self) else None

    def call_paths(self) -> list[Sequence[ToolCall]]:
        """The tool calls of each conversation of the tree, in order; none where there is a single one.

        Those of a turn that was not finished are a conversation by themselves.
        """
        paths = [[node.trace for node in path if node.trace is not None] for path in self.paths()]
        if len(paths) < 2:
            return []
        paths += [[trace] for trace in self.unfinished]
        return [[call for trace in traces for call in trace.tool_calls] for traces in paths]

    def without_secrets(self) -> "Graph[StateT, ActionT]":
        """The rollout as reports and stores tell it: with `[redacted]` for what looks like a secret in traces and metadata.

        What was said stays as it is: it is what is measured. The rollout itself where it holds no secret.
        """
        turns = [(number, _without_secrets(node)) for number, node in numbered_turns(self)]
        metadata, unfinished = (
            masked_fields(self.metadata),
            tuple(each.without_secrets() for each in self.unfinished),
        )
        old = zip((node for _, node in numbered_turns(self)), turns, strict=True)
        same = all(node is one for node, (_, one) in old) and metadata is self.metadata
        if same and all(one is other for one, other in zip(unfinished, self.unfinished, strict=True)):
            return self
        made = copy.copy(self)
        made.metadata, made.unfinished = metadata, unfinished
        if all(isinstance(node, Node) for _, node in turns):
            made.children = tree_of((number, copy.copy(node)) for number, node in turns)
        return made

    def plain_data(self) -> dict[str, Any]:
        """What a stored report keeps of a rollout."""
        return self.to_dict()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return _own_fields(self) == _own_fields(other) and all(
            one == another for one, another in zip_longest(_listed(self), _listed(other))
        )

    def __copy__(self) -> "Graph[StateT, ActionT]":
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __getstate__(self) -> dict[str, Any]:
        """For pickling and deep copies: the turns in a list, each with its number and without those that follow it."""
        turns = list(numbered_turns(self))
        if not all(isinstance(node, Node) for _, node in turns):
            return vars(self)  # turns of another kind may not bear to be taken apart
        alone = [(number, copy.copy(node)) for number, node in turns]
        for _, node in alone:
            node.children = ()
        return {**vars(self), "children": None, "turns": alone}

    def __setstate__(self, state: dict[str, Any]) -> None:
        turns = state.get("turns")
        vars(self).update({name: value for name, value in state.items() if name != "turns"})
        if turns is not None:
            self.children = tree_of(turns)


def tree_of(turns: Iterable[tuple[int, Node[Any, Any]]]) -> list[Node[Any, Any]]:
    """The first turns of the tree that `numbered_turns` lists; each turn gets its children."""
    first: list[Node[Any, Any]] = []
    followers = [first]
    """Where the next turn of each number belongs."""
    for place, (number, node) in enumerate(turns):
        if not is_whole_number(number, at_least=1) or number > len(followers):
            raise InvalidRolloutError(
                f"turns[{place}] of a stored rollout must have a number from 1 to {len(followers)}, got {number!r}"
            )
        children: list[Node[Any, Any]] = []
        node.children = children
        followers[number - 1].append(node)
        followers[number:] = [children]
    return first


def _without_secrets(node: Any) -> Any:
    """A turn without the secrets in its trace and metadata; the turn itself where there are none."""
    if not isinstance(node, Node):
        return node
    trace = None if node.trace is None else node.trace.without_secrets()
    metadata = masked_fields(node.metadata)
    if trace is node.trace and metadata is node.metadata:
        return node
    made: Node[Any, Any] = copy.copy(node)
    made.trace, made.metadata = trace, metadata
    return made


def _own_fields(x: Any) -> list[Any]:
    """The fields of a rollout or a turn, without the turns that follow."""
    return [getattr(x, each.name) for each in fields(x) if each.compare and each.name != "children"]


def _listed(graph: Graph[Any, Any]) -> Iterator[Any]:
    """What two equal rollouts have in common, turn by turn."""
    for number, node in numbered_turns(graph):
        yield number, type(node), _own_fields(node) if isinstance(node, Node) else node


def numbered_turns(graph: Any) -> Iterator[tuple[int, Any]]:
    """Every turn of a tree with its number in its conversation, from 1; each before its children.

    The tree may be a `Graph` or any object with `children`, and so may its turns. It may be of any depth.
    """
    # Each entry is what is left of one level; together they are the turns between the root and the next one.
    levels = [iter(getattr(graph, "children", None) or ())]
    above: list[int] = []
    known: set[int] = set()
    while levels:
        node = next(levels[-1], _ABSENT)
        if node is _ABSENT:
            levels.pop()
            if above:
                known.discard(above.pop())
            continue
        if id(node) in known:
            raise InvalidRolloutError(f"turn {len(levels)} of a rollout is also one of the turns before it")
        yield len(levels), node
        above.append(id(node))
        known.add(id(node))
        levels.append(iter(getattr(node, "children", None) or ()))
