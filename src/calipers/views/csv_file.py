r"""A report as a table for spreadsheets and data frames: one row per attempt, in UTF-8, lines ended by `\n`.

The columns are those of `calipers.views.attempt_table`, with tags and values as JSON text, and after them the run, the same in
every row, so that tables of many runs stack: `run_name`, `dataset`, `run_metadata`. What was not measured is an empty cell.

A spreadsheet takes text that begins with `=`, `+`, `-` or `@` for a formula, and a model may write such text. It gets an
apostrophe in front, in titles as well. Numbers stay numbers, negative ones too. Control characters other than tab and
line break are shown as escapes such as `\x1b`.

The columns are known only when the last attempt is: rows wait in a temporary file until then. So a table appears whole,
when it is closed, or not at all; for a file that survives a crash, write lines of JSON.
"""

import csv
import os
import re
from collections.abc import Iterable, Iterator
from io import StringIO
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Any, Self

import msgspec

from calipers.data.jsonable import plain
from calipers.data.record import ReportCase
from calipers.errors import CalipersError
from calipers.process.atomic_file import write_whole
from calipers.report.report import Report

from .attempt_table import VALUES, AttemptColumns, AttemptRow, attempt_row, unique_titles
from .outcome import Record

_IN_MEMORY = 1 << 23
"""Bytes of waiting rows that are kept in memory; more go to disk."""

_FORMULA = re.compile(r"[\s\ufeff\u200b]*[=+\-@＝＋－＠]|\t")  # noqa: RUF001 - full-width signs start formulas, too
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_CONTROLS = {
    code: chr(code).encode("unicode_escape").decode()
    for code in (*range(32), *range(0x7F, 0xA0))
    if chr(code) not in "\t\n"
}


class CsvWriter:
    """Writes a report as a table attempt by attempt, and keeps none of them in memory.

    The file appears when the writer is closed, or when its `with` block is left; if the block is left by an error, there
    is none: nothing would tell that it is not whole.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """A writer to a path; folders that are missing are made."""
        self.path = path
        self._rows = _Rows()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._rows.forget()
        elif not self._closed:
            self.close()

    def add(self, record: Record) -> None:
        """Add the row of one attempt."""
        if self._closed:
            raise CalipersError(f"the table {os.fspath(self.path)!r} is closed: nothing can be added to it")
        self._rows.add(record)

    def close(self, report: Report | None = None) -> None:
        """Write the file.

        Args:
            report: what the run came to; of it, a table holds the name, the dataset and the metadata.
        """
        self._closed = True
        write_whole(self.path, self._rows.lines(report))


def report_csv(report: Report) -> str:
    """The report as a table."""
    return b"".join(csv_lines(report)).decode()


def csv_lines(report: Report) -> Iterator[bytes]:
    """The lines of the table, as they stand in a file."""
    rows = _Rows()
    records: list[Record] = [*report.cases, *report.failures]
    for record in records:
        rows.add(record)
    return rows.lines(report)


def table_lines(titles: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[bytes]:
    """The lines of any table of texts, numbers and flags, made safe in the same way; `None` is an empty cell."""
    yield _csv(map(_safe, unique_titles(titles)))
    for row in rows:
        yield _csv(map(_cell, row))


class _Rows:
    """Rows that wait for the columns to be known."""

    def __init__(self) -> None:
        self._waiting = SpooledTemporaryFile[bytes](max_size=_IN_MEMORY)
        self._columns = AttemptColumns()

    def add(self, record: Record) -> None:
        """Put a row at the end."""
        found = attempt_row(record)
        who, results, facts, metrics = plain(found[:-1])
        # A title is text, also where the name is not.
        named = {str(name): tuple(result) for name, result in results.items()}
        *facts, tags = facts
        row = AttemptRow(who, named, [*facts, _json(tags) if tags else None], metrics, _values(record))
        self._columns.add(row)
        self._waiting.write(msgspec.json.encode(row) + b"\n")

    def lines(self, report: Report | None) -> Iterator[bytes]:
        """The table from its header on; rows can be read once."""
        run: list[Any] = [None, None, None]
        if report is not None:
            noted = None if report.metadata is None else _json(report.metadata)
            run = [*map(_cell, (plain(report.name), plain(report.dataset_name))), noted]
        with self._waiting as waiting:
            titles = [*self._columns.titles, "run_name", "dataset", "run_metadata"]
            yield _csv(map(_safe, unique_titles(titles)))
            waiting.seek(0)
            for line in waiting:
                cells = self._columns.cells(AttemptRow(*msgspec.json.decode(line)))
                values = cells[-len(VALUES) :]  # JSON text is no formula
                yield _csv([*map(_cell, cells[: -len(VALUES)]), *values, *run])

    def forget(self) -> None:
        """Drop the rows."""
        self._waiting.close()


def _values(record: Record) -> list[str | None]:
    """The values as JSON text, which begins with a letter, a bracket, a quote or a number."""
    expects = record.has_expected_output or record.expected_output is not None
    return [
        _json(record.inputs),
        _json(record.expected_output) if expects else None,
        _json(record.output) if isinstance(record, ReportCase) else None,
        None if record.metadata is None else _json(record.metadata),
    ]


def _json(value: Any) -> str:
    return msgspec.json.encode(plain(value)).decode()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _safe(value) if isinstance(value, str) else value


def _safe(text: str) -> str:
    """The text as a cell that no spreadsheet computes."""
    text = text.replace("\r\n", "\n").translate(_CONTROLS)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def _csv(cells: Iterable[Any]) -> bytes:
    line = StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue().encode()
