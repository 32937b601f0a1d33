"""Matchers of values: text, numbers, types, whether there is a value at all, and combinations of these.

Each is written where the expected value would stand: `ToolCall("pay", {"amount": Approx(9.99, abs_tol=0.01)})`.

Wherever a combination (`AnyOf`, `AllOf`, `Not`, …) holds a value, you may write a matcher or a callable instead.
"""

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

from calipers.data.argument_checks import check_number, check_share, check_text, is_real_number
from calipers.data.value_text import show, show_typed
from calipers.errors import AttemptTimeoutError, InvalidOptionError, MissingExtraError

from .assignment import best_pairs
from .value_comparison import Matcher, absence_accepted, differences, is_nan, mean_of, similarity

_JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "array": (list, tuple),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float, Decimal),
    "object": (Mapping,),
    "string": (str,),
}


@dataclass(frozen=True, repr=False)
class Regex(Matcher):
    """Text that matches a pattern of the `regex` package, somewhere or as a whole. What is not text does not match."""

    pattern: str
    """What to look for; flags can be given inside, as in `(?i)`."""
    full: bool = field(default=False, kw_only=True)
    """Whether the pattern must match the whole text rather than a part of it."""
    ignore_case: bool = field(default=False, kw_only=True)
    """Whether upper and lower case are the same."""
    timeout_seconds: float = field(default=1.0, kw_only=True)
    """How long one search may take before it is an error: it has not shown that there is no match."""

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str) or not self.pattern:
            raise InvalidOptionError(f"Regex needs a pattern as non-empty text, got {self.pattern!r}")
        check_number("timeout_seconds", self.timeout_seconds, above=0, of="seconds")
        _compile(self.pattern, self.ignore_case)

    def similarity(self, actual: Any) -> float:
        """1 if the pattern matches.

        Raises:
            AttemptTimeoutError: the pattern was still at work when its time was over.
        """
        if not isinstance(actual, str):
            return 0.0
        compiled = _compile(self.pattern, self.ignore_case)
        search = compiled.fullmatch if self.full else compiled.search
        try:
            # Letting other threads run costs as much as a short search, and a short text is searched at once.
            found = search(actual, timeout=self.timeout_seconds, concurrent=len(actual) > 1000 or None)
        except TimeoutError as error:
            raise AttemptTimeoutError(
                f"the pattern {self.pattern!r} was still running after {self.timeout_seconds:g} s on a text of "
                f"{len(actual)} characters: make it less ambiguous, or raise timeout_seconds"
            ) from error
        return 1.0 if found else 0.0

    def why_not(self, actual: Any) -> str:
        """What was looked for, and in what."""
        if not isinstance(actual, str):
            return f"expected text, got {show_typed(actual)}"
        how = "the whole text to match" if self.full else "a match of"
        return f"expected {how} {show(self.pattern)}, got {show(actual)}"


@dataclass(frozen=True, repr=False)
class Text(Matcher):
    """Text that is the same apart from case, from white space, or from both.

    Runs of white space count as one space and those at the ends not at all; composed and decomposed letters are the
    same.
    """

    value: str
    ignore_case: bool = field(default=True, kw_only=True)
    """Whether upper and lower case are the same."""
    ignore_space: bool = field(default=True, kw_only=True)
    """Whether the amount of white space does not count."""

    def __post_init__(self) -> None:
        check_text("the value of Text", self.value, or_empty=True)

    def similarity(self, actual: Any) -> float:
        """1 if the texts are the same."""
        if not isinstance(actual, str):
            return 0.0
        return 1.0 if self._reduced(self.value) == self._reduced(actual) else 0.0

    def _reduced(self, text: str) -> str:
        text = unicodedata.normalize("NFC", text)
        if self.ignore_case:
            text = unicodedata.normalize("NFC", text.casefold())
        return " ".join(text.split()) if self.ignore_space else text


