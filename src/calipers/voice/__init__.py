"""Spoken requests: say a sentence, let the agent hear it, check the tools it called.

Each name is loaded when it is first used, so that importing this package costs next to nothing.
"""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from calipers.trace import ToolCall

    from .audio import Audio
    from .batch import BatchResult, SingleRunResult
    from .cache import AudioCache, CachedSynthesizer
    from .curve import Sweep, SweepPoint, sweep
    from .evaluators import ExactEvaluator, FuzzyEvaluator, SemanticEvaluator, SubsetEvaluator
    from .function_agent import FunctionAgent, agent
    from .loss import LossSplit, split_loss
    from .perturbed import PerturbedSynthesizer
    from .pipeline import VoiceTask, run, run_concurrent
    from .protocols import Agent, Evaluator, ResponseParser, Synthesizer, TextAgent
    from .response import AgentResponse, ResponseProblem
    from .result import EvalResult, ToolCallAssertionError, ToolCallMatch, assert_tool_calls, tool_call
    from .transcripts import TranscriptErrors, transcript_errors
    from .voice_file import VoiceFile, check_voice_file, load_voice_file
    from .voice_schema import voice_schema
    from .words import WordErrors, entities, lost_entities, word_errors

_HOMES = {
    "Agent": ".protocols",
    "AgentResponse": ".response",
    "Audio": ".audio",
    "AudioCache": ".cache",
    "BatchResult": ".batch",
    "CachedSynthesizer": ".cache",
    "EvalResult": ".result",
    "Evaluator": ".protocols",
    "ExactEvaluator": ".evaluators",
    "FunctionAgent": ".function_agent",
    "FuzzyEvaluator": ".evaluators",
    "LossSplit": ".loss",
    "PerturbedSynthesizer": ".perturbed",
    "ResponseParser": ".protocols",
    "ResponseProblem": ".response",
    "SemanticEvaluator": ".evaluators",
    "SingleRunResult": ".batch",
    "SubsetEvaluator": ".evaluators",
    "Sweep": ".curve",
    "SweepPoint": ".curve",
    "Synthesizer": ".protocols",
    "TextAgent": ".protocols",
    "ToolCall": "calipers.trace",
    "ToolCallAssertionError": ".result",
    "ToolCallMatch": ".result",
    "TranscriptErrors": ".transcripts",
    "VoiceFile": ".voice_file",
    "VoiceTask": ".pipeline",
    "WordErrors": ".words",
    "agent": ".function_agent",
    "assert_tool_calls": ".result",
    "check_voice_file": ".voice_file",
    "entities": ".words",
    "load_voice_file": ".voice_file",
    "lost_entities": ".words",
    "run": ".pipeline",
    "run_concurrent": ".pipeline",
    "split_loss": ".loss",
    "sweep": ".curve",
    "tool_call": ".result",
    "transcript_errors": ".transcripts",
    "voice_schema": ".voice_schema",
    "word_errors": ".words",
}

__all__ = [
    "Agent",
    "AgentResponse",
    "Audio",
    "AudioCache",
    "BatchResult",
    "CachedSynthesizer",
    "EvalResult",
    "Evaluator",
    "ExactEvaluator",
    "FunctionAgent",
    "FuzzyEvaluator",
    "LossSplit",
    "PerturbedSynthesizer",
    "ResponseParser",
    "ResponseProblem",
    "SemanticEvaluator",
    "SingleRunResult",
    "SubsetEvaluator",
    "Sweep",
    "SweepPoint",
    "Synthesizer",
    "TextAgent",
    "ToolCall",
    "ToolCallAssertionError",
    "ToolCallMatch",
    "TranscriptErrors",
    "VoiceFile",
    "VoiceTask",
    "WordErrors",
    "agent",
    "assert_tool_calls",
    "check_voice_file",
    "entities",
    "load_voice_file",
    "lost_entities",
    "run",
    "run_concurrent",
    "split_loss",
    "sweep",
    "tool_call",
    "transcript_errors",
    "voice_schema",
    "word_errors",
]


if not TYPE_CHECKING:  # a checker that read this would accept every name, misspelt ones too
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
