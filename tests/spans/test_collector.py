"""What keeps the spans of traces that are being captured."""

from calipers.spans.collector import REMEMBERED_TRACES, CollectedTrace, SpanCollector


def test_trace_ids_that_come_again_do_no_harm():
    # A task that seeds the global `random` makes OpenTelemetry draw the same ids again and again.
    collector = SpanCollector()
    for number in range(3 * REMEMBERED_TRACES):
        collector.open(number % 10, CollectedTrace())
        collector.close(number % 10)
    for number in range(2 * REMEMBERED_TRACES):
        collector.open(100 + number, CollectedTrace())
        collector.close(100 + number)
    assert len(collector._traces) == REMEMBERED_TRACES
