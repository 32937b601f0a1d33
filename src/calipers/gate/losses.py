"""What was lost: attempts without a result, because the task or the evaluator failed, and how many a policy allows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from calipers.comparison.case_pairs import RunCase
from calipers.comparison.columns import Lost, lost_pass
from calipers.data.record import ReportCaseFailure

from .policy import Policy, Rules


@dataclass(frozen=True, slots=True)
class Losses:
    """Attempts that were lost, of all that were made at some cases."""

    lost: Counter[Lost] = field(default_factory=Counter)
    attempts: int = 0

    @classmethod
    def of(cls, lost: Counter[Lost], cases: Sequence[RunCase]) -> "Losses":
        """These losses, of all attempts at the cases."""
        return cls(lost, sum(len(case.attempts) for case in cases))

    def __add__(self, other: "Losses") -> "Losses":
        return Losses(self.lost + other.lost, self.attempts + other.attempts)

    @property
    def total(self) -> int:
        """Attempts that were lost in either way."""
        return self.lost.total()

    def beyond(self, policy: Policy, rules: Rules | None) -> list[str]:
        """The limits of a policy that these losses exceed; one that the policy does not set allows none."""
        errors = None if rules is None else rules.max_errors
        limits: tuple[tuple[str, Lost, float | None], ...] = (
            ("max_task_failures", "task", policy.max_task_failures),
            ("max_errors", "evaluator", policy.max_evaluator_errors if errors is None else errors),
        )
        return [
            name
            for name, why, most in limits
            if self.lost[why] > (0.0 if most is None else most) * self.attempts
        ]


def losses_of_passes(cases: Sequence[RunCase]) -> Losses:
    """What was lost of the pass rate."""
    found: Counter[Lost] = Counter(
        why for case in cases for record in case.attempts if (why := lost_pass(record)) is not None
    )
    return Losses.of(found, cases)


def losses_of_tasks(cases: Sequence[RunCase]) -> Losses:
    """What was lost of times and metrics, which every attempt has that finished."""
    found: Counter[Lost] = Counter()
    found["task"] = sum(isinstance(record, ReportCaseFailure) for case in cases for record in case.attempts)
    return Losses.of(found, cases)


def unlimited(policy: Policy, rules: Rules | None) -> tuple[bool, bool]:
    """Whether a policy leaves open how many attempts may lose their score to the task, and to the evaluator."""
    errors = rules is None or rules.max_errors is None
    return policy.max_task_failures is None, errors and policy.max_evaluator_errors is None
