"""What was measured of one rollout, and of all rollouts of a run."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

JSONLike: TypeAlias = (
    dict[str, "JSONLike"] | list["JSONLike"] | tuple["JSONLike", ...] | str | int | float | bool | None
)
"""What a JSON file can hold."""


@dataclass
class GraphMetrics:
    """The metrics of one rollout."""

    overall: dict[str, Any]
    """Of the rollout as a whole; `None` stands for what never happened."""
    per_turn: list[dict[str, Any]]
    """Of each turn, in order."""
    seed: Any = field(default=None, compare=False)
    """What the rollout was drawn from; `Evaluator.evaluate` notes it. `None`: nobody did."""
    goal: str | None = field(default=None, compare=False)
    """What the rollout was after: rollouts of one goal resemble each other. `None`: nobody said."""


@dataclass(frozen=True)
class RolloutFailure:
    """A rollout of which there are no metrics."""

    seed: Any
    error_type: str
    error_message: str
    """`Type: text`."""
    stage: Literal["rollout", "metrics"]
    """What failed: the conversation, or the computation of its metrics."""
    graph: Any = field(default=None, repr=False, compare=False)
    """The rollout; of one that broke off the turns it had, where the error tells them, else `None`."""
    error_stacktrace: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        return f"seed {self.seed!r:.60}, {self.stage}: {self.error_message}"


class MeasuredRollouts(list[GraphMetrics]):
    """The metrics of a run's rollouts, in the order of their seeds: a list that also knows what is missing from it."""

    def __init__(
        self,
        metrics: Iterable[GraphMetrics] = (),
        *,
        failures: Iterable[RolloutFailure] = (),
        planned: int | None = None,
    ) -> None:
        super().__init__(metrics)
        self.failures = tuple(failures)
        """The rollouts that failed, in the order of their seeds."""
        self.planned = len(self) + len(self.failures) if planned is None else planned
        """How many rollouts there were to be."""

    @property
    def not_run(self) -> int:
        """How many were not finished, because the run was interrupted."""
        return self.planned - len(self) - len(self.failures)

    def missing(self) -> dict[str, int]:
        """What a summary should say of the rollouts that are not in the list: `n_failed` and `n_not_run`, if above 0."""
        counts = {"n_failed": len(self.failures), "n_not_run": self.not_run}
        return {name: count for name, count in counts.items() if count}


def metrics_data(metrics: GraphMetrics) -> dict[str, Any]:
    """The metrics of a rollout as they stand in a file: with the seed, where it is known."""
    seed = {} if metrics.seed is None else {"seed": metrics.seed}
    return {**seed, "overall": metrics.overall, "per_turn": metrics.per_turn}
