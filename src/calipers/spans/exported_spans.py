"""Spans as programs give them out that are not OTLP: the Python SDK, Phoenix, Langfuse, LangSmith. `exported_spans`.

| program | what is read |
|---|---|
| OpenTelemetry's SDK for Python | what `ReadableSpan.to_json` prints, one or a list |
| Phoenix | the spans of its REST API (`/v1/projects/…/spans`), or a list of them |
| Langfuse | observations of its public API, or traces that hold them |
| LangSmith | runs, as its API and `Client.list_runs` give them |

The last two have no attributes by a convention: input and output are whatever a program sent. They become the names of OpenInference, which
have a place for the same things. Ids that are no hexadecimal numbers are hashed to one.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from .messages import entries_in
from .otlp_json import STATUS_CODES, id_of, time_of
from .tree import SpanEvent, SpanNode


def exported_spans(data: Any, note: Callable[[str], Any]) -> list[SpanNode]:
    """The spans of some data, if it has one of the known shapes; else none.

    Args:
        data: any JSON.
        note: is told how many entries beside the spans could not be read.
    """
    if isinstance(data, Mapping) and isinstance(listed := data.get("data", data.get("runs")), list):
        data = listed
    entries = data if isinstance(data, list) else [data]
    found: list[SpanNode] = []
    unread = 0
    for each in entries:
        try:
            spans = list(_spans(each)) if isinstance(each, Mapping) else []
        except (AttributeError, KeyError, TypeError, ValueError):  # it only looks like a span
            spans = []
        found += spans
        unread += not spans
    if found and unread:
        note(f"{unread} of {len(entries)} entries are no spans of a known shape")
    return found


def _spans(entry: Mapping[str, Any]) -> Iterator[SpanNode]:
    if isinstance(entry.get("context"), Mapping) and "span_id" in entry["context"]:
        yield _printed(entry)
    elif isinstance(observations := entry.get("observations"), list):
        for one in observations:
            if isinstance(one, Mapping):
                yield _langfuse(one, entry)
    elif "traceId" in entry and "type" in entry and "startTime" in entry:
        yield _langfuse(entry, {})
    elif "run_type" in entry and "trace_id" in entry:
        yield from _langsmith(entry)


# ---------------------------------------------------------------------- the SDK, and Phoenix


def _printed(data: Mapping[str, Any]) -> SpanNode:
    status = data.get("status") or {}
    code = status.get("status_code") if isinstance(status, Mapping) else None
    attributes = _flat(data.get("attributes") or {})
    kind = data.get("span_kind")
    if isinstance(kind, str) and kind in _KINDS and "openinference.span.kind" not in attributes:
        attributes["openinference.span.kind"] = kind
    return SpanNode(
        str(data.get("name") or ""),
        trace_id=_id(data["context"].get("trace_id"), 16),
        span_id=_id(data["context"]["span_id"], 8),
        parent_span_id=_id(data.get("parent_id"), 8) or None,
        start_ns=_nanoseconds(data.get("start_time")),
        end_ns=_nanoseconds(data.get("end_time")),
        attributes=attributes,
        status=STATUS_CODES.get(str(code or data.get("status_code")), "unset"),
        events=tuple(
            SpanEvent(
                str(event.get("name") or ""),
                time_ns=_nanoseconds(event.get("timestamp")),
                attributes=dict(event.get("attributes") or {}),
            )
            for event in data.get("events") or ()
        ),
        status_message=str(
            (status.get("description") if isinstance(status, Mapping) else None)
            or data.get("status_message")
            or ""
        ),
    )


_KINDS: Final = frozenset({"LLM", "TOOL", "AGENT", "CHAIN"})


def _flat(attributes: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Attributes with dots in their names instead of objects in each other, and numbers instead of places in lists."""
    found: dict[str, Any] = {}
    for key, value in attributes.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            found |= _flat(value, f"{name}.")
        elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
            for number, each in enumerate(value):
                found |= _flat(each, f"{name}.{number}.")
        else:
            found[name] = value
    return found


# ---------------------------------------------------------------------- Langfuse

_LANGFUSE: Final = {"GENERATION": "LLM", "TOOL": "TOOL", "AGENT": "AGENT"}


