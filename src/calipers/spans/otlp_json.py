"""OTLP as JSON: the spans and log records of an export request.

- Ids are hexadecimal, as the specification says; in base64 where a program used the JSON of protobuf. Integers of 64 bits are texts. Enums are numbers or names.
- A log record becomes an event of the span it names (`SpanLog`), its body beside its attributes: events were log records first
  and span events later, and mean the same.
- Of a document that is cut off, all spans are kept that are whole.
"""

import base64
import codecs
import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

import msgspec

from .query import SpanStatus
from .tree import SpanEvent, SpanNode, read_span

_LARGEST_ID: Final = (1 << 128) - 1
_LARGEST: Final = (1 << 63) - 1


class SpanLog(NamedTuple):
    """A log record that belongs to a span."""

    trace_id: int
    span_id: int
    event: SpanEvent


def log_event(name: str | None, time_ns: int, attributes: dict[str, Any], body: Any) -> SpanEvent:
    """The event that a log record is, without a name if it is only a log line. The attributes are taken over and changed."""
    attributes |= body if isinstance(body, dict) else {} if body is None else {"body": body}
    return SpanEvent(name or str(attributes.get("event.name") or ""), time_ns=time_ns, attributes=attributes)


def join_logs(nodes: Iterable[SpanNode], logs: Iterable[SpanLog]) -> int:
    """Make log records events of their spans; how many belong to spans that are not here."""
    by_span: dict[tuple[int, int], list[SpanLog]] = {}
    for log in logs:
        by_span.setdefault((log.trace_id, log.span_id), []).append(log)
    for node in nodes if by_span else ():
        own = by_span.pop((node.trace_id, node.span_id), None)
        if own is not None:
            ordered = sorted(own, key=lambda log: log.event.time_ns)
            node.events = (*node.events, *(log.event for log in ordered))
    return sum(map(len, by_span.values()))


class _Value(msgspec.Struct, rename="camel", gc=False):
    string_value: str | None = None
    int_value: str | int | None = None
    bool_value: bool | None = None
    double_value: float | str | None = None
    array_value: "_Values | None" = None
    kvlist_value: "_Pairs | None" = None
    bytes_value: str | None = None


class _Values(msgspec.Struct, gc=False):
    values: list[_Value | None] = []


class _Pair(msgspec.Struct, gc=False):
    key: str = ""
    value: _Value | None = None


class _Pairs(msgspec.Struct, gc=False):
    values: list[_Pair] = []


class _Status(msgspec.Struct, gc=False):
    code: int | str = 0
    message: str = ""


