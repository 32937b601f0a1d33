"""Rollouts: conversations of many turns, possibly adversarial, measured turn by turn and together.

Each name is loaded when it is first used, so that importing this package costs next to nothing.
"""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from .graph import Graph, Node
    from .metrics import GraphMetrics, JSONLike
    from .players import Attack, Message, Moderator, Reply, SoFar, Target, Tester, turn_seed

_HOMES = {
    "Attack": ".players",
    "Graph": ".graph",
    "GraphMetrics": ".metrics",
    "JSONLike": ".metrics",
    "Message": ".players",
    "Moderator": ".players",
    "Node": ".graph",
    "Reply": ".players",
    "SoFar": ".players",
    "Target": ".players",
    "Tester": ".players",
    "turn_seed": ".players",
}

__all__ = [
    "Attack",
    "Graph",
    "GraphMetrics",
    "JSONLike",
    "Message",
    "Moderator",
    "Node",
    "Reply",
    "SoFar",
    "Target",
    "Tester",
    "turn_seed",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
