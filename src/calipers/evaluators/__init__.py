"""The built-in evaluators, one module per kind of evidence, and the names needed to write another.

Each name is loaded when it is first used, so that importing this package costs next to nothing.
"""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from calipers.context import EvaluatorContext
    from calipers.evaluator import Evaluator
    from calipers.output import EvaluatorOutput
    from calipers.report_evaluator import ReportEvaluator, ReportEvaluatorContext
    from calipers.result import EvaluationReason, EvaluationResult, EvaluatorFailure, EvaluatorSpec, Skipped

    from .calibration import CalibrationEvaluator
    from .code import RunsPython
    from .confusion import ConfusionMatrixEvaluator
    from .containment import Contains, ContainsAll, ContainsAny, ContainsExpected, NotContains
    from .equality import Equals, EqualsExpected
    from .json_text import IsJSON, MatchesJSONSchema
    from .judge_correction import JudgeCorrectionEvaluator
    from .kolmogorov_smirnov import KolmogorovSmirnovEvaluator
    from .length import Length
    from .numeric import CloseTo, InRange
    from .pattern import MatchesRegex
    from .precision_recall import PrecisionRecallEvaluator
    from .roc import ROCAUCEvaluator, ROCEvaluator
    from .span import HasMatchingSpan, SpanCount
    from .sql import IsReadOnlySQL, ParsesAsSQL
    from .text import SimilarText, TextSimilarity
    from .timing import MaxDuration
    from .tool_calls import ToolCallCount, ToolCallsMatch
    from .trajectory import FollowsTrajectory
    from .type_name import IsInstance

_HOMES = {
    "CalibrationEvaluator": ".calibration",
    "CloseTo": ".numeric",
    "ConfusionMatrixEvaluator": ".confusion",
    "Contains": ".containment",
    "ContainsAll": ".containment",
    "ContainsAny": ".containment",
    "ContainsExpected": ".containment",
    "Equals": ".equality",
    "EqualsExpected": ".equality",
    "EvaluationReason": "calipers.result",
    "EvaluationResult": "calipers.result",
    "Evaluator": "calipers.evaluator",
    "EvaluatorContext": "calipers.context",
    "EvaluatorFailure": "calipers.result",
    "EvaluatorOutput": "calipers.output",
    "EvaluatorSpec": "calipers.result",
    "FollowsTrajectory": ".trajectory",
    "HasMatchingSpan": ".span",
    "InRange": ".numeric",
    "IsInstance": ".type_name",
    "IsJSON": ".json_text",
    "IsReadOnlySQL": ".sql",
    "JudgeCorrectionEvaluator": ".judge_correction",
    "KolmogorovSmirnovEvaluator": ".kolmogorov_smirnov",
    "Length": ".length",
    "MatchesJSONSchema": ".json_text",
    "MatchesRegex": ".pattern",
    "MaxDuration": ".timing",
    "NotContains": ".containment",
    "ParsesAsSQL": ".sql",
    "PrecisionRecallEvaluator": ".precision_recall",
    "ROCAUCEvaluator": ".roc",
    "ROCEvaluator": ".roc",
    "ReportEvaluator": "calipers.report_evaluator",
    "ReportEvaluatorContext": "calipers.report_evaluator",
    "RunsPython": ".code",
    "SimilarText": ".text",
    "Skipped": "calipers.result",
    "SpanCount": ".span",
    "TextSimilarity": ".text",
    "ToolCallCount": ".tool_calls",
    "ToolCallsMatch": ".tool_calls",
}

__all__ = [
    "CalibrationEvaluator",
    "CloseTo",
    "ConfusionMatrixEvaluator",
    "Contains",
    "ContainsAll",
    "ContainsAny",
    "ContainsExpected",
    "Equals",
    "EqualsExpected",
    "EvaluationReason",
    "EvaluationResult",
    "Evaluator",
    "EvaluatorContext",
    "EvaluatorFailure",
    "EvaluatorOutput",
    "EvaluatorSpec",
    "FollowsTrajectory",
    "HasMatchingSpan",
    "InRange",
    "IsInstance",
    "IsJSON",
    "IsReadOnlySQL",
    "JudgeCorrectionEvaluator",
    "KolmogorovSmirnovEvaluator",
    "Length",
    "MatchesJSONSchema",
    "MatchesRegex",
    "MaxDuration",
    "NotContains",
    "ParsesAsSQL",
    "PrecisionRecallEvaluator",
    "ROCAUCEvaluator",
    "ROCEvaluator",
    "ReportEvaluator",
    "ReportEvaluatorContext",
    "RunsPython",
    "SimilarText",
    "Skipped",
    "SpanCount",
    "TextSimilarity",
    "ToolCallCount",
    "ToolCallsMatch",
]


if not TYPE_CHECKING:  # a checker that read this would accept every name, misspelt ones too
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
