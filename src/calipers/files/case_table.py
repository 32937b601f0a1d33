"""Cases as rows of a table: which column holds what.

By default the columns are called `name`, `inputs`, `expected_output`, `expected_tool_calls` (a list as JSON text),
`metadata`, `cluster`, `tags` (words, with spaces between them where cells are text) and `timeout` (seconds). Several columns
make one value if their names have a dot: `metadata.topic` and `metadata.level` make `{"topic": ..., "level": ...}`; so do
columns that begin with `inputs.` and `expected_output.`. Any other column is a problem, unless `columns=` names the columns:
then only those are read.

An empty or null cell says nothing: no name, no expectation, no key in the value of several columns. Only a column of inputs
takes it as it is. So a table cannot expect `None`, and a CSV file cannot expect an empty text.

Cases are written as rows that are read back as the same cases; anything else is refused. A dict without a declared type
becomes one column per key. With a type, a CSV cell holds it as JSON.
"""

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from calipers.data.argument_checks import did_you_mean
from calipers.data.case import Case, is_timeout
from calipers.errors import InvalidOptionError

from .case_data import CaseReader, read_calls, written_calls
from .catalog import Catalog
from .json_reader import parse_json
from .problem import ABSENT, Problems, Steps, argument_names, shorten
from .value_type import CaseTypes, ValueType, same

FIELDS = (
    *("name", "inputs", "expected_output", "expected_tool_calls", "metadata"),
    *("cluster", "tags", "timeout"),
)
"""What a row can say of a case."""
_VALUES = ("inputs", "expected_output", "metadata")


@dataclass(frozen=True)
class JSONColumn:
    """A column whose cells hold JSON text: `columns={"inputs": JSONColumn("payload")}`."""

    name: str


Source: TypeAlias = str | JSONColumn | Sequence[str]
"""Where a field comes from: a column, a column of JSON, or several columns that make a dict."""


@dataclass(frozen=True)
class _Place:
    """Where in a row a field is: at one index, or at several with a key each."""

    field: str
    index: int = -1
    is_json: bool = False
    parts: tuple[tuple[str, int], ...] = ()

    @property
    def is_missing(self) -> bool:
        """Whether the table lacks a column that the caller named."""
        return any(index < 0 for _, index in self.parts) if self.parts else self.index < 0


class RowReader:
    """Makes cases of rows. The cells are all text, or all typed."""

    def __init__(
        self,
        header: Sequence[str],
        columns: Mapping[str, Source] | None,
        reader: CaseReader,
        problems: Problems,
        *,
        text: bool,
    ) -> None:
        self._header = header
        self._text = text
        self._nothing = "" if text else None
        self._types: dict[str, ValueType] = dict(zip(_VALUES, reader.types, strict=True))
        for column in sorted({c for c in header if header.count(c) > 1}):
            problems.add((column,), "two columns have this name")
        self._places = (
            _by_name(header, problems) if columns is None else _by_source(header, columns, problems)
        )
        fields = {place.field: place for place in self._places}
        self._name = fields["name"].index if "name" in fields else None
        self.is_usable = "inputs" in fields and not any(place.is_missing for place in self._places)
        """Whether cases can be made of the rows, even if something is wrong with the header."""
        if "inputs" not in fields and not problems.found:
            shown = ", ".join(map(repr, header)) or "none"
            problems.add(
                (),
                f"no column holds the inputs; there are {shown}: {argument_names().inputs_column} says which it is",
            )

    def read(self, row: Sequence[Any], problems: Problems) -> Case[Any, Any, Any] | None:
        """The case, or `None` if something is wrong, which is added to the problems."""
        fields: dict[str, Any] = {}
        before = len(problems.found)
        for place in self._places:
            value = self._gather(place, row, problems) if place.parts else self._value(place, row, problems)
            if value is not ABSENT:
                fields[place.field] = value
        return Case(**fields) if len(problems.found) == before else None

    def name_in(self, row: Sequence[Any]) -> str | None:
        """The name in a row, whatever else is wrong with it."""
        name = None if self._name is None else row[self._name]
        return name if isinstance(name, str) and name else None

    def _gather(self, place: _Place, row: Sequence[Any], problems: Problems) -> Any:
        """A value that several columns make."""
        parts = {key: row[index] for key, index in place.parts if row[index] != self._nothing}
        if not parts and place.field != "inputs":
            return ABSENT
        kind = self._types[place.field]
        return (kind.read_texts if self._text else kind.read_native)(parts, (place.field,), problems)

    def _value(self, place: _Place, row: Sequence[Any], problems: Problems) -> Any:
        """A value that one column holds."""
        value = row[place.index]
        column = (self._header[place.index],)
        if value == self._nothing and place.field != "inputs":
            return ABSENT
        kind = self._types.get(place.field)
        if place.field == "tags":
            return _read_tags(value, column, problems)
        if place.field == "expected_tool_calls":
            return _read_calls(value, column, problems)
        if place.field == "timeout":
            return _read_timeout(value, column, problems)
        if kind is None:
            if not isinstance(value, str) or not value:
                problems.add(column, "expected text", value)
            return value
        if place.is_json:
            return _read_json(value, kind, column, problems)
        return (kind.read_text if self._text else kind.read_native)(value, column, problems)