def _langfuse(data: Mapping[str, Any], trace: Mapping[str, Any]) -> SpanNode:
    kind = _LANGFUSE.get(str(data.get("type")), "CHAIN")
    used = data.get("usageDetails") or data.get("usage")
    used = used if isinstance(used, Mapping) else {}
    attributes = _values(kind, data.get("name"), data.get("input"), data.get("output"))
    attributes |= _known(
        {
            "llm.model_name": data.get("model"),
            "llm.token_count.prompt": used.get("input"),
            "llm.token_count.completion": used.get("output"),
            "session.id": trace.get("sessionId") or data.get("sessionId"),
        }
    )
    failed = data.get("level") == "ERROR"
    return SpanNode(
        str(data.get("name") or ""),
        trace_id=_id(data.get("traceId") or trace.get("id"), 16),
        span_id=_id(data.get("id"), 8),
        parent_span_id=_id(data.get("parentObservationId"), 8) or None,
        start_ns=_nanoseconds(data.get("startTime")),
        end_ns=_nanoseconds(data.get("endTime")) or _nanoseconds(data.get("startTime")),
        attributes=attributes,
        status="error" if failed else "unset",
        status_message=str(data.get("statusMessage") or "") if failed else "",
    )


# ---------------------------------------------------------------------- LangSmith

_LANGSMITH: Final = {"llm": "LLM", "tool": "TOOL"}


def _langsmith(data: Mapping[str, Any]) -> Iterator[SpanNode]:
    kind = _LANGSMITH.get(str(data.get("run_type")), "CHAIN")
    given, output = data.get("inputs") or {}, data.get("outputs") or {}
    if kind == "TOOL":
        output = output.get("output", output) if isinstance(output, Mapping) and data.get("outputs") else None
    attributes = _values(kind, data.get("name"), given, output)
    extra = data.get("extra") if isinstance(data.get("extra"), Mapping) else {}
    metadata = extra.get("metadata") if isinstance(extra, Mapping) else None
    metadata = metadata if isinstance(metadata, Mapping) else {}
    attributes |= _known(
        {
            "llm.model_name": metadata.get("ls_model_name"),
            "llm.token_count.prompt": data.get("prompt_tokens"),
            "llm.token_count.completion": data.get("completion_tokens"),
            "session.id": next(
                (
                    metadata[key]
                    for key in ("session_id", "thread_id", "conversation_id")
                    if metadata.get(key)
                ),
                None,
            ),
        }
    )
    why = data.get("error")
    yield SpanNode(
        str(data.get("name") or ""),
        trace_id=_id(data.get("trace_id"), 16),
        span_id=_id(data.get("id"), 8),
        parent_span_id=_id(data.get("parent_run_id"), 8) or None,
        start_ns=_nanoseconds(data.get("start_time")),
        end_ns=_nanoseconds(data.get("end_time")) or _nanoseconds(data.get("start_time")),
        attributes=attributes,
        status="error" if why else "unset",
        status_message=str(why or ""),
    )
    for child in data.get("child_runs") or ():
        if isinstance(child, Mapping) and "run_type" in child:
            yield from _langsmith(
                {"trace_id": data.get("trace_id"), "parent_run_id": data.get("id"), **child}
            )


# ---------------------------------------------------------------------- what they share


def _values(kind: str, name: Any, given: Any, output: Any) -> dict[str, Any]:
    """Input and output under the names of OpenInference; those of a model are messages."""
    found: dict[str, Any] = {"openinference.span.kind": kind}
    if kind == "TOOL":
        found["tool.name"] = str(name or "?")
    if kind == "LLM":
        return found | {"input.messages": entries_in(given), "output.messages": entries_in(output)}
    for key, value in (("input.value", given), ("output.value", output)):
        if value is not None:
            found[key] = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return found


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _id(value: Any, size: int) -> int:
    """An id as a number of some bytes: a hexadecimal one itself, another one hashed."""
    written = str(value or "").replace("-", "")
    if not written:
        return 0
    read = id_of(written) if len(written.removeprefix("0x")) <= 2 * size else 0
    return read or int.from_bytes(hashlib.blake2b(written.encode(), digest_size=size).digest())


def _nanoseconds(time: Any) -> int:
    """A time in ISO 8601, or milliseconds, since the epoch."""
    if isinstance(time, int | float):
        return time_of(time * 1_000_000)
    if not isinstance(time, str):
        return 0
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return 0
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    whole = int(moment.replace(microsecond=0).timestamp())
    return time_of(whole * 1_000_000_000 + moment.microsecond * 1000)
