"""Matchers made of others: any of them, all of them, none of them, in any order, among others.

Wherever they hold a value, a matcher or a callable may stand instead.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from calipers.errors import InvalidOptionError

from .assignment import best_pairs
from .showing import show, show_typed
from calipers.matching.value_comparison import Matcher, absence_accepted, differences, mean_of, similarity


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