def _read_tags(value: Any, column: tuple[str], problems: Problems) -> Any:
    tags = value.split() if isinstance(value, str) else value
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        problems.add(column, "expected a list of texts", value)
    return tags


def _read_calls(value: Any, column: tuple[str], problems: Problems) -> Any:
    data, wrong = (value, None) if isinstance(value, list) else _parsed(value)
    if wrong is not None:
        problems.add(column, "expected a list of tool calls as JSON", value)
        return ABSENT
    return read_calls(data, column, problems)


def _read_timeout(value: Any, column: tuple[str], problems: Problems) -> Any:
    seconds = _number(value) if isinstance(value, str) else value
    if not is_timeout(seconds):
        problems.add(column, "expected a positive number of seconds", value)
    return seconds


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return None


def _read_json(value: Any, kind: ValueType, column: tuple[str], problems: Problems) -> Any:
    data, wrong = _parsed(value)
    if wrong is not None:
        problems.add(column, wrong, value)
        return ABSENT
    return kind.read(data, column, problems)


def _parsed(value: Any) -> tuple[Any, str | None]:
    """The data of a cell with JSON text, and what is wrong with it."""
    inner = Problems("")
    data = parse_json(value, inner) if isinstance(value, str) else ABSENT
    wrong = inner.found[0].message if inner.found else "expected JSON as text" if data is ABSENT else None
    return data, wrong


def _by_name(header: Sequence[str], problems: Problems) -> list[_Place]:
    """Places by the columns' own names."""
    places: list[_Place] = []
    for index, column in enumerate(header):
        field, dot, _ = column.partition(".")
        if column in FIELDS:
            places.append(_Place(column, index))
            if any(other.startswith(f"{column}.") for other in header) and column in _VALUES:
                problems.add(
                    (column,), f"there is a column {column!r} and one that begins with '{column}.': keep one"
                )
        elif not (dot and field in _VALUES):
            hint = did_you_mean(column, FIELDS) or f"; known are {', '.join(FIELDS)}"
            way = f"{argument_names().some_column} says what other columns hold"
            problems.add((column,), f"unknown column {column!r}{hint}. {way}")
    for field in _VALUES:
        parts = [(c.partition(".")[2], i) for i, c in enumerate(header) if c.startswith(f"{field}.")]
        if parts:
            places.append(_Place(field, parts=tuple(parts)))
    return places


def _by_source(header: Sequence[str], columns: Mapping[str, Source], problems: Problems) -> list[_Place]:
    """Places by the columns that the caller named."""

    def index_of(column: str) -> int:
        if column in header:
            return list(header).index(column)
        hint = did_you_mean(column, header) or f"; there are {', '.join(map(repr, header))}"
        problems.add((), f"there is no column {column!r}{hint}")
        return -1

    places: list[_Place] = []
    for field, source in columns.items():
        if field not in FIELDS:
            raise InvalidOptionError(
                f"{argument_names().columns} says where {', '.join(FIELDS)} are, got {field!r}{did_you_mean(str(field), FIELDS)}"
            )
        if isinstance(source, JSONColumn):
            places.append(_Place(field, index_of(source.name), is_json=True))
        elif isinstance(source, str):
            places.append(_Place(field, index_of(source)))
        elif isinstance(source, Sequence) and source and field in _VALUES:
            places.append(_Place(field, parts=tuple((column, index_of(column)) for column in source)))
        else:
            raise InvalidOptionError(
                f"a field comes from a column, a JSONColumn or several columns, got {field!r}: {source!r}"
            )
    return places


# ---------------------------------------------------------------------- writing

_WAY_OUT = "JSON Lines holds it"


