"""The attempts of a report as rows, and as a table of Arrow, pandas or polars: one row per attempt, without a file in between.

The columns: who (`run`, `dataset`, `name`, `case`, `passed`); one per result, with `NAME.reason` beside it where any attempt has a
reason; `task_failure`, `evaluator_failures` and `skipped`; `task_duration` and `total_duration` in seconds, `tries`, `cluster`, `tags`;
one `metrics.NAME` per metric; and `inputs`, `expected_output`, `output`, `metadata`. What was not measured is `None`, or what the library
has for it. A title that is taken gets `_2`, `_3`.

Rows hold values as they are in the report. In a table, a column whose values are all flags, all numbers or all texts has that type;
every other column holds JSON text.
"""

from importlib import import_module
from typing import Any, Literal, TypeAlias

import msgspec

from calipers.data.jsonable import plain
from calipers.data.record import ReportCase
from calipers.errors import MissingExtraError
from calipers.report.report import Report

from .csv_file import unique_titles
from .outcome import Record

Kind: TypeAlias = Literal["flag", "integer", "number", "text"]

_WIDEST = 1 << 63
"""An integer from here on fits no column of integers."""
_EXACT = 1 << 53
"""An integer beyond this is no exact number among others."""


def report_rows(report: Report) -> list[dict[str, Any]]:
    """A row for each attempt that the report keeps, each with the same columns."""
    records: list[Record] = [*report.cases, *report.failures]
    results: dict[str, bool] = {}
    """By name, whether any has a reason."""
    metrics: dict[str, None] = {}
    for record in records:
        if isinstance(record, ReportCase):
            for result in record.results:
                results[result.name] = results.get(result.name, False) or bool(result.reason)
            metrics |= dict.fromkeys(record.metrics)
    judged = [
        title for name, why in results.items() for title in ((name, f"{name}.reason") if why else (name,))
    ]
    titles = unique_titles(
        [
            *("run", "dataset", "name", "case", "passed"),
            *judged,
            *("task_failure", "evaluator_failures", "skipped"),
            *("task_duration", "total_duration", "tries", "cluster", "tags"),
            *(f"metrics.{name}" for name in metrics),
            *("inputs", "expected_output", "output", "metadata"),
        ]
    )
    return [dict(zip(titles, _cells(report, each, results, metrics), strict=True)) for each in records]


def _cells(report: Report, record: Record, results: dict[str, bool], metrics: dict[str, None]) -> list[Any]:
    case = record if isinstance(record, ReportCase) else None
    said = {} if case is None else {result.name: result for result in case.results}
    judged: list[Any] = []
    for name, has_reason in results.items():
        result = said.get(name)
        judged.append(None if result is None else result.value)
        if has_reason:
            judged.append(None if result is None else result.reason)
    broken = (
        [] if case is None else [f"{each.name}: {each.error_message}" for each in case.evaluator_failures]
    )
    skipped = [] if case is None else [f"{each.name}: {each.reason}" for each in case.skipped]
    return [
        report.name,
        report.dataset_name,
        record.name,
        record.source_case_name or record.name,
        record.passed,
        *judged,
        None if isinstance(record, ReportCase) else record.error_message,
        "; ".join(broken) or None,
        "; ".join(skipped) or None,
        record.task_duration,
        record.total_duration,
        record.tries,
        record.cluster,
        list(record.tags),
        *(None if case is None else case.metrics.get(name) for name in metrics),
        record.inputs,
        record.expected_output,
        None if case is None else case.output,
        record.metadata,
    ]


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
