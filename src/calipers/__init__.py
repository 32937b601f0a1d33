"""Calipers measures AI agents: evaluators in any style, an error bar on every number.

The names load when they are first used, so that `import calipers` costs next to nothing.
"""

from .late import TYPE_CHECKING, late_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .attempt import current_attempt, increment_eval_metric, record_trace, set_eval_attribute
    from .case import Case
    from .context import EvaluatorContext
    from .dataset import Dataset
    from .errors import CalipersError, known
    from .evaluator import Evaluator
    from .lifecycle import CaseLifecycle
    from .output import EvaluatorOutput
    from .record import ReportCase, ReportCaseFailure
    from .report import CaseGroup, Report
    from .result import EvalResult, EvaluationReason, EvaluationResult, EvaluatorFailure, EvalVerdict, Skipped
    from .retry import Retry
    from .styles import as_evaluator
    from .trace import LLMCall, ToolCall, Trace, Turn
    from .user_turn import UserTurn

_HOMES = {
    "CalipersError": ".errors",
    "Case": ".case",
    "CaseGroup": ".report",
    "CaseLifecycle": ".lifecycle",
    "Dataset": ".dataset",
    "EvalResult": ".result",
    "EvalVerdict": ".result",
    "EvaluationReason": ".result",
    "EvaluationResult": ".result",
    "Evaluator": ".evaluator",
    "EvaluatorContext": ".context",
    "EvaluatorFailure": ".result",
    "EvaluatorOutput": ".output",
    "LLMCall": ".trace",
    "Report": ".report",
    "ReportCase": ".record",
    "ReportCaseFailure": ".record",
    "Retry": ".retry",
    "Skipped": ".result",
    "ToolCall": ".trace",
    "Trace": ".trace",
    "Turn": ".trace",
    "UserTurn": ".user_turn",
    "as_evaluator": ".styles",
    "current_attempt": ".attempt",
    "increment_eval_metric": ".attempt",
    "known": ".errors",
    "record_trace": ".attempt",
    "set_eval_attribute": ".attempt",
}

__all__ = [
    "CalipersError",
    "Case",
    "CaseGroup",
    "CaseLifecycle",
    "Dataset",
    "EvalResult",
    "EvalVerdict",
    "EvaluationReason",
    "EvaluationResult",
    "Evaluator",
    "EvaluatorContext",
    "EvaluatorFailure",
    "EvaluatorOutput",
    "LLMCall",
    "Report",
    "ReportCase",
    "ReportCaseFailure",
    "Retry",
    "Skipped",
    "ToolCall",
    "Trace",
    "Turn",
    "UserTurn",
    "as_evaluator",
    "current_attempt",
    "increment_eval_metric",
    "known",
    "record_trace",
    "set_eval_attribute",
]


if not TYPE_CHECKING:  # a checker that read this would accept every name, misspelt ones too
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