class _Event(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    time_unix_nano: str | int = 0
    attributes: list[_Pair] | None = None


class _Span(msgspec.Struct, rename="camel", gc=False):
    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str | None = None
    name: str = ""
    start_time_unix_nano: str | int = 0
    end_time_unix_nano: str | int = 0
    attributes: list[_Pair] | None = None
    events: list[_Event] | None = None
    status: _Status | None = None


class _LogRecord(msgspec.Struct, rename="camel", gc=False):
    trace_id: str = ""
    span_id: str = ""
    time_unix_nano: str | int = 0
    observed_time_unix_nano: str | int = 0
    event_name: str = ""
    attributes: list[_Pair] | None = None
    body: _Value | None = None


class _ScopeSpans(msgspec.Struct, gc=False):
    spans: list[_Span] = []


class _ScopeLogs(msgspec.Struct, rename="camel", gc=False):
    log_records: list[_LogRecord] = []


class _ResourceSpans(msgspec.Struct, rename="camel", gc=False):
    scope_spans: list[_ScopeSpans] = []
    instrumentation_library_spans: list[_ScopeSpans] = []


class _ResourceLogs(msgspec.Struct, rename="camel", gc=False):
    scope_logs: list[_ScopeLogs] = []


class _Request(msgspec.Struct, rename="camel", gc=False):
    resource_spans: list[_ResourceSpans] = []
    resource_logs: list[_ResourceLogs] = []


_request = msgspec.json.Decoder(_Request, strict=True)
STATUS_CODES: Final[dict[int | str, SpanStatus]] = {
    1: "ok",
    2: "error",
    "STATUS_CODE_OK": "ok",
    "STATUS_CODE_ERROR": "error",
    "OK": "ok",
    "ERROR": "error",
}


def read_request(document: bytes | bytearray | memoryview) -> list[SpanNode | SpanLog]:
    """The spans and log records of one export request.

    Raises:
        msgspec.DecodeError: it is not JSON, or not a request.
    """
    request = _request.decode(document)
    found: list[SpanNode | SpanLog] = []
    for resource in request.resource_spans:
        for scope in resource.scope_spans or resource.instrumentation_library_spans:
            found += map(_node, scope.spans)
    for logs in request.resource_logs:
        for scope_logs in logs.scope_logs:
            found += [_log(record) for record in scope_logs.log_records if record.span_id]
    return found


_LISTS: Final = re.compile(r'"(spans|logRecords)"\s*:\s*\[')
_BLANK: Final = re.compile(r"[\s,]*")
_OPENING: Final = re.compile(r'\{\s*"[^"\\]*"')
"""How an entry of a list begins; those after it mostly begin alike."""
_CHUNK: Final = 1 << 20
_AT_ONCE: Final = 1 << 18
"""Characters of a list that are read together: so many spans as the processor keeps at hand."""
_MOST_ENDINGS: Final = 3
"""In how many places the beginning of a list is tried to be cut off."""
_LONGEST_NAME: Final = 40
"""Characters at the end of what was read that may be the beginning of a list."""


def read_loosely(
    document: bytes, read: Callable[[int], bytes] = lambda _: b""
) -> Iterator[SpanNode | SpanLog]:
    """The spans and log records of a request, one by one: all that are whole of one that is cut off; see `read_pieces`."""
    return chain.from_iterable(read_pieces(document, read))


def read_pieces(
    document: bytes, read: Callable[[int], bytes] = lambda _: b""
) -> Iterator[list[SpanNode | SpanLog]]:
    """The same, as many together as were read together.

    Args:
        document: the request, or its beginning.
        read: gives the next bytes of a request that is not to be held in memory.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("ignore")
    written, place = decoder.decode(document), 0
    scan = json.JSONDecoder().raw_decode
    kind: str | None = None
    """What the list holds that is being read."""
    singly = False
    """Whether what is in memory is read entry by entry: several at once were tried."""
    is_long = False
    """Whether the list goes on, as far as is known."""
    while True:
        if kind is None:
            found = _LISTS.search(written, place)
            if found is not None:
                kind, place, is_long = found[1], found.end(), False
                continue
            place = max(place, len(written) - _LONGEST_NAME)
        else:
            blank = _BLANK.match(written, place)
            place = blank.end() if blank is not None else place
            if written.startswith("{", place):
                if not singly:
                    several, place, is_long = _read_several(kind, written, place, is_long=is_long)
                    yield several
                    singly = not several
                    continue
                try:
                    data, size = scan(written[place:])  # only the rest: an error counts the lines before it
                except ValueError:  # it is not whole yet
                    pass
                else:
                    place += size
                    yield list(_read_one(kind, data))
                    continue
            elif place < len(written):
                kind, singly = None, False
                continue
        more = read(_CHUNK)
        if not more:
            return
        written, place = written[place:] + decoder.decode(more), 0
        singly = False


def _read_several(
    kind: str, written: str, place: int, *, is_long: bool
) -> tuple[list[SpanNode | SpanLog], int, bool]:
    """Many entries of a list in a text, where the first begins that is not among them, and whether the list goes on there.

    They are cut off where a later one seems to begin. Had that been inside of an entry, what is before would be no list. Of a list
    that is long it is taken for granted that no other begins so soon: to look for one takes half as long as to read.
    """
    opening = _OPENING.match(written, place)
    end = place + _AT_ONCE
    if opening is None:
        return [], place, False
    if is_long:
        several, until = _read_until(kind, written, place, end, opening[0], endings=1)
        if several:
            return several, until, True
    nearest = end
    for name in _LISTED:  # another list may begin here
        if (found := written.find(f'"{name}"', place, nearest)) >= 0:
            nearest = found
    return *_read_until(kind, written, place, nearest, opening[0]), nearest == end


def _read_until(
    kind: str, written: str, place: int, end: int, opening: str, *, endings: int = _MOST_ENDINGS
) -> tuple[list[SpanNode | SpanLog], int]:
    """The entries of a list from a place up to one that begins before an end, and where that one begins."""
    for _ in range(endings):
        end = written.rfind(opening, place + 1, end)
        before = written[place:end].rstrip() if end > 0 else ""
        if not before:
            break
        if before.endswith(","):
            with contextlib.suppress(msgspec.DecodeError, UnicodeEncodeError):
                entries = _LISTED[kind].read(f"[{before[:-1]}]")
                return list(map(_LISTED[kind].make, entries)), end
    return [], place


def _read_one(kind: str, data: Any) -> Iterator[SpanNode | SpanLog]:
    with contextlib.suppress(msgspec.DecodeError):  # what only looks like a span
        yield _LISTED[kind].make(msgspec.convert(data, _LISTED[kind].entry))


def _node(span: _Span) -> SpanNode:
    attributes: dict[str, Any] = {}
    for pair in span.attributes or ():
        value = pair.value
        if value is not None and (text := value.string_value) is not None:  # as most are
            attributes[pair.key] = text
        elif value is not None and (number := value.int_value) is not None:
            attributes[pair.key] = _number(number, int)
        else:
            attributes[pair.key] = None if value is None else _value(value)
    status = span.status
    above = span.parent_span_id
    return read_span(
        span.name,
        id_of(span.trace_id),
        id_of(span.span_id),
        (id_of(above) or None) if above else None,
        time_of(span.start_time_unix_nano),
        time_of(span.end_time_unix_nano),
        attributes,
        "unset" if status is None else STATUS_CODES.get(status.code, "unset"),
        tuple(map(_event, span.events)) if span.events else (),
        "" if status is None else status.message,
    )


def _event(event: _Event) -> SpanEvent:
    return SpanEvent(
        event.name, time_ns=time_of(event.time_unix_nano), attributes=_attributes(event.attributes)
    )


def _log(record: _LogRecord) -> SpanLog:
    body = None if record.body is None else _value(record.body)
    at = time_of(record.time_unix_nano) or time_of(record.observed_time_unix_nano)
    event = log_event(record.event_name, at, _attributes(record.attributes), body)
    return SpanLog(id_of(record.trace_id), id_of(record.span_id), event)


class _Listed(NamedTuple):
    """What the entries of a list are."""

    entry: type
    read: Callable[[str], list[Any]]
    make: Callable[[Any], SpanNode | SpanLog]


_LISTED: Final = {
    "spans": _Listed(_Span, msgspec.json.Decoder(list[_Span]).decode, _node),
    "logRecords": _Listed(_LogRecord, msgspec.json.Decoder(list[_LogRecord]).decode, _log),
}


def _attributes(pairs: list[_Pair] | None) -> dict[str, Any]:
    return {pair.key: None if pair.value is None else _value(pair.value) for pair in pairs or ()}


def _value(value: _Value) -> Any:
    if value.string_value is not None:
        return value.string_value
    if value.int_value is not None:
        return _number(value.int_value, int)
    if value.bool_value is not None:
        return value.bool_value
    if value.double_value is not None:
        return _number(value.double_value, float)
    if value.array_value is not None:
        return [None if each is None else _value(each) for each in value.array_value.values]
    if value.kvlist_value is not None:
        return _attributes(value.kvlist_value.values)
    return value.bytes_value


def _number(written: str | float, kind: type[int] | type[float]) -> Any:
    """A number that is written as a text; the text itself if it is not a number, or an integer of more than 64 bits."""
    try:
        found = kind(written)
    except ValueError:
        return written
    return found if kind is float or -_LARGEST <= found <= _LARGEST else str(written)


def time_of(written: str | float) -> int:
    """A time in nanoseconds since the epoch; 0 for anything else."""
    try:
        found = int(written)
    except (ValueError, OverflowError):
        return 0
    return found if 0 <= found <= _LARGEST else 0


def id_of(text: str) -> int:
    """An id as a number, from hexadecimal or base64; 0 for what is neither."""
    if not text:
        return 0
    try:
        return int(text, 16) & _LARGEST_ID
    except ValueError:
        if len(text) not in {24, 12} or not text.endswith("="):
            return 0
    try:
        return int.from_bytes(base64.b64decode(text))
    except ValueError:
        return 0
