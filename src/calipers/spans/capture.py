"""Recording the spans of one attempt with OpenTelemetry: `span_recorder`, `SpanRecorder`, `SpanCapture`.

    recorder = span_recorder(wanted=True)
    with recorder.attempt("case 1") as capture:
        ...  # whatever runs here, in this thread or in others that were given its context
    capture.tree

- OpenTelemetry is imported only where spans are wanted or a tracer provider is already configured.
- Each attempt opens a span of its own in a new trace, linked to the span that was current. Spans are told apart by
  trace id: those of threads and tasks count too, if they were given the context (`asyncio` and `asyncio.to_thread` do
  so by themselves, a bare `threading.Thread` does not). An attempt inside an attempt keeps its spans to itself.
- Events that are emitted as log records, as some instrumentations emit the messages of a model, become events of their spans.
- The tree holds the task's spans only. The attempt's own span is left out and its children are the roots.
- A span still running at the end of the block is not in the tree: `unfinished_spans` counts them, and
  `SpanRecorder.late_spans` counts those that ended later.
- A trace that was not recorded, as when the sampler dropped it, gives an error rather than an empty tree: "no span
  failed" must not hold because nothing was recorded. A sampler that keeps the attempt's span and drops others by its own
  rules goes unseen.
"""

import contextlib
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from calipers.errors import SpanTreeRecordingError

from .tree import SpanTree

if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry.context import Context
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

    from .collector import SpanCollector

_HOW_TO_TURN_ON = (
    "install OpenTelemetry (pip install 'calipers[otel]') and either use an evaluator that asks for spans or call"
    " opentelemetry.trace.set_tracer_provider() before the evaluation starts"
)
_set_up_lock = threading.Lock()


def span_recorder(
    wanted: bool,
    *,
    provider: "TracerProvider | None" = None,
    logger_provider: "LoggerProvider | None" = None,
) -> "SpanRecorder | SpanTreeRecordingError":
    """What records the spans of a run, or the reason why none are recorded, to raise when someone reads them.

    With a tracer provider configured in this process, spans are recorded whether wanted or not. Without one, and with
    spans wanted, a plain `TracerProvider` is made the global one for the rest of the process: it exports nothing
    anywhere. Without one, and unwanted, nothing is imported or set up. Events in log records come from a logger provider, which is
    found and set up in the same way.

    Args:
        wanted: Whether an evaluator of the run reads spans.
        provider: The provider that the task's tracers come from, where that is not the global one.
        logger_provider: The same for its loggers.
    """
    try:
        found = provider if provider is not None else _global_provider(set_up=wanted)
        if found is None:
            return SpanTreeRecordingError(
                "spans were not recorded: no tracer provider was configured and no evaluator asked for spans;"
                f" {_HOW_TO_TURN_ON}"
            )
        if not hasattr(found, "add_span_processor"):
            return SpanTreeRecordingError(
                f"spans were not recorded: the tracer provider {found!r} takes no span processors; configure"
                " opentelemetry.sdk.trace.TracerProvider, or one that has its add_span_processor method"
            )
        from .collector import collector_of

        _collect_logs(logger_provider, set_up=wanted)
        return SpanRecorder(found, collector_of(found), found.get_tracer("calipers"))
    except ImportError as error:
        return SpanTreeRecordingError(
            f"spans were not recorded, for the import failed ({error}); {_HOW_TO_TURN_ON}"
        )
    except Exception as error:
        return SpanTreeRecordingError(
            f"spans were not recorded, for the tracer provider could not be used ({error!r}); check how"
            " OpenTelemetry is configured, also by OTEL_* environment variables"
        )


def _global_provider(*, set_up: bool) -> "TracerProvider | None":
    """The configured provider, set up first when asked; `None` when there is none."""
    # Code that configured a provider has imported the module; looking it up imports nothing.
    if not set_up and "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace

    found = trace.get_tracer_provider()
    if isinstance(found, trace.ProxyTracerProvider):
        if not set_up:
            return None
        from opentelemetry.sdk import trace as sdk

        with _set_up_lock:
            if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
                trace.set_tracer_provider(sdk.TracerProvider())
        found = trace.get_tracer_provider()
    # What it can do is the caller's question; what it is called does not matter.
    return cast("TracerProvider", found)


def _collect_logs(provider: "LoggerProvider | None", *, set_up: bool) -> None:
    """Have the events of captured traces kept that are emitted as log records."""
    if provider is None and not set_up and "opentelemetry._logs" not in sys.modules:
        return
    # The logs part of OpenTelemetry may still change: without it there are spans, and no events in log records.
    with contextlib.suppress(ImportError):
        found = provider if provider is not None else _global_logger_provider(set_up=set_up)
        if hasattr(found, "add_log_record_processor"):
            from .log_collector import collect_logs_of

            collect_logs_of(found)


def _global_logger_provider(*, set_up: bool) -> "LoggerProvider":
    from opentelemetry import _logs as logs
    from opentelemetry._logs._internal import ProxyLoggerProvider

    if set_up:
        with _set_up_lock:
            if isinstance(logs.get_logger_provider(), ProxyLoggerProvider):
                from opentelemetry.sdk import _logs as sdk

                logs.set_logger_provider(sdk.LoggerProvider())
    return cast("LoggerProvider", logs.get_logger_provider())