class Table:
    """Columns by name, each with a cell per case; `ABSENT` where a case says nothing."""

    def __init__(self, cases: Sequence[Any], types: CaseTypes, problems: Problems, *, text: bool) -> None:
        self._types = types
        self._problems = problems
        self._text = text
        self._nothing = "" if text else None
        by_field = dict(zip(_VALUES, types, strict=True))
        self._widened = {"timeout", *(field for field, kind in by_field.items() if not kind.is_any)}
        self.columns: dict[str, list[Any]] = {}
        self._cases = [case for index, case in enumerate(cases) if self._is_writable(index, case)]
        self._add("name", [_or_absent(case.name) for case in self._cases])
        for field, kind in by_field.items():
            self._add_values(field, [self._dumped(case, field, kind) for case in self._cases], kind)
        self._add("expected_tool_calls", [self._calls(index, case) for index, case in enumerate(self._cases)])
        self._add("cluster", [_or_absent(case.cluster) for case in self._cases])
        self._add("tags", [self._tags(case.tags) if case.tags else ABSENT for case in self._cases])
        self._add("timeout", [self._timeout(_or_absent(case.timeout)) for case in self._cases])

    def check(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add to the problems what would not be read back from the rows."""
        reader = CaseReader(self._types, Catalog())
        header = list(self.columns)
        row_reader = RowReader(header, None, reader, self._problems, text=self._text)
        if self._problems.found:
            return
        for index, (case, row) in enumerate(zip(self._cases, rows, strict=True)):
            quiet = Problems("")
            again = row_reader.read(row, quiet)
            for problem in quiet.found:
                self._problems.add(
                    ("cases", index), f"a table cannot hold it: {problem.path}: {problem.message}"
                )
            if again is not None:
                self._compare(case, again, ("cases", index))

    def _compare(self, case: Any, again: Any, steps: Steps) -> None:
        for field in FIELDS:
            value = getattr(case, field)
            if field == "expected_output" and case.has_expected_output and not again.has_expected_output:
                self._problems.add((*steps, field), f"a table cannot expect this; {_WAY_OUT}", value)
            elif not same(value, getattr(again, field), widen=field in self._widened):
                shown = shorten(getattr(again, field))
                self._problems.add(
                    (*steps, field), f"in a table it would come back as {shown}; {_WAY_OUT}", value
                )

    def _is_writable(self, index: int, case: Any) -> bool:
        if not isinstance(case, Case):
            message = str(case) if isinstance(case, Exception) else f"{shorten(case)} is not a Case"
            self._problems.add(("cases", index), message)
            return False
        if case.turns:
            self._problems.add(
                ("cases", index, "turns"), f"a table cannot hold the turns of a case; {_WAY_OUT}", case.turns
            )
        if case.evaluators:
            self._problems.add(
                ("cases", index, "evaluators"),
                f"a table cannot hold evaluators of single cases; {_WAY_OUT}",
                case.evaluators,
            )
        return True

    def _dumped(self, case: Any, field: str, kind: ValueType) -> Any:
        value = getattr(case, field)
        if field == "expected_output" and not case.has_expected_output:
            return ABSENT
        return ABSENT if value is None and field == "metadata" else kind.dump(value)

    def _add_values(self, field: str, values: list[Any], kind: ValueType) -> None:
        is_dict = [type(value) is dict for value in values]
        if not kind.is_any or not any(is_dict):
            self._add(field, [value if value is ABSENT else self._cell(value, kind) for value in values])
            return
        keys = list(dict.fromkeys(key for value in values if type(value) is dict for key in value))
        for index, value in enumerate(values):
            if value is not ABSENT and not (is_dict[index] and all(type(key) is str for key in value)):
                message = f"one column cannot hold this beside dicts with text as keys; {_WAY_OUT}"
                self._problems.add(("cases", index, field), message, value)
                return
        for key in keys:
            parts = [ABSENT if value is ABSENT else value.get(key, ABSENT) for value in values]
            self._add(
                f"{field}.{key}", [part if part is ABSENT else self._cell(part, kind) for part in parts]
            )

    def _cell(self, value: Any, kind: ValueType) -> Any:
        if not self._text or isinstance(value, str):
            return value
        if kind.is_any:
            return value  # it is not text, so it is refused later
        return json.dumps(value, ensure_ascii=False)

    def _calls(self, index: int, case: Any) -> Any:
        if case.expected_tool_calls is None:
            return ABSENT
        return json.dumps(written_calls(case, ("cases", index), self._problems), ensure_ascii=False)

    def _tags(self, tags: tuple[str, ...]) -> Any:
        return " ".join(tags) if self._text else list(tags)

    def _timeout(self, seconds: Any) -> Any:
        return repr(seconds) if self._text and seconds is not ABSENT else seconds

    def _add(self, column: str, cells: list[Any]) -> None:
        if any(cell is not ABSENT for cell in cells):
            self.columns[column] = [self._nothing if cell is ABSENT else cell for cell in cells]


def _or_absent(value: Any) -> Any:
    return ABSENT if value is None else value


def text_rows(table: Table, problems: Problems) -> list[list[str]]:
    """The rows of a table of text."""
    rows = [list(row) for row in zip(*table.columns.values(), strict=True)]
    for index, row in enumerate(rows):
        for column, cell in zip(table.columns, row, strict=True):
            if not isinstance(cell, str):
                problems.add(
                    ("cases", index, column),
                    "a CSV cell holds text: state the type with Dataset[...] or types=, or choose JSON Lines",
                    cell,
                )
            elif not cell.isascii() and not _is_utf8(cell):
                problems.add(
                    ("cases", index, column), "text with half of a surrogate pair has no UTF-8 form", cell
                )
    if not problems.found:
        table.check(rows)
    return rows


def arrow_columns(table: Table, problems: Problems) -> dict[str, Any]:
    """The columns of a typed table, as Arrow arrays."""
    from .parquet_file import arrow_array

    arrays: dict[str, Any] = {}
    for column, cells in table.columns.items():
        try:
            arrays[column] = arrow_array(cells)
        except (ValueError, TypeError, OverflowError, NotImplementedError) as error:
            problems.add((column,), f"Parquet has no type for this column: {error}; {_WAY_OUT}")
    if not problems.found:
        table.check(list(zip(*(array.to_pylist() for array in arrays.values()), strict=True)))
    return arrays


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
