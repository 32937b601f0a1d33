"""Evaluators that claim how long the task took."""

import math
from dataclasses import dataclass, field
from datetime import timedelta

from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.result import EvaluationReason
from calipers.errors import InvalidOptionError


@dataclass
class MaxDuration(Evaluator):
    """The task took at most so long, evaluators not counted."""

    seconds: float | timedelta
    """The longest time allowed, itself included."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        limit = self.seconds
        if isinstance(limit, timedelta):
            valid = limit > timedelta(0)
        else:
            valid = isinstance(limit, int | float) and not isinstance(limit, bool) and 0 < limit < math.inf
        if not valid:
            raise InvalidOptionError(
                f"MaxDuration needs a positive number of seconds or a timedelta, got {limit!r}"
            )

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if the task was in time; otherwise the reason gives both times."""
        limit = self.seconds.total_seconds() if isinstance(self.seconds, timedelta) else self.seconds
        if ctx.duration <= limit:
            return EvaluationReason(value=True)
        return EvaluationReason(
            value=False, reason=f"took {ctx.duration:.4g} s, expected at most {limit:.4g} s"
        )
