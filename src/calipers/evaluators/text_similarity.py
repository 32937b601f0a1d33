"""Evaluators that measure how similar the output's text is to another one.

Similarity runs from 0 to 1, where 1 means equal, by one of three methods:

- `characters`: the share of characters left alone when one text is turned into the other by insertions and deletions;
- `words`: the same after the words of each text were sorted, so that their order does not matter;
- `part`: the same for the shorter text and the best matching part of the longer one.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from calipers.data.argument_checks import check_choice, check_share, check_text
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator, Expectation
from calipers.data.result import EvaluationReason, Skipped
from calipers.data.value_text import show, show_typed
from calipers.errors import MissingExtraError

Method: TypeAlias = Literal["characters", "words", "part"]
"""How two texts are compared."""


@dataclass
class SimilarText(Evaluator):
    """The output is text similar enough to a value, or to the expected output.

    Without a value it skips cases whose expected output is absent or not text. An output that is not text fails.
    """

    value: str | None = None
    """What to be similar to; `None` for the case's expected output."""
    minimum: float = field(default=0.8, kw_only=True)
    """The least similarity that passes, above 0 and at most 1."""
    method: Method = field(default="characters", kw_only=True)
    """How to compare."""
    ignore_case: bool = field(default=False, kw_only=True)
    """Whether upper and lower case are the same."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        _check_options("SimilarText", self.value, self.method)
        check_share("minimum", self.minimum, or_zero=False)

    def needs_expectations(self) -> frozenset[Expectation]:
        """The expected output, unless it was given a value."""
        return frozenset({"expected_output"}) if self.value is None else frozenset()

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason | Skipped:
        """True if the similarity reaches the minimum; the reason gives it either way."""
        target = _target(ctx, self.value)
        if isinstance(target, Skipped):
            return target
        if not isinstance(ctx.output, str):
            return EvaluationReason(value=False, reason=f"expected text, got {show_typed(ctx.output)}")
        similarity = text_similarity(target, ctx.output, method=self.method, ignore_case=self.ignore_case)
        if similarity >= self.minimum:
            return EvaluationReason(value=True, reason=f"similarity {similarity:.3f}")
        return EvaluationReason(
            value=False,
            reason=f"similarity {similarity:.3f}, expected at least {self.minimum:g}: "
            f"expected {show(target)}, got {show(ctx.output)}",
        )


@dataclass
class TextSimilarity(Evaluator):
    """How similar the output is to a value, or to the expected output: a score from 0 to 1.

    Without a value it skips cases whose expected output is absent or not text. An output that is not text scores 0:
    leaving it out would raise the mean.
    """

    value: str | None = None
    """What to compare with; `None` for the case's expected output."""
    method: Method = field(default="characters", kw_only=True)
    """How to compare."""
    ignore_case: bool = field(default=False, kw_only=True)
    """Whether upper and lower case are the same."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        _check_options("TextSimilarity", self.value, self.method)

    def needs_expectations(self) -> frozenset[Expectation]:
        """The expected output, unless it was given a value."""
        return frozenset({"expected_output"}) if self.value is None else frozenset()

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason | Skipped:
        """The similarity."""
        target = _target(ctx, self.value)
        if isinstance(target, Skipped):
            return target
        if not isinstance(ctx.output, str):
            return EvaluationReason(value=0.0, reason=f"expected text, got {show_typed(ctx.output)}")
        similarity = text_similarity(target, ctx.output, method=self.method, ignore_case=self.ignore_case)
        return EvaluationReason(value=similarity)


def text_similarity(
    left: str, right: str, *, method: Method = "characters", ignore_case: bool = False
) -> float:
    """How similar two texts are, from 0 to 1."""
    try:
        from rapidfuzz import fuzz
    except ImportError as error:
        raise MissingExtraError.of("Text similarity", "text") from error
    if ignore_case:
        left, right = left.casefold(), right.casefold()
    if method == "words":
        left, right, method = " ".join(sorted(left.split())), " ".join(sorted(right.split())), "characters"
    measure = fuzz.ratio if method == "characters" else fuzz.partial_ratio
    return float(measure(left, right)) / 100


def _check_options(owner: str, value: Any, method: Any) -> None:
    check_text(f"value of {owner}", value, or_empty=True, or_none=True)
    check_choice(f"method of {owner}", method, get_args(Method))


def _target(ctx: EvaluatorContext, value: str | None) -> str | Skipped:
    if value is not None:
        return value
    if not ctx.has_expected_output:
        return Skipped("the case states no expected output, and no value was given")
    expected = ctx.expected_output
    return (
        expected
        if isinstance(expected, str)
        else Skipped(f"the expected output is not text: {show_typed(expected)}")
    )
