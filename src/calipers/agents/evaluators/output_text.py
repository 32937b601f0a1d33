"""Evaluators of the text that an agent gives in the end: that there is one, and that it is not too short.

Words are what white space separates. A language written without spaces has few of them.
"""

from dataclasses import dataclass

from calipers.agents.verdict_evaluator import BaseEvaluator
from calipers.agents.test_case import TestCase
from calipers.data.result import EvalResult
from calipers.data.trace import Trace

from .options import check_count
from .scale import ALL_OR_NOTHING


@dataclass
class NonEmptyOutputEvaluator(BaseEvaluator):
    """PASS if the agent said anything at all; white space says nothing."""

    name: str = "non-empty-output"

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:  # noqa: ARG002
        said = bool(trace.output_text.strip())
        reason = "the output is not empty" if said else "the output is empty"
        return ALL_OR_NOTHING.result(self.name, float(said), reason)


@dataclass
class MinWordCountEvaluator(BaseEvaluator):
    """PASS if the output has at least so many words, else FAIL; the score is the share of them that is there."""

    min_words: int = 10
    """How many words are enough; at least one."""
    name: str = "min-word-count"

    def __post_init__(self) -> None:
        check_count("MinWordCountEvaluator", "min_words", self.min_words, least=1)

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:  # noqa: ARG002
        count = len(trace.output_text.split())
        return ALL_OR_NOTHING.result(
            self.name,
            min(1.0, count / self.min_words),
            f"expected at least {_words(self.min_words)}, got {count}",
            word_count=count,
            min_words=self.min_words,
        )


def _words(count: int) -> str:
    return "1 word" if count == 1 else f"{count} words"
