"""Evaluators of the time that the task took."""

from dataclasses import dataclass, field
from datetime import timedelta

from calipers.data.argument_checks import check_number
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.result import EvaluationReason, Skipped


@dataclass
class MaxDuration(Evaluator):
    """The task took no longer than the limit. The time of evaluators does not count. Skipped where no time was measured."""

    seconds: float | timedelta
    """The longest time allowed."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        limit = self.seconds.total_seconds() if isinstance(self.seconds, timedelta) else self.seconds
        check_number("seconds of MaxDuration", limit, above=0, of="seconds")

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason | Skipped:
        """True if the task was in time; otherwise the reason gives both times."""
        if not ctx.duration:  # as of a message history, which tells no times
            return Skipped("no time was measured")
        limit = self.seconds.total_seconds() if isinstance(self.seconds, timedelta) else self.seconds
        if ctx.duration <= limit:
            return EvaluationReason(value=True)
        return EvaluationReason(
            value=False, reason=f"took {ctx.duration:.4g} s, expected at most {limit:.4g} s"
        )
