"""A stored run as a file for other programs.

| format | what it is for |
|---|---|
| `parquet` | data frames and databases: a table with typed columns, see `run_tables` |
| `csv` | spreadsheets: the same table as text, in which no cell is a formula |
| `otlp` | tools for traces: spans of each attempt in OTLP, as JSON, with the results as events; see `otlp_export` |
| `jsonl` | everything about a run, so that `import_run` gives the same run again; see `run_jsonl` |

Attempts are read from the store as they are written, so memory does not grow with the run. A file appears whole or not at all.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from calipers.data.argument_checks import check_choice, did_you_mean
from calipers.errors import InvalidOptionError
from calipers.report.attempt_filter import AttemptFilter, all_of
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.stores.store_url import open_store
from calipers.views.csv_file import table_lines
from calipers.views.formats import write_chunks

from .attempt_source import Asked, KeptRun
from .otlp_export import otlp_lines
from .run_jsonl import run_lines
from .run_tables import ATTEMPTS, TABLES, Row, Table, parquet_chunks

ExportFormat: TypeAlias = Literal["parquet", "jsonl", "csv", "otlp"]
"""What a run can be exported as."""

EXPORT_FORMATS: Final[tuple[ExportFormat, ...]] = ("parquet", "jsonl", "csv", "otlp")


class ExportTarget(NamedTuple):
    """Where an exported run goes."""

    format: ExportFormat
    path: str | None
    """`-` is standard output; `None`: a file in the current folder, named after the run's id."""

    def path_for(self, run: RunInfo) -> str:
        """The path; by default, one made of the id of the run."""
        return f"{run.id}.{self.format}" if self.path is None else self.path


def export_run(
    store: Store | str | os.PathLike[str],
    run: str = "latest",
    *,
    to: str | os.PathLike[str],
    table: str | None = None,
    filter: str | Sequence[str] = (),  # noqa: A002 - the word users know
) -> str:
    """Write a stored run to a file.

    Args:
        store: a store, or the URL or path of one that exists.
        run: its id, the beginning of its id, its name, or "latest".
        to: `FORMAT:PATH`, a path with the suffix of a format, or just a format, which writes to a file named after the
            run's id. The path `-` is standard output.
        table: of Parquet and CSV: "attempts" (the default), or "results", a row for each judgement.
        filter: which attempts, as in `calipers.report.attempt_filter`; of several, all have to be met. Not of JSON Lines, which hold a whole run.

    Returns:
        The path that was written.

    Raises:
        InvalidOptionError: the format or the table is not known, the path is a folder or the store itself, or the filter is none.
        StoreError: there is no such store or run.
        MissingExtraError: Parquet, and pyarrow is not installed.
    """
    target = parse_export(to)
    if not isinstance(store, Store):
        with open_store(store, existing=True) as opened:
            return export_run(opened, run, to=to, table=table, filter=filter)
    chosen = check_table(target.format, table)
    wanted = check_filter(target.format, [filter] if isinstance(filter, str) else filter)
    info = store.run(run)
    path = target.path_for(info)
    own = getattr(store, "path", None)
    if path != "-" and own is not None and Path(path).exists() and Path(path).samefile(own):
        raise InvalidOptionError(f"{path!r} is the store of the run: name another file")
    at = [place for place, _ in Asked(KeptRun(store, info), wanted).attempts()] if wanted.terms else None
    write_chunks(run_chunks(store, info, target.format, chosen, at), path)
    return path


def run_chunks(
    store: Store,
    run: RunInfo,
    form: ExportFormat,
    table: Table = ATTEMPTS,
    at: Sequence[int] | None = None,
) -> Iterator[bytes]:
    """The pieces of an exported file, read from the store as they are asked for: of all attempts, or of those at some positions."""
    if form == "jsonl":
        return run_lines(store, run)
    if form == "otlp":
        return otlp_lines(store, run, at)
    rows = table.rows(store, run, at)
    if form == "csv":
        return table_lines([column.name for column in table.columns], (_as_text(row, table) for row in rows))
    about = {"calipers_table": table.name, "calipers_run": run.id, "calipers_run_name": run.name}
    return parquet_chunks(table.columns, rows, about)


def _as_text(row: Row, table: Table) -> Row:
    """A row with maps as JSON text, for a format that has no maps."""
    return [
        msgspec.json.encode(dict(cell)).decode() if column.kind == "numbers" else cell
        for cell, column in zip(row, table.columns, strict=True)
    ]


def parse_export(to: str | os.PathLike[str]) -> ExportTarget:
    """What a target means, without writing anything.

    Raises:
        InvalidOptionError: it names no format.
    """
    known = ", ".join(EXPORT_FORMATS)
    text = os.fspath(to)
    word, colon, path = text.partition(":") if isinstance(to, str) else ("", "", "")
    for form in EXPORT_FORMATS:
        if isinstance(to, str) and word == form:
            if colon and not path:
                raise InvalidOptionError(f"{text!r} names no file: write '{form}:-' for standard output")
            return ExportTarget(form, path if colon else None)
    for form in EXPORT_FORMATS:
        if Path(text).suffix.lower() == f".{form}":
            return ExportTarget(form, text)
    if text == "-":
        raise InvalidOptionError(
            f"which format should go to standard output? Write 'jsonl:-'; known are {known}"
        )
    hint = did_you_mean(word.lower(), EXPORT_FORMATS) if re.fullmatch(r"\w+", word) else ""
    raise InvalidOptionError(
        f"a run is exported as one of {known}, got {text!r}{hint}; write FORMAT or FORMAT:PATH"
    )


def check_filter(form: ExportFormat, filters: Sequence[str]) -> AttemptFilter:
    """The filter that is meant.

    Raises:
        InvalidOptionError: it is none, or the format holds whole runs.
    """
    if filters and form == "jsonl":
        raise InvalidOptionError("jsonl holds a whole run, to be imported elsewhere: leave out the filter")
    return all_of(filters)


def check_table(form: ExportFormat, table: str | None) -> Table:
    """The table that is meant.

    Raises:
        InvalidOptionError: there is none of that name, or the format holds all there is.
    """
    if table is None:
        return ATTEMPTS
    if form in {"jsonl", "otlp"}:
        raise InvalidOptionError(f"{form} holds attempts and results together: leave out the table")
    return TABLES[check_choice("table", table, TABLES)]