@dataclass(frozen=True, repr=False)
class Similar(Matcher):
    """Text that is similar enough: the share of characters left alone when one text is turned into the other."""

    value: str
    minimum: float = field(default=0.8, kw_only=True)
    """The least similarity that is a match; below it, the similarity is partial credit."""
    ignore_case: bool = field(default=False, kw_only=True)
    """Whether upper and lower case are the same."""

    def __post_init__(self) -> None:
        check_text("the value of Similar", self.value, or_empty=True)
        check_share("minimum", self.minimum, or_zero=False)

    def similarity(self, actual: Any) -> float:
        """1 if similar enough.

        Raises:
            MissingExtraError: rapidfuzz is not installed.
        """
        found = self._ratio(actual)
        return 1.0 if found >= self.minimum else found

    def why_not(self, actual: Any) -> str:
        """The similarity found, and the least that was expected."""
        if not isinstance(actual, str):
            return f"expected text, got {show_typed(actual)}"
        return (
            f"expected similarity {self.minimum:g} to {show(self.value)}, "
            f"got {self._ratio(actual):.3f} with {show(actual)}"
        )

    def _ratio(self, actual: Any) -> float:
        if not isinstance(actual, str):
            return 0.0
        try:
            from rapidfuzz import fuzz
        except ImportError as error:
            raise MissingExtraError.of("The matcher Similar", "text") from error
        left, right = (self.value.casefold(), actual.casefold()) if self.ignore_case else (self.value, actual)
        return float(fuzz.ratio(left, right)) / 100


@dataclass(frozen=True, repr=False)
class Approx(Matcher):
    """A number close to a value, as `math.isclose` means it. A bool is no number, and NaN is close to nothing."""

    value: float
    abs_tol: float = field(default=0.0, kw_only=True)
    """The largest difference that is always allowed; needed to be close to 0."""
    rel_tol: float = field(default=1e-9, kw_only=True)
    """The largest difference allowed, relative to the larger of the two."""

    def __post_init__(self) -> None:
        if not _is_number(self.value):
            raise InvalidOptionError(f"Approx needs a number, got {self.value!r}")
        for name in ("abs_tol", "rel_tol"):
            tolerance = getattr(self, name)
            if not _is_number(tolerance) or not 0 <= tolerance < math.inf:
                raise InvalidOptionError(f"{name} must be a number from 0, got {tolerance!r}")

    def similarity(self, actual: Any) -> float:
        """1 if the numbers are close."""
        if not _is_number(actual):
            return 0.0
        try:
            close = math.isclose(self.value, actual, rel_tol=self.rel_tol, abs_tol=self.abs_tol)
        except OverflowError:  # an integer beyond the largest float
            close = self.value == actual
        return 1.0 if close else 0.0

    def why_not(self, actual: Any) -> str:
        """The difference, and what was allowed."""
        if not _is_number(actual):
            return f"expected a number close to {show(self.value)}, got {show_typed(actual)}"
        try:
            allowed = max(self.abs_tol, self.rel_tol * max(abs(self.value), abs(float(actual))))
            away = abs(self.value - float(actual))
        except OverflowError:
            return f"expected a number close to {show(self.value)}, got {show(actual)}"
        return f"expected {show(self.value)} ± {allowed:.3g}, got {show(actual)}, which is {away:.3g} away"


@dataclass(frozen=True, repr=False)
class InRange(Matcher):
    """A number in a range, both ends included. A bool is no number."""

    minimum: float | None = None
    """The least number; `None` for no lower bound."""
    maximum: float | None = None
    """The largest number; `None` for no upper bound."""

    def __post_init__(self) -> None:
        bounds = [bound for bound in (self.minimum, self.maximum) if bound is not None]
        if not bounds or not all(_is_number(bound) for bound in bounds) or bounds != sorted(bounds):
            raise InvalidOptionError(
                f"InRange needs a minimum, a maximum, or both in this order, as numbers, got {self.minimum!r} and "
                f"{self.maximum!r}"
            )

    def similarity(self, actual: Any) -> float:
        """1 if the number lies in the range."""
        inside = (
            _is_number(actual)
            and (self.minimum is None or actual >= self.minimum)
            and (self.maximum is None or actual <= self.maximum)
        )
        return 1.0 if inside else 0.0


@dataclass(frozen=True, repr=False)
class OfType(Matcher):
    """A value of a type: a class, or the name JSON has for it. A bool is neither an integer nor a number."""

    type: type | str
    """A class, or one of array, boolean, integer, null, number, object, string."""

    def __post_init__(self) -> None:
        if not (isinstance(self.type, type) or (isinstance(self.type, str) and self.type in _JSON_TYPES)):
            raise InvalidOptionError(
                f"OfType needs a class or one of {', '.join(_JSON_TYPES)}, got {self.type!r}"
            )

    def similarity(self, actual: Any) -> float:
        """1 if the value is of the type."""
        types = _JSON_TYPES[self.type] if isinstance(self.type, str) else (self.type,)
        if isinstance(actual, bool) and bool not in types:
            return 1.0 if object in types else 0.0
        return 1.0 if isinstance(actual, types) else 0.0

    def why_not(self, actual: Any) -> str:
        """The type that was expected, and the value with its own."""
        return f"expected {self!r}, got {show_typed(actual)}"

    def __repr__(self) -> str:
        return f"OfType({self.type!r})" if isinstance(self.type, str) else f"OfType({self.type.__name__})"


