"""Parquet: one case per row, with typed columns; `case_table` says what they mean. Needs the extra `parquet`.

Values come as the Python objects their columns stand for: structs as dicts, lists as lists, timestamps as datetimes.
"""

import io
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from calipers.errors import MissingExtraError

from .case_data import CaseReader
from .case_table import RowReader, Source
from .lazy_cases import Found, LazyCases, Rejected
from .problem import Problems

_ROWS_AT_ONCE = 1024


class ParquetFile(LazyCases):
    """The cases of a Parquet file. Its schema is read at once, and checked."""

    unit = "row"
    has_columns = True

    def __init__(self, path: Path, reader: CaseReader, columns: Mapping[str, Source] | None = None) -> None:
        super().__init__(path)
        self.is_readable = False
        try:
            with self._open() as file:
                self._header = list(file.schema_arrow.names)
        except (load_arrow().ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the system refused, which says nothing about the content
            self.header.add((), f"not a Parquet file: {error}")
            return
        self._rows = RowReader(self._header, columns, reader, self.header, text=False)
        self.is_readable = self._rows.is_usable

    def read(self, *, strict: bool = False) -> Iterator[tuple[int, Found]]:  # noqa: ARG002
        """Each case, or what is wrong with its row."""
        with self._open() as file:
            first = 1
            for group in range(file.num_row_groups):
                last = first + file.metadata.row_group(group).num_rows - 1
                yield from self._read_group(file, group, first, last)
                first = last + 1

    def _read_group(self, file: Any, group: int, first: int, last: int) -> Iterator[tuple[int, Found]]:
        """The cases of one group of rows. Damage costs the rest of its group, and no other."""
        number = first
        batches = file.iter_batches(batch_size=_ROWS_AT_ONCE, row_groups=[group])
        while number <= last:
            problems = Problems(str(self.path), row=number)
            try:
                batch = next(batches)
                cells = [column.to_pylist(maps_as_pydicts="strict") for column in batch.columns]
            except Exception as error:  # whatever damaged bytes lead to
                rest = f", nor can the rows to {last}" if last > number else ""
                problems.add((), f"the row cannot be read{rest}: {str(error) or type(error).__name__}")
                yield number, Rejected(problems.found)
                return
            for row in zip(*cells, strict=True):
                problems = Problems(str(self.path), row=number)
                case = self._rows.read(row, problems)
                yield number, (Rejected(problems.found, self._rows.name_in(row)) if case is None else case)
                number += 1

    def _open(self) -> Any:
        return load_arrow("pyarrow.parquet").ParquetFile(self.path)


def parquet_bytes(columns: Mapping[str, Any], problems: Problems) -> bytes:
    """A file of columns, each an Arrow array; what the format does not take is added to the problems."""
    file = io.BytesIO()
    try:
        load_arrow("pyarrow.parquet").write_table(load_arrow().table(dict(columns)), file)
    except load_arrow().ArrowException as error:
        problems.add((), f"Parquet cannot hold it: {error}")
    return file.getvalue()


def arrow_array(values: list[Any]) -> Any:
    """The values as an Arrow array, of the type they have.

    Raises:
        ValueError, TypeError, OverflowError: they have no type in common that Arrow knows.
    """
    return load_arrow().array(values)


def load_arrow(module: str = "pyarrow", what: str = "Reading and writing Parquet files") -> Any:
    """A module of pyarrow.

    Raises:
        MissingExtraError: it is not installed; `what` is what it is needed for.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError.of(what, "parquet") from error
