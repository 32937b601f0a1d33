"""Evaluators of numbers.

A number is a real one: int, float, `Decimal`, `Fraction` or a numpy scalar. A bool is not a number, and NaN is close to
nothing and in no range. With `parse`, text that is a number as a whole counts too.

A range has a `minimum`, a `maximum`, or both, and its ends belong to it. A range without bounds would accept everything,
so it is an error.
"""

import math
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

from calipers.data.argument_checks import check_number, check_whole_number, is_whole_number
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator, Expectation
from calipers.data.result import EvaluationReason, Skipped
from calipers.data.value_text import show, show_typed
from calipers.errors import InvalidOptionError


def check_bounds(owner: str, minimum: Any, maximum: Any) -> None:
    """Refuse a range without a bound, with one that is not a finite number, or with a minimum above the maximum."""
    if minimum is None and maximum is None:
        raise InvalidOptionError(
            f"{owner} needs minimum=, maximum= or both: without a bound everything would pass"
        )
    for name, bound in (("minimum", minimum), ("maximum", maximum)):
        if not is_whole_number(bound):  # which may be larger than any float
            check_number(f"{name} of {owner}", bound, or_none=True)
    if minimum is not None and maximum is not None and minimum > maximum:
        raise InvalidOptionError(f"{owner} has a minimum of {minimum!r} above its maximum of {maximum!r}")


def check_counts(owner: str, minimum: Any, maximum: Any) -> None:
    """Refuse bounds as `check_bounds` does, and those that no count can miss or meet."""
    check_bounds(owner, minimum, maximum)
    for name, bound in (("minimum", minimum), ("maximum", maximum)):
        check_whole_number(f"{name} of {owner}", bound, at_least=0, or_none=True)
    if minimum == 0 and maximum is None:
        raise InvalidOptionError(f"{owner} with minimum=0 alone would accept everything: give a maximum too")


def is_within(number: float, minimum: float | None, maximum: float | None) -> bool:
    """Whether the number lies in the range; NaN lies in none."""
    return not (
        number != number  # noqa: PLR0124 - the test for NaN
        or (minimum is not None and number < minimum)
        or (maximum is not None and number > maximum)
    )


def describe_bounds(minimum: float | None, maximum: float | None) -> str:
    """The range in words: "at least 3", "at most 5", "3 to 5", "exactly 3"."""
    if maximum is None:
        return f"at least {minimum!r}"
    if minimum is None:
        return f"at most {maximum!r}"
    return f"exactly {minimum!r}" if minimum == maximum else f"{minimum!r} to {maximum!r}"


@dataclass
class CloseTo(Evaluator):
    """The output is a number close to a value, or to the expected output.

    Close means what `math.isclose` means. Without a value it skips cases whose expected output is absent or not a number.
    An output that is not a number fails.
    """

    value: float | None = None
    """What to be close to; `None` for the case's expected output."""
    rel_tol: float = field(default=1e-9, kw_only=True)
    """The largest difference allowed, relative to the larger of the two."""
    abs_tol: float = field(default=0.0, kw_only=True)
    """The largest difference that is always allowed; needed to be close to 0."""
    parse: bool = field(default=False, kw_only=True)
    """Whether text that is a number counts as one."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        if self.value is not None and not _is_measurable(_as_number(self.value)):
            raise InvalidOptionError(f"CloseTo needs a number as its value, got {self.value!r}")
        for name, tolerance in (("rel_tol", self.rel_tol), ("abs_tol", self.abs_tol)):
            number = _as_number(tolerance)
            if number is None or not 0 <= number < math.inf:
                raise InvalidOptionError(f"{name} must be a number from 0, got {tolerance!r}")

    def needs_expectations(self) -> frozenset[Expectation]:
        """The expected output, unless it was given a value."""
        return frozenset({"expected_output"}) if self.value is None else frozenset()

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason | Skipped:
        """True if the two are close; otherwise the reason gives their difference and what was allowed."""
        if self.value is None and not ctx.has_expected_output:
            return Skipped("the case states no expected output, and CloseTo was given no value")
        target = ctx.expected_output if self.value is None else self.value
        expected = _as_number(target, parse=self.parse)
        if expected is None or not _is_measurable(expected):
            return Skipped(f"the expected output is not a number: {show_typed(target)}")
        actual = _as_number(ctx.output, parse=self.parse)
        if actual is None:
            return EvaluationReason(value=False, reason=f"expected a number, got {show_typed(ctx.output)}")
        if _is_close(actual, expected, self.rel_tol, self.abs_tol):
            return EvaluationReason(value=True)
        return EvaluationReason(value=False, reason=self._difference(expected, actual))

    def _difference(self, expected: float, actual: float) -> str:
        sentence = f"expected {show(expected)}, got {show(actual)}"
        if not _is_measurable(actual):
            return f"{sentence}, which is close to nothing"
        try:
            return (
                f"{sentence}: the difference is {abs(actual - expected):.3g}, "
                f"allowed is {max(self.rel_tol * max(abs(actual), abs(expected)), self.abs_tol):.3g}"
            )
        except OverflowError:
            return sentence


@dataclass
class InRange(Evaluator):
    """The output is a number in a range, both ends included. An output that is not a number fails."""

    minimum: float | None = None
    """The least number allowed; `None` for no lower bound."""
    maximum: float | None = None
    """The largest number allowed; `None` for no upper bound."""
    parse: bool = field(default=False, kw_only=True)
    """Whether text that is a number counts as one."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        check_bounds("InRange", self.minimum, self.maximum)

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if the number lies in the range."""
        actual = _as_number(ctx.output, parse=self.parse)
        wanted = describe_bounds(self.minimum, self.maximum)
        if actual is None:
            return EvaluationReason(
                value=False, reason=f"expected a number, {wanted}, got {show_typed(ctx.output)}"
            )
        if is_within(actual, self.minimum, self.maximum):
            return EvaluationReason(value=True)
        return EvaluationReason(value=False, reason=f"expected {wanted}, got {show(actual)}")


def _as_number(value: Any, *, parse: bool = False) -> int | float | None:
    """The value as an int or a float, or `None` if it is not a number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and parse and "_" not in value:  # Python reads 1_000; people would not
        try:
            return float(value)
        except ValueError:
            return None
    if isinstance(value, Integral):
        return int(value)
    if not isinstance(value, Real | Decimal):
        return None
    try:
        return float(value)
    except OverflowError:  # a fraction beyond the largest float
        return math.inf if value >= Fraction(0) else -math.inf
    except ValueError:  # a signalling NaN
        return math.nan


def _is_measurable(number: float | None) -> bool:
    return number is not None and number == number  # noqa: PLR0124 - false for NaN


def _is_close(a: float, b: float, rel_tol: float, abs_tol: float) -> bool:
    try:
        return math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)
    except OverflowError:  # an integer beyond the largest float: the same rule, in exact arithmetic
        if not all(isinstance(x, int) or math.isfinite(x) for x in (a, b)):
            return False
        exact_a, exact_b = Fraction(a), Fraction(b)
        allowed = max(Fraction(rel_tol) * max(abs(exact_a), abs(exact_b)), Fraction(abs_tol))
        return abs(exact_a - exact_b) <= allowed
