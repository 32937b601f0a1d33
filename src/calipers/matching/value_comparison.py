"""One value against another: how similar they are, from 0 to 1, and where they differ.

The similarity is 1 exactly when the values match.

- Numbers are compared by value, so 1 matches 1.0: JSON has one kind of number. A bool is never a number: True does not
  match 1. NaN matches NaN: what is compared is what was passed, not what can be calculated with it.
- Text is compared exactly, and never with bytes or with numbers: "5" does not match 5.
- A list matches a tuple of the same items, since JSON has one kind of sequence; the order counts. A set matches a set.
- Mappings match when they have the same keys and their values match. A key that is absent does not match `None`.
- Anything else matches by `==`, between values of one type.
- A `Matcher` decides for itself, wherever it stands: alone, in a list, in a mapping. So does a callable, which is given
  the value and returns a bool or a number from 0 to 1.

Mappings and lists that do not match earn the mean similarity of their entries, the absent and the unexpected counted
as 0. Every other pair that does not match earns 0.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from numbers import Number
from typing import Any, Literal, TypeAlias
from uuid import UUID

from calipers.data.argument_checks import check_share
from calipers.data.value_text import show, show_typed
from calipers.errors import CalipersError, InvalidOptionError, InvalidOutputError

DifferenceKind: TypeAlias = Literal["different", "missing", "unexpected"]
"""What is wrong at one place: another value, no value, or a value where none should be."""


class Matcher(ABC):
    """An expectation that more than one value can meet. Subclass it, or give a callable, to add your own."""

    @abstractmethod
    def similarity(self, actual: Any) -> float:
        """From 0 to 1, and 1 exactly when the value matches."""

    def why_not(self, actual: Any) -> str:
        """Why a value does not match, in words."""
        return f"expected {self!r}, got {show(actual)}"

    @property
    def accepts_absence(self) -> bool:
        """Whether the argument may be left out."""
        return False

    def __repr__(self) -> str:
        return _dataclass_repr(self)


@dataclass(frozen=True, repr=False)
class Check(Matcher):
    """A function of the value says whether it matches. A plain callable as expected value means the same."""

    function: Callable[[Any], Any]
    """Returns a bool, or a number from 0 to 1."""
    minimum: float = field(default=1.0, kw_only=True)
    """The number that is enough for a match."""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidOptionError(f"Check needs a function of the value, got {self.function!r}")
        check_share("minimum", self.minimum, or_zero=False)

    def similarity(self, actual: Any) -> float:
        """What the function returned, or 1 where that is enough.

        Raises:
            CalipersError: the function raised.
            InvalidOutputError: it returned neither a bool nor a number from 0 to 1.
        """
        try:
            answer = self.function(actual)
        except Exception as error:
            raise CalipersError(
                f"{self!r} raised {type(error).__name__} on {show_typed(actual)}: {error}"
            ) from error
        answer = unwrapped(answer)
        if isinstance(answer, bool):
            return float(answer)
        if not isinstance(answer, int | float) or not 0 <= answer <= 1:
            if isinstance(answer, Coroutine):
                answer.close()  # it is not awaited, and would complain when it is collected
            raise InvalidOutputError(
                f"{self!r} returned {show_typed(answer)}: return a bool, or a number from 0 to 1"
            )
        return 1.0 if answer >= self.minimum else float(answer)

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", None) or type(self.function).__name__
        return f"Check({name})" if self.minimum == 1.0 else f"Check({name}, minimum={self.minimum!r})"


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where a value is not what was expected."""

    path: str
    """Where: `to`, `order.items[0].price`; empty for the value as a whole."""
    kind: DifferenceKind
    expected: Any
    """What was expected; `None` where nothing was."""
    actual: Any
    """What was there; `None` where nothing was."""
    reason: str
    """The difference in words, without the place."""

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


def as_matcher(expected: Any) -> Matcher | None:
    """The matcher that an expected value is or stands for; `None` for an ordinary value.

    Raises:
        InvalidOptionError: the value is a class, which could mean two things.
    """
    if isinstance(expected, Matcher):
        return expected
    if isinstance(expected, type):
        raise InvalidOptionError(
            f"{expected.__name__} as an expected value is ambiguous: OfType({expected.__name__}) matches its "
            f"instances, Check({expected.__name__}) calls it"
        )
    return Check(expected) if callable(expected) else None


