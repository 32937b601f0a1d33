"""Agents, judged by the trace they leave: nouns, verdict evaluators, recording, adapters.

Each name is loaded when it is first used, so that importing this package costs next to nothing.
"""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from calipers.result import EvalResult, EvalVerdict
    from calipers.trace import LLMCall, ToolCall, Trace, Turn, TurnType

    from .evaluator import BaseEvaluator
    from .test_case import TestCase

_HOMES = {
    "BaseEvaluator": ".evaluator",
    "EvalResult": "calipers.result",
    "EvalVerdict": "calipers.result",
    "LLMCall": "calipers.trace",
    "TestCase": ".test_case",
    "ToolCall": "calipers.trace",
    "Trace": "calipers.trace",
    "Turn": "calipers.trace",
    "TurnType": "calipers.trace",
}

__all__ = [
    "BaseEvaluator",
    "EvalResult",
    "EvalVerdict",
    "LLMCall",
    "TestCase",
    "ToolCall",
    "Trace",
    "Turn",
    "TurnType",
]


if not TYPE_CHECKING:  # a checker that read this would accept every name, misspelt ones too
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
