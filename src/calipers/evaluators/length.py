"""Evaluators of the length of the output."""

from collections.abc import Sized
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, assert_never, get_args

from calipers.data.argument_checks import check_choice
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.result import EvaluationReason
from calipers.data.value_text import show_typed

from .numeric import check_counts, describe_bounds, is_within

Unit: TypeAlias = Literal["characters", "words", "items"]
"""What is counted."""


@dataclass
class Length(Evaluator):
    """The output has a length in a range, both ends included.

    Characters are Unicode code points and words are what whitespace separates: both need text. Items are the elements
    of a collection that is not text. An output of the other kind fails.
    """

    minimum: int | None = None
    """The least length allowed; `None` for no lower bound."""
    maximum: int | None = None
    """The largest length allowed; `None` for no upper bound."""
    unit: Unit = field(default="characters", kw_only=True)
    """What to count."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        check_counts("Length", self.minimum, self.maximum)
        check_choice("unit of Length", self.unit, get_args(Unit))

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if the length lies in the range; otherwise the reason gives it."""
        length = _count(ctx.output, self.unit)
        if length is None:
            kind = "a collection" if self.unit == "items" else "text"
            return EvaluationReason(value=False, reason=f"expected {kind}, got {show_typed(ctx.output)}")
        if is_within(length, self.minimum, self.maximum):
            return EvaluationReason(value=True)
        wanted = describe_bounds(self.minimum, self.maximum)
        return EvaluationReason(value=False, reason=f"expected {wanted} {self.unit}, got {length}")


def _count(output: Any, unit: Unit) -> int | None:
    if unit == "items":
        return len(output) if isinstance(output, Sized) and not isinstance(output, str | bytes) else None
    if not isinstance(output, str):
        return None
    if unit == "characters":
        return len(output)
    if unit == "words":
        return len(output.split())
    assert_never(unit)