def similarity(expected: Any, actual: Any) -> float:
    """How similar a value is to the expected one, from 0 to 1; 1 exactly when they match."""
    kind = type(expected)
    if kind is str:
        return 1.0 if isinstance(actual, str) and expected == actual else 0.0
    matcher = None if expected is None or kind in _PLAIN else as_matcher(expected)
    if matcher is not None:
        found = matcher.similarity(actual)
        if not 0 <= found <= 1:
            raise InvalidOutputError(f"{matcher!r} gave the similarity {found!r}: it must be from 0 to 1")
        return float(found)
    expected, actual = unwrapped(expected), unwrapped(actual)
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return _mapping_similarity(expected, actual)
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        longest = max(len(expected), len(actual))
        if not longest:
            return 1.0
        return mean_of((similarity(a, b) for a, b in zip(expected, actual, strict=False)), longest)
    return 1.0 if _scalars_match(expected, actual) else 0.0


def matches(expected: Any, actual: Any) -> bool:
    """Whether a value matches the expected one."""
    return similarity(expected, actual) == 1.0


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[Difference]:
    """Every place where a value differs from the expected one, in the order of the expected value."""
    matcher = as_matcher(expected)
    if matcher is not None:
        if similarity(matcher, actual) != 1.0:
            yield Difference(path, "different", expected, actual, matcher.why_not(actual))
        return
    expected, actual = unwrapped(expected), unwrapped(actual)
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        yield from _mapping_differences(expected, actual, path)
    elif isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        for index, (a, b) in enumerate(zip(expected, actual, strict=False)):
            yield from differences(a, b, f"{path}[{index}]")
        for index in range(len(actual), len(expected)):
            yield missing(f"{path}[{index}]", expected[index])
        for index in range(len(expected), len(actual)):
            yield unexpected(f"{path}[{index}]", actual[index])
    elif not _scalars_match(expected, actual):
        yield Difference(path, "different", expected, actual, _two_values(expected, actual))


def missing(path: str, expected: Any) -> Difference:
    """The difference of a value that is not there."""
    return Difference(path, "missing", expected, None, f"missing, expected {show(expected)}")


def unexpected(path: str, actual: Any) -> Difference:
    """The difference of a value where none was expected."""
    return Difference(path, "unexpected", None, actual, f"unexpected, got {show(actual)}")


def absence_accepted(expected: Any) -> bool:
    """Whether an expected entry may be left out."""
    return isinstance(expected, Matcher) and expected.accepts_absence


def mean_of(similarities: Iterator[float], count: int) -> float:
    """The mean of some similarities, the rest up to the count being 0; 1 only if all are 1."""
    perfect, total = 0, 0.0
    for value in similarities:
        if value == 1.0:
            perfect += 1
        total += value
    return 1.0 if perfect == count else min(total / count, JUST_BELOW_ONE)


JUST_BELOW_ONE = math.nextafter(1.0, 0.0)
"""The largest similarity of what does not match: floats must not round up to a match."""
_PLAIN = frozenset({bool, int, float, dict, list, tuple})
"""Types that are no matchers, known without looking further."""


def _mapping_similarity(expected: Mapping[Any, Any], actual: Mapping[Any, Any]) -> float:
    keys = [*expected, *(key for key in actual if key not in expected)]
    return mean_of((_entry_similarity(key, expected, actual) for key in keys), len(keys)) if keys else 1.0


def _entry_similarity(key: Any, expected: Mapping[Any, Any], actual: Mapping[Any, Any]) -> float:
    if key not in expected:
        return 0.0
    if key not in actual:
        return 1.0 if absence_accepted(expected[key]) else 0.0
    return similarity(expected[key], actual[key])


def _mapping_differences(
    expected: Mapping[Any, Any], actual: Mapping[Any, Any], path: str
) -> Iterator[Difference]:
    for key, value in expected.items():
        place = child_path(path, key)
        if key in actual:
            yield from differences(value, actual[key], place)
        elif not absence_accepted(value):
            yield missing(place, value)
    for key, value in actual.items():
        if key not in expected:
            yield unexpected(child_path(path, key), value)


