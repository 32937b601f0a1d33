"""OTLP as protobuf: a reader of the wire format for the few messages of an export request.

Why not `opentelemetry-proto`, which reads a span in little more than half the time: with this reader protobuf files need no extra
package, a file that is cut off keeps all that stands before the cut, and one of any size is read piece by piece. The messages that matter
are seven, and their numbers are fixed by the specification.

A message is a sequence of fields, each a key (number and wire type) and a value. Fields that are not known are passed over.
Of a message that is cut off, all spans before the cut are kept: `CutError` comes after them.
"""

import base64
import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

from calipers.errors import InvalidTraceError

from .otlp_json import SpanLog, log_event
from .query import SpanStatus
from .tree import SpanEvent, SpanNode, read_span

_STATUS: Final[dict[int, SpanStatus]] = {0: "unset", 1: "ok", 2: "error"}
_SIGN: Final = 1 << 63
_double = struct.Struct("<d").unpack_from
_fixed64 = struct.Struct("<Q").unpack_from
_two_times = struct.Struct("<QxQ").unpack_from
_fixed32 = struct.Struct("<I").unpack_from

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_KEYS: Final = 10_000
_CHUNK: Final = 1 << 20


class CutError(InvalidTraceError):
    """The data ends within a field, or holds what no field can be."""


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = data[place]
    place += 1
    if value < 0x80:
        return value, place
    value &= 0x7F
    shift = 7
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
        if shift > 63:
            raise CutError("a number of more than 64 bits")


