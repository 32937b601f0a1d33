"""Evaluators that check equality, and what equal means: `first_difference` says where two values first differ.

Equality is Python's `==`, with two additions: arrays are equal when their shapes and all their elements are, and
containers that hold arrays are compared piece by piece, where `==` would raise. Any other `==` that raises is an error
with both types in its message.

`as_mapping` reads an object as a mapping of its fields: dataclass, msgspec struct, attrs class, pydantic-like model. An
object that declares no fields, and merely has a `__dict__`, is not a record.
"""

import dataclasses
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator, Expectation
from calipers.data.result import EvaluationReason, Skipped
from calipers.data.value_text import show, show_typed
from calipers.errors import CalipersError


def as_mapping(value: Any) -> Mapping[Any, Any] | None:
    """The value's fields by name, the value itself if it is a mapping, or `None` if it is neither."""
    if isinstance(value, Mapping):
        return value
    names = _field_names(value)
    if names is None:
        return None
    # A field that is declared and never set is absent, not None.
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _field_names(value: Any) -> list[str] | None:
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    kind = type(value)
    if isinstance(names := getattr(kind, "__struct_fields__", None), tuple):
        return list(names)
    if isinstance(attributes := getattr(kind, "__attrs_attrs__", None), tuple):
        return [attribute.name for attribute in attributes]
    if isinstance(fields := getattr(kind, "model_fields", None), Mapping):
        extra = getattr(value, "model_extra", None)
        return [*fields, *(extra if isinstance(extra, Mapping) else ())]
    return None


# Strings up to this length are shown whole; longer ones by a window around the first difference.
_SHORT_TEXT = 60
_WINDOW = 20


def equal(left: Any, right: Any) -> bool:
    """Whether the values are equal.

    Raises:
        CalipersError: the comparison itself raised.
    """
    try:
        outcome = left == right
        if not _is_array(outcome):
            return bool(outcome)
    except Exception as error:
        pieces = None if isinstance(error, RecursionError) else _pieces(left, right)
        if pieces is not None:
            return all(equal(a, b) for a, b in pieces)
        if not (_is_array(left) or _is_array(right)):  # arrays of different shapes refuse to be compared
            raise CalipersError(
                f"comparing {type(left).__name__} with {type(right).__name__} raised {type(error).__name__}: {error}"
            ) from error
    return _arrays_equal(left, right)


def first_difference(expected: Any, actual: Any) -> str:
    """Where two unequal values first differ, in words, with the path to that place."""
    path = ""
    # A longer path helps no reader, and a value that contains itself has no last step.
    for _ in range(50):
        try:
            step = _step(expected, actual)
        except Exception:  # a part that cannot be compared must not hide that the values differ
            break
        if step is None:
            break
        if isinstance(step, str):
            return _at(path, step)
        path += step.label
        expected, actual = step.expected, step.actual
    return _at(path, _leaf(expected, actual))


class _Step(NamedTuple):
    label: str
    expected: Any
    actual: Any


def _step(expected: Any, actual: Any) -> "_Step | str | None":
    """One step down to the first differing part, a sentence if the difference is here, `None` if there are no parts."""
    if isinstance(expected, str) and isinstance(actual, str):
        return _text_difference(expected, actual)
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return _mapping_step(expected, actual, lambda key: f"[{show(key)}]")
    if isinstance(expected, list | tuple) and type(expected) is type(actual):
        return _sequence_step(expected, actual)
    if isinstance(expected, AbstractSet) and isinstance(actual, AbstractSet):
        return _set_difference(expected, actual)
    if type(expected) is type(actual) and (fields := as_mapping(expected)) is not None:
        return _mapping_step(fields, as_mapping(actual) or {}, lambda name: f".{name}")
    return None


