"""Agents, judged by the trace they leave: nouns, verdict evaluators, recording, adapters.

Each name is loaded when it is first used, so that importing this package costs next to nothing.
"""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from calipers.embeddings import cosine_similarity
    from calipers.result import EvalResult, EvalVerdict
    from calipers.trace import LLMCall, ToolCall, Trace, Turn, TurnType

    from .adapters.function import FunctionAdapter
    from .adapters.http import HttpAdapter
    from .adapters.protocol import Adapter
    from .evaluator import BaseEvaluator
    from .evaluators.budget import LatencyBudgetEvaluator, TokenBudgetEvaluator
    from .evaluators.composite import CompositeEvaluator
    from .evaluators.embedding import EmbeddingSimilarityEvaluator
    from .evaluators.json_schema import JsonSchemaEvaluator
    from .evaluators.output_text import MinWordCountEvaluator, NonEmptyOutputEvaluator
    from .evaluators.patterns import RegexPatternMatcher
    from .evaluators.rules import RuleBasedEvaluator, RuleSpec
    from .evaluators.statistical import StatisticalEvaluator, StatisticalSummary
    from .evaluators.tools import ToolUsageAuditor
    from .evaluators.trace_comparison import TraceComparisonEvaluator
    from .recorder import TraceRecorder
    from .recording import Recording, carry, current_recording
    from .test_case import TestCase
    from .tools import tool

_HOMES = {
    "Adapter": ".adapters.protocol",
    "BaseEvaluator": ".evaluator",
    "CompositeEvaluator": ".evaluators.composite",
    "EmbeddingSimilarityEvaluator": ".evaluators.embedding",
    "EvalResult": "calipers.result",
    "EvalVerdict": "calipers.result",
    "FunctionAdapter": ".adapters.function",
    "HttpAdapter": ".adapters.http",
    "JsonSchemaEvaluator": ".evaluators.json_schema",
    "LLMCall": "calipers.trace",
    "LatencyBudgetEvaluator": ".evaluators.budget",
    "MinWordCountEvaluator": ".evaluators.output_text",
    "NonEmptyOutputEvaluator": ".evaluators.output_text",
    "Recording": ".recording",
    "RegexPatternMatcher": ".evaluators.patterns",
    "RuleBasedEvaluator": ".evaluators.rules",
    "RuleSpec": ".evaluators.rules",
    "StatisticalEvaluator": ".evaluators.statistical",
    "StatisticalSummary": ".evaluators.statistical",
    "TestCase": ".test_case",
    "TokenBudgetEvaluator": ".evaluators.budget",
    "ToolCall": "calipers.trace",
    "ToolUsageAuditor": ".evaluators.tools",
    "Trace": "calipers.trace",
    "TraceComparisonEvaluator": ".evaluators.trace_comparison",
    "TraceRecorder": ".recorder",
    "Turn": "calipers.trace",
    "TurnType": "calipers.trace",
    "carry": ".recording",
    "cosine_similarity": "calipers.embeddings",
    "current_recording": ".recording",
    "tool": ".tools",
}

__all__ = [
    "Adapter",
    "BaseEvaluator",
    "CompositeEvaluator",
    "EmbeddingSimilarityEvaluator",
    "EvalResult",
    "EvalVerdict",
    "FunctionAdapter",
    "HttpAdapter",
    "JsonSchemaEvaluator",
    "LLMCall",
    "LatencyBudgetEvaluator",
    "MinWordCountEvaluator",
    "NonEmptyOutputEvaluator",
    "Recording",
    "RegexPatternMatcher",
    "RuleBasedEvaluator",
    "RuleSpec",
    "StatisticalEvaluator",
    "StatisticalSummary",
    "TestCase",
    "TokenBudgetEvaluator",
    "ToolCall",
    "ToolUsageAuditor",
    "Trace",
    "TraceComparisonEvaluator",
    "TraceRecorder",
    "Turn",
    "TurnType",
    "carry",
    "cosine_similarity",
    "current_recording",
    "tool",
]


if not TYPE_CHECKING:  # a checker that read this would accept every name, misspelt ones too
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
