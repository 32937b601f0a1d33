"""An evaluator of meaning: how close an agent's answer is to the expected one, by the angle between two vectors.

Vectors show what a text is about, not what it claims: an answer and its denial are close to each other. Where a wrong
claim matters, add another evaluator.
"""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from calipers.agents.test_case import TestCase
from calipers.agents.verdict_evaluator import BaseEvaluator, Scale, skip
from calipers.data.argument_checks import check_function, check_share
from calipers.data.evaluator import Expectation
from calipers.data.result import EvalResult
from calipers.data.trace import Trace
from calipers.errors import InvalidOutputError
from calipers.models.embeddings import cosine_similarity, embed

Vectors: TypeAlias = Sequence[Sequence[float]]
"""One vector for each text; an array of two dimensions will do."""

_NEARLY = 0.75
"""The share of the threshold that is enough for a PARTIAL."""


@dataclass
class EmbeddingSimilarityEvaluator(BaseEvaluator):
    """PASS if the output is close enough in meaning to the expected output, PARTIAL if nearly so, else FAIL.

    Skipped where the case states no expected output, or one that is not text. Equal texts have the similarity 1. An embedding
    knows what a text is about and not what it claims: opposites, negations and other numbers may pass.
    """

    threshold: float = 0.8
    """The lowest similarity that is a PASS. What is close depends on the embedding: measure yours."""
    embed: Callable[[list[str]], Vectors | Awaitable[Vectors]] | None = None
    """A function, sync or async, that gives a vector for each of a list of texts; default: `calipers.models.embeddings.embed`."""
    partial_threshold: float | None = field(default=None, kw_only=True)
    """The lowest similarity that is a PARTIAL; default: three quarters of the threshold."""
    name: str = field(default="embedding-similarity", kw_only=True)

    def __post_init__(self) -> None:
        check_share("threshold of EmbeddingSimilarityEvaluator", self.threshold, or_zero=False)
        partial = self.partial_threshold
        check_share("partial_threshold of EmbeddingSimilarityEvaluator", partial, or_zero=False, or_none=True)
        check_function("embed of EmbeddingSimilarityEvaluator", self.embed, or_none=True)

    def needs_expectations(self) -> frozenset[Expectation]:
        """The expected output, which it compares with."""
        return frozenset({"expected_output"})

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        expected = test_case.expected_output
        if expected is None:
            return skip(self.name, "the case states no expected output")
        if not isinstance(expected, str):
            return skip(self.name, f"the expected output is not text but {type(expected).__name__}")
        found = max(0.0, await text_similarity(expected, trace.output_text, self.embed))
        partial = self.threshold * _NEARLY if self.partial_threshold is None else self.partial_threshold
        return Scale(self.threshold, partial).result(
            self.name,
            found,
            f"similarity {found:.3f}, expected at least {self.threshold:g}",
            similarity=found,
            threshold=self.threshold,
        )


async def text_similarity(a: str, b: str, function: Callable[[list[str]], Any] | None = None) -> float:
    """How close two texts are, by the vectors of a function or of `calipers.models.embeddings`."""
    if a == b:
        return 1.0
    given: Any = embed([a, b]) if function is None else function([a, b])
    vectors: Any = await given if inspect.isawaitable(given) else given
    try:
        first, second = vectors
        return cosine_similarity(first, second)
    except (TypeError, ValueError) as error:
        raise InvalidOutputError(
            f"embed must give a vector of numbers for each of 2 texts, got {vectors!r:.200}: {error}"
        ) from error
