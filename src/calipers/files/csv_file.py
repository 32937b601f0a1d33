"""CSV: one case per row, under a header. Cells are text unless a type says otherwise; `case_table` says what columns mean.

The dialect is that of RFC 4180, in UTF-8: commas, double quotes, doubled within text. Values are written as they are, even if
a spreadsheet would take one for a formula.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from calipers.data.case import Case

from .case_data import CaseReader
from .case_table import RowReader, Source
from .lazy_cases import Found, LazyCases, Rejected
from .problem import Problems, not_utf8

_OTHER_DELIMITERS = ";\t|"
_LONGEST_CELL = 1 << 30
"""Python's default of 131,072 characters is too short for some prompts."""


class CSVFile(LazyCases):
    """The cases of a CSV file. Its header is read at once, and checked."""

    unit = "line"
    has_columns = True

    def __init__(self, path: Path, reader: CaseReader, columns: Mapping[str, Source] | None = None) -> None:
        super().__init__(path)
        self.header = Problems(str(path), line=1)
        with self._open() as file:
            self._header = self._read_header(file, self.header)
        self.is_readable = not self.header.found
        if self.is_readable:
            self._rows = RowReader(self._header, columns, reader, self.header, text=True)
            self.is_readable = self._rows.is_usable
            if self.header.found:
                self._suspect_delimiter()

    def read(self, *, strict: bool = False) -> Iterator[tuple[int, Found]]:  # noqa: ARG002
        """Each case, or what is wrong with its row."""
        with self._open() as file:
            rows = csv.reader(file, strict=True)
            line = 0
            while True:
                problems = Problems(str(self.path), line=line + 1)
                try:
                    row = next(rows)
                except StopIteration:
                    return
                except csv.Error as error:
                    problems.add((), f"not CSV: {error}")
                    row = []
                first, line = line + 1, rows.line_num
                if first == 1 or not (row or problems.found):
                    continue
                case = None if problems.found else self._read_row(row, problems)
                name = self._rows.name_in(row) if len(row) == len(self._header) else None
                yield first, (Rejected(problems.found, name) if case is None else case)

    def _read_row(self, row: list[str], problems: Problems) -> Case[Any, Any, Any] | None:
        if len(row) != len(self._header):
            problems.add((), f"the row has {_count(row)}, and the header has {_count(self._header)}")
            return None
        if not _check_text(row, self._header, "the cell", problems):
            return None
        return self._rows.read(row, problems)

    def _read_header(self, file: IO[str], problems: Problems) -> list[str]:
        try:
            header = next(csv.reader(file, strict=True), [])
        except csv.Error as error:
            problems.add((), f"not CSV: {error}")
            return []
        if not header:
            problems.add((), "the file has no header: its first line names the columns")
        else:
            _check_text(header, header, "the header", problems)
        return header

    def _suspect_delimiter(self) -> None:
        """Report a header that is not separated by commas as one problem instead of several."""
        other = next((mark for mark in _OTHER_DELIMITERS if mark in self._header[0]), None)
        if other is not None and len(self._header) == 1:
            message = f"the columns seem to be separated by {other!r}: separate them by commas"
            self.header.found.clear()
            self.header.add((), message, self._header[0])
            self.is_readable = False

    def _open(self) -> IO[str]:
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
        # Bytes that are not UTF-8 become surrogates, so that they cost only their row.
        return self.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")


def _count(row: Sequence[str]) -> str:
    return f"{len(row)} cell{'' if len(row) == 1 else 's'}"


def _check_text(cells: Sequence[str], header: Sequence[str], what: str, problems: Problems) -> bool:
    """Whether all cells were UTF-8; the first that was not is added to the problems."""
    for column, cell in zip(header, cells, strict=True):
        try:
            cell.encode()
        except UnicodeEncodeError as error:
            raw = cell.encode(errors="surrogateescape")
            at = len(cell[: error.start].encode())
            steps = () if cells is header else (column,)
            where = f"after {cell[: error.start][-20:]!r}" if at else "at its beginning"
            problems.add(steps, not_utf8(what, raw, at, where))
            return False
    return True


def write_csv(file: IO[str], header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a table, each cell of which comes back as it is."""
    as_needed = csv.writer(file, lineterminator="\n")
    # A carriage return needs quotes, which not all versions of Python write.
    everything = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in (header, *rows):
        (everything if any("\r" in cell for cell in row) else as_needed).writerow(row)