@dataclass(frozen=True, slots=True)
class SpanRecorder:
    """Records the spans of attempts, any number of them at a time. Made by `span_recorder`."""

    provider: "TracerProvider"
    """Where the task's tracers come from."""
    collector: "SpanCollector"
    """What the provider hands its spans to."""
    tracer: "Tracer"
    """What opens the attempts' own spans."""

    @property
    def late_spans(self) -> int:
        """How many spans ended after their attempt and were dropped, counted per provider."""
        return self.collector.late_spans

    def attempt(self, name: str, attributes: Mapping[str, Any] | None = None) -> "SpanCapture":
        """A `with` block, in sync or async code, whose spans are captured.

        Args:
            name: The name of the attempt's own span.
            attributes: The attributes of the attempt's own span.
        """
        return SpanCapture(self, name, attributes)


class SpanCapture:
    """The spans of one attempt: entered once, read after it is left. Made by `SpanRecorder.attempt`."""

    __slots__ = (
        "_collected",
        "_left",
        "_outcome",
        "_recorded",
        "_span",
        "_token",
        "attributes",
        "name",
        "recorder",
    )

    recorder: SpanRecorder
    """What made it."""
    name: str
    """The name of the attempt's own span."""
    attributes: Mapping[str, Any] | None
    """The attributes of the attempt's own span."""

    def __init__(
        self, recorder: SpanRecorder, name: str, attributes: Mapping[str, Any] | None = None
    ) -> None:
        self.recorder = recorder
        self.name = name
        self.attributes = attributes
        self._left = False
        self._recorded = False
        self._outcome: SpanTree | SpanTreeRecordingError | None = None

    def __enter__(self) -> Self:
        from opentelemetry import context, trace

        from .collector import COLLECT_INTO, CollectedTrace

        caller = trace.get_current_span().get_span_context()
        collected = CollectedTrace()
        # Without a current span a new trace begins; the caller's baggage and other values stay.
        fresh = trace.set_span_in_context(trace.INVALID_SPAN)
        span = self.recorder.tracer.start_span(
            self.name,
            context=context.set_value(COLLECT_INTO, collected, fresh),
            attributes=dict(self.attributes or {}),
            links=[trace.Link(caller)] if caller.is_valid else [],
        )
        self._recorded = span.is_recording()
        if self._recorded and not collected.seen:
            # The provider stands in for another one that was exchanged, and the new one does not know the collector.
            self.recorder.provider.add_span_processor(self.recorder.collector)
            self.recorder.collector.open(span.get_span_context().trace_id, collected)
        self._span: Span = span
        self._collected: CollectedTrace = collected
        self._token: Token[Context] = context.attach(trace.set_span_in_context(span))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # An async generator may be closed in another context than it began in: there is nothing to restore there.
        with contextlib.suppress(ValueError):
            self._token.var.reset(self._token)
        try:
            if self._span.is_recording():
                if error is not None:
                    _note_error(self._span, error)
                self._span.end()
        finally:
            self._left = True
            self.recorder.collector.close(self._span.get_span_context().trace_id)

    @property
    def trace_id(self) -> str | None:
        """The id of the attempt's trace, in hexadecimal; `None` when nothing was recorded."""
        return f"{self._span.get_span_context().trace_id:032x}" if self._recorded else None

    @property
    def span_id(self) -> str | None:
        """The id of the attempt's own span, in hexadecimal; `None` when nothing was recorded."""
        return f"{self._span.get_span_context().span_id:016x}" if self._recorded else None

    @property
    def unfinished_spans(self) -> int | None:
        """How many spans were still running at the end of the block; `None` when nothing was recorded."""
        return len(self._collected.running) if self._recorded and self._left else None

    @property
    def tree(self) -> SpanTree:
        """The spans of the attempt.

        Raises:
            SpanTreeRecordingError: they were not recorded, or the block has not been left.
        """
        outcome = self.tree_or_error
        if isinstance(outcome, SpanTreeRecordingError):
            raise outcome.with_traceback(None)
        return outcome

    @property
    def tree_or_error(self) -> SpanTree | SpanTreeRecordingError:
        """The spans of the attempt, or the reason why there are none, to keep beside the attempt."""
        if not self._left:
            return SpanTreeRecordingError(
                f"the spans of {self.name!r} are complete only after its with block: read them there"
            )
        if self._outcome is None:
            self._outcome = self._finish()
        return self._outcome

    def _finish(self) -> SpanTree | SpanTreeRecordingError:
        from .collector import to_node
        from .otlp_json import join_logs

        own = self._span.get_span_context()
        if not self._recorded and own.is_valid:
            return SpanTreeRecordingError(
                f"the spans of {self.name!r} were not recorded: the sampler of the tracer provider dropped the trace"
                f" ({_sampler_name(self.recorder.provider)}); evaluate with one that keeps every trace, such as"
                " opentelemetry.sdk.trace.sampling.ALWAYS_ON, or set OTEL_TRACES_SAMPLER=always_on"
            )
        if not self._recorded:
            return SpanTreeRecordingError(
                f"the spans of {self.name!r} were not recorded: tracing is turned off in the tracer provider;"
                " unset OTEL_SDK_DISABLED, or configure a provider that records"
            )
        if own.span_id not in self._collected.ended:
            return SpanTreeRecordingError(
                f"the spans of {self.name!r} were not recorded: the tracer provider {self.recorder.provider!r} did not"
                " hand them to its span processors; configure it before the evaluation starts and keep it until the end"
            )
        nodes = [to_node(span) for span_id, span in self._collected.ended.items() if span_id != own.span_id]
        join_logs(nodes, self._collected.logs)
        return SpanTree(nodes)


def _sampler_name(provider: "TracerProvider") -> str:
    sampler = getattr(provider, "sampler", None)
    return sampler.get_description() if sampler is not None else "unknown to its provider"


def _note_error(span: "Span", error: BaseException) -> None:
    from opentelemetry.trace import Status, StatusCode

    with contextlib.suppress(Exception):  # an error whose attributes or text cannot be read
        span.record_exception(error)
        span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
