"""What happened inside an attempt, span by span: recording it with OpenTelemetry, and asking about it."""

from .capture import SpanCapture, SpanRecorder, span_recorder
from .query import SpanQuery, SpanStatus, compile_query
from .tree import SpanEvent, SpanMatcher, SpanNode, SpanTree, usage_metrics

__all__ = [
    "SpanCapture",
    "SpanEvent",
    "SpanMatcher",
    "SpanNode",
    "SpanQuery",
    "SpanRecorder",
    "SpanStatus",
    "SpanTree",
    "compile_query",
    "span_recorder",
    "usage_metrics",
]
