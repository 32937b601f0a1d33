"""The attempts of a report as the data that the page's script reads.

One object per attempt, with only the keys that have something to say, so that ten thousand of them stay a file that a
browser opens at once. Names are data like any other: the script finds attempts by their position.
"""

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

import msgspec

from calipers.data.jsonable import plain
from calipers.data.record import Failure, ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, EvaluatorFailure, Kind, SkippedEvaluation, kind_of
from calipers.report.report import Report
from calipers.report.summary import Summary
from calipers.stats.number_text import number
from calipers.views.outcome import Record, outcome_of
from calipers.views.transcript import transcript_of

from .talks import embedded_talk
from .traces import embedded_traces
from .values import shown_pair, shown_text, shown_value

_EXACT = 2**53
"""Beyond this, a number in JavaScript is no longer the number that was written."""

_REPEAT = re.compile(r"\[(\d+)/\d+\]$")

_BREAKS_OUT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""What could end a script element or a line of one. In JSON these stand only inside strings, where an escape will do."""


def embedded_json(data: Any) -> str:
    """Plain data as JSON that may stand inside a script element, whatever the texts in it say."""
    found = msgspec.json.encode(data).decode()
    for character, escaped in _BREAKS_OUT.items():
        found = found.replace(character, escaped)
    return found


def embedded_records(
    report: Report, summaries: Mapping[str, Summary], *, limit: int | None
) -> dict[str, Any]:
    """All attempts, the columns their results belong to, and the cases they repeat.

    Args:
        report: what to show.
        summaries: of the report: one column each.
        limit: characters of one value; `None` for no limit.
    """
    columns: dict[tuple[str, Kind], int] = {}
    for summary in summaries.values():
        columns[summary.name, summary.kind] = len(columns)
    data: dict[str, Any] = {
        "columns": [
            {"name": plain(name), "kind": summary.kind, "evaluator": plain(summary.evaluator)}
            for name, summary in summaries.items()
        ],
        "repeat": report.repeat,
    }
    records = in_page_order(report)
    traces = embedded_traces(records, limit=limit)

    def attempt(record: Record) -> dict[str, Any]:
        trace = traces.get(id(record))
        return _attempt(record, columns, limit) | ({} if trace is None else {"trace": trace})

    if report.repeat == 1:
        return data | {"attempts": [attempt(record) for record in records]}
    positions: dict[str, int] = {}
    data["attempts"] = [
        {
            "case": positions.setdefault(record.source_case_name or record.name, len(positions)),
            **attempt(record),
        }
        for record in records
    ]
    data["cases"] = [plain(name) for name in positions]
    return data


def in_page_order(report: Report) -> list[Record]:
    """The attempts as the page numbers them: in the report's order, the repeats of a case together."""
    records: list[Record] = [*report.cases, *report.failures]
    if report.repeat == 1:
        return records
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.source_case_name or record.name, []).append(record)
    return [record for group in groups.values() for record in sorted(group, key=_which)]


def _which(record: Record) -> int:
    """Which repeat it is, from the `[2/3]` at the end of its name."""
    found = _REPEAT.search(record.name)
    return int(found[1]) if found else 0


def _attempt(record: Record, columns: Mapping[tuple[str, Kind], int], limit: int | None) -> dict[str, Any]:
    """One attempt, with only the keys that have something to say."""
    found: dict[str, Any] = {
        "name": plain(record.name),
        "outcome": outcome_of(record),
        "inputs": shown_value(record.inputs, limit),
        "duration": _measured(record.task_duration),
        "total": _measured(record.total_duration),
    }
    expects = record.has_expected_output or record.expected_output is not None
    if isinstance(record, ReportCase):
        if expects:
            found["expected"], found["output"] = shown_pair(record.expected_output, record.output, limit)
        else:
            found["output"] = shown_value(record.output, limit)
        found["results"] = [_result(result, columns, limit) for result in record.results]
        if (talk := transcript_of(record)) is not None:
            places = {id(result): place for place, result in enumerate(record.results)}
            found["talk"] = embedded_talk(talk, places, limit=limit)
        if record.evaluator_failures:
            found["failures"] = [_failure(failure, limit) for failure in record.evaluator_failures]
        if record.skipped:
            found["skipped"] = [_skip(skip, limit) for skip in record.skipped]
        if record.metrics:
            found["metrics"] = {
                plain(name): shown_value(value, limit) for name, value in record.metrics.items()
            }
        if record.attributes:
            found["attributes"] = {
                plain(name): shown_value(value, limit) for name, value in record.attributes.items()
            }
    else:
        if expects:
            found["expected"] = shown_value(record.expected_output, limit)
        found["error"] = _failure(record, limit)
        if record.not_run:
            found["not_run"] = [plain(name) for name in record.not_run]
    if record.expected_tool_calls is not None:
        found["expected_calls"] = shown_value(record.expected_tool_calls, limit)
    if record.metadata is not None:
        found["metadata"] = shown_value(record.metadata, limit)
    if record.tags:
        found["tags"] = [plain(tag) for tag in record.tags]
    if record.tries > 1:
        found["tries"] = record.tries
    for key in ("cluster", "trace_id", "span_id"):
        if (value := getattr(record, key)) is not None:
            found[key] = plain(value)
    if record.teardown_failure is not None:
        found["teardown"] = _failure(record.teardown_failure, limit)
    return found


def _result(
    result: EvaluationResult, columns: Mapping[tuple[str, Kind], int], limit: int | None
) -> dict[str, Any]:
    value = result.value
    found: dict[str, Any] = {"column": columns[result.name, kind_of(value)]}
    if isinstance(value, str):
        found["value"] = shown_text(value, limit)
    elif isinstance(value, int) and abs(value) > _EXACT:
        found |= {"value": float(value), "text": number(value)}
    else:
        found["value"] = value
    if result.reason:
        found["reason"] = shown_text(result.reason, limit)
    if result.verdict is not None:
        found["verdict"] = result.verdict.value
    if result.score is not None:
        found["score"] = result.score
    if result.metadata:
        found["metadata"] = shown_value(result.metadata, limit)
    return found


def _skip(skip: SkippedEvaluation, limit: int | None) -> dict[str, Any]:
    found = {"evaluator": plain(skip.evaluator), "reason": shown_text(skip.reason, limit)}
    return found if skip.key_of is None else found | {"name": plain(skip.name)}


def _failure(failure: Failure | EvaluatorFailure | ReportCaseFailure, limit: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {"message": shown_text(failure.error_message, limit)}
    if failure.error_stacktrace:
        found["traceback"] = shown_text(failure.error_stacktrace, limit, keep_end=True)
    return {"evaluator": plain(failure.name), **found} if isinstance(failure, EvaluatorFailure) else found


def _measured(value: float) -> float | None:
    return value if isfinite(value) else None
