"""Columns of the index of a run: one value, or several, of each attempt that has any, in numpy arrays.

A column grows at its end as attempts are read, and readers of the first n attempts see what they saw before. It keeps the rows that have a
value only where some have none. Numbers are numbers; anything else is a code, by which a table has the values.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]
Kind: TypeAlias = Literal["int", "float", "code"]

_TYPES: Final[Mapping[Kind, Any]] = {"int": np.int64, "float": np.float64, "code": np.uint32}
_FIRST: Final = 1024
_EXACT: Final = 1 << 53
"""Whole numbers up to this are floats, too, and compare as these."""


class GrowingArray:
    """An array that grows at its end. A view of its beginning stays as it was."""

    def __init__(self, dtype: Any, given: Array | None = None) -> None:
        self._data: Array = np.empty(0, dtype) if given is None else given
        self.size = len(self._data)

    def extend(self, values: Sequence[Any] | Array) -> None:
        """Add values."""
        end = self.size + len(values)
        if end > len(self._data):
            larger = np.empty(max(_FIRST, end, 2 * len(self._data)), self._data.dtype)
            larger[: self.size] = self._data[: self.size]
            self._data = larger
        self._data[self.size : end] = values
        self.size = end

    def view(self, size: int | None = None) -> Array:
        """The first values; all by default."""
        return self._data[: self.size if size is None else size]


class Column:
    """The values of some attempts, by their rows."""

    def __init__(
        self,
        kind: Kind,
        values: Array | None = None,
        rows: Array | None = None,
        table: Sequence[Any] = (),
    ) -> None:
        """A column.

        Args:
            kind: of its values.
            values: it begins with; default: none.
            rows: of these values; `None`: the first ones.
            table: the values behind codes.
        """
        self.kind: Kind = kind
        self._values = GrowingArray(_TYPES[kind], values)
        self._rows = None if rows is None else GrowingArray(np.uint32, rows)
        """`None`: the first rows, without a gap."""
        self.table = list(table)
        """The values behind codes, from code 1; code 0 is no value."""

    @property
    def size(self) -> int:
        """How many rows have a value."""
        return self._values.size

    def parts(self, n: int) -> tuple[Array, Array | None]:
        """The values of the first n rows, and which rows these are; `None`: the first ones."""
        if self._rows is None:
            return self._values.view(min(n, self._values.size)), None
        rows = self._rows.view()
        end = int(np.searchsorted(rows, n))
        return self._values.view(end), rows[:end]

    def extend(self, rows: Sequence[int], values: Sequence[Any]) -> None:
        """Add the values of later rows."""
        if not rows:
            return
        if self._rows is None:
            first = self._values.size
            if rows[0] == first and rows[-1] == first + len(rows) - 1:
                self._values.extend(values)
                return
            self._rows = GrowingArray(np.uint32, np.arange(first, dtype=np.uint32))
        self._values.extend(values)
        self._rows.extend(rows)

    def dense(self, n: int) -> tuple[Array, Mask | None]:
        """A value for each of the first n rows, and which of them have one; `None`: all. What is missing is 0."""
        values, rows = self.parts(n)
        if rows is None and len(values) == n:
            return values, None
        where: Any = slice(0, len(values)) if rows is None else rows
        found = np.zeros(n, values.dtype)
        found[where] = values
        known = np.zeros(n, np.bool_)
        known[where] = True
        return found, known


class CodeBook:
    """The codes of values while attempts are read."""

    def __init__(self, column: Column) -> None:
        self._column = column
        self._codes: dict[Any, int] = {}

    def code(self, value: Any) -> int:
        """The code of a text, or of several values."""
        key = value if type(value) is str else _key(value)
        found = self._codes.get(key)
        if found is None:
            self._column.table.append(value)
            found = self._codes[key] = len(self._column.table)
        return found


def _key(value: Any) -> Any:
    """What tells values apart: 1, 1.0 and true are three."""
    if isinstance(value, tuple):
        return tuple((type(each), each) for each in value)
    return type(value), value


class ValueColumns:
    """The columns of one thing that attempts have: whole numbers, other numbers, and whatever else, each apart."""

    def __init__(self, parts: Mapping[Kind, Column] | None = None) -> None:
        self.parts: dict[Kind, Column] = dict(parts or {})
        self._book: CodeBook | None = None

    def extend(self, rows: Sequence[int], values: Sequence[Any]) -> None:
        """Add the values of later rows: numbers, texts, flags, or a tuple of any."""
        types = set(map(type, values))
        if len(types) == 1:
            kind = _KINDS.get(types.pop(), "code")
            if kind == "code":
                self._part(kind).extend(rows, self._codes(values))
                return
            if kind == "int" and min(values) >= -_EXACT and max(values) <= _EXACT:
                self._part(kind).extend(rows, values)
                return
            if kind == "float" and not any(map(math.isnan, values)):
                self._part(kind).extend(rows, values)
                return
        by_kind: dict[Kind, tuple[list[int], list[Any]]] = {}
        for row, value in zip(rows, values, strict=True):
            some = by_kind.setdefault(_kind_of(value), ([], []))
            some[0].append(row)
            some[1].append(value)
        for kind, (where, what) in by_kind.items():
            self._part(kind).extend(where, self._codes(what) if kind == "code" else what)

    def _part(self, kind: Kind) -> Column:
        found = self.parts.get(kind)
        if found is None:
            found = self.parts[kind] = Column(kind)
        return found

    def _codes(self, values: Iterable[Any]) -> list[int]:
        if self._book is None:
            self._book = CodeBook(self._part("code"))
        return list(map(self._book.code, values))

    @property
    def size(self) -> int:
        """How many rows have a value."""
        return sum(column.size for column in self.parts.values())


_KINDS: Final[Mapping[type, Kind]] = {int: "int", float: "float"}


def _kind_of(value: Any) -> Kind:
    kind: Kind = _KINDS.get(type(value), "code")
    if (kind == "int" and abs(value) > _EXACT) or (kind == "float" and math.isnan(value)):
        return "code"
    return kind
