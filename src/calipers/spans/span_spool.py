"""Spans in a file, sorted into what belongs together: for recordings that do not fit into memory. `SpanSpool`.

A conversation may be spread over a whole recording, so nothing can be told of it before all is read. Spans go into a temporary file as
they come. Then the traces are joined that may share a conversation: those that name the same one, and those where one begins with
what was said in the other. Each group is small, and is read as if it were a recording of its own. Memory is needed for one group,
some bytes for each run of spans of one trace, and some more a trace.
"""

import struct
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from .otlp_json import SpanLog, join_logs
from .runs import conversation_of, linked_by_messages
from .tree import SpanEvent, SpanNode, read_span

_LARGEST: Final = (1 << 63) - 1
_WIDEST: Final = (1 << 64) - 1
_BUFFER: Final = 1 << 16
_AT_ONCE: Final = 1 << 16
"""Bytes of a group that are read in one go, with what may stand between."""
_TOGETHER: Final = 32
"""How many spans of one trace that come one after the other are written as one item."""
_NONE: Final = -1
_LIST: Final = struct.Struct(">BI")
_LIST_MARK: Final = 0xDD
"""How a list begins in MessagePack: with its length after this."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


class _Marks:
    """Numbers that traces share, each with the trace that has it."""

    def __init__(self) -> None:
        self.marks = array("q")
        self.traces = array("q")

    def add(self, mark: int, trace: int) -> None:
        self.marks.append(mark)
        self.traces.append(trace)

    def by_mark(self) -> Iterator[tuple[int, list[int]]]:
        """Each number with its traces, in order."""
        ordered = sorted(range(len(self.marks)), key=self.marks.__getitem__)
        for mark, places in groupby(ordered, self.marks.__getitem__):
            yield mark, [self.traces[place] for place in places]


class SpanSpool:
    """Spans and log records in a temporary file. A context manager: the file is gone after the block."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="calipers-", buffering=_BUFFER)  # noqa: SIM115 - closed by the block
        self._ends = array("Q", [0])
        """Where the file has each item: it ends there, and the next one begins."""
        self._before = array("q")
        """The item of the same trace that came before each."""
        self._numbers: dict[int, int] = {}
        """Of traces, by their ids."""
        self._last = array("q")
        """The last item of each trace."""
        self._starts = array("q")
        """When each trace began."""
        self._homes = array("q")
        """A trace that each is joined with; itself if it is the first of its group."""
        self._name = array("q")
        """A number for the last conversation that each trace named."""
        self._names = _Marks()
        self._waiting: list[SpanNode] = []
        """Spans of one trace that came last: they are written together."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def add_all(self, items: Iterable[SpanNode | SpanLog]) -> None:
        """Take spans and log records."""
        waiting = self._waiting
        trace_id = waiting[0].trace_id if waiting else None
        for item in items:
            if isinstance(item, SpanLog):
                self._write_waiting()
                trace_id = None
                self._write(self._number_of(item.trace_id), _packed_log(item))
                continue
            if item.trace_id != trace_id or len(waiting) == _TOGETHER:
                self._write_waiting()
                trace_id, waiting = item.trace_id, self._waiting
            waiting.append(item)

    def _number_of(self, trace_id: int) -> int:
        number = self._numbers.get(trace_id)
        if number is None:
            number = self._numbers[trace_id] = len(self._last)
            self._last.append(_NONE)
            self._starts.append(_LARGEST)
            self._homes.append(number)
            self._name.append(_NONE)
        return number

    def _write(self, number: int, packed: bytes) -> None:
        """Write an item of a trace."""
        last, ends = self._last, self._ends
        self._before.append(last[number])
        last[number] = len(ends) - 1
        ends.append(ends[-1] + self._file.write(packed))

    def _write_waiting(self) -> None:
        spans, self._waiting = self._waiting, []
        if not spans:
            return
        number = self._number_of(spans[0].trace_id)
        self._write(number, _packed(spans))
        start = min([span.start_ns & _LARGEST for span in spans])
        self._starts[number] = min(self._starts[number], start)
        last: str | None = None
        for span in spans:
            name = conversation_of(span)
            if name is not None and name != last:
                last = name
                if (mark := hash(name)) != self._name[number]:
                    self._name[number] = mark
                    self._names.add(mark, number)

    def groups(self) -> Iterator[tuple[list[SpanNode], list[SpanLog]]]:
        """The spans and log records of traces that may share a conversation, those that began first first."""
        self._write_waiting()
        ids = list(self._numbers)
        self._numbers = {}
        for _, traces in self._names.by_mark():
            self._join(traces)
        self._join_by_messages(ids)
        homes = array("q", map(self._home, range(len(ids))))
        first = self._starts[:]
        for number, home in enumerate(homes):
            first[home] = min(first[home], self._starts[number])
        ordered = sorted(range(len(ids)), key=lambda number: (first[homes[number]], homes[number]))
        for _, numbers in groupby(ordered, homes.__getitem__):
            yield self._items(list(numbers), ids)

    def _items(self, numbers: Sequence[int], ids: Sequence[int]) -> tuple[list[SpanNode], list[SpanLog]]:
        """All of some traces, in the order in which it came."""
        places: list[int] = []
        trace_ids: list[int] = []
        for number in numbers:
            place, trace_id = self._last[number], ids[number]
            while place != _NONE:
                places.append(place)
                trace_ids.append(trace_id)
                place = self._before[place]
        if len(numbers) == 1:
            places.reverse()
        else:
            ordered = sorted(zip(places, trace_ids, strict=True))
            places = [place for place, _ in ordered]
            trace_ids = [trace_id for _, trace_id in ordered]
        spans: list[SpanNode] = []
        logs: list[SpanLog] = []
        for found, trace_id in zip(_decode(self._read(places)), trace_ids, strict=True):
            if len(found) == _PARTS_OF_LOG:
                logs.append(_unpacked_log(found, trace_id))
            else:
                spans += [_unpacked(span, trace_id) for span in found[0]]
        return spans, logs

    def _read(self, places: Sequence[int]) -> bytes:
        """The items in some places as one list, which takes less time to read than item after item."""
        ends, seek, read = self._ends, self._file.seek, self._file.read
        head = _LIST.pack(_LIST_MARK, len(places))
        begin, end = ends[places[0]], ends[places[-1] + 1]
        pieces: list[bytes] = [head]
        if places[-1] - places[0] < len(places):  # nothing stands between
            seek(begin)
            pieces.append(read(end - begin))
        elif end - begin <= _AT_ONCE:
            seek(begin)
            data = read(end - begin)
            pieces += [data[ends[place] - begin : ends[place + 1] - begin] for place in places]
        else:
            for place in places:
                seek(ends[place])
                pieces.append(read(ends[place + 1] - ends[place]))
        return b"".join(pieces)

    def _join_by_messages(self, ids: Sequence[int]) -> None:
        """Join the traces that name no conversation, where one begins with what was said in the other."""
        ended, begun = _Marks(), _Marks()
        for number, mark in enumerate(self._name):
            if mark == _NONE:
                spans, logs = self._items([number], ids)
                join_logs(spans, logs)
                ends, begins = linked_by_messages(spans)
                for said in ends:
                    ended.add(said, number)
                for said in begins:
                    begun.add(said, number)
        asked = begun.by_mark()
        begin = next(asked, None)
        for mark, others in ended.by_mark():
            while begin is not None and begin[0] < mark:
                begin = next(asked, None)
            if begin is not None and begin[0] == mark:
                self._join([*others, *begin[1]])

    def _home(self, number: int) -> int:
        homes = self._homes
        while homes[number] != number:
            homes[number] = homes[homes[number]]
            number = homes[number]
        return number

    def _join(self, traces: Iterable[int]) -> None:
        homes = {self._home(number) for number in traces}
        first = min(homes)
        for home in homes:
            self._homes[home] = first


def _packed(spans: Sequence[SpanNode]) -> bytes:
    return _encode(
        [
            [
                (
                    span.name,
                    # An id of more than 64 bits, which no span should have, is written as a text.
                    span_id if (span_id := span.span_id) <= _WIDEST else f"{span_id:x}",
                    parent if (parent := span.parent_span_id) is None or parent <= _WIDEST else f"{parent:x}",
                    span.start_ns,
                    span.end_ns,
                    span.attributes,
                    span.status,
                    [(event.name, event.time_ns, event.attributes) for event in span.events]
                    if span.events
                    else (),
                    span.status_message,
                )
                for span in spans
            ]
        ]
    )


def _unpacked(found: list[Any], trace_id: int) -> SpanNode:
    name, span_id, parent, start, end, attributes, status, events, described = found
    if type(span_id) is str:
        span_id = int(span_id, 16)
    if type(parent) is str:
        parent = int(parent, 16)
    happened = (
        tuple([SpanEvent(event, time_ns=at, attributes=told) for event, at, told in events]) if events else ()
    )
    return read_span(name, trace_id, span_id, parent, start, end, attributes, status, happened, described)


_PARTS_OF_LOG: Final = 4


def _packed_log(log: SpanLog) -> bytes:
    event = log.event
    return _encode((f"{log.span_id:x}", event.name, event.time_ns, event.attributes))


def _unpacked_log(found: list[Any], trace_id: int) -> SpanLog:
    span_id, name, at, attributes = found
    return SpanLog(trace_id, int(span_id, 16), SpanEvent(name, time_ns=at, attributes=attributes))
