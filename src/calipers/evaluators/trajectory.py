"""An evaluator that claims which path an agent took. What a trajectory means is said in `calipers.matching.trajectory`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from calipers.data.context import NO_TOOL_CALLS, EvaluatorContext, not_recorded
from calipers.data.evaluator import Evaluator
from calipers.data.result import EvalResult, EvalVerdict, Skipped
from calipers.matching import Trajectory
from calipers.matching.trajectory_data import KEYS, read_trajectory


@dataclass
class FollowsTrajectory(Evaluator):
    """The calls of the attempt follow a trajectory. Skipped where no calls were recorded, or none could show anything.

    A tool whose calls would not be seen may have been called or not. A trajectory that names it is skipped, unless the
    constraints on other tools alone show that it was not followed.

    Where a rollout branches, each of its conversations must follow it; the result is that of the one that does so least.
    """

    trajectory: Trajectory | Mapping[str, Any] | Sequence[Any]
    """Which path the agent may take; as plain data it has the form that `calipers.matching.trajectory_data` describes."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""
    unnamed_in_files: ClassVar[tuple[str, ...]] = KEYS
    """What may stand in a dataset file without the word `trajectory`, beside the other parameter."""

    def __post_init__(self) -> None:
        self._read()

    def evaluate(self, ctx: EvaluatorContext) -> EvalResult | Skipped:
        """PASS if the trajectory was followed, PARTIAL if some of it was; the reason is the edit script."""
        calls = ctx.tool_calls
        if calls is None:
            return Skipped(NO_TOOL_CALLS)
        whole = self._read()
        unseen = ctx.unrecorded(sorted(whole.tools), name_of=whole.rules.name_of)
        trajectory = whole.without(unseen) if unseen else whole
        if trajectory is None:
            return Skipped(not_recorded(unseen))
        matches = [trajectory.match(some) for some in ctx.conversations(calls)]
        match = min(matches, key=lambda each: (not each.exercised, each.score))
        if unseen and match.passed:
            return Skipped(not_recorded(unseen))
        if not match.exercised:
            return Skipped("no call that the trajectory speaks of was made")
        verdict = (
            EvalVerdict.PASS if match.passed else EvalVerdict.PARTIAL if match.score > 0 else EvalVerdict.FAIL
        )
        return EvalResult(self.get_default_evaluation_name(), verdict, match.score, match.edit_script)

    def _read(self) -> Trajectory:
        given = self.trajectory
        return given if isinstance(given, Trajectory) else read_trajectory(given)
