"""Evaluators of what the output contains.

What containing means depends on the output:

- text contains a shorter text; bytes contain bytes;
- a mapping, or a record read as one (dataclass, msgspec, attrs, pydantic-like), contains a mapping when it has each
  of its keys with an equal value, and contains anything else as a key;
- any other collection contains its elements.

Without `case_sensitive`, strings are compared by case folding: texts, elements, keys and values, though not strings
nested deeper. Every text contains the empty one, so looking for it is an error.
"""

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator, Expectation
from calipers.data.result import EvaluationReason, Skipped
from calipers.data.value_text import show, show_typed
from calipers.errors import InvalidOptionError

from .equality import as_mapping, equal, first_difference


@dataclass
class Contains(Evaluator):
    """The output contains a value."""

    value: Any
    """What to look for."""
    case_sensitive: bool = field(default=True, kw_only=True)
    """Whether upper and lower case differ."""
    as_strings: bool = field(default=False, kw_only=True)
    """Whether to compare `str(output)` with `str(value)`, whatever their types."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if it is there; an output that can contain nothing, such as a number, fails."""
        miss = _look_for(self.value, ctx.output, self.case_sensitive, self.as_strings)
        return _claim(miss.reason if miss else None)


@dataclass
class ContainsExpected(Evaluator):
    """The output contains what the case expects; skipped where it expects nothing."""

    case_sensitive: bool = field(default=True, kw_only=True)
    """Whether upper and lower case differ."""
    as_strings: bool = field(default=False, kw_only=True)
    """Whether to compare `str(output)` with `str(expected_output)`, whatever their types."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def needs_expectations(self) -> frozenset[Expectation]:
        """The expected output."""
        return frozenset({"expected_output"})

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason | Skipped:
        """True if it is there."""
        if not ctx.has_expected_output:
            return Skipped("the case states no expected output")
        miss = _look_for(ctx.expected_output, ctx.output, self.case_sensitive, self.as_strings)
        return _claim(miss.reason if miss else None)


@dataclass
class NotContains(Evaluator):
    """The output does not contain a value; of a mapping, none of its pairs.

    Skipped for an output that could never contain the value.
    """

    value: Any
    """What to look for."""
    case_sensitive: bool = field(default=True, kw_only=True)
    """Whether upper and lower case differ."""
    as_strings: bool = field(default=False, kw_only=True)
    """Whether to compare `str(output)` with `str(value)`, whatever their types."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason | Skipped:
        """True if it is not there."""
        for value in _parts(self.value, ctx.output, self.as_strings):
            miss = _look_for(value, ctx.output, self.case_sensitive, self.as_strings)
            if miss is None:
                return _claim(f"expected no {show(value)}, got {show(ctx.output)}")
            if not miss.possible:
                return Skipped(miss.reason)
        return _claim(None)


@dataclass
class ContainsAll(Evaluator):
    """The output contains each of several values."""

    values: Sequence[Any]
    """What to look for."""
    case_sensitive: bool = field(default=True, kw_only=True)
    """Whether upper and lower case differ."""
    as_strings: bool = field(default=False, kw_only=True)
    """Whether to compare `str(output)` with `str(value)`, whatever their types."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        _check_values("ContainsAll", self.values)

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if all are there; otherwise the reason counts and lists those that are not."""
        missing = [v for v in self.values if _look_for(v, ctx.output, self.case_sensitive, self.as_strings)]
        if not missing:
            return _claim(None)
        return _claim(
            f"{len(missing)} of {len(self.values)} are missing: {show(missing)}; got {show(ctx.output)}"
        )


@dataclass
class ContainsAny(Evaluator):
    """The output contains at least one of several values."""

    values: Sequence[Any]
    """What to look for."""
    case_sensitive: bool = field(default=True, kw_only=True)
    """Whether upper and lower case differ."""
    as_strings: bool = field(default=False, kw_only=True)
    """Whether to compare `str(output)` with `str(value)`, whatever their types."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        _check_values("ContainsAny", self.values)

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True, with the value found as the reason, if one is there."""
        for value in self.values:
            if _look_for(value, ctx.output, self.case_sensitive, self.as_strings) is None:
                return EvaluationReason(value=True, reason=f"contains {show(value)}")
        return _claim(f"expected one of {show(list(self.values))}, got {show(ctx.output)}")


class _Miss(NamedTuple):
    """A value that was not found."""

    reason: str
    possible: bool = True
    """Whether an output of this type could hold such a value at all."""


