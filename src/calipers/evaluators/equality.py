"""Evaluators that claim equality. What equal means is said in `difference`."""

from dataclasses import dataclass, field
from typing import Any

from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator, Expectation
from calipers.data.result import EvaluationReason, Skipped

from .difference import equal, first_difference


@dataclass
class Equals(Evaluator):
    """The output equals a value.

    Python's equality decides, so `Equals(1)` accepts `1.0` and `True`; add `IsInstance` where the type matters.
    """

    value: Any
    """What the output must equal; `None` is a value like any other."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if they are equal; otherwise the reason says where they first differ."""
        return _compare(self.value, ctx.output)


@dataclass
class EqualsExpected(Evaluator):
    """The output equals the case's expected output; skipped for a case that states none.

    A case may expect `None`, which is an expectation and not the absence of one.
    """

    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def needs_expectations(self) -> frozenset[Expectation]:
        """The expected output."""
        return frozenset({"expected_output"})

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason | Skipped:
        """True if they are equal; otherwise the reason says where they first differ."""
        if not ctx.has_expected_output:
            return Skipped("the case states no expected output")
        return _compare(ctx.expected_output, ctx.output)


def _compare(expected: Any, actual: Any) -> EvaluationReason:
    if equal(expected, actual):
        return EvaluationReason(value=True)
    return EvaluationReason(value=False, reason=first_difference(expected, actual))
