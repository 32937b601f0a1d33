"""Columns of the index of a run: one value, or several, of each attempt that has any, in numpy arrays.

A column grows at its end as attempts are read, and readers of the first n attempts see what they saw before. It keeps the rows that have a
value only where some have none. Numbers are numbers; anything else is a code, by which a table has the values.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]
Kind: TypeAlias = Literal["int", "float", "code"]

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

    def __init__(self, kind: Kind) -> None:
        self.kind: Kind = kind
        self._values = GrowingArray({"int": np.int64, "float": np.float64, "code": np.uint32}[kind])
        self._rows: GrowingArray | None = None
        """`None`: the first rows, without a gap."""
        self.table: list[Any] = []
        """The values behind codes, from code 1; code 0 is no value."""

    @property
    def size(self) -> int:
        """How many rows have a value."""
        return self._values.size

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
        if self._rows is None:
            if self._values.size >= n:
                return self._values.view(n), None
            rows: Any = slice(0, self._values.size)
            values = self._values.view()
        else:
            rows = self._rows.view()
            end = int(np.searchsorted(rows, n))
            rows, values = rows[:end], self._values.view(end)
        found = np.zeros(n, values.dtype)
        found[rows] = values
        known = np.zeros(n, np.bool_)
        known[rows] = True
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

    def __init__(self) -> None:
        self.parts: dict[Kind, Column] = {}
        self._books: dict[Kind, CodeBook] = {}

    def extend(self, rows: Iterable[int], values: Iterable[Any]) -> None:
        """Add the values of later rows: numbers, texts, flags, or a tuple of any."""
        by_kind: dict[Kind, tuple[list[int], list[Any]]] = {}
        for row, value in zip(rows, values, strict=True):
            kind: Kind = "code"
            if type(value) is int and -_EXACT <= value <= _EXACT:
                kind = "int"
            elif type(value) is float and value == value:  # noqa: PLR0124 - no NaN
                kind = "float"
            some = by_kind.get(kind)
            if some is None:
                some = by_kind[kind] = ([], [])
            some[0].append(row)
            some[1].append(value if kind != "code" else self._code(value))
        for kind, (where, what) in by_kind.items():
            self._part(kind).extend(where, what)

    def _part(self, kind: Kind) -> Column:
        found = self.parts.get(kind)
        if found is None:
            found = self.parts[kind] = Column(kind)
        return found

    def _code(self, value: Any) -> int:
        book = self._books.get("code")
        if book is None:
            book = self._books["code"] = CodeBook(self._part("code"))
        return book.code(value)

    @property
    def size(self) -> int:
        """How many rows have a value."""
        return sum(column.size for column in self.parts.values())


def plain_value(value: Any) -> Any:
    """A value of a table as it is shown: true and false in small letters."""
    return msgspec.json.encode(value).decode() if isinstance(value, bool) else str(value)
