"""The table of attempts, one row each, as CSV files and data frames have it: which columns there are, and what stands in them.

From left to right: who (`name`, `case`, `passed`); one column per result, with `NAME.reason` beside it where any attempt has a
reason; what failed (`task_failure`, `evaluator_failures`) and what did not apply (`skipped`); times in seconds, `tries`,
`cluster`, `tags`; one column `metrics.NAME` per metric; and `inputs`, `expected_output`, `output`, `metadata`. What was not
measured is `None`. A title that is taken gets `_2`, `_3`.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from calipers.data.record import ReportCase

from .outcome import Record

_WHO = ("name", "case", "passed")
_FACTS = (
    "task_failure",
    "evaluator_failures",
    "skipped",
    "task_duration",
    "total_duration",
    "tries",
    "cluster",
    "tags",
)
VALUES = ("inputs", "expected_output", "output", "metadata")
"""The columns that hold values of any kind: the last ones."""


class AttemptRow(NamedTuple):
    """One attempt, before it is known which columns the table has."""

    who: list[Any]
    results: dict[str, tuple[Any, str | None]]
    """By name: the value and its reason."""
    facts: list[Any]
    metrics: dict[str, Any]
    values: list[Any]


def attempt_row(record: Record) -> AttemptRow:
    """The attempt as a row, with values as the record has them."""
    case = record if isinstance(record, ReportCase) else None
    broken = () if case is None else case.evaluator_failures
    skipped = () if case is None else case.skipped
    return AttemptRow(
        who=[record.name, record.source_case_name or record.name, record.passed],
        results={} if case is None else {each.name: (each.value, each.reason) for each in case.results},
        facts=[
            None if isinstance(record, ReportCase) else record.error_message,
            "; ".join(f"{each.name}: {each.error_message}" for each in broken) or None,
            "; ".join(f"{each.name}: {each.reason}" for each in skipped) or None,
            record.task_duration,
            record.total_duration,
            record.tries,
            record.cluster,
            list(record.tags),
        ],
        metrics=dict(record.metrics if case is None else case.all_metrics),
        values=[
            record.inputs,
            record.expected_output,
            None if case is None else case.output,
            record.metadata,
        ],
    )


class AttemptColumns:
    """The columns of a table, as the rows make them known."""

    def __init__(self) -> None:
        self._reasons: dict[str, bool] = {}
        """The results in the order they first appear, and whether any has a reason."""
        self._metrics: dict[str, None] = {}

    def add(self, row: AttemptRow) -> None:
        """Take note of the results and metrics of a row."""
        for name, (_, reason) in row.results.items():
            self._reasons[name] = self._reasons.get(name, False) or bool(reason)
        self._metrics.update(dict.fromkeys(row.metrics))

    @property
    def titles(self) -> list[str]:
        """What stands above the columns; some may be the same, see `unique_titles`."""
        judged = [
            title
            for name, has_reason in self._reasons.items()
            for title in ((name, f"{name}.reason") if has_reason else (name,))
        ]
        return [*_WHO, *judged, *_FACTS, *(f"metrics.{name}" for name in self._metrics), *VALUES]

    def cells(self, row: AttemptRow) -> list[Any]:
        """A row with a cell for every column."""
        judged: list[Any] = []
        for name, has_reason in self._reasons.items():
            value, reason = row.results.get(name, (None, None))
            judged += [value, reason] if has_reason else [value]
        return [*row.who, *judged, *row.facts, *map(row.metrics.get, self._metrics), *row.values]


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
