"""Spans on disk, sorted into what belongs together: for recordings that do not fit into memory. `SpanSpool`.

A conversation may be spread over a whole recording, so nothing can be told of it before all is read. Spans go into a
temporary SQLite database as they come. Then the traces are joined that may share a conversation: those that name the same one, and those
where one begins with what was said in the other. Each group is small, and is read as if
it were a recording of its own. Memory is needed for one group, and some bytes a trace.
"""

import sqlite3
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from .otlp_json import SpanLog, join_logs
from .runs import conversation_names, linked_by_messages
from .tree import SpanEvent, SpanNode

_BATCH = 1000
_LARGEST = (1 << 63) - 1
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode

_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA temp_store = FILE;
PRAGMA cache_size = -16000;
CREATE TABLE span (trace BLOB, data BLOB);
CREATE TABLE named (name TEXT, number INTEGER);
CREATE TABLE ended (said INTEGER, number INTEGER);
CREATE TABLE begun (said INTEGER, number INTEGER);
CREATE TABLE member (trace BLOB PRIMARY KEY, number INTEGER, home INTEGER, start INTEGER) WITHOUT ROWID;
"""


class SpanSpool:
    """Spans and log records in a temporary file. A context manager: the file is gone after the block."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="calipers-")
        self._base = sqlite3.connect(Path(self._folder.name) / "spans.db", isolation_level=None)
        self._base.executescript(_TABLES)
        self._waiting: list[tuple[bytes, bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._base.close()
        self._folder.cleanup()

    def add(self, item: SpanNode | SpanLog) -> None:
        """Take a span or a log record."""
        self._waiting.append((item.trace_id.to_bytes(16), _packed(item)))
        if len(self._waiting) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        self._base.execute("BEGIN")
        self._base.executemany("INSERT INTO span VALUES (?, ?)", self._waiting)
        self._base.execute("COMMIT")
        self._waiting.clear()

    def groups(self) -> Iterator[tuple[list[SpanNode], list[SpanLog]]]:
        """The spans and log records of traces that may share a conversation, those that began first first."""
        self._flush()
        self._note_traces()
        self._join_traces()
        rows = self._base.execute(
            "SELECT member.home, span.data FROM span JOIN member USING (trace) ORDER BY member.start, member.home"
        )
        with closing(rows):
            home: int | None = None
            items: list[SpanNode | SpanLog] = []
            for number, data in rows:
                if number != home and items:
                    yield _parted(items)
                    items = []
                home = number
                items.append(_unpacked(data))
            if items:
                yield _parted(items)

    def _note_traces(self) -> None:
        """Note of each trace when it began, which conversations it names, and what was said in it."""
        rows = self._base.execute("SELECT trace, data FROM span ORDER BY trace")
        with closing(rows):
            self._base.execute("BEGIN")
            number, trace = 0, None
            items: list[SpanNode | SpanLog] = []
            for each, data in rows:
                if each != trace and items:
                    self._note_trace(number, trace, items)
                    number, items = number + 1, []
                trace = each
                items.append(_unpacked(data))
            if items:
                self._note_trace(number, trace, items)
                number += 1
            self._base.execute("COMMIT")
        self._count = number

    def _note_trace(self, number: int, trace: Any, items: list[SpanNode | SpanLog]) -> None:
        spans, logs = _parted(items)
        insert = self._base.execute
        start = min((span.start_ns & _LARGEST for span in spans), default=0)
        insert("INSERT INTO member VALUES (?, ?, ?, ?)", (trace, number, number, start))
        names = conversation_names(spans)
        for name in names:
            insert("INSERT INTO named VALUES (?, ?)", (name, number))
        if names:
            return
        join_logs(spans, logs)
        ends, begins = linked_by_messages(spans)
        for said in ends:
            insert("INSERT INTO ended VALUES (?, ?)", (said, number))
        for said in begins:
            insert("INSERT INTO begun VALUES (?, ?)", (said, number))

    def _join_traces(self) -> None:
        """Give traces that may share a conversation one home."""
        homes = array("q", range(self._count))

        def home(number: int) -> int:
            while homes[number] != number:
                homes[number] = homes[homes[number]]
                number = homes[number]
            return number

        joined = False
        for question in (
            "SELECT min(number) OVER (PARTITION BY name), number FROM named",
            "SELECT ended.number, begun.number FROM begun JOIN ended USING (said)",
        ):
            for one, other in self._base.execute(question):
                first, second = sorted((home(one), home(other)))
                homes[second] = first
                joined = joined or first != second
        if not joined:
            return
        self._base.execute("CREATE INDEX by_number ON member (number)")
        self._base.execute("BEGIN")
        for number in range(self._count):
            if (own := home(number)) != number:
                self._base.execute("UPDATE member SET home = ? WHERE number = ?", (own, number))
        self._base.execute(
            "UPDATE member SET start = first FROM (SELECT home AS same, min(start) AS first FROM member GROUP BY home) "
            "WHERE home = same"
        )
        self._base.execute("COMMIT")


def _parted(items: list[SpanNode | SpanLog]) -> tuple[list[SpanNode], list[SpanLog]]:
    return (
        [item for item in items if isinstance(item, SpanNode)],
        [item for item in items if isinstance(item, SpanLog)],
    )


def _packed(item: SpanNode | SpanLog) -> bytes:
    if isinstance(item, SpanLog):
        event = item.event
        return _encode((f"{item.trace_id:x}", item.span_id, event.name, event.time_ns, event.attributes))
    return _encode(
        (
            item.name,
            f"{item.trace_id:x}",
            item.span_id,
            item.parent_span_id,
            item.start_ns,
            item.end_ns,
            item.attributes,
            item.status,
            item.status_message,
            [(event.name, event.time_ns, event.attributes) for event in item.events],
        )
    )


def _unpacked(data: bytes) -> SpanNode | SpanLog:
    found = _decode(data)
    if len(found) == 5:
        trace_id, span_id, name, at, attributes = found
        return SpanLog(int(trace_id, 16), span_id, SpanEvent(name, time_ns=at, attributes=attributes))
    name, trace_id, span_id, parent, start, end, attributes, status, described, events = found
    return SpanNode(
        name,
        trace_id=int(trace_id, 16),
        span_id=span_id,
        parent_span_id=parent,
        start_ns=start,
        end_ns=end,
        attributes=attributes,
        status=status,
        status_message=described,
        events=tuple(SpanEvent(event, time_ns=at, attributes=told) for event, at, told in events),
    )
