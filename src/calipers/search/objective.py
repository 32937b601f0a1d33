"""The objective: what counts as a failure, how near a trial came to one, and how much it counts that users would say such a thing."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from math import isfinite
from typing import Any, Final

from calipers.data.argument_checks import check_function, check_share
from calipers.data.jsonable import safe_repr
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, EvaluatorSpec
from calipers.data.spending import COST
from calipers.errors import InvalidOptionError, ModelError
from calipers.rollouts.graph import Graph
from calipers.rollouts.rollout_outcome import calls_of, is_rollout, read_rollout, succeeded
from calipers.stats.interval import Interval

from .proposal import Proposal
from .realism import Realism, of_conversation
from .trial_outcome import Outcome, turn_reward, turn_rewards, within

_MIDDLE: Final = 0.5
"""The realism of a turn in the middle."""


@dataclass(frozen=True)
class Objective:
    """How a trial is read. Both functions get the record of the attempt, a `ReportCase` or a `ReportCaseFailure`.

    | | by default |
    |---|---|
    | a conversation without assertions | fails where the target gave way in a turn; its reward is the highest of a turn |
    | another attempt | fails where it did not pass; its reward is one minus the mean of its results, an assertion being 0 or 1 |
    | a task that raised | fails, unless infrastructure was the reason |
    | an evaluator that raised | nothing is known |

    With `realism`, a strategy is told `(1 - weight) * reward + weight * realism`, so that it looks for failures in what users would say. Where the realism is not known, a half
    stands for it, as for a turn in the middle.
    """

    failed: Callable[[Any], bool | None] | None = None
    """Whether the system failed; `None` from it: that is not known."""
    reward: Callable[[Any], float] | None = None
    """How near it came to a failure, from 0 to 1; what failed always has 1."""
    _: KW_ONLY
    realism: Realism | None = None
    """Judges how ordinary a trial is; `None`: that does not matter."""
    weight: float = 0.7
    """How much realism counts, from 0 to 1. Above a half, an ordinary turn that holds is worth more than the oddest that fails; at 0 realism ranks the failures, and the
    search does not mind."""

    def __post_init__(self) -> None:
        check_function("failed", self.failed, or_none=True)
        check_function("reward", self.reward, or_none=True)
        check_share("weight", self.weight)
        if self.realism is not None and not isinstance(self.realism, Realism):
            raise InvalidOptionError(f"realism must be a Realism, got {safe_repr(self.realism):.200}")

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
        results = (
            [] if finished is None else [each for each in finished.results if not _is_realism(each.source)]
        )
        failed = self._failed(record, results, graph) if self.failed is None else _flag(self.failed(record))
        severity = _severity(results, graph) if self.reward is None else _share(self.reward(record))
        if severity is None or (failed is None and self.reward is None):
            severity = 1.0 if failed else 0.0
        realism, interval, by_turn = self._realism(record)
        rewards = () if graph is None else turn_rewards(graph)
        if len(by_turn) != len(rewards):
            by_turn = [None] * len(rewards)
        shares = (of_conversation(by_turn[:number]) for number in range(1, len(rewards) + 1))
        return Outcome(
            number,
            proposal,
            failed=failed,
            reward=severity if failed is None else self._weighed(1.0 if failed else severity, realism),
            severity=severity,
            realism=realism,
            realism_interval=interval,
            results={result.name: result.value for result in results},
            turn_rewards=tuple(map(self._weighed, rewards, shares)),
            turn_severities=() if self.realism is None else rewards,
            output=None if finished is None else finished.output,
            error=record.error_type if isinstance(record, ReportCaseFailure) else None,
            calls=1 if graph is None else max(calls_of(graph), 1),
            cost=record.metrics.get(COST),
            seconds=record.task_duration,
        )

    async def prepare(self, record: ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any]) -> None:
        """Have the model of `realism` asked of a trial whose task raised: no evaluator sees that one. What it cannot tell is not known."""
        if self.realism is not None and isinstance(record, ReportCaseFailure) and not record.infrastructure:
            with suppress(ModelError):
                await self.realism.of(self.realism.said(record.inputs))

    def _weighed(self, reward: float, realism: float | None) -> float:
        if self.realism is None:
            return reward
        return (1 - self.weight) * reward + self.weight * (_MIDDLE if realism is None else realism)

    def _realism(self, record: Any) -> tuple[float | None, Interval | None, list[float | None]]:
        """How ordinary a trial was, where that lies, and how ordinary each of its turns was."""
        if self.realism is None:
            return None, None, []
        if isinstance(record, ReportCaseFailure):
            known = self.realism.known(self.realism.said(record.inputs))
            return (None, None, []) if known is None else (known.share, known.interval, [])
        mine = self.realism.as_spec()
        told = next((each for each in record.results if each.source == mine), None)
        if told is None:
            return None, None, []
        kept = told.metadata or {}
        low, high = kept["interval"]
        interval = Interval(low, high, method="clopper-pearson")
        return float(told.value), interval, [turn["share"] for turn in kept["turns"]]

    def _failed(
        self, record: Any, results: Sequence[EvaluationResult[Any]], graph: Graph[Any, Any] | None
    ) -> bool | None:
        if isinstance(record, ReportCaseFailure):
            return None if record.infrastructure or record.on_other_loop else True
        if any(not _is_realism(each.source) for each in record.evaluator_failures):
            return None
        told = [each.value for each in results if isinstance(each.value, bool)]
        if not told:
            return None if graph is None else succeeded(graph)
        return not all(told)


def _is_realism(source: EvaluatorSpec) -> bool:
    """Whether this is about how ordinary a trial is, and not about how the system did."""
    return source.name == Realism.get_serialization_name()


def _severity(results: Sequence[EvaluationResult[Any]], graph: Graph[Any, Any] | None) -> float | None:
    told = [float(result.value) for result in results if isinstance(result.value, bool | int | float)]
    if told:
        return within(1 - sum(map(within, told)) / len(told))
    return None if graph is None else max(map(turn_reward, graph.walk()), default=0.0)


def _flag(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise InvalidOptionError(f"failed of an Objective gives True, False or None, got {value!r:.200}")


def _share(value: Any) -> float:
    if isinstance(value, int | float) and isfinite(value) and 0 <= value <= 1:
        return float(value)
    raise InvalidOptionError(f"reward of an Objective gives a number from 0 to 1, got {value!r:.200}")