@dataclass(frozen=True, repr=False)
class Anything(Matcher):
    """Any value, `None` too, as long as the argument is given."""

    def similarity(self, actual: Any) -> float:  # noqa: ARG002 - whatever it is
        """Always 1."""
        return 1.0


@dataclass(frozen=True, repr=False)
class Present(Matcher):
    """Any value that says something: not `None`, not blank text, not an empty list or mapping."""

    def similarity(self, actual: Any) -> float:
        """1 if there is something."""
        if actual is None or (isinstance(actual, str) and not actual.strip()):
            return 0.0
        if isinstance(actual, Sequence | Mapping | AbstractSet) and not actual:
            return 0.0
        return 1.0


@dataclass(frozen=True, repr=False)
class Absent(Matcher):
    """The argument is not given, not even as `None`."""

    @property
    def accepts_absence(self) -> bool:
        """Yes."""
        return True

    def similarity(self, actual: Any) -> float:  # noqa: ARG002 - whatever it is
        """Always 0, since a value was given."""
        return 0.0

    def why_not(self, actual: Any) -> str:
        """What was given."""
        return f"expected to be left out, got {show(actual)}"


@dataclass(frozen=True, repr=False)
class Maybe(Matcher):
    """The argument may be left out; if it is given, it matches the value."""

    value: Any

    @property
    def accepts_absence(self) -> bool:
        """Yes."""
        return True

    def similarity(self, actual: Any) -> float:
        """That of the value."""
        return similarity(self.value, actual)

    def why_not(self, actual: Any) -> str:
        """Why the value does not match."""
        return f"{_joined(self.value, actual)} (it may be left out)"


@dataclass(frozen=True, repr=False)
class Json(Matcher):
    """Text that is JSON and, once read, matches a value."""

    value: Any

    def similarity(self, actual: Any) -> float:
        """That of the value that was read; 0 if the text is not JSON."""
        try:
            return similarity(self.value, _read_json(actual))
        except (TypeError, ValueError, RecursionError):
            return 0.0

    def why_not(self, actual: Any) -> str:
        """That it is no JSON, or where what was read differs."""
        try:
            read = _read_json(actual)
        except (TypeError, ValueError, RecursionError):
            return f"expected text that is JSON, got {show_typed(actual)}"
        return f"inside the JSON: {_joined(self.value, read)}"


def _joined(expected: Any, actual: Any) -> str:
    return "; ".join(str(difference) for difference in differences(expected, actual))


def _read_json(text: Any) -> Any:
    if not isinstance(text, str):
        raise TypeError("not text")
    return json.loads(text)


def _is_number(value: Any) -> bool:
    return is_real_number(value) and not is_nan(value)


@lru_cache(maxsize=256)
def _compile(pattern: str, ignore_case: bool) -> Any:
    import regex  # a case that expects tool calls must not load it

    try:
        return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except (regex.error, RecursionError) as error:
        raise InvalidOptionError(f"{pattern!r} is not a valid pattern: {error}") from error


@dataclass(frozen=True, repr=False, init=False)
class AnyOf(Matcher):
    """A value that matches at least one of the options."""

    options: tuple[Any, ...]

    def __init__(self, *options: Any) -> None:
        object.__setattr__(self, "options", _at_least_one("AnyOf", options))

    def similarity(self, actual: Any) -> float:
        """That of the best option."""
        return max(similarity(option, actual) for option in self.options)

    @property
    def accepts_absence(self) -> bool:
        """Whether one of the options does."""
        return any(map(absence_accepted, self.options))

    def __repr__(self) -> str:
        return f"AnyOf({', '.join(show(option) for option in self.options)})"


@dataclass(frozen=True, repr=False, init=False)
class AllOf(Matcher):
    """A value that matches every one of the options."""

    options: tuple[Any, ...]

    def __init__(self, *options: Any) -> None:
        object.__setattr__(self, "options", _at_least_one("AllOf", options))

    def similarity(self, actual: Any) -> float:
        """The mean of the options."""
        return mean_of((similarity(option, actual) for option in self.options), len(self.options))

    @property
    def accepts_absence(self) -> bool:
        """Whether every option does."""
        return all(map(absence_accepted, self.options))

    def why_not(self, actual: Any) -> str:
        """Why the options that fail do."""
        return "; ".join(str(found) for option in self.options for found in differences(option, actual))

    def __repr__(self) -> str:
        return f"AllOf({', '.join(show(option) for option in self.options)})"


