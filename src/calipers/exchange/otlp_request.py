"""One OTLP/HTTP request and its answer: the body of an export, as JSON or protobuf, read; and what is said about it.

| what came | answer |
|---|---|
| all could be read | 200 and an empty response |
| a part could not | 200 and `partial_success`: how many spans were rejected, and why; the others are kept |
| nothing could | 400 and a `google.rpc.Status` with the reason, after which an exporter does not try again |

A span without an id, or without that of its trace, is rejected. Where a body is cut off, what stands before the cut is kept, and how much
is missing is not known: one span is counted.
"""

from contextlib import suppress
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from calipers.spans import otlp_json, otlp_protobuf
from calipers.spans.otlp_json import SpanLog
from calipers.spans.tree import SpanNode

Form: TypeAlias = Literal["J", "P"]
"""JSON or protobuf."""

CONTENT_TYPES: Final[dict[str, Form]] = {"application/json": "J", "application/x-protobuf": "P"}
_TYPE_OF: Final[dict[Form, str]] = {form: name for name, form in CONTENT_TYPES.items()}

INVALID, NOT_FOUND, EXHAUSTED, UNAVAILABLE, UNAUTHENTICATED = 3, 5, 8, 14, 16
"""Codes of `google.rpc.Status`."""


class Body(NamedTuple):
    """What a request holds."""

    items: list[SpanNode | SpanLog]
    rejected: int
    """Spans that cannot be kept; at least 1 where a problem is told."""
    problem: str
    """Why; empty if there is none."""


def read_body(form: Form, body: bytes) -> Body:
    """What a request holds, as far as it can be read."""
    items: list[SpanNode | SpanLog] = []
    problem = ""
    try:
        if form == "J":
            items = otlp_json.read_request(body)
        else:
            otlp_protobuf.read_into(items, body)
    except (otlp_protobuf.CutError, msgspec.DecodeError, ValueError, OverflowError, RecursionError) as error:
        problem = f"the request is cut off or damaged: {error}"
        if form == "J":
            with suppress(msgspec.DecodeError, ValueError, OverflowError, RecursionError):
                for item in otlp_json.read_loosely(body):
                    items.append(item)
    known = [item for item in items if item.trace_id and item.span_id]
    nameless = len(items) - len(known)
    if nameless and not problem:
        problem = f"{nameless} spans have no id, or none of their trace"
    return Body(known, nameless or bool(problem), problem)


# ---------------------------------------------------------------------- answers


class Answer(NamedTuple):
    """What is sent back."""

    status: int
    body: bytes
    content_type: str


def accepted(form: Form, read: Body) -> Answer:
    """The answer to a request of which something was kept."""
    if not read.problem:
        return Answer(200, b"{}" if form == "J" else b"", _TYPE_OF[form])
    if form == "J":
        told = {"rejectedSpans": str(int(read.rejected)), "errorMessage": read.problem}
        return Answer(200, msgspec.json.encode({"partialSuccess": told}), _TYPE_OF[form])
    partial = b"\x08" + _varint(int(read.rejected)) + _field(2, read.problem.encode())
    return Answer(200, _field(1, partial), _TYPE_OF[form])


def refused(form: Form, status: int, code: int, message: str) -> Answer:
    """The answer to a request of which nothing was kept, with the code of a `google.rpc.Status`."""
    if form == "J":
        return Answer(status, msgspec.json.encode({"code": code, "message": message}), _TYPE_OF[form])
    return Answer(status, b"\x08" + _varint(code) + _field(2, message.encode()), _TYPE_OF[form])


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
