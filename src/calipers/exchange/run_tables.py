"""A stored run as tables for data frames and databases: `attempts`, and `results`.

The columns are the same for every run, so that the files of many runs stack. In both tables `run` and `position` say which
attempt a row is of: they are what the tables are joined by. What was not measured, or does not apply, is null.

**attempts**, one row per attempt:

| column | type | what it holds |
|---|---|---|
| `run`, `position` | text, integer | the run's id; the attempt's place in it, from 0 |
| `name`, `case`, `repeat` | text, text, integer | the attempt's name; its case's; which repeat it is, from 1 |
| `passed` | boolean | whether every assertion held and everything finished; null: nothing was asserted |
| `failed`, `infrastructure` | boolean | whether the task did not finish; whether because of a time-out, a connection or a server |
| `error_type`, `error_message`, `error_stacktrace` | text | why it did not finish |
| `task_duration`, `total_duration`, `tries` | number, number, integer | seconds of the task, and of all; calls of the task |
| `cluster` | text | what the case belongs to |
| `metrics` | map of text to number | one that is infinite, or no number, is null |
| `input_tokens`, `output_tokens`, `tool_calls` | integer | of the trace; null where there is none, or they were not counted |
| `inputs`, `expected_output`, `output`, `metadata`, `attributes`, `trace` | JSON text | what was asked, said and done |
| `trace_id`, `span_id` | text | where to find it in a tracing system |
| `teardown_failure` | text | why cleaning up failed |
| `origin` | text | the run that called the task, if this one took the attempt over |
| `run_name`, `dataset`, `task` | text | what the run is called, what it ran on, and what was run |
| `parameters`, `run_metadata` | JSON text | what the run was asked to do, and what its caller noted |

**results**, one row for every judgement, and for every one that is missing:

| column | type | what it holds |
|---|---|---|
| `run`, `position`, `name`, `case`, `repeat` | | as above |
| `evaluator`, `version`, `arguments` | text, text, JSON text | who judged |
| `result` | text | the name of the judgement |
| `kind` | text | `assertion`, `score` or `label`; `skipped`: did not apply; `failure`: did not finish; `not_run`: the task failed |
| `passed`, `number`, `label` | boolean, number, text | the value, in the column of its kind |
| `value` | JSON text | the value of any kind, exactly |
| `reason`, `verdict`, `score` | text, text, number | what the evaluator said besides |
| `error_type`, `error_message` | text | of a `failure` |
| `metadata` | JSON text | what else the evaluator noted |
| `run_name`, `dataset`, `task`, `parameters`, `run_metadata` | | as above |
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, EvaluatorSpec
from calipers.data.trace import Trace
from calipers.data.trace_json import trace_data
from calipers.files.parquet_file import load_arrow
from calipers.stores.evaluator_slots import scored_places
from calipers.stores.packing import Record, unpack
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.stores.stored_attempt import StoredAttempt

Kind: TypeAlias = Literal["text", "integer", "number", "boolean", "numbers"]
"""`numbers` is a map of text to number."""

Row: TypeAlias = list[Any]

_WIDEST: Final = 1 << 63


class Column(NamedTuple):
    """One column of a table."""

    name: str
    kind: Kind = "text"


class Table(NamedTuple):
    """A table of a run."""

    name: str
    columns: tuple[Column, ...]

    def rows(self, store: Store, run: RunInfo, at: Sequence[int] | None = None) -> Iterator[Row]:
        """Its rows, made as the attempts are read: of all of them, or of those at some positions."""
        rows_of = _attempt_rows if self is ATTEMPTS else _result_rows
        scored = scored_places(run.evaluators)
        about = _about(run)
        names = store.names(run)
        for attempt, cells in store.judged(run.id) if at is None else store.judged_at(run.id, at):
            record = unpack(attempt, cells, run.evaluators, scored=scored, names=names)
            who = [run.id, attempt.position, attempt.name, attempt.case_name, attempt.repeat]
            for row in rows_of(attempt, record):
                yield [*who, *row, *about]


_WHO: Final = (
    Column("run"),
    Column("position", "integer"),
    Column("name"),
    Column("case"),
    Column("repeat", "integer"),
)

_ABOUT: Final = (
    Column("run_name"),
    Column("dataset"),
    Column("task"),
    Column("parameters"),
    Column("run_metadata"),
)
"""What the run was: the same in each of its rows."""

ATTEMPTS: Final = Table(
    "attempts",
    (
        *_WHO,
        Column("passed", "boolean"),
        Column("failed", "boolean"),
        Column("infrastructure", "boolean"),
        Column("error_type"),
        Column("error_message"),
        Column("error_stacktrace"),
        Column("task_duration", "number"),
        Column("total_duration", "number"),
        Column("tries", "integer"),
        Column("cluster"),
        Column("tags"),
        Column("metrics", "numbers"),
        Column("input_tokens", "integer"),
        Column("output_tokens", "integer"),
        Column("tool_calls", "integer"),
        Column("inputs"),
        Column("expected_output"),
        Column("output"),
        Column("metadata"),
        Column("attributes"),
        Column("trace"),
        Column("trace_id"),
        Column("span_id"),
        Column("teardown_failure"),
        Column("origin"),
        *_ABOUT,
    ),
)
RESULTS: Final = Table(
    "results",
    (
        *_WHO,
        Column("evaluator"),
        Column("version"),
        Column("arguments"),
        Column("result"),
        Column("kind"),
        Column("passed", "boolean"),
        Column("number", "number"),
        Column("label"),
        Column("value"),
        Column("reason"),
        Column("verdict"),
        Column("score", "number"),
        Column("error_type"),
        Column("error_message"),
        Column("metadata"),
        *_ABOUT,
    ),
)
TABLES: Final = {table.name: table for table in (ATTEMPTS, RESULTS)}


# ---------------------------------------------------------------------- rows


def _about(run: RunInfo) -> Row:
    asked = {name: value for name, value in run.parameters.items() if name != "task"}  # its identity
    noted = None if run.metadata is None else _json(run.metadata)
    return [run.name, run.dataset_name, run.task_name, _json(asked), noted]


def _attempt_rows(attempt: StoredAttempt, record: Record) -> Iterator[Row]:
    yield [
        record.passed,
        attempt.failed,
        isinstance(record, ReportCaseFailure) and record.infrastructure,
        *_error(record),
        record.task_duration,
        record.total_duration,
        _integer(record.tries),
        record.cluster,
        _json(record.tags) if record.tags else None,
        _metrics(record),
        *_counted(record.trace),
        *_values(record),
        record.trace_id,
        record.span_id,
        None if record.teardown_failure is None else record.teardown_failure.error_message,
        attempt.origin,
    ]


def _error(record: Record) -> Sequence[str | None]:
    if isinstance(record, ReportCase):
        return (None, None, None)
    return (record.error_type, record.error_message, record.error_stacktrace)


def _metrics(record: Record) -> list[tuple[str, float | None]]:
    return [(name, _number(value)) for name, value in getattr(record, "metrics", {}).items()]


def _counted(trace: Trace | None) -> Sequence[int | None]:
    if trace is None:
        return (None, None, None)
    tokens = (trace.total_input_tokens, trace.total_output_tokens) if trace.tokens_measured else (None, None)
    return (*map(_integer, tokens), len(trace.tool_calls) if trace.calls_known else None)


def _values(record: Record) -> Sequence[str | None]:
    """What the attempt was given and gave, as JSON."""
    states = record.has_expected_output or record.expected_output is not None
    return (
        _json(record.inputs),
        _json(record.expected_output) if states else None,
        _json(record.output) if isinstance(record, ReportCase) else None,
        None if record.metadata is None else _json(record.metadata),
        _json(record.attributes) if record.attributes else None,
        None if record.trace is None else _json(trace_data(record.trace)),
    )


def _result_rows(attempt: StoredAttempt, record: Record) -> Iterator[Row]:
    del attempt
    if isinstance(record, ReportCaseFailure):
        for name in record.not_run:
            yield _row(name, kind="not_run")
        return
    for result in record.results:
        yield _judgement(result)
    for failure in record.evaluator_failures:
        yield _row(
            failure.name,
            source=failure.source,
            kind="failure",
            error_type=failure.error_type,
            error_message=failure.error_message,
        )
    for skip in record.skipped:
        yield _row(skip.evaluator, result=skip.name, kind="skipped", reason=skip.reason)


def _judgement(result: EvaluationResult) -> Row:
    value, kind = result.value, result.kind
    return _row(
        result.evaluator,
        source=result.source,
        version=result.evaluator_version,
        result=result.name,
        kind=kind,
        passed=value if kind == "assertion" else None,
        number=_number(value) if kind == "score" else None,
        label=value if kind == "label" else None,
        value=_json(value),
        reason=result.reason,
        verdict=None if result.verdict is None else result.verdict.value,
        score=result.score,
        metadata=None if result.metadata is None else _json(result.metadata),
    )


def _row(evaluator: str, *, source: EvaluatorSpec | None = None, **told: Any) -> Row:
    arguments = None if source is None or not source.arguments else _json(source.arguments)
    told = {"evaluator": evaluator, "arguments": arguments, "result": evaluator} | told
    return [told.get(column.name) for column in RESULTS.columns[len(_WHO) : -len(_ABOUT)]]


def _json(value: Any) -> str:
    return msgspec.json.encode(plain(value)).decode()


def _number(value: Any) -> float | None:
    """The number as a float; `None` for one that no float can hold."""
    try:
        found = float(value)
    except (OverflowError, ValueError):
        return None
    return found if math.isfinite(found) else None


def _integer(value: int | None) -> int | None:
    return value if value is not None and -_WIDEST <= value < _WIDEST else None


# ---------------------------------------------------------------------- Parquet

_MOST_ROWS: Final = 20_000
_MOST_TEXT: Final = 1 << 25
"""Characters of one row group: a few attempts may be as large as thousands of others."""


def parquet_chunks(columns: Sequence[Column], rows: Iterable[Row], about: dict[str, str]) -> Iterator[bytes]:
    """The pieces of a Parquet file, whose metadata is `about`; needs pyarrow."""
    arrow, parquet = (
        load_arrow(module, "Writing Parquet files") for module in ("pyarrow", "pyarrow.parquet")
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
    """A file that keeps what is written until it is taken."""

    closed = False

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, data: Any) -> int:
        self._written.append(bytes(data))
        return len(self._written[-1])

    def flush(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do: what was written can still be taken."""

    def take(self) -> bytes:
        found = b"".join(self._written)
        self._written.clear()
        return found