def _claim(problem: str | None) -> EvaluationReason:
    return EvaluationReason(value=problem is None, reason=problem)


def _check_values(owner: str, values: Any) -> None:
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise InvalidOptionError(f"{owner} needs a list of values, got {values!r}")
    if not values:
        raise InvalidOptionError(f"{owner} needs at least one value, got none")


def _parts(value: Any, output: Any, as_strings: bool) -> list[Any]:
    """The values whose absence is claimed: each pair of a mapping that is looked for in a mapping, else the value."""
    wanted = as_mapping(value)
    if as_strings or not wanted or as_mapping(output) is None:
        return [value]
    return [{key: item} for key, item in wanted.items()]


def _look_for(value: Any, output: Any, case_sensitive: bool, as_strings: bool) -> _Miss | None:
    """`None` if the output contains the value."""
    if as_strings:
        value, output = str(value), str(output)
    if isinstance(output, str | bytes | bytearray):
        return _look_in_text(value, output, case_sensitive)
    mapping = as_mapping(output)
    if mapping is None:
        return _look_in_elements(value, output, case_sensitive)
    wanted = as_mapping(value)
    if wanted is None:
        if _find_key(value, mapping, case_sensitive) is None:
            return _Miss(f"expected the key {show(value)}, got the keys {show(list(mapping))}")
        return None
    return _look_in_mapping(wanted, mapping, case_sensitive)


def _look_in_text(value: Any, output: Any, case_sensitive: bool) -> _Miss | None:
    alike = isinstance(value, str) if isinstance(output, str) else isinstance(value, bytes | bytearray)
    if not alike:
        return _Miss(
            f"{show_typed(value)} cannot be part of {show_typed(output)}: as_strings=True compares both as text",
            possible=False,
        )
    if not value:
        raise InvalidOptionError(f"every text contains {value!r}, so looking for it shows nothing")
    if value in output:
        return None
    in_another_case = _fold(value) in _fold(output)
    if in_another_case and not case_sensitive:
        return None
    hint = " (it is there in another case)" if in_another_case else ""
    return _Miss(f"expected {show(value)} in {show(output)}{hint}")


def _look_in_mapping(
    wanted: Mapping[Any, Any], mapping: Mapping[Any, Any], case_sensitive: bool
) -> _Miss | None:
    if not wanted:
        raise InvalidOptionError("every mapping contains the empty one, so looking for it shows nothing")
    for key, expected in wanted.items():
        found = _find_key(key, mapping, case_sensitive)
        if found is None:
            return _Miss(
                f"the key {show(key)} is missing (expected {show(expected)}); got the keys {show(list(mapping))}"
            )
        actual = mapping[found[0]]
        if not _same(expected, actual, case_sensitive):
            return _Miss(f"at key {show(key)}: {first_difference(expected, actual)}")
    return None


def _look_in_elements(value: Any, output: Any, case_sensitive: bool) -> _Miss | None:
    # Iterators are left alone: looking would use them up for the next evaluator.
    if not isinstance(output, Container):
        return _Miss(f"{show_typed(output)} cannot contain {show(value)}", possible=False)
    try:
        if isinstance(output, list | tuple) or (isinstance(output, Collection) and not case_sensitive):
            found = any(_same(value, item, case_sensitive) for item in output)
        else:
            found = bool(value in output)
    except (TypeError, ValueError) as error:  # such as an unhashable value and a set
        return _Miss(f"{show_typed(value)} cannot be an element of {show(output)}: {error}", possible=False)
    return None if found else _Miss(f"expected {show(value)} in {show(output)}")


def _find_key(key: Any, mapping: Mapping[Any, Any], case_sensitive: bool) -> tuple[Any] | None:
    """The mapping's own key that matches, in a tuple because `None` may be a key."""
    try:
        if key in mapping:
            return (key,)
    except TypeError:  # unhashable, so it is no key of anything
        return None
    if case_sensitive:
        return None
    return next(((own,) for own in mapping if _same(key, own, case_sensitive)), None)


def _same(left: Any, right: Any, case_sensitive: bool) -> bool:
    # `in` takes an object as equal to itself, even NaN, and so does this.
    return left is right or (equal(left, right) if case_sensitive else equal(_fold(left), _fold(right)))


def _fold(value: Any) -> Any:
    if isinstance(value, str):
        return value.casefold()
    return value.lower() if isinstance(value, bytes | bytearray) else value
