"""What was measured of one rollout: of every turn, and of the whole."""

from dataclasses import dataclass
from typing import Any, TypeAlias

JSONLike: TypeAlias = (
    "dict[str, JSONLike] | list[JSONLike] | tuple[JSONLike, ...] | str | int | float | bool | None"
)
"""What a JSON file can hold."""


@dataclass
class GraphMetrics:
    """The metrics of one rollout."""

    overall: dict[str, Any]
    """Of the rollout as a whole; `None` stands for what never happened."""
    per_turn: list[dict[str, Any]]
    """Of each turn, in order."""
