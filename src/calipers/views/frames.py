"""The attempts of a report as rows, and as a table of Arrow, pandas or polars: one row per attempt, without a file in between.

The columns are `run` and `dataset`, and those of `calipers.views.attempt_table`.

Rows hold values as they are in the report. In a table, a column whose values are all flags, all numbers or all texts has that type;
every other column holds JSON text.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from calipers.data.jsonable import plain
from calipers.errors import MissingExtraError
from calipers.report.report import Report

from .attempt_table import AttemptColumns, attempt_row, unique_titles

if TYPE_CHECKING:
    from .outcome import Record

Kind: TypeAlias = Literal["flag", "integer", "number", "text"]

_WIDEST = 1 << 63
"""An integer from here on fits no column of integers."""
_EXACT = 1 << 53
"""An integer beyond this is no exact number among others."""


def report_rows(report: Report) -> list[dict[str, Any]]:
    """A row for each attempt that the report keeps, each with the same columns."""
    records: list[Record] = [*report.cases, *report.failures]
    rows = [attempt_row(record) for record in records]
    columns = AttemptColumns()
    for row in rows:
        columns.add(row)
    titles = unique_titles(["run", "dataset", *columns.titles])
    run = (report.name, report.dataset_name)
    return [dict(zip(titles, [*run, *columns.cells(row)], strict=True)) for row in rows]


# ---------------------------------------------------------------------- tables


def arrow_table(report: Report) -> Any:
    """The rows as a `pyarrow.Table`.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    arrow = _load("pyarrow", "to_arrow()", "parquet")
    types = {
        "flag": arrow.bool_(),
        "integer": arrow.int64(),
        "number": arrow.float64(),
        "text": arrow.string(),
    }
    columns = _columns(report)
    return arrow.table(
        {title: arrow.array(values, type=types[kind]) for title, (kind, values) in columns.items()}
    )


def pandas_frame(report: Report) -> Any:
    """The rows as a `pandas.DataFrame`. Where values are missing, flags and integers have pandas' own types that allow for it.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    pandas = _load("pandas", "to_pandas()", "pandas")
    types = {"flag": "bool", "integer": "int64", "number": "float64", "text": None}
    lacking = {**types, "flag": "boolean", "integer": "Int64"}
    return pandas.DataFrame(
        {
            title: pandas.Series(values, dtype=(lacking if None in values else types)[kind])
            for title, (kind, values) in _columns(report).items()
        }
    )


def polars_frame(report: Report) -> Any:
    """The rows as a `polars.DataFrame`.

    Raises:
        MissingExtraError: polars is not installed.
    """
    polars = _load("polars", "to_polars()", "polars")
    types = {"flag": polars.Boolean, "integer": polars.Int64, "number": polars.Float64, "text": polars.String}
    columns = _columns(report)
    return polars.DataFrame(
        {title: values for title, (_, values) in columns.items()},
        schema={title: types[kind] for title, (kind, _) in columns.items()},
    )


def _columns(report: Report) -> dict[str, tuple[Kind, list[Any]]]:
    rows = report_rows(report)
    titles = list(rows[0]) if rows else []
    return {title: _typed([plain(row[title]) for row in rows]) for title in titles}


def _typed(values: list[Any]) -> tuple[Kind, list[Any]]:
    """The values of a column, and of which kind they all are; those of several kinds as JSON text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "flag", values
    widest = max((abs(value) for value in values if type(value) is int), default=0)
    if kinds == {int} and widest < _WIDEST:
        return "integer", values
    if kinds and kinds <= {int, float} and widest <= _EXACT:
        return "number", [None if value is None else float(value) for value in values]
    if kinds <= {str}:
        return "text", values
    return "text", [None if value is None else msgspec.json.encode(value).decode() for value in values]


def _load(module: str, what: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError.of(what, extra) from error
