"""What makes two cases, tasks or evaluators the same, so that nothing is computed twice and nothing stale is shown."""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from .cases import case_identity
    from .evaluators import evaluator_identity
    from .fingerprint import Identity, Unknown, differences
    from .tasks import task_identity

_HOMES = {
    "Identity": ".fingerprint",
    "Unknown": ".fingerprint",
    "case_identity": ".cases",
    "differences": ".fingerprint",
    "evaluator_identity": ".evaluators",
    "task_identity": ".tasks",
}

__all__ = [
    "Identity",
    "Unknown",
    "case_identity",
    "differences",
    "evaluator_identity",
    "task_identity",
]


if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
