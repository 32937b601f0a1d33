r"""A report as a table for spreadsheets and data frames: one row per attempt, in UTF-8, lines ended by `\n`.

From left to right: who (`name`, `case`, `passed`); one column per result, with a column `NAME.reason` beside it where
any attempt has a reason; what failed (`task_failure`, `evaluator_failures`) and what did not apply (`skipped`); times in
seconds, `tries`, `cluster`, `tags` (a JSON list); one column `metrics.NAME` per metric; and `inputs`, `expected_output`, `output`,
`metadata` as JSON text; and the run, the same in every row, so that tables of many runs stack: `run_name`, `dataset`,
`run_metadata`. What was not measured is an empty cell. A title that is taken gets `_2`, `_3`.

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
    is none: nobody could tell that it is not whole.
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
        self._reasons: dict[str, bool] = {}
        """The results in the order they first appear, and whether any has a reason."""
        self._metrics: dict[str, None] = {}

    def add(self, record: Record) -> None:
        """Put a row at the end."""
        results: dict[str, tuple[Any, str | None]] = {}
        metrics: dict[str, Any] = {}
        if isinstance(record, ReportCase):
            results = {str(plain(r.name)): (plain(r.value), plain(r.reason)) for r in record.results}
            metrics = plain(record.metrics)
        for name, (_, reason) in results.items():
            self._reasons[name] = self._reasons.get(name, False) or bool(reason)
        self._metrics.update(dict.fromkeys(metrics))
        row = (_who(record), results, _how(record), metrics, _what(record))
        self._waiting.write(msgspec.json.encode(row) + b"\n")

    def lines(self, report: Report | None) -> Iterator[bytes]:
        """The table from its header on; rows can be read once."""
        run: list[Any] = [None, None, None]
        if report is not None:
            noted = None if report.metadata is None else _json(report.metadata)
            run = [*map(_cell, (plain(report.name), plain(report.dataset_name))), noted]
        with self._waiting as waiting:
            yield _csv(map(_safe, self._titles()))
            waiting.seek(0)
            for line in waiting:
                who, results, how, metrics, what = msgspec.json.decode(line)
                judged: list[Any] = []
                for name, has_reason in self._reasons.items():
                    value, reason = results.get(name, (None, None))
                    judged += [value, reason] if has_reason else [value]
                counted = [metrics.get(name) for name in self._metrics]
                yield _csv([*map(_cell, [*who, *judged, *how, *counted]), *what, *run])

    def forget(self) -> None:
        """Drop the rows."""
        self._waiting.close()

    def _titles(self) -> list[str]:
        titles = ["name", "case", "passed"]
        for name, has_reason in self._reasons.items():
            titles += [name, f"{name}.reason"] if has_reason else [name]
        titles += [
            "task_failure",
            "evaluator_failures",
            "skipped",
            "task_duration",
            "total_duration",
            "tries",
        ]
        titles += ["cluster", "tags", *(f"metrics.{name}" for name in self._metrics)]
        titles += ["inputs", "expected_output", "output", "metadata", "run_name", "dataset", "run_metadata"]
        return unique_titles(titles)


def _who(record: Record) -> list[Any]:
    name = plain(record.name)
    return [name, name if record.source_case_name is None else plain(record.source_case_name), record.passed]


def _how(record: Record) -> list[Any]:
    """What failed, what did not apply, and how long it took."""
    failed: str | None = None
    broken = skipped = ""
    if isinstance(record, ReportCase):
        broken = "; ".join(
            f"{failure.name}: {failure.error_message}" for failure in record.evaluator_failures
        )
        skipped = "; ".join(f"{skip.name}: {skip.reason}" for skip in record.skipped)
    else:
        failed = record.error_message
    times = [record.task_duration, record.total_duration, record.tries]
    cells: list[Any] = plain([failed, broken, skipped, *times, record.cluster])
    return [*cells, _json(record.tags) if record.tags else None]


def _what(record: Record) -> list[str]:
    """The values as JSON text, which is no formula: it begins with a letter, a bracket, a quote or a number."""
    expects = record.has_expected_output or record.expected_output is not None
    return [
        _json(record.inputs),
        _json(record.expected_output) if expects else "",
        _json(record.output) if isinstance(record, ReportCase) else "",
        "" if record.metadata is None else _json(record.metadata),
    ]


def _json(value: Any) -> str:
    return msgspec.json.encode(plain(value)).decode()


def unique_titles(titles: Iterable[str]) -> list[str]:
    """The titles of columns; one that is taken gets `_2`, `_3`."""
    found: dict[str, None] = {}
    for title in titles:
        free, count = title, 1
        while free in found:
            count += 1
            free = f"{title}_{count}"
        found[free] = None
    return list(found)


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
