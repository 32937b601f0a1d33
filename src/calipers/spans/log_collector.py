"""The log record processor that keeps the events of captured traces. `LogCollector`.

The conventions for generative AI put messages into log records with an event name. One becomes an event of the span in which it was
emitted, as in a file. A log line has no event name, and is left out. Needs the logs part of the OpenTelemetry SDK, which
is imported only where log records may come.

One collector is registered per logger provider and stays. A record of a trace that is not captured costs it one dictionary lookup.
"""

import threading
import weakref
from typing import Any

from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor

from .collector import captured, plain_values
from .otlp_json import SpanLog, log_event


class LogCollector(LogRecordProcessor):
    """Hands each event to the capture of its trace, if there is one."""

    def on_emit(self, log_record: Any) -> None:
        """Keeps an event of a captured trace."""
        record = log_record.log_record
        trace = captured(record.trace_id)
        if trace is None:
            return
        event = log_event(
            getattr(record, "event_name", None),
            record.timestamp or record.observed_timestamp or 0,
            plain_values(record.attributes or {}),
            plain_values(record.body),
        )
        if event.name:
            trace.logs.append(SpanLog(record.trace_id, record.span_id, event))

    emit = on_emit
    """What an SDK before 1.35 calls it."""

    def shutdown(self) -> None:
        """Nothing waits here."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002
        """Nothing waits here."""
        return True


_registered: list[weakref.ref[LoggerProvider]] = []
_lock = threading.Lock()


def collect_logs_of(provider: LoggerProvider) -> None:
    """Register a collector with a logger provider, at the first call."""
    with _lock:
        _registered[:] = [ref for ref in _registered if ref() is not None]
        if all(ref() is not provider for ref in _registered):
            provider.add_log_record_processor(LogCollector())
            _registered.append(weakref.ref(provider))
