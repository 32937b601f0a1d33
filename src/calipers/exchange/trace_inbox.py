"""Spans as they arrive, sorted into traces that are complete, or as complete as they will be. `TraceInbox`.

A trace is complete when its root span has arrived and nothing more came for a few seconds (`wait`). A trace whose root is missing, such
as one whose root went elsewhere, is given up waiting for after ten times as long, and taken as it is.

A span that arrives after its trace was taken opens it again, with the spans it had, as long as these are still here: of the traces
taken last, some are remembered. Of older ones it is known only that they were: spans that come for these are counted as `late`.
A span or a log record that arrives twice, as when an answer was lost and a request is sent again, counts once.

Times are seconds of any clock that the caller passes in.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

from calipers.spans.otlp_json import SpanLog
from calipers.spans.tree import SpanNode

Item = SpanNode | SpanLog

_ROOT_MISSING: Final = 10
"""How many times as long a trace without a root is waited for."""
_MOST_SPANS: Final = 50_000
"""Spans of traces that were taken, and are remembered in case that more come."""
_MOST_TRACES: Final = 500_000
"""Traces of which it is known that they were taken."""


class OpenTrace(msgspec.Struct):
    """The spans of one trace, so far."""

    trace_id: int
    segment: int
    """The first segment of the spool that holds a part of it."""
    spans: dict[int, SpanNode] = {}
    """By their ids."""
    logs: dict[tuple[Any, ...], SpanLog] = {}
    """By what tells them apart; see `log_key`."""
    size: int = 0
    """Bytes of the requests that it came in, about."""
    last: float = 0.0
    """When something came for it."""
    has_root: bool = False
    places: tuple[tuple[int, str], ...] = ()
    """The positions and names of its attempts, if it was taken before."""


def log_key(log: SpanLog, seen: Counter[tuple[Any, ...]]) -> tuple[Any, ...]:
    """What tells a log record from others: its place and content, and how many like it stand before it in the same request."""
    event = log.event
    key = log.trace_id, log.span_id, event.time_ns, event.name, hash(repr(event.attributes))
    seen[key] += 1
    return (*key, seen[key])


class TraceInbox:
    """Holds spans until their traces are complete."""

    def __init__(self, *, wait: float, remembered: int = _MOST_SPANS) -> None:
        """An inbox.

        Args:
            wait: seconds in which nothing must come for a trace.
            remembered: how many spans of traces that were taken to remember.
        """
        self.wait = wait
        self.remembered = remembered
        self.open: dict[int, OpenTrace] = {}
        self.size = 0
        """Bytes of requests whose spans are here, about."""
        self.late: dict[int, int] = {}
        """Spans that came too late to be joined, by trace."""
        self.spans = 0
        """All that were put in; those that came twice count once."""
        self.rejoined = 0
        """Traces that were opened again."""
        self._recent: OrderedDict[int, OpenTrace] = OrderedDict()
        self._recent_spans = 0
        self._taken: OrderedDict[int, None] = OrderedDict()

    def add(self, items: Sequence[Item], *, size: int, segment: int, now: float) -> None:
        """Take in what one request held.

        Args:
            items: its spans and log records.
            size: of the request in bytes.
            segment: of the spool that holds it.
            now: the time.
        """
        share = size // max(len(items), 1)
        seen: Counter[tuple[Any, ...]] = Counter()
        taken = new = 0
        opened = self.open
        for item in items:
            trace = opened.get(item.trace_id) or self._opened(item, segment)
            if trace is None:
                self.late[item.trace_id] = self.late.get(item.trace_id, 0) + isinstance(item, SpanNode)
                continue
            if isinstance(item, SpanLog):
                trace.logs[log_key(item, seen)] = item
            elif item.span_id in trace.spans:
                continue
            else:
                trace.spans[item.span_id] = item
                new += 1
                if item.parent_span_id is None:
                    trace.has_root = True
            trace.last = now
            trace.size += share
            taken += 1
        self.spans += new
        self.size += share * taken

    def _opened(self, item: Item, segment: int) -> OpenTrace | None:
        """The trace that an item opens, or opens again; `None`: it was taken, and what it had is gone."""
        trace_id = item.trace_id
        known = self._recent.get(trace_id)
        if known is not None:
            if isinstance(item, SpanNode) and item.span_id in known.spans:
                return known  # it came twice: there is nothing to open
            self._forget(trace_id)
            known.size = 0
            self.rejoined += 1
        elif trace_id in self._taken:
            return None
        else:
            known = OpenTrace(trace_id, segment)
        self.open[trace_id] = known
        return known

    def reopen(self, trace: OpenTrace) -> None:
        """Put a trace in that an earlier process did not store, or not whole."""
        self.open[trace.trace_id] = trace
        self.size += trace.size
        self.spans += len(trace.spans)

    def due(self, now: float, *, at_once: bool = False, most: int = 500) -> list[OpenTrace]:
        """Traces to be stored now. They stay in until they are `taken`.

        Args:
            now: the time.
            at_once: all of them, complete or not.
            most: of them.
        """
        found: list[OpenTrace] = []
        for trace in self.open.values():
            quiet = now - trace.last
            if at_once or quiet >= (self.wait if trace.has_root else _ROOT_MISSING * self.wait):
                found.append(trace)
                if len(found) == most:
                    break
        return found

    def taken(self, traces: Iterable[OpenTrace]) -> None:
        """Note that traces are stored, and where (`OpenTrace.places`)."""
        for trace in traces:
            del self.open[trace.trace_id]
            self.size -= trace.size
            self._recent[trace.trace_id] = trace
            self._recent_spans += len(trace.spans)
            self._taken[trace.trace_id] = None
        while self._recent_spans > self.remembered:
            self._forget(next(iter(self._recent)))
        while len(self._taken) > _MOST_TRACES:
            self._taken.popitem(last=False)

    def _forget(self, trace_id: int) -> None:
        self._recent_spans -= len(self._recent.pop(trace_id).spans)

    def first_segment(self) -> int | None:
        """The first segment of the spool that a trace here is in, or one that is remembered; `None` if there is none.

        A remembered trace needs its segments: if a span comes for it and the process is killed, they hold the rest of its spans.
        """
        known = chain(self.open.values(), self._recent.values())
        return min((trace.segment for trace in known), default=None)