def child_path(path: str, key: Any) -> str:
    """The path to an entry of a mapping."""
    if isinstance(key, str) and key.isidentifier():
        return f"{path}.{key}" if path else str.__str__(key)
    return f"{path}[{show(key)}]"


def _scalars_match(expected: Any, actual: Any) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, Number) and isinstance(actual, Number):
        if is_nan(expected) or is_nan(actual):
            return is_nan(expected) and is_nan(actual)
        return bool(expected == actual)
    if isinstance(expected, str) or isinstance(actual, str):
        return isinstance(expected, str) and isinstance(actual, str) and expected == actual
    if isinstance(expected, AbstractSet) and isinstance(actual, AbstractSet):
        return _sets_match(expected, actual)
    if type(expected) is not type(actual):
        return False
    if expected is actual:
        return True
    try:
        return bool(expected == actual)
    except Exception as error:
        raise CalipersError(
            f"comparing two values of type {type(expected).__name__} raised {type(error).__name__}: {error}"
        ) from error


def _sets_match(expected: AbstractSet[Any], actual: AbstractSet[Any]) -> bool:
    if len(expected) != len(actual):
        return False
    keys, others = {value_key(item) for item in expected}, {value_key(item) for item in actual}
    return keys == others if UNKEYED not in keys | others else expected == actual


def is_nan(number: Any) -> bool:
    """Whether a number is no number, of whatever type."""
    try:
        return bool(number != number)  # noqa: PLR0124 - the test for NaN
    except ArithmeticError:  # a signalling NaN
        return True


def _two_values(expected: Any, actual: Any) -> str:
    if type(expected) is type(actual) and show(expected) != show(actual):
        return f"expected {show(expected)}, got {show(actual)}"
    return f"expected {show_typed(expected)}, got {show_typed(actual)}"


def unwrapped(value: Any) -> Any:
    """What a numpy scalar or array holds; anything else as it is."""
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    return value


def _dataclass_repr(matcher: Any) -> str:
    """The constructor call with what differs from the defaults."""
    if not is_dataclass(matcher):
        return f"{type(matcher).__name__}()"
    shown: list[str] = []
    for each in fields(matcher):
        value = getattr(matcher, each.name)
        default = each.default if each.default_factory is MISSING else each.default_factory()
        if each.kw_only and (value is default or matches(default, value)):
            continue
        shown.append(f"{each.name}={show(value)}" if each.kw_only else show(value))
    return f"{type(matcher).__name__}({', '.join(shown)})"


UNKEYED: Any = type("Unkeyed", (), {"__repr__": lambda _: "UNKEYED"})()
"""What `value_key` gives for a value that cannot be told by a key."""

_DEEPEST = 50
_KEYED_BY_THEMSELVES = (bytes, date, datetime, time, timedelta, Decimal, Fraction, UUID)


def value_key(value: Any, deep: int = 0) -> Any:
    """A hashable key such that two values match exactly when their keys are equal, or `UNKEYED`.

    Matchers, callables and objects of unknown types have no key, and neither has what is nested very deeply.
    """
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value
    if kind is bool:
        return ("bool", value)  # True == 1 to Python
    if kind is float:
        return value if value == value else ("nan",)  # noqa: PLR0124 - the test for NaN
    if kind is dict or kind is list or kind is tuple:
        return UNKEYED if deep > _DEEPEST else _container_key(value, deep + 1)
    if isinstance(value, str):
        return str.__str__(value)
    return value if kind in _KEYED_BY_THEMSELVES and not is_nan(value) else UNKEYED


def _container_key(value: Any, deep: int) -> Any:
    if isinstance(value, dict):
        entries = [(value_key(key, deep), value_key(item, deep)) for key, item in value.items()]
        if any(key is UNKEYED or item is UNKEYED for key, item in entries):
            return UNKEYED
        return ("mapping", frozenset(entries))
    items = tuple([value_key(item, deep) for item in value])
    return UNKEYED if any(item is UNKEYED for item in items) else ("list", items)