def _mapping_step(
    expected: Mapping[Any, Any], actual: Mapping[Any, Any], label: Callable[[Any], str]
) -> "_Step | str | None":
    for key, value in expected.items():
        if key not in actual:
            return f"{show(key)} is missing (expected {show(value)})"
        if not equal(value, actual[key]):
            return _Step(label(key), value, actual[key])
    for key in actual:
        if key not in expected:
            return f"{show(key)} is not expected (got {show(actual[key])})"
    return None


def _sequence_step(expected: Any, actual: Any) -> "_Step | str | None":
    for index, (a, b) in enumerate(zip(expected, actual, strict=False)):
        if not equal(a, b):
            return _Step(f"[{index}]", a, b)
    if len(expected) == len(actual):
        return None
    shorter = min(len(expected), len(actual))
    which, rest = ("missing", expected) if len(expected) > len(actual) else ("not expected", actual)
    return f"expected {len(expected)} items, got {len(actual)}: [{shorter}] is {which}, which is {show(rest[shorter])}"


def _set_difference(expected: AbstractSet[Any], actual: AbstractSet[Any]) -> str | None:
    missing, extra = expected - actual, actual - expected
    parts = [f"missing {show(missing)}"] if missing else []
    parts += [f"not expected {show(extra)}"] if extra else []
    return ", ".join(parts) or None


def _text_difference(expected: str, actual: str) -> str | None:
    if max(len(expected), len(actual)) <= _SHORT_TEXT:
        return None
    position = _first_mismatch(expected, actual)
    return (
        f"expected {_window(expected, position)}, got {_window(actual, position)} "
        f"(first difference at character {position}; {len(expected)} and {len(actual)} characters)"
    )


def _first_mismatch(left: str, right: str) -> int:
    """The first position where the texts differ, by halving: a loop over characters is slow on long texts."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _window(text: str, position: int) -> str:
    start, end = max(0, position - _WINDOW), position + _WINDOW
    return f"{'…' if start else ''}{text[start:end]!r}{'…' if end < len(text) else ''}"


def _leaf(expected: Any, actual: Any) -> str:
    if type(expected) is not type(actual) or show(expected) == show(actual):
        sentence = f"expected {show_typed(expected)}, got {show_typed(actual)}"
    else:
        sentence = f"expected {show(expected)}, got {show(actual)}"
    if isinstance(expected, float) and expected != expected:  # noqa: PLR0124 - the test for NaN
        sentence += " (NaN equals nothing, not even NaN)"
    return sentence


def _at(path: str, sentence: str) -> str:
    return f"at {path}: {sentence}" if path else sentence


def _pieces(left: Any, right: Any) -> list[tuple[Any, Any]] | None:
    """The parts of two containers pair by pair, or one unequal pair if their sizes or keys differ."""
    if isinstance(left, list | tuple) and type(left) is type(right):
        return list(zip(left, right, strict=True)) if len(left) == len(right) else [(True, False)]
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        if left.keys() != right.keys():
            return [(True, False)]
        return [(value, right[key]) for key, value in left.items()]
    if type(left) is type(right) and (fields := as_mapping(left)) is not None:
        return [(fields, as_mapping(right))]
    return None


def _is_array(value: Any) -> bool:
    return isinstance(getattr(value, "shape", None), tuple) and value.shape != ()


def _arrays_equal(left: Any, right: Any) -> bool:
    """Equality of two arrays of one shape, or of an array and a list of its elements."""
    for array, other in ((left, right), (right, left)):
        if isinstance(other, list) and hasattr(array, "tolist"):
            return equal(array.tolist(), other)
    # Broadcasting would call [1, 1] equal to 1, and no elements at all equal to anything.
    if not (_is_array(left) and _is_array(right) and tuple(left.shape) == tuple(right.shape)):
        return False
    try:
        outcome = left == right
    except Exception:  # tables with different labels refuse to be compared
        return False
    while _is_array(outcome):  # a table reduces to a row first, then to one value
        outcome = outcome.all()
    return bool(outcome)


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
