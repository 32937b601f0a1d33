"""Cases as the rows of a table that comes back as the same cases. What would not is refused.

A dict without a declared type becomes one column per key, as `table` reads it. With a type, a CSV cell holds it as JSON.
"""

import json
from collections.abc import Sequence
from typing import Any

from calipers.data.case import Case

from .case_data import CaseReader, written_calls
from .catalog import Catalog
from .plain_data import same
from .problem import ABSENT, Problems, Steps, shorten
from .table import FIELDS, RowReader
from .value_type import CaseTypes, ValueType

_WAY_OUT = "JSON Lines holds it"


class Table:
    """Columns by name, each with a cell per case; `ABSENT` where a case says nothing."""

    def __init__(self, cases: Sequence[Any], types: CaseTypes, problems: Problems, *, text: bool) -> None:
        self._types = types
        self._problems = problems
        self._text = text
        self._nothing = "" if text else None
        fields = zip(("inputs", "expected_output", "metadata"), types, strict=True)
        self._widened = {"timeout", *(field for field, kind in fields if not kind.is_any)}
        self.columns: dict[str, list[Any]] = {}
        self._cases = [case for index, case in enumerate(cases) if self._is_writable(index, case)]
        self._add("name", [_or_absent(case.name) for case in self._cases])
        for field, kind in zip(("inputs", "expected_output", "metadata"), types, strict=True):
            self._add_values(field, [self._dumped(case, field, kind) for case in self._cases], kind)
        self._add("expected_tool_calls", [self._calls(index, case) for index, case in enumerate(self._cases)])
        self._add("cluster", [_or_absent(case.cluster) for case in self._cases])
        self._add("tags", [self._tags(case.tags) if case.tags else ABSENT for case in self._cases])
        self._add("timeout", [self._timeout(_or_absent(case.timeout)) for case in self._cases])

    def check(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add to the problems whatever the rows would not bring back."""
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
            return value  # no text, so it will not come back, and is refused for that
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