def _fields(data: bytes, place: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The fields of a message: number, and either begin and end of its bytes, or its value and -1."""
    try:
        while place < end:
            key = data[place]
            place += 1
            if key >= 0x80:
                key, place = _varint(data, place - 1)
            kind = key & 7
            if kind == _BYTES:
                size = data[place]
                place += 1
                if size >= 0x80:
                    size, place = _varint(data, place - 1)
                stop = place + size
                if stop > end:
                    raise CutError("the data ends within a field")
                yield key >> 3, place, stop
                place = stop
            elif kind == _VARINT:
                value, place = _varint(data, place)
                yield key >> 3, value, -1
            elif kind == _FIXED64:
                (value,) = _fixed64(data, place)
                yield key >> 3, value, -1
                place += 8
            elif kind == _FIXED32:
                (value,) = _fixed32(data, place)
                yield key >> 3, value, -1
                place += 4
            else:
                raise CutError(f"a field of the unknown wire type {kind}")
    except (IndexError, struct.error):
        raise CutError("the data ends within a field") from None


def is_request(data: bytes) -> bool:
    """Whether some bytes begin like an export request: with a field 1 that holds a resource or a scope."""
    try:
        number, begin, stop = next(_fields(data, 0, len(data)))
        inner = next(_fields(data, begin, stop))
    except CutError:
        # A cut request still begins with its tag, whose size then leads beyond the end.
        return data[:1] == b"\n" and not {0x0A, 0x12}.isdisjoint(data[2:8])
    except StopIteration:
        return False
    return number == 1 and stop >= 0 and inner[0] in {1, 2, 3} and inner[2] >= 0


def read_request(data: bytes) -> Iterator[SpanNode | SpanLog]:
    """The spans and log records of one export request: they share a frame, and their fields tell them apart.

    Raises:
        CutError: the data ends too early, after what was read.
    """
    found: list[SpanNode | SpanLog] = []
    try:
        read_into(found, data)
    finally:
        yield from found


def read_into(found: list[SpanNode | SpanLog], data: bytes) -> None:
    """Add the spans and log records of one export request to a list.

    Raises:
        CutError: the data ends too early; what was read before is in the list.
    """
    _level(found, data, 0, len(data), (1, 2, 2))


def read_large_request(read: Callable[[int], bytes]) -> Iterator[SpanNode | SpanLog]:
    """The same from a function that gives the next bytes, for a request that is not to be held in memory.

    Raises:
        CutError: the data ends too early, after what was read.
    """
    buffer, begin, place = b"", 0, 0
    ends: list[int] = []
    """Where the messages end that are being read: a resource, and a scope in it."""

    def take(size: int) -> bytes:
        nonlocal buffer, begin, place
        while begin + size > len(buffer):
            more = read(max(size, _CHUNK))
            if not more:
                raise CutError("the data ends within a field")
            buffer, begin = buffer[begin:] + more, 0
        found = buffer[begin : begin + size]
        begin += size
        place += size
        return found

    def number() -> int:
        value = shift = 0
        while (byte := take(1)[0]) >= 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    while True:
        if len(ends) == 2:  # of the spans of a scope, many were read together
            stop = min(len(buffer), begin + ends[-1] - place)
            while begin < stop:
                try:
                    key, inside, after = _field(buffer, begin, stop)
                except CutError:
                    break
                if key == 0x12 and (found := _record(buffer, inside, after)) is not None:
                    yield found
                begin, place = after, place + after - begin
        while ends and place >= ends[-1]:
            ends.pop()
        try:
            key = number()
        except CutError:
            if ends:
                raise
            return
        size = number() if key & 7 == _BYTES else {_FIXED64: 8, _FIXED32: 4}.get(key & 7, 0)
        if key & 7 == _VARINT:
            number()
        elif key == (0x0A, 0x12, 0x12)[len(ends)] and len(ends) < 2:
            ends.append(place + size)
            continue
        data = take(size)
        if key == 0x12 and len(ends) == 2 and (found := _record(data, 0, size)) is not None:
            yield found


def _level(
    found: list[SpanNode | SpanLog], data: bytes, begin: int, end: int, numbers: tuple[int, ...]
) -> None:
    """What stands below a message: resources hold scopes, and scopes hold spans. A cut one is read up to the cut."""
    wanted = numbers[0] << 3 | _BYTES
    is_lowest = len(numbers) == 1
    place = begin
    while place < end:
        if (
            (place + 2 < end and data[place] == wanted)
            and (size := data[place + 1]) >= 0x80
            and (more := data[place + 2]) < 0x80
            and (stop := place + 3 + (size & 0x7F | more << 7)) <= end
        ):  # the size in two bytes, as most spans have it
            key, inside = wanted, place + 3
        else:
            try:
                key, inside, stop = _field(data, place, end)
            except CutError:
                opened = _open_field(data, place, end)
                if opened is not None and opened[0] == wanted and not is_lowest:
                    _level(found, data, opened[1], end, numbers[1:])
                raise
        if key != wanted:
            pass
        elif not is_lowest:
            _level(found, data, inside, stop, numbers[1:])
        elif (record := _record(data, inside, stop)) is not None:
            found.append(record)
        place = stop


def _field(data: bytes, place: int, end: int) -> tuple[int, int, int]:
    """The key of the field that begins at a place, and where what it holds begins and ends."""
    try:
        key, inside = _varint(data, place)
        if key & 7 != _BYTES:
            return key, inside, _after(data, place, end)
        size, inside = data[inside], inside + 1
        if size >= 0x80:
            size, inside = _varint(data, inside - 1)
    except IndexError:
        raise CutError("the data ends within a field") from None
    if inside + size > end:
        raise CutError("the data ends within a field")
    return key, inside, inside + size


def _open_field(data: bytes, place: int, end: int) -> tuple[int, int] | None:
    """Key and begin of the field of bytes that the data ends in."""
    try:
        key, place = _varint(data, place)
        if key & 7 != _BYTES:
            return None
        _, place = _varint(data, place)
    except (IndexError, CutError):
        return None
    return (key, place) if place <= end else None


def _after(data: bytes, place: int, end: int) -> int:
    """Where the field ends that begins at a place."""
    key, place = _varint(data, place)
    kind = key & 7
    if kind == _VARINT:
        return _varint(data, place)[1]
    if kind == _BYTES:
        size, place = _varint(data, place)
    else:
        size = {_FIXED64: 8, _FIXED32: 4}.get(kind, -1)
    if size < 0:
        raise CutError(f"a field of the unknown wire type {kind}")
    if place + size > end:
        raise CutError("the data ends within a field")
    return place + size


def _record(data: bytes, begin: int, end: int) -> SpanNode | SpanLog | None:
    """A span, or a log record: a span begins with its trace id (field 1, bytes), a log record with its time (fixed)."""
    key = data[begin] if begin < end else 0
    try:
        return _span(data, begin, end) if key == 0x0A else _log(data, begin, end)
    except (IndexError, struct.error):
        raise CutError("the data ends within a field") from None


def _span(data: bytes, begin: int, end: int) -> SpanNode:
    ids = [0, 0, 0, 0, 0]
    times = (0, 0)
    name = status_message = ""
    status: SpanStatus = "unset"
    attributes: dict[str, Any] = {}
    events: list[SpanEvent] = []
    place = begin
    known = _PAIRS.get
    while place < end:  # as `_fields` does it, without a generator: this is where the time goes
        key = data[place]
        if key == 0x4A:  # an attribute, as most fields are
            size, place = data[place + 1], place + 2
            is_short = size < 0x80
            if not is_short:
                size, place = _varint(data, place - 1)
            if (stop := place + size) > end:
                raise CutError("the data ends within a field")
            if is_short:
                written = data[place:stop]
                name_of, value = known(written) or _short_pair(written)
            else:
                name_of, value = _pair(data, place, stop)
            attributes[name_of] = value
            place = stop
            continue
        if key & 7 != _BYTES or key >= 0x80:
            if key == 0x30 and data[place + 1] < 0x80:  # the kind of the span
                place += 2
            elif key == 0x39 and data[place + 9] == 0x41:
                times = _two_times(data, place + 1)
                place += 18
            elif key == 0x39:
                times = _fixed64(data, place + 1)[0], times[1]
                place += 9
            elif key == 0x41:
                times = times[0], _fixed64(data, place + 1)[0]
                place += 9
            else:
                place = _after(data, place, end)
            continue
        size = data[place + 1]
        place += 2
        if size >= 0x80:
            size, place = _varint(data, place - 1)
        stop = place + size
        if stop > end:
            raise CutError("the data ends within a field")
        if key < 0x28:
            ids[key >> 3] = int.from_bytes(data[place:stop])
        elif key == 0x2A:
            name = data[place:stop].decode("utf-8", "replace")
        elif key == 0x5A:
            events.append(_event(data, place, stop))
        elif key == 0x7A:
            status, status_message = _status(data, place, stop)
        place = stop
    return read_span(
        name,
        ids[1],
        ids[2],
        ids[4] or None,
        times[0],
        times[1],
        attributes,
        status,
        tuple(events) if events else (),
        status_message,
    )


def _status(data: bytes, begin: int, end: int) -> tuple[SpanStatus, str]:
    status: SpanStatus = "unset"
    message = ""
    for number, value, stop in _fields(data, begin, end):
        if number == 2:
            message = _text(data, value, stop)
        elif number == 3:
            status = _STATUS.get(value, "unset")
    return status, message


def _event(data: bytes, begin: int, end: int) -> SpanEvent:
    at, name = 0, ""
    attributes: dict[str, Any] = {}
    for number, value, stop in _fields(data, begin, end):
        if number == 1:
            at = value
        elif number == 2:
            name = _text(data, value, stop)
        elif number == 3:
            key, told = _pair(data, value, stop)
            attributes[key] = told
    return SpanEvent(name, time_ns=at, attributes=attributes)


def _log(data: bytes, begin: int, end: int) -> SpanLog | None:
    trace_id = span_id = at = observed = 0
    name = ""
    attributes: dict[str, Any] = {}
    body: Any = None
    for number, value, stop in _fields(data, begin, end):
        if number == 1:
            at = value
        elif number == 5:
            body = _value(data, value, stop)
        elif number == 6:
            key, told = _pair(data, value, stop)
            attributes[key] = told
        elif number == 9:
            trace_id = int.from_bytes(data[value:stop])
        elif number == 10:
            span_id = int.from_bytes(data[value:stop])
        elif number == 11:
            observed = value
        elif number == 12:
            name = _text(data, value, stop)
    if not span_id:
        return None
    return SpanLog(trace_id, span_id, log_event(name, at or observed, attributes, body))


def _text(data: bytes, begin: int, end: int) -> str:
    return data[begin:end].decode("utf-8", "replace")


_KEYS: Final[dict[bytes, str]] = {}
"""Names of attributes that were read before: a file has few, and each of them thousands of times."""


_PAIRS: Final[dict[bytes, tuple[str, Any]]] = {}
"""Attributes of less than 128 bytes that were read before: most of them say the same in many spans."""
_MOST_PAIRS: Final = 10_000
_SHARED: Final = frozenset({str, int, bool, float, type(None)})


def _short_pair(written: bytes) -> tuple[str, Any]:
    found = _pair(written, 0, len(written))
    if type(found[1]) in _SHARED:
        if len(_PAIRS) >= _MOST_PAIRS:
            _PAIRS.clear()
        _PAIRS[written] = found
    return found


def _pair(data: bytes, begin: int, end: int) -> tuple[str, Any]:
    # The common pair is a short key and a text or an integer: read without a loop. Anything else takes the long way.
    middle = begin + 2 + data[begin + 1]
    if middle + 3 < end and data[begin] == 0x0A and data[begin + 1] < 0x80 and data[middle] == 0x12:
        # The size of the value, in one byte or in several.
        place = middle + 2
        while data[place - 1] >= 0x80:
            place += 1
        kind = data[place]
        if kind in {0x0A, 0x18}:
            written = data[begin + 2 : middle]
            key = _KEYS.get(written)
            if key is None:
                key = written.decode("utf-8", "replace")
                if len(_KEYS) < _MOST_KEYS:
                    _KEYS[written] = key
            # The value is all that the pair has left: nothing else may stand in it.
            if kind == 0x18:
                return key, _signed(_varint(data, place + 1)[0])
            place += 2
            while data[place - 1] >= 0x80:
                place += 1
            return key, _text(data, place, end)
    key, value = "", None
    for number, start, stop in _fields(data, begin, end):
        if number == 1:
            key = _text(data, start, stop)
        elif number == 2:
            value = _value(data, start, stop)
    return key, value


def _signed(value: int) -> int:
    return value - (_SIGN << 1) if value >= _SIGN else value


def _value(data: bytes, begin: int, end: int) -> Any:
    found: Any = None
    for number, value, stop in _fields(data, begin, end):
        if number == 1:
            found = _text(data, value, stop)
        elif number == 2:
            found = bool(value)
        elif number == 3:
            found = _signed(value)
        elif number == 4:
            found = _double(value.to_bytes(8, "little"))[0]
        elif number == 5:
            found = [
                _value(data, place, limit) for field, place, limit in _fields(data, value, stop) if field == 1
            ]
        elif number == 6:
            found = {}
            for field, place, limit in _fields(data, value, stop):
                if field == 1:
                    key, inner = _pair(data, place, limit)
                    found[key] = inner
        elif number == 7:
            found = base64.b64encode(data[value:stop]).decode()
    return found


def sized_requests(data: bytes) -> list[bytes]:
    """The requests of a file that writes each after its size, in four bytes or as a varint; empty if it is written in another way."""
    for read_size in (_four_bytes, _varint):
        found: list[bytes] = []
        place = 0
        while place < len(data):
            try:
                size, place = read_size(data, place)
            except (IndexError, CutError, struct.error):
                break
            request = data[place : place + size]
            if not size or not is_request(request):
                break
            found.append(request)
            place += size
        if found:
            return found
    return []


def _four_bytes(data: bytes, place: int) -> tuple[int, int]:
    (size,) = struct.unpack_from(">I", data, place)
    return size, place + 4
