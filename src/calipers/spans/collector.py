"""The span processor that keeps the spans of captured traces. Needs the OpenTelemetry SDK; `capture` imports it late.

One collector is registered per tracer provider and stays, since providers cannot forget a processor. A span of a trace
that is not captured costs it one dictionary lookup. Spans are told apart by trace id, so it does not matter in which
thread, task or context a span ends.
"""

import base64
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, cast

from opentelemetry.context import Context, create_key
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.trace import StatusCode

from .otlp_json import SpanLog
from .query import SpanStatus
from .tree import SpanEvent, SpanNode

COLLECT_INTO = create_key("calipers-collect-into")
"""The context key under which the start of an attempt's own span finds the `CollectedTrace` to fill."""

REMEMBERED_TRACES = 1024
"""How many closed traces are remembered, to count the spans that end after their attempt."""


_STATUS: dict[StatusCode, SpanStatus] = {
    StatusCode.UNSET: "unset",
    StatusCode.OK: "ok",
    StatusCode.ERROR: "error",
}


class CollectedTrace:
    """What was seen of one trace while it was captured. Spans are kept by id: seeing one twice changes nothing."""

    __slots__ = ("ended", "logs", "running", "seen")

    seen: bool
    """Whether the collector saw the trace begin."""
    running: set[int]
    """The ids of spans that have started and not ended."""
    ended: dict[int, ReadableSpan]
    """The spans that have ended, by id."""
    logs: list[SpanLog]
    """The events that were emitted as log records."""

    def __init__(self) -> None:
        self.seen = False
        self.running = set()
        self.ended = {}
        self.logs = []


class SpanCollector(SpanProcessor):
    """Hands each span to the capture of its trace, if there is one."""

    late_spans: int
    """How many spans ended after the capture of their trace had closed, and were dropped."""

    def __init__(self) -> None:
        self.late_spans = 0
        self._lock = threading.Lock()
        # A closed trace maps to None until the `REMEMBERED_TRACES` limit pushes it out.
        self._traces: dict[int, CollectedTrace | None] = {}
        self._closed: OrderedDict[int, None] = OrderedDict()

    def open(self, trace_id: int, trace: CollectedTrace) -> None:
        """Begins to keep the spans of a trace."""
        with self._lock:
            # A task that seeds the global `random` makes OpenTelemetry draw the same trace ids again.
            self._closed.pop(trace_id, None)
            self._traces[trace_id] = trace

    def close(self, trace_id: int) -> None:
        """Ends it; spans that come later are counted and dropped."""
        with self._lock:
            if self._traces.get(trace_id) is None:
                return
            self._traces[trace_id] = None
            self._closed[trace_id] = None
            if len(self._closed) > REMEMBERED_TRACES:
                oldest, _ = self._closed.popitem(last=False)
                del self._traces[oldest]

    def capture_of(self, trace_id: int) -> CollectedTrace | None:
        """What is kept of a trace now; `None` if it is not captured, or no longer."""
        return self._traces.get(trace_id)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Notes a span of a captured trace as running."""
        trace_id, span_id = _ids(span)
        if parent_context is not None and COLLECT_INTO in parent_context:
            begun = cast("CollectedTrace", parent_context[COLLECT_INTO])
            begun.seen = True
            self.open(trace_id, begun)
        if trace_id not in self._traces:
            return
        with self._lock:
            trace = self._traces.get(trace_id)
            if trace is not None:
                trace.running.add(span_id)

    def on_end(self, span: ReadableSpan) -> None:
        """Keeps a span of a captured trace, or counts it when the capture has closed."""
        trace_id, span_id = _ids(span)
        if trace_id not in self._traces:
            return
        with self._lock:
            trace = self._traces.get(trace_id)
            if trace is None:
                self.late_spans += 1
            else:
                trace.running.discard(span_id)
                trace.ended[span_id] = span


_collectors: list[tuple[weakref.ref[TracerProvider], SpanCollector]] = []
_collectors_lock = threading.Lock()


def collector_of(provider: TracerProvider) -> SpanCollector:
    """The collector of a provider, registered with it at the first call."""
    with _collectors_lock:
        # By identity, for a provider need not be hashable; a dead one's address may be reused, a weak reference's not.
        _collectors[:] = [(ref, collector) for ref, collector in _collectors if ref() is not None]
        for ref, collector in _collectors:
            if ref() is provider:
                return collector
        collector = SpanCollector()
        provider.add_span_processor(collector)
        _collectors.append((weakref.ref(provider), collector))
        return collector


def captured(trace_id: int) -> CollectedTrace | None:
    """What is kept of a trace now, whichever provider its spans come from; `None` if it is not captured, or no longer."""
    for _, collector in tuple(_collectors):
        if (found := collector.capture_of(trace_id)) is not None:
            return found
    return None


def to_node(span: ReadableSpan) -> SpanNode:
    """A finished span as a node, with attributes as they would come back from storage."""
    trace_id, span_id = _ids(span)
    start_ns = span.start_time or 0
    return SpanNode(
        span.name,
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=span.parent.span_id if span.parent is not None else None,
        start_ns=start_ns,
        end_ns=span.end_time or start_ns,
        attributes=plain_values(span.attributes or {}),
        status=_STATUS[span.status.status_code],
        status_message=span.status.description or "",
        events=tuple(
            SpanEvent(event.name, time_ns=event.timestamp, attributes=plain_values(event.attributes or {}))
            for event in span.events
        ),
    )


def _ids(span: ReadableSpan) -> tuple[int, int]:
    context = span.get_span_context()
    return (context.trace_id, context.span_id) if context is not None else (0, 0)


def plain_values(value: Any) -> Any:
    """An attribute or a body as it would come back from storage."""
    if isinstance(value, Mapping):
        return {key: plain_values(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return [plain_values(item) for item in value] if isinstance(value, list | tuple) else value
