"""The attempts of a report as the data that the page's script reads.

One object per attempt, with only the keys that have something to say, so that ten thousand of them stay a file that a
browser opens at once. Names are data like any other: the script finds attempts by their position.

A string is shown as it is. Every other value is shown as JSON, made here and not in the browser, where 1.0 would become 1 and a
long integer would lose its last digits. What is longer than the limit is cut, and its whole length is kept.

Traces and conversations can be long, so a page with a limit for values limits them as well: the characters of a value, the turns
of one trace or conversation, and the characters of all traces together. Attempts that did not pass come first. What is left out is
counted, and the page says so.
"""

import json
import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

import msgspec

from calipers.data.argument_checks import is_number
from calipers.data.jsonable import plain
from calipers.data.record import Failure, ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, EvaluatorFailure, Kind, SkippedEvaluation, kind_of
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn
from calipers.report.report import Report
from calipers.report.summary import Summary
from calipers.stats.number_text import dollars, number
from calipers.views.message_list import conversation, message_transcript
from calipers.views.outcome import Record, outcome_of
from calipers.views.trace_statement import FoldedSteps, trace_statement
from calipers.views.transcript import Transcript, TranscriptTurn

_EXACT = 2**53
"""Beyond this, a number in JavaScript is no longer the number that was written."""

_REPEAT = re.compile(r"\[(\d+)/\d+\]$")

_BREAKS_OUT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""What could end a script element or a line of one. In JSON these stand only inside strings, where an escape will do."""


_WIDTH = 88
"""Characters of JSON that may stand on one line."""


def shown_value(value: Any, limit: int | None) -> dict[str, Any]:
    """`{"text": …}` for a string and `{"json": …}` for anything else; with the whole `length` where it was cut."""
    return _shown(plain(value), limit, _WIDTH)


def shown_pair(one: Any, other: Any, limit: int | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two values to be compared: where one needs several lines, both are broken up in the same way."""
    pair = plain(one), plain(other)
    breaks = any(not isinstance(data, str) and "\n" in json_text(data) for data in pair)
    width = 0 if breaks else _WIDTH
    return _shown(pair[0], limit, width), _shown(pair[1], limit, width)


def _shown(data: Any, limit: int | None, width: int) -> dict[str, Any]:
    kind, whole = ("text", data) if isinstance(data, str) else ("json", json_text(data, width=width))
    if limit is None or len(whole) <= limit:
        return {kind: whole}
    return {kind: whole[:limit], "length": len(whole)}


def shown_text(value: str, limit: int | None, *, keep_end: bool = False) -> str:
    """A message; where it was cut, it ends by saying so, or begins by it if the end matters most."""
    whole = str(plain(value))
    if limit is None or len(whole) <= limit:
        return whole
    note = f"… ({len(whole):,} characters)"
    return f"{note}\n{whole[-limit:]}" if keep_end else whole[:limit] + note


def json_text(data: Any, indent: str = "", *, width: int = _WIDTH) -> str:
    """Plain data as JSON for reading: a list or an object is broken up only if it is too long for a line."""
    line = json.dumps(data, ensure_ascii=False)
    if len(line) + len(indent) <= width or not data or not isinstance(data, list | dict):
        return line
    deeper = f"{indent}  "
    if isinstance(data, list):
        items = [json_text(item, deeper, width=width) for item in data]
        opening, closing = "[", "]"
    else:
        items = [
            f"{json.dumps(key, ensure_ascii=False)}: {json_text(item, deeper, width=width)}"
            for key, item in data.items()
        ]
        opening, closing = "{", "}"
    body = ",\n".join(deeper + item for item in items)
    return f"{opening}\n{body}\n{indent}{closing}"


def embedded_json(data: Any) -> str:
    """Plain data as JSON that may stand inside a script element, whatever the texts in it say."""
    try:
        found = msgspec.json.encode(data).decode()
    except UnicodeEncodeError:  # half a letter
        found = msgspec.json.encode(plain(msgspec.to_builtins(data))).decode()
    for character, escaped in _BREAKS_OUT.items():
        found = found.replace(character, escaped)
    return found


def embedded_records(
    report: Report, summaries: Mapping[str, Summary], *, limit: int | None
) -> dict[str, Any]:
    """All attempts, the columns their results belong to, and the cases they repeat; values have at most `limit` characters."""
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
    if (asked := message_transcript(record.inputs)) is not None:
        found["asked"] = embedded_talk(asked, {}, limit=limit)
    expects = record.has_expected_output or record.expected_output is not None
    if isinstance(record, ReportCase):
        if expects:
            found["expected"], found["output"] = shown_pair(record.expected_output, record.output, limit)
        else:
            found["output"] = shown_value(record.output, limit)
        found["results"] = [_result(result, columns, limit) for result in record.results]
        if (talk := conversation(record.output, record.results)) is not None:
            places = {id(result): place for place, result in enumerate(record.results)}
            found["talk"] = embedded_talk(talk, places, limit=limit)
        if record.evaluator_failures:
            found["failures"] = [_failure(failure, limit) for failure in record.evaluator_failures]
        if record.skipped:
            found["skipped"] = [_skip(skip, limit) for skip in record.skipped]
        if metrics := record.all_metrics:
            found["metrics"] = {plain(name): shown_value(value, limit) for name, value in metrics.items()}
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


# ---------------------------------------------------------------------- traces


VALUE = 2_000
"""Characters of an argument, an output or a message."""
TURNS = 100
"""Turns of one trace: the first and the last ones."""
ALL = 5_000_000
"""Characters of all traces of a page."""