@dataclass(frozen=True, repr=False)
class Not(Matcher):
    """A value that does not match."""

    value: Any

    def similarity(self, actual: Any) -> float:
        """1 if the value does not match, else 0."""
        return 0.0 if similarity(self.value, actual) == 1.0 else 1.0


@dataclass(frozen=True, repr=False)
class SetOf(Matcher):
    """A list, tuple or set with these items, in any order, each as often as it stands here."""

    items: Sequence[Any] | AbstractSet[Any]

    def __post_init__(self) -> None:
        _check_items("SetOf", self.items)

    def similarity(self, actual: Any) -> float:
        """The mean over the best pairs of items; an item without a partner counts 0."""
        if not _is_collection(actual):
            return 0.0
        pairs, count = _pair(list(self.items), list(actual)), max(len(self.items), len(actual))
        return mean_of((score for _, _, score in pairs), count) if count else 1.0

    def why_not(self, actual: Any) -> str:
        """The items that are missing, and those that are not expected."""
        if not _is_collection(actual):
            return f"expected a list of {len(self.items)} items in any order, got {show_typed(actual)}"
        return _items_apart(list(self.items), list(actual), extra=True)


@dataclass(frozen=True, repr=False)
class Includes(Matcher):
    """More than what is expected may be there: entries of a mapping, items of a list in any order, a part of a text."""

    value: Any
    """A mapping, a list, a tuple, a set, or text that is not empty."""

    def __post_init__(self) -> None:
        if not self.value or not isinstance(self.value, str | Mapping | list | tuple | AbstractSet):
            raise InvalidOptionError(
                f"Includes needs a mapping, a list or text that is not empty, got {self.value!r}"
            )

    def similarity(self, actual: Any) -> float:
        """The mean over what is expected."""
        if isinstance(self.value, str):
            return 1.0 if isinstance(actual, str) and self.value in actual else 0.0
        if isinstance(self.value, Mapping):
            if not isinstance(actual, Mapping):
                return 0.0
            return similarity(self.value, _only(self.value, actual))
        if not _is_collection(actual):
            return 0.0
        pairs = _pair(list(self.value), list(actual))
        return mean_of((score for _, _, score in pairs), len(self.value))

    def why_not(self, actual: Any) -> str:
        """What is missing."""
        if isinstance(self.value, Mapping) and isinstance(actual, Mapping):
            found = differences(self.value, _only(self.value, actual))
            return "; ".join(str(difference) for difference in found)
        if not isinstance(self.value, str | Mapping) and _is_collection(actual):
            return _items_apart(list(self.value), list(actual), extra=False)
        return f"expected {self!r}, got {show_typed(actual)}"


def _only(expected: Mapping[Any, Any], actual: Mapping[Any, Any]) -> dict[Any, Any]:
    return {key: value for key, value in actual.items() if key in expected}


def _at_least_one(owner: str, options: tuple[Any, ...]) -> tuple[Any, ...]:
    if not options:
        raise InvalidOptionError(f"{owner} needs at least one value")
    return options


def _check_items(owner: str, items: Any) -> None:
    if not isinstance(items, list | tuple | AbstractSet):
        raise InvalidOptionError(f"{owner} needs a list of items, got {items!r}")


def _is_collection(value: Any) -> bool:
    return isinstance(value, list | tuple | AbstractSet)


def _pair(expected: Sequence[Any], actual: Sequence[Any]) -> list[tuple[int, int, float]]:
    """The best pairs of items, with their similarity."""
    table = [[similarity(a, b) for b in actual] for a in expected]
    return [(row, column, table[row][column]) for row, column in best_pairs(table)]


def _items_apart(expected: Sequence[Any], actual: Sequence[Any], *, extra: bool) -> str:
    matched = [(row, column) for row, column, score in _pair(expected, actual) if score == 1.0]
    rows, columns = {row for row, _ in matched}, {column for _, column in matched}
    absent = [show(item) for index, item in enumerate(expected) if index not in rows]
    more = [show(item) for index, item in enumerate(actual) if index not in columns] if extra else []
    parts = [f"missing items {', '.join(absent)}"] if absent else []
    parts += [f"unexpected items {', '.join(more)}"] if more else []
    return " and ".join(parts)
