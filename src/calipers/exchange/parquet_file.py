"""A table as a Parquet file, written row group by row group. Needs the extra `parquet`."""

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, Final

from calipers.errors import MissingExtraError

from .tables import Column, Row

_MOST_ROWS: Final = 20_000
_MOST_TEXT: Final = 1 << 25
"""Characters of one row group: a few attempts may be as large as thousands of others."""


def parquet_chunks(columns: Sequence[Column], rows: Iterable[Row], about: dict[str, str]) -> Iterator[bytes]:
    """The pieces of a file.

    Args:
        columns: of the table.
        rows: in the order of the columns.
        about: what the file says of itself, beside its columns.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    arrow, parquet = (
        load_arrow("Writing Parquet files"),
        load_arrow("Writing Parquet files", "pyarrow.parquet"),
    )
    types = {
        "text": arrow.string(),
        "integer": arrow.int64(),
        "number": arrow.float64(),
        "boolean": arrow.bool_(),
        "numbers": arrow.map_(arrow.string(), arrow.float64()),
    }
    schema = arrow.schema([(column.name, types[column.kind]) for column in columns], metadata=about)
    return _chunks(arrow, parquet, schema, rows)


def _chunks(arrow: Any, parquet: Any, schema: Any, rows: Iterable[Row]) -> Iterator[bytes]:
    pieces = _Pieces()
    with parquet.ParquetWriter(arrow.PythonFile(pieces, mode="w"), schema, compression="zstd") as writer:
        for group in _groups(rows):
            arrays = [
                arrow.array(values, type=field.type)
                for values, field in zip(zip(*group, strict=True), schema, strict=True)
            ]
            writer.write_table(arrow.table(arrays, schema=schema), row_group_size=len(group))
            yield pieces.take()
    yield pieces.take()


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    group: list[Row] = []
    size = 0
    for row in rows:
        group.append(row)
        size += sum(len(cell) for cell in row if isinstance(cell, str))
        if len(group) >= _MOST_ROWS or size >= _MOST_TEXT:
            yield group
            group, size = [], 0
    if group:
        yield group


class _Pieces:
    """A file that keeps what is written to it until somebody takes it."""

    closed = False

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, data: Any) -> int:
        self._written.append(bytes(data))
        return len(self._written[-1])

    def flush(self) -> None:
        """Nothing waits anywhere else."""

    def close(self) -> None:
        """There is nothing to close: what was written can still be taken."""

    def take(self) -> bytes:
        found = b"".join(self._written)
        self._written.clear()
        return found


def load_arrow(what: str, module: str = "pyarrow") -> Any:
    """A module of pyarrow.

    Raises:
        MissingExtraError: it is not installed; `what` says what it is needed for.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError.of(what, "parquet") from error
