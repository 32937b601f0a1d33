"""Evaluators of the spans that the attempt recorded. `calipers.spans.query` explains the queries.

They turn span recording on. An attempt without a recording is an evaluator failure, not a missing span.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.result import EvaluationReason
from calipers.data.value_text import show
from calipers.spans import SpanQuery, SpanTree, compile_query

from .numeric import check_counts, describe_bounds, is_within

_NAMES_SHOWN = 8


@dataclass
class HasMatchingSpan(Evaluator):
    """At least one span matches a query."""

    needs_spans: ClassVar[bool] = True

    query: SpanQuery
    """What the span must be like."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        compile_query(self.query)

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if one matches; otherwise the reason lists the spans that were seen.

        Raises:
            SpanTreeRecordingError: no spans were recorded.
        """
        tree = ctx.span_tree
        if tree.any(self.query):
            return EvaluationReason(value=True)
        return EvaluationReason(
            value=False, reason=f"no span matches {show(dict(self.query))}; {_seen(tree)}"
        )


@dataclass
class SpanCount(Evaluator):
    """The number of spans that match a query lies in a range, both ends included."""

    needs_spans: ClassVar[bool] = True

    query: SpanQuery
    """What the spans must be like."""
    minimum: int | None = field(default=None, kw_only=True)
    """The least number allowed; `None` for no lower bound."""
    maximum: int | None = field(default=None, kw_only=True)
    """The largest number allowed; `None` for no upper bound."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        compile_query(self.query)
        check_counts("SpanCount", self.minimum, self.maximum)

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if the number lies in the range; otherwise the reason gives it and lists the spans that were seen.

        Raises:
            SpanTreeRecordingError: no spans were recorded.
        """
        tree = ctx.span_tree
        count = len(tree.find(self.query))
        if is_within(count, self.minimum, self.maximum):
            return EvaluationReason(value=True)
        wanted = describe_bounds(self.minimum, self.maximum)
        return EvaluationReason(
            value=False,
            reason=f"expected {wanted} spans that match {show(dict(self.query))}, got {count}; {_seen(tree)}",
        )


def _seen(tree: SpanTree) -> str:
    names = list(dict.fromkeys(span.name for span in tree))
    if not names:
        return "no spans were recorded"
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"seen: {', '.join(show(name) for name in names[:_NAMES_SHOWN])}{more}"
