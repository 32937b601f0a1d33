"""An evaluator that compares a trace with a reference: an earlier one that was found good.

| dimension | 1 means | compared only if |
|---|---|---|
| `tool_sequence` | the same tools in the same order | both traces record their calls, and one of them has any |
| `tool_parameters` | the calls that go together have the same arguments, values included | they have any |
| `output_similarity` | the same words, each as often, or by an embedding the same meaning | one of the traces has an output |
| `cost_deviation` | as many tokens; half as many, or twice as many, is 0.5 | tokens were counted in both |

Calls are aligned by `calipers.matching`, so one call more or less does not shift the rest. A dimension without evidence
is left out, and the weights of the others count.
"""

import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, assert_never, get_args

from calipers.agents.test_case import TestCase
from calipers.agents.verdict_evaluator import BaseEvaluator, Scale, instead, skip, weighted_mean
from calipers.data.argument_checks import check_function, check_number, check_share, check_texts
from calipers.data.result import EvalResult
from calipers.data.trace import Trace
from calipers.errors import InvalidOptionError, NotApplicableError
from calipers.matching import CallsMatch, match_calls
from calipers.matching.call import SAME_TOOL

from .embedding import Vectors, text_similarity

Dimension: TypeAlias = Literal["tool_sequence", "tool_parameters", "output_similarity", "cost_deviation"]
"""What two traces are compared by."""

DEFAULT_WEIGHTS: Final[Mapping[Dimension, float]] = {
    "tool_sequence": 0.3,
    "tool_parameters": 0.2,
    "output_similarity": 0.35,
    "cost_deviation": 0.15,
}
"""How much each dimension counts."""

_WORDS = re.compile(r"\w+")


@dataclass
class TraceComparisonEvaluator(BaseEvaluator):
    """PASS if a trace is like the reference trace, PARTIAL if in part, else FAIL.

    Skipped if there is nothing to compare.
    """

    reference_trace: Trace
    """The trace to compare with."""
    weights: dict[Dimension, float] | None = field(default=None, kw_only=True)
    """The dimensions that count, each with its weight; default: `DEFAULT_WEIGHTS`."""
    pass_threshold: float = field(default=0.7, kw_only=True)
    """The lowest score that is a PASS."""
    partial_threshold: float = field(default=0.5, kw_only=True)
    """The lowest score that is a PARTIAL."""
    ignore_arguments: Sequence[str] = field(default=(), kw_only=True)
    """Names of arguments that do not count, such as ids and times that differ from run to run."""
    embed: Callable[[list[str]], Vectors | Awaitable[Vectors]] | None = field(default=None, kw_only=True)
    """A function, sync or async, that gives a vector for each of a list of texts, such as `calipers.models.embeddings.embed`;
    default: outputs are compared by their words."""
    name: str = field(default="trace-compare", kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.reference_trace, Trace):
            raise InvalidOptionError(
                f"TraceComparisonEvaluator needs a Trace as reference_trace, got {self.reference_trace!r:.200}"
            )
        check_share("pass_threshold of TraceComparisonEvaluator", self.pass_threshold, or_zero=False)
        check_share("partial_threshold of TraceComparisonEvaluator", self.partial_threshold, or_zero=False)
        check_texts("ignore_arguments of TraceComparisonEvaluator", self.ignore_arguments)
        check_function("embed of TraceComparisonEvaluator", self.embed, or_none=True)
        if self.weights is not None:
            _check_weights(self.weights)

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:  # noqa: ARG002
        weights = DEFAULT_WEIGHTS if self.weights is None else self.weights
        reference = self.reference_trace.tool_calls
        tools = match_calls(reference, trace.tool_calls, arguments="ignore")
        try:
            calls = match_calls(reference, trace.tool_calls, ignore=tuple(self.ignore_arguments))
        except NotApplicableError:  # arguments that the recording does not show
            calls = None
        scores: dict[Dimension, float] = {}
        for dimension in weights:
            if (score := await self._score(dimension, trace, calls, tools)) is not None:
                scores[dimension] = score
        left_out = [dimension for dimension in weights if dimension not in scores]
        metadata = {"dimension_scores": scores, "weights": dict(weights), "left_out": left_out}
        if not scores:
            return skip(self.name, f"the traces have no evidence of {', '.join(left_out)}", **metadata)
        told = [", ".join(f"{dimension} {value:.2f}" for dimension, value in scores.items())]
        told += [f"left out: {', '.join(left_out)}"] if left_out else []
        about_tools = (
            calls is not None and not calls.passed and scores.keys() & {"tool_sequence", "tool_parameters"}
        )
        return Scale(self.pass_threshold, self.partial_threshold).result(
            self.name,
            weighted_mean(list(scores.values()), [weights[dimension] for dimension in scores]),
            "; ".join(told) + (f"\n{calls.edit_script()}" if calls is not None and about_tools else ""),
            **metadata,
        )

    async def _score(
        self, dimension: Dimension, trace: Trace, calls: CallsMatch | None, tools: CallsMatch
    ) -> float | None:
        """How alike the traces are in one dimension; `None` without evidence."""
        match dimension:
            case "tool_sequence":
                known = self.reference_trace.calls_known and trace.calls_known
                return tools.score if known and (tools.expected or tools.actual) else None
            case "tool_parameters":
                return None if calls is None else self._parameters(calls, tools)
            case "output_similarity":
                return await self._output(self.reference_trace.output_text, trace.output_text)
            case "cost_deviation":
                return _cost(self.reference_trace, trace)
        assert_never(dimension)

    def _parameters(self, calls: CallsMatch, tools: CallsMatch) -> float | None:
        """The mean over the calls that go together and have arguments.

        Calls that go together only by their tools, and are in no pair because others match better, count as 0.
        """
        ignored = set(self.ignore_arguments)
        shares = [
            (pair.comparison.similarity - SAME_TOOL) / (1 - SAME_TOOL)
            for pair in calls.pairs
            if (pair.comparison.expected.arguments.keys() | pair.comparison.actual.arguments.keys()) - ignored
        ]
        shares += [0.0] * (len(tools.pairs) - len(calls.pairs))
        return math.fsum(shares) / len(shares) if shares else None

    async def _output(self, expected: str, actual: str) -> float | None:
        if not expected.strip() and not actual.strip():
            return None
        if self.embed is None:
            return word_similarity(expected, actual)
        return max(0.0, await text_similarity(expected, actual, self.embed))


def word_similarity(a: str, b: str) -> float:
    """The share of words that two texts have in common, whatever their order and case; equal texts have all."""
    if a == b:
        return 1.0
    left, right = (Counter(_WORDS.findall(text.casefold())) for text in (a, b))
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 0.0


def _cost(reference: Trace, trace: Trace) -> float | None:
    if not reference.tokens_measured or not trace.tokens_measured:
        return None
    least, most = sorted(each.total_input_tokens + each.total_output_tokens for each in (reference, trace))
    return least / most


def _check_weights(weights: Any) -> None:
    if not isinstance(weights, Mapping) or not weights:
        raise InvalidOptionError(
            f"TraceComparisonEvaluator needs a dict of dimensions and weights, or None, as weights, got {weights!r:.200}"
        )
    known = get_args(Dimension)
    for dimension, weight in weights.items():
        if dimension not in known:
            raise InvalidOptionError(f"traces have no dimension {dimension!r}{instead(dimension, known)}")
        check_number(f"weight of the dimension {dimension!r}", weight, above=0)
