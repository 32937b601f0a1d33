"""Evaluators of how positive or negative an output sounds.

The measure is VADER's compound score (Hutto & Gilbert, "VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media Text", 2014; its
extra is `text-checks`): a list of English words and emoji with weights, and rules for negation, emphasis and *but*. It runs from -1 to 1;
its authors call a text positive from 0.05 and negative from -0.05 down. Text in other languages mostly scores 0, and long texts tend to the ends.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from calipers.data.argument_checks import check_number
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.result import EvaluationReason, Skipped
from calipers.data.value_text import show, show_typed
from calipers.errors import MissingExtraError

_NOTHING_SAID = "the output has no letters and no signs: there is nothing to judge"


@dataclass
class MinSentiment(Evaluator):
    """The output sounds at least this positive. An output that is not text fails; an empty one is skipped."""

    minimum: float = -0.05
    """The least score that passes, from -1 to 1; -0.05: not negative, 0.05: positive."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        check_number("minimum of MinSentiment", self.minimum, at_least=-1, at_most=1)

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason | Skipped:
        """True if the score reaches the minimum; the reason gives it either way."""
        if not isinstance(ctx.output, str):
            return EvaluationReason(value=False, reason=f"expected text, got {show_typed(ctx.output)}")
        if not ctx.output.strip():
            return Skipped(_NOTHING_SAID)
        score = sentiment_of(ctx.output)
        if score >= self.minimum:
            return EvaluationReason(value=True, reason=f"sentiment {score:.2f}")
        return EvaluationReason(
            value=False,
            reason=f"sentiment {score:.2f}, expected at least {self.minimum:g}: {show(ctx.output, 100)}",
        )


@dataclass
class TextSentiment(Evaluator):
    """How positive the output sounds: a score from -1 to 1. An output that is not text, or empty, is skipped."""

    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason | Skipped:
        """The score."""
        if not isinstance(ctx.output, str):
            return Skipped(f"the output is not text: {show_typed(ctx.output)}")
        return (
            EvaluationReason(value=sentiment_of(ctx.output)) if ctx.output.strip() else Skipped(_NOTHING_SAID)
        )


def sentiment_of(text: str) -> float:
    """How positive an English text sounds, from -1 to 1."""
    return float(_analyzer().polarity_scores(text)["compound"])


@lru_cache(maxsize=1)
def _analyzer() -> Any:
    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError as error:
        raise MissingExtraError.of("Measuring sentiment", "text-checks") from error
    return SentimentIntensityAnalyzer()