def embedded_traces(records: Iterable[Record], *, limit: int | None) -> dict[int, dict[str, Any]]:
    """The traces of those records that have one, by the records' ids."""
    traced = [record for record in records if record.trace is not None]
    found: dict[int, dict[str, Any]] = {}
    used = 0
    for record in sorted(traced, key=lambda record: record.passed is True):
        assert record.trace is not None
        if limit is not None and used >= ALL:
            found[id(record)] = {"left_out": len(record.trace.turns)}
            continue
        found[id(record)] = embedded_trace(record.trace, limit=limit)
        used += len(msgspec.json.encode(found[id(record)]))
    return found


def embedded_trace(trace: Trace, *, limit: int | None) -> dict[str, Any]:
    """One trace, with only the keys that have something to say."""
    most = limit if limit is None else min(limit, VALUE)
    turns: list[dict[str, Any]] = []
    found: dict[str, Any] = {"turns": turns}
    says = trace_statement(trace, max_steps=None if limit is None else TURNS)
    for row in says.rows:
        if isinstance(row, FoldedSteps):
            found |= {"of": len(trace.turns), "before_fold": len(turns), "folded": row.words}
            continue
        turn = embedded_turn(trace.turns[row.number - 1], most)
        if row.start_ms is not None:
            turn["start"] = round(row.start_ms / 1000, 6)
        if row.kind == "user" and row.took_ms is not None:
            turn["lasts"] = round(row.took_ms / 1000, 6)
        turns.append(turn)
    if says.extent_ms is not None:
        found["extent"] = round(says.extent_ms / 1000, 6)
    if turns and says.notes:
        found["notes"] = says.notes
    for key in ("agent_name", "model"):
        if value := getattr(trace, key):
            found[key] = shown_text(str(plain(value)), most)
    if trace.tokens_measured:
        found["tokens"] = [trace.total_input_tokens, trace.total_output_tokens]
    if trace.total_cost is not None:
        found["cost"] = ("at least " if trace.unpriced_calls else "") + dollars(trace.total_cost)
    if trace.latency_measured:
        found["seconds"] = trace.total_latency_ms / 1000
    if trace.metadata:
        found["metadata"] = shown_value(trace.metadata, most)
    return found


def embedded_turn(turn: Turn, limit: int | None) -> dict[str, Any]:
    """One message or call, with only the keys that have something to say."""
    found: dict[str, Any] = {"kind": turn.turn_type.value}
    if turn.content:
        found["content"] = shown_value(turn.content, limit)
    if turn.tool_call is not None:
        found |= _tool_call(turn.tool_call, limit)
    elif turn.llm_call is not None:
        found |= _llm_call(turn.llm_call, limit)
    return found


def _tool_call(call: ToolCall, limit: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {"name": shown_text(str(call.name), limit), **_seconds(call)}
    if call.arguments:
        found["arguments"] = shown_value(call.arguments, limit)
    if call.output is not None:
        found["output"] = shown_value(call.output, limit)
    if not call.success:
        found["failed"] = True
    if call.error is not None:
        found["error"] = shown_text(str(plain(call.error)), limit)
    return found


def _llm_call(call: LLMCall, limit: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {"name": shown_text(str(plain(call.model)), limit), **_seconds(call)}
    if call.input_tokens or call.output_tokens:
        found["tokens"] = [plain(call.input_tokens), plain(call.output_tokens)]
    if is_number(call.cost):
        found["cost"] = dollars(call.cost)
    for key, name in (("wanted", "tool_calls"), ("error", "error")):
        if (told := call.metadata.get(name)) is not None:
            found[key] = shown_text(str(plain(told)), limit) if key == "error" else shown_value(told, limit)
    if call.input_text:
        found["asked"] = shown_value(call.input_text, limit)
    if call.output_text:
        found["output"] = shown_value(call.output_text, limit)
    return found


def _seconds(call: ToolCall | LLMCall) -> dict[str, float]:
    """The time it took, unless it is not a number: a call may have been changed after it was made."""
    latency: Any = call.latency_ms
    is_time = isinstance(latency, int | float) and isfinite(latency)
    return {"seconds": latency / 1000} if is_time else {}


# ---------------------------------------------------------------------- conversations


def embedded_talk(talk: Transcript, places: Mapping[int, int], *, limit: int | None) -> dict[str, Any]:
    """One transcript, with only the keys that have something to say.

    Args:
        talk: the transcript.
        places: where a result stands among those of the attempt, by its id.
        limit: characters of one value; `None` for no limit of any kind.
    """
    most = limit if limit is None else min(limit, VALUE)
    turns = talk.turns if limit is None else talk.turns[:TURNS]
    found: dict[str, Any] = {
        "asker": talk.asker,
        "answerer": talk.answerer,
        "turns": [_turn(turn, places, most) for turn in turns],
    }
    if len(turns) < len(talk.turns):
        found["of"] = len(talk.turns)
    if talk.opening:
        found["opening"] = shown_value(talk.opening, most)
    if talk.instructions:
        found["instructions"] = shown_value(talk.instructions, most)
    if not talk.is_rollout:
        found["messages"] = True
    if talk.stopped:
        found["stopped"] = shown_text(talk.stopped, most)
    return found


def _turn(turn: TranscriptTurn, places: Mapping[int, int], limit: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {"number": turn.number}
    for key, said in (("asked", turn.asked), ("answered", turn.answered)):
        if said is not None:
            found[key] = shown_value(said, limit)
    if turn.branch is not None:
        found["branch"] = turn.branch
    if turn.done:
        found["done"] = [embedded_turn(each, limit) for each in turn.done]
    if turn.facts:
        found["facts"] = list(turn.facts)
    if turn.results:
        found["results"] = [places[id(result)] for result in turn.results]
    return found
