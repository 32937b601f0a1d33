"""The objective: what counts as a failure, and how near a trial came to one."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

from calipers.data.argument_checks import check_function
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.spending import COST
from calipers.errors import InvalidOptionError
from calipers.rollouts.graph import Graph
from calipers.rollouts.rollout_outcome import calls_of, is_rollout, read_rollout, succeeded

from .proposal import Proposal
from .trial_outcome import Outcome, turn_reward, turn_rewards, within


@dataclass(frozen=True)
class Objective:
    """How a trial is read. Both functions get the record of the attempt, a `ReportCase` or a `ReportCaseFailure`.

    | | by default |
    |---|---|
    | a conversation without assertions | fails where the target gave way in a turn; its reward is the highest of a turn |
    | another attempt | fails where it did not pass; its reward is one minus the mean of its results, an assertion being 0 or 1 |
    | a task that raised | fails, unless infrastructure was the reason |
    | an evaluator that raised | nothing is known |
    """

    failed: Callable[[Any], bool | None] | None = None
    """Whether the system failed; `None` from it: that is not known."""
    reward: Callable[[Any], float] | None = None
    """How near it came to a failure, from 0 to 1; what failed always has 1."""

    def __post_init__(self) -> None:
        check_function("failed", self.failed, or_none=True)
        check_function("reward", self.reward, or_none=True)

    def read(
        self,
        number: int,
        proposal: Proposal,
        record: ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any],
    ) -> Outcome:
        """The outcome that the record of an attempt tells.

        Raises:
            InvalidOptionError: a function gave what it should not.
        """
        finished = None if isinstance(record, ReportCaseFailure) else record
        graph = None
        if finished is not None and is_rollout(finished.output):
            graph = read_rollout(finished.output)
        failed = _failed(record, graph) if self.failed is None else _flag(self.failed(record))
        reward = _reward(record, graph) if self.reward is None else _share(self.reward(record))
        if failed is None:
            reward = 0.0 if self.reward is None else reward
        return Outcome(
            number,
            proposal,
            failed=failed,
            reward=1.0 if failed else reward,
            results={} if finished is None else {result.name: result.value for result in finished.results},
            turn_rewards=() if graph is None else turn_rewards(graph),
            output=None if finished is None else finished.output,
            error=record.error_type if isinstance(record, ReportCaseFailure) else None,
            calls=1 if graph is None else max(calls_of(graph), 1),
            cost=record.metrics.get(COST),
            seconds=record.task_duration,
        )


def _failed(record: Any, graph: Graph[Any, Any] | None) -> bool | None:
    if isinstance(record, ReportCaseFailure):
        return None if record.infrastructure or record.on_other_loop else True
    if record.evaluator_failures:
        return None
    passed: bool | None = record.passed
    if passed is None:
        return None if graph is None else succeeded(graph)
    return not passed


def _reward(record: Any, graph: Graph[Any, Any] | None) -> float:
    if isinstance(record, ReportCaseFailure):
        return 0.0
    told = [float(result.value) for result in record.results if isinstance(result.value, bool | int | float)]
    if told:
        return within(1 - sum(map(within, told)) / len(told))
    return 0.0 if graph is None else max(map(turn_reward, graph.walk()), default=0.0)


def _flag(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise InvalidOptionError(f"failed of an Objective gives True, False or None, got {value!r:.200}")


def _share(value: Any) -> float:
    if isinstance(value, int | float) and isfinite(value) and 0 <= value <= 1:
        return float(value)
    raise InvalidOptionError(f"reward of an Objective gives a number from 0 to 1, got {value!r:.200}")
