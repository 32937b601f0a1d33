"""What came of a rollout: whether the target gave way, when, after how many calls and at what cost.

**Success is the tester's.** A rollout succeeded if the target gave way in at least one turn of the tree (`Node.success`).
It did not if every turn was judged and none succeeded. If nothing was said, if a turn was not judged, or if a player
broke the conversation off, and no turn succeeded, it is unknown: `None`, which is left out of every rate and counted.

**The goal is what is sampled.** Rollouts after the same goal resemble each other. A rollout's goal is
`metadata["goal"]`, or where it began (`Graph.context`) if that says nothing. Intervals take the goal as their unit, so
they speak of goals like these. Where there is one goal only, the unit is the rollout, and they speak of that goal.
"""

import json
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from calipers.data.evaluator_output import read_scalar
from calipers.data.jsonable import plain, safe_repr
from calipers.errors import InvalidOutputError, InvalidRolloutError
from calipers.report.report import Report

from .graph import Graph, Node, numbered_turns
from .graph_data import read_graph

Rollouts: TypeAlias = "Report | Iterable[Graph[Any, Any]]"
"""Rollouts to look at: a report whose outputs they are, or the trees themselves."""
Unit: TypeAlias = Literal["goal", "rollout"]
"""What an interval takes for independent."""


def rollouts_of(rollouts: Rollouts) -> list[Graph[Any, Any]]:
    """The rollouts as a list; those of a report, stored or not, are the outputs of its attempts.

    A report may have other attempts as well: they are left out, and `other_attempts` counts them.
    """
    if isinstance(rollouts, Report):
        if not rollouts.keeps_all:
            raise InvalidRolloutError(
                f"the report {rollouts.name!r} kept only some of its attempts, and numbers over those would flatter or "
                "blame: run it with keep='all'"
            )
        found = [case for case in rollouts.cases if is_rollout(case.output)] or rollouts.cases[:1]
        return [read_rollout(case.output, f"the output of {case.name!r}") for case in found]
    if isinstance(rollouts, Graph) or not isinstance(rollouts, Iterable):
        raise InvalidRolloutError(f"rollouts are a report or a list of Graph, got {safe_repr(rollouts):.200}")
    return [read_rollout(rollout, "one of the rollouts") for rollout in rollouts]


def is_rollout(value: Any) -> bool:
    """Whether this is a rollout, or the stored form of one that can be read."""
    try:
        read_rollout(value)
    except InvalidRolloutError:
        return False
    return True


def other_attempts(rollouts: Any) -> int:
    """Attempts of a report whose output is not a rollout; of a list of rollouts, 0."""
    return sum(not is_rollout(case.output) for case in rollouts.cases) if isinstance(rollouts, Report) else 0


def read_rollout(value: Any, what: str = "a rollout") -> Graph[Any, Any]:
    """A rollout as it is, or made of its stored form."""
    if isinstance(value, Graph):
        return value
    if isinstance(value, Mapping):
        return read_graph(value)
    raise InvalidRolloutError(
        f"{what} must be a Graph, or its stored form, which Graph.from_dict reads, got {safe_repr(value):.200} "
        f"({type(value).__name__})"
    )


def failed_attempts(rollouts: Any) -> int:
    """Attempts of a report that left no rollout, because they failed; 0 for a list of rollouts, which does not say."""
    return len(rollouts.failures) if isinstance(rollouts, Report) else 0


def why_incomplete(rollouts: Any) -> str | None:
    """Why a report does not have all the rollouts it should; `None` if it has, and of a list of rollouts."""
    return str(rollouts.incomplete) if isinstance(rollouts, Report) and rollouts.incomplete else None


def succeeded(graph: Graph[Any, Any] | Mapping[str, Any]) -> bool | None:
    """Whether the target gave way in some turn; `None` if that is unknown.

    Raises:
        InvalidRolloutError: it is neither a rollout nor the stored form of one.
    """
    graph = read_rollout(graph)
    known = [success_of(node) for node in graph.walk()]
    if any(known):
        return True
    return None if graph.broke_off or not known or None in known else False


def success_of(node: Node[Any, Any]) -> bool | None:
    """Whether the target gave way in this turn; `None` if that is unknown."""
    said = node.success
    if said is None or isinstance(said, bool):
        return said
    try:
        read: Any = read_scalar(said)  # a flag of numpy is one
    except InvalidOutputError:
        read = None
    if isinstance(read, bool):
        return read
    raise InvalidRolloutError(f"the success of a turn is True, False or None, got {safe_repr(said):.200}")


def first_success(graph: Graph[Any, Any] | Mapping[str, Any]) -> tuple[Node[Any, Any], ...] | None:
    """The conversation up to the earliest turn in which the target gave way; `None` if it never did.

    The fewest turns count; among equals the one that stands first in the tree.

    Raises:
        InvalidRolloutError: it is neither a rollout nor the stored form of one.
    """
    graph = read_rollout(graph)
    best: tuple[Node[Any, Any], ...] | None = None
    path: list[Node[Any, Any]] = []
    for number, node in numbered_turns(graph):
        del path[number - 1 :]
        path.append(node)
        if success_of(node) and (best is None or number < len(best)):
            best = tuple(path)
    return best


def goal_of(graph: Graph[Any, Any]) -> str:
    """What the rollout was after, as a text."""
    goal = graph.metadata.get("goal")
    return as_text(graph.context if goal is None else goal)


def attack_name(node: Node[Any, Any]) -> str | None:
    """Which transformation or strategy a turn's attack came from; `None` if it does not say."""
    name = node.metadata.get("attack")
    return name if isinstance(name, str) and name else None


def calls_of(graph: Graph[Any, Any]) -> int:
    """How often the target was asked: the turns of the whole tree."""
    return sum(1 for _ in graph.walk())


def cost_of(graph: Graph[Any, Any]) -> float | None:
    """What the rollout cost: all turns of the tree, and what `metadata["cost"]` says was spent beside them.

    `None` if one of them does not tell.
    """
    costs = [node.cost for node in graph.walk()]
    if "cost" in graph.metadata:
        costs.append(graph.metadata["cost"])
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def by_unit(graphs: Sequence[Graph[Any, Any]]) -> tuple[Unit, list[list[Graph[Any, Any]]]]:
    """The rollouts in groups that are independent of each other: those of one goal, or, of a single goal, each alone."""
    groups: dict[Hashable, list[Graph[Any, Any]]] = defaultdict(list)
    for graph in graphs:
        groups[goal_of(graph)].append(graph)
    if len(groups) == 1:
        return "rollout", [[graph] for graph in graphs]
    return "goal", list(groups.values())


def as_text(value: Any) -> str:
    """A text as it is, anything else as JSON: the same for equal values, in every process."""
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False, sort_keys=True)
