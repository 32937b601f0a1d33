"""What the stores need of a database, and the few statements that both kinds of database word alike.

Statements have `?` for their values; a database that wants another sign replaces it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

_T = TypeVar("_T")

Row: TypeAlias = tuple[Any, ...]

Columns: TypeAlias = Mapping[str, Sequence[Any]]
"""The values of many rows, by column: a tuple for each of thousands of rows would keep the garbage collector busy."""

MANY = 5000
"""How many values one `IN (…)` is asked about."""


class Session(Protocol):
    """A connection, in a transaction if it is for writing."""

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Execute a statement and return its rows."""
        ...

    def insert(self, table: str, columns: Columns) -> None:
        """Add many rows."""
        ...

    def insert_missing(self, table: str, columns: Columns) -> None:
        """Add those rows of which the primary key is not there yet."""
        ...


def chunks(items: Iterable[_T], size: int = MANY) -> Iterator[list[_T]]:
    """The items, so many at a time."""
    chunk: list[_T] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def marks(count: int) -> str:
    """`(?, ?, ?)`."""
    return f"({', '.join('?' * count)})"


def select_in(session: Session, sql: str, before: Sequence[Any], items: Iterable[Any]) -> list[Row]:
    """The rows of a statement that ends in `IN`, for any number of items; `before` are the values of earlier marks."""
    found: list[Row] = []
    for chunk in chunks(items):
        found += session.run(f"{sql} {marks(len(chunk))}", [*before, *chunk])
    return found


def safe_text(text: str | None) -> str | None:
    """A text for a column to search in: PostgreSQL has no NUL in texts, and UTF-8 has no half surrogates."""
    if text is None or (text.isascii() and "\0" not in text):
        return text
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
