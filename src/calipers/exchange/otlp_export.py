"""A stored run as OTLP in JSON: a line for each attempt, which is an export request with the spans of the attempt.

| of the attempt | in OTLP |
|---|---|
| the attempt | a root span `invoke_agent NAME`, with the first question and the last answer as messages; a failed task is its error |
| a request to a model | a span `chat MODEL` with model, tokens, messages, id of the answer and, as `operation.cost`, US dollars |
| a call of a tool | a span `execute_tool NAME` with id, arguments and result; one of which it is not known whether it was run is only in the messages |
| a result | an event `gen_ai.evaluation.result` of the root: name, `score.value`, `score.label` and explanation |
| a verdict of true or false | `score.value` 1 or 0, or the graded score if there is one; `score.label` `pass` or `fail` |
| an evaluator that skipped, or failed | the same event without a value: `score.label` `skipped`; `error.type` |

Names are those of OpenTelemetry's conventions for generative AI, and under `calipers.` what they have no place for. **The root has the whole trace** as JSON in
`calipers.trace`, from which `calipers.spans.read_traces` makes the same trace again: conventions do not tell, for example, what is unknown of a call.

A time that was not recorded is that of what came before, and a millionth of a second more, so that the order stays.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn, TurnType
from calipers.spans.conversation_trace import WHOLE_TRACE
from calipers.stores.evaluator_slots import scored_places
from calipers.stores.packing import Record, unpack
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store

_OK, _ERROR = 1, 2
_INTERNAL, _CLIENT = 1, 3
_ID_BYTES: Final = 8
_LARGEST_INT: Final = 1 << 63


def otlp_lines(store: Store, run: RunInfo, at: Sequence[int] | None = None) -> Iterator[bytes]:
    """The lines of a run, or of its attempts at some positions, read from its store as they are asked for."""
    scored = scored_places(run.evaluators)
    names = store.names(run)
    resource = {
        "attributes": _pairs(
            {"service.name": "calipers", "calipers.run.id": run.id, "calipers.run.name": run.name}
        )
    }
    taken: set[str] = set()
    for attempt, cells in store.judged(run.id) if at is None else store.judged_at(run.id, at):
        record = unpack(attempt, cells, run.evaluators, scored=scored, names=names)
        spans = _Attempt(record, run, attempt.position, taken).spans()
        scope = {"scope": {"name": "calipers"}, "spans": spans}
        request = {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}
        yield msgspec.json.encode(request) + b"\n"


class _Attempt:
    """One attempt on its way to spans."""

    def __init__(self, record: Record, run: RunInfo, position: int, taken: set[str]) -> None:
        self.record = record
        self.position = position
        self.trace: Trace = record.trace or _bare_trace(record)
        self.trace_id = self._own(_hexadecimal(self.trace.trace_id), taken, f"{run.id} {position}")
        told = self.trace.metadata.get("conversation_id")
        # Attempts of one conversation must not be taken for one attempt.
        self.conversation = self._own(
            told if isinstance(told, str) else "", taken, f"{run.id} {position} conversation"
        )
        begun = _nanoseconds(_moment(run.started_at)) + 1000 * position
        self.now = self.start = _nanoseconds(self.trace.created_at) or begun
        self.number = 0
        self.root_id = self._new_id()

    def _own(self, wanted: str, taken: set[str], else_of: str) -> str:
        if not wanted or wanted in taken:
            wanted = hashlib.blake2b(else_of.encode(), digest_size=16).hexdigest()
        taken.add(wanted)
        return wanted

    def _new_id(self) -> str:
        self.number += 1
        told = f"{self.trace_id} {self.position} {self.number}".encode()
        return hashlib.blake2b(told, digest_size=_ID_BYTES).hexdigest()

    def spans(self) -> list[dict[str, Any]]:
        """The root, and below it what the turns were."""
        inner: list[dict[str, Any]] = []
        turns = self.trace.turns
        asked: list[Any] = []
        for place, turn in enumerate(turns):
            if turn.turn_type is TurnType.USER_MESSAGE:
                asked.append(_message("user", [_text(turn.content)]))
            elif turn.llm_call is not None:
                inner.append(self._chat(turn.llm_call, asked, _calls_after(turns[place + 1 :])))
                asked = []
            elif turn.tool_call is not None and "success" not in turn.tool_call.unknown:
                inner.append(self._tool(turn.tool_call))
        return [self._root(inner), *inner]

    def _root(self, inner: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        trace, record = self.trace, self.record
        name = trace.agent_name
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name or None,
            "gen_ai.conversation.id": self.conversation,
            "gen_ai.input.messages": _written([_message("user", [_text(trace.input_text)])]),
            "gen_ai.output.messages": _written([_message("assistant", [_text(trace.output_text)])]),
            "calipers.attempt.name": record.name,
            "calipers.attempt.position": self.position,
            WHOLE_TRACE: _written(trace.to_dict()),
        }
        status: dict[str, Any] = {"code": _OK}
        if isinstance(record, ReportCaseFailure):
            attributes["error.type"] = record.error_type
            status = {"code": _ERROR, "message": record.error_message}
        start = min((int(span["startTimeUnixNano"]) for span in inner), default=self.start)
        start = min(start, self.start)
        end = max((int(span["endTimeUnixNano"]) for span in inner), default=start)
        end = max(end, start + int(trace.total_latency_ms * 1e6))
        return {
            "traceId": self.trace_id,
            "spanId": self.root_id,
            "name": f"invoke_agent {name}" if name else "invoke_agent",
            "kind": _INTERNAL,
            "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(end),
            "attributes": _pairs(attributes),
            "events": [
                {
                    "name": "gen_ai.evaluation.result",
                    "timeUnixNano": str(end),
                    "attributes": _pairs(told),
                }
                for told in _results(record)
            ],
            "status": status,
        }

    def _chat(self, call: LLMCall, asked: list[Any], calls: list[ToolCall]) -> dict[str, Any]:
        given = asked or ([_message("user", [_text(call.input_text)])] if call.input_text else [])
        parts = [_text(call.output_text)] if call.output_text else []
        parts += [_asked_for(each) for each in calls]
        error = call.metadata.get("error")
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": call.model,
            "gen_ai.response.model": call.model,
            "gen_ai.response.id": call.call_id,
            "gen_ai.usage.input_tokens": call.input_tokens or None,
            "gen_ai.usage.output_tokens": call.output_tokens or None,
            "operation.cost": call.cost,
            "gen_ai.input.messages": _written(given) if given else None,
            "gen_ai.output.messages": None if error else _written([_message("assistant", parts)]),
        }
        why = None if error is None else str(error)
        return self._span(f"chat {call.model}", _CLIENT, attributes, call, why)

    def _tool(self, call: ToolCall) -> dict[str, Any]:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.call_id,
            "gen_ai.tool.call.arguments": None
            if "arguments" in call.unknown
            else _written(plain(call.arguments)),
            "gen_ai.tool.call.result": None
            if "output" in call.unknown or not call.success
            else _written(plain(call.output)),
        }
        why = None if call.success else call.error or "failed"
        return self._span(f"execute_tool {call.name}", _INTERNAL, attributes, call, why)

    def _span(
        self, name: str, kind: int, attributes: dict[str, Any], call: LLMCall | ToolCall, error: str | None
    ) -> dict[str, Any]:
        start = _nanoseconds(call.timestamp) or self.now + 1000
        end = start + int((call.latency_ms or 0) * 1e6)
        self.now = max(self.now, start, end)
        return {
            "traceId": self.trace_id,
            "spanId": self._new_id(),
            "parentSpanId": self.root_id,
            "name": name,
            "kind": kind,
            "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(end),
            "attributes": _pairs(attributes | {"gen_ai.conversation.id": self.conversation}),
            "status": {"code": _OK} if error is None else {"code": _ERROR, "message": error},
        }


def _bare_trace(record: Record) -> Trace:
    """The trace of an attempt that has none: what was asked and answered."""
    output = record.output if isinstance(record, ReportCase) else ""
    seconds = record.task_duration
    return Trace(
        input_text=_shown(record.inputs),
        output_text=_shown(output),
        total_latency_ms=max(0.0, seconds) * 1000,
        trace_id=record.trace_id or "",
        created_at=datetime.fromtimestamp(0, UTC),
    )


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else _written(plain(value))


def _results(record: Record) -> Iterator[dict[str, Any]]:
    """What each evaluator said, under the names of the conventions."""
    if isinstance(record, ReportCaseFailure):
        for name in record.not_run:
            yield _result(name, label="not run")
        return
    for result in record.results:
        value = result.value
        if isinstance(value, bool):
            score = float(value) if result.score is None else result.score
            yield _result(result.name, score, "pass" if value else "fail", result.reason)
        elif isinstance(value, str):
            yield _result(result.name, result.score, value, result.reason)
        else:
            yield _result(result.name, float(value), None, result.reason)
    for skipped in record.skipped:
        yield _result(skipped.name, None, "skipped", skipped.reason)
    for failure in record.evaluator_failures:
        yield _result(failure.name, None, None, failure.error_message) | {"error.type": failure.error_type}


def _result(
    name: str, score: float | None = None, label: str | None = None, reason: str | None = None
) -> dict[str, Any]:
    return {
        "gen_ai.evaluation.name": name,
        "gen_ai.evaluation.score.value": score,
        "gen_ai.evaluation.score.label": label,
        "gen_ai.evaluation.explanation": reason or None,
    }


# ---------------------------------------------------------------------- messages


def _calls_after(turns: Iterable[Turn]) -> list[ToolCall]:
    """The calls that a model asked for: those before the next request."""
    found: list[ToolCall] = []
    for turn in turns:
        if turn.llm_call is not None or turn.turn_type is TurnType.USER_MESSAGE:
            break
        if turn.tool_call is not None:
            found.append(turn.tool_call)
    return found


def _asked_for(call: ToolCall) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "tool_call", "id": call.call_id, "name": call.name}
    return part if "arguments" in call.unknown else part | {"arguments": plain(call.arguments)}


def _message(role: str, parts: list[Any]) -> dict[str, Any]:
    return {"role": role, "parts": parts} | ({"finish_reason": "stop"} if role == "assistant" else {})


def _text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


# ---------------------------------------------------------------------- values


def _written(data: Any) -> str:
    return msgspec.json.encode(data).decode()


def _pairs(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Attributes as OTLP has them; those that are `None` say nothing."""
    return [{"key": key, "value": _value(value)} for key, value in attributes.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -_LARGEST_INT <= value < _LARGEST_INT:
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": str(plain(value))}


def _hexadecimal(text: str) -> str:
    """An id of a trace as OTLP wants it: 32 digits, not all 0; else empty."""
    is_id = len(text) == 32 and all(sign in "0123456789abcdef" for sign in text) and int(text, 16)
    return text if is_id else ""


def _moment(written: str) -> datetime | None:
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        return None


def _nanoseconds(moment: datetime | None) -> int:
    """Since the epoch; 0 if it is not known."""
    if moment is None:
        return 0
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    past = moment - datetime.fromtimestamp(0, UTC)
    return max(0, (past.days * 86_400 + past.seconds) * 1_000_000_000 + past.microseconds * 1000)
