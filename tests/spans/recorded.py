"""Small recordings for tests: spans as data, written as OTLP in JSON or protobuf."""

import base64
import itertools
import json
import struct
from typing import Any

_ids = itertools.count(1)


def span(
    name: str, parent: dict[str, Any] | None = None, *, trace: int | None = None, at: int = 0, **more: Any
) -> dict[str, Any]:
    """A span as OTLP writes it in JSON. `attributes`, `events` and `error` describe it; it takes a millisecond from `at`."""
    number = next(_ids)
    trace_id = parent["traceId"] if parent else f"{trace or number:032x}"
    found = {
        "traceId": trace_id,
        "spanId": f"{number:016x}",
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + at * 1_000_000),
        "endTimeUnixNano": str(1_700_000_000_000_000_000 + (at + more.pop("takes", 1)) * 1_000_000),
        "attributes": pairs(more.pop("attributes", {})),
        "events": [
            {"name": event, "timeUnixNano": "1700000000000000000", "attributes": pairs(told)}
            for event, told in more.pop("events", ())
        ],
        "status": {"code": 2, "message": more["error"]} if "error" in more else {},
    }
    more.pop("error", None)
    assert not more
    if parent:
        found["parentSpanId"] = parent["spanId"]
    return found


def log(of: dict[str, Any], event: str, body: Any, at: int = 0) -> dict[str, Any]:
    """A log record of a span."""
    return {
        "traceId": of["traceId"],
        "spanId": of["spanId"],
        "observedTimeUnixNano": str(1_700_000_000_000_000_000 + at),
        "eventName": event,
        "body": value(body),
    }


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value(each)} for key, each in attributes.items()]


def value(given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    if isinstance(given, bool):
        return {"boolValue": given}
    if isinstance(given, int):
        return {"intValue": str(given)}
    if isinstance(given, float):
        return {"doubleValue": given}
    if isinstance(given, list):
        return {"arrayValue": {"values": [value(each) for each in given]}}
    if isinstance(given, dict):
        return {"kvlistValue": {"values": pairs(given)}}
    return {"stringValue": str(given)}


def as_json(spans: list[dict[str, Any]], logs: list[dict[str, Any]] = ()) -> bytes:
    """An export request."""
    request: dict[str, Any] = {}
    if spans:
        request["resourceSpans"] = [
            {"resource": {}, "scopeSpans": [{"scope": {"name": "test"}, "spans": spans}]}
        ]
    if logs:
        request["resourceLogs"] = [{"resource": {}, "scopeLogs": [{"scope": {}, "logRecords": list(logs)}]}]
    return json.dumps(request).encode()


def in_base64(spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same spans with ids as protobuf's own JSON has them."""
    return [
        each
        | {
            key: base64.b64encode(bytes.fromhex(each[key])).decode()
            for key in ("traceId", "spanId", "parentSpanId")
            if key in each
        }
        for each in spans
    ]


# ---------------------------------------------------------------------- protobuf


def as_protobuf(spans: list[dict[str, Any]]) -> bytes:
    """An export request."""
    scope = _field(1, _field(1, b"test")) + b"".join(_field(2, _span(each)) for each in spans)
    return _field(1, _field(1, b"") + _field(2, scope))


def logs_as_protobuf(logs: list[dict[str, Any]]) -> bytes:
    """An export request of log records."""
    return _field(1, _field(2, b"".join(_field(2, _log(each)) for each in logs)))


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _fixed(number: int, of: Any) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<Q", int(of))


def _span(given: dict[str, Any]) -> bytes:
    found = _field(1, bytes.fromhex(given["traceId"])) + _field(2, bytes.fromhex(given["spanId"]))
    if "parentSpanId" in given:
        found += _field(4, bytes.fromhex(given["parentSpanId"]))
    found += _field(5, given["name"].encode()) + _varint(6 << 3) + _varint(given["kind"])
    found += _fixed(7, given["startTimeUnixNano"]) + _fixed(8, given["endTimeUnixNano"])
    found += b"".join(_field(9, _pair(each)) for each in given["attributes"])
    for event in given["events"]:
        told = b"".join(_field(3, _pair(each)) for each in event["attributes"])
        found += _field(11, _fixed(1, event["timeUnixNano"]) + _field(2, event["name"].encode()) + told)
    status = given["status"]
    if status:
        found += _field(15, _field(2, status["message"].encode()) + _varint(3 << 3) + _varint(status["code"]))
    return found


def _log(given: dict[str, Any]) -> bytes:
    return (
        _field(5, _value(given["body"]))
        + _field(9, bytes.fromhex(given["traceId"]))
        + _field(10, bytes.fromhex(given["spanId"]))
        + _fixed(11, given["observedTimeUnixNano"])
        + _field(12, given["eventName"].encode())
    )


def _pair(given: dict[str, Any]) -> bytes:
    return _field(1, given["key"].encode()) + _field(2, _value(given["value"]))


def _value(given: dict[str, Any]) -> bytes:
    for kind, each in given.items():
        if kind == "stringValue":
            return _field(1, each.encode())
        if kind == "boolValue":
            return _varint(2 << 3) + _varint(int(each))
        if kind == "intValue":
            return _varint(3 << 3) + _varint(int(each))
        if kind == "doubleValue":
            return _varint(4 << 3 | 1) + struct.pack("<d", each)
        if kind == "arrayValue":
            return _field(5, b"".join(_field(1, _value(one)) for one in each["values"]))
        return _field(6, b"".join(_field(1, _pair(one)) for one in each["values"]))
    return b""
