"""Spans as they arrive become traces when nothing more comes."""

from hypothesis import given
from hypothesis import strategies as st

from calipers.exchange.trace_inbox import TraceInbox
from calipers.spans.otlp_json import SpanLog
from calipers.spans.tree import SpanEvent, SpanNode


def span(trace_id, span_id, parent=None):
    return SpanNode("x", trace_id=trace_id, span_id=span_id, parent_span_id=parent, start_ns=0, end_ns=1)


def inbox_with(*items, wait=3.0, now=0.0):
    inbox = TraceInbox(wait=wait)
    inbox.add(items, size=100 * len(items), segment=1, now=now)
    return inbox


def ids(traces):
    return [(trace.trace_id, sorted(trace.spans)) for trace in traces]


def test_a_trace_is_due_when_its_root_is_here_and_nothing_came_for_a_while():
    inbox = inbox_with(span(1, 2, parent=1))
    assert not inbox.due(29.9)
    inbox.add([span(1, 1)], size=100, segment=1, now=5.0)
    assert not inbox.due(7.9)
    assert ids(inbox.due(8.0)) == [(1, [1, 2])]


def test_a_trace_without_a_root_is_waited_for_ten_times_as_long():
    inbox = inbox_with(span(1, 2, parent=1))
    assert ids(inbox.due(30.0)) == [(1, [2])]


def test_at_the_end_all_is_due():
    inbox = inbox_with(span(1, 1), span(2, 2, parent=1))
    assert ids(inbox.due(0.0, at_once=True)) == [(1, [1]), (2, [2])]
    assert len(inbox.due(0.0, at_once=True, most=1)) == 1


def test_a_span_that_comes_later_opens_its_trace_again():
    inbox = inbox_with(span(1, 1))
    (first,) = inbox.due(3.0)
    first.places = ((7, "x"),)
    inbox.taken([first])
    assert (inbox.size, inbox.first_segment()) == (0, 1)
    inbox.add([span(1, 2, parent=1)], size=100, segment=4, now=4.0)
    (again,) = inbox.due(7.0)
    assert (sorted(again.spans), again.places, again.segment, inbox.rejoined) == ([1, 2], ((7, "x"),), 1, 1)


def test_a_span_that_comes_twice_opens_nothing():
    inbox = inbox_with(span(1, 1), span(1, 1))
    inbox.taken(inbox.due(3.0))
    inbox.add([span(1, 1)], size=100, segment=1, now=4.0)
    assert (inbox.open, inbox.size, inbox.rejoined, inbox.late) == ({}, 0, 0, {})


def test_a_request_with_log_records_that_comes_twice_counts_once():
    logs = [SpanLog(1, 1, SpanEvent(name, time_ns=1)) for name in ("yes", "yes", "no")]
    inbox = inbox_with(span(1, 1), *logs)
    inbox.add(logs, size=100, segment=1, now=0.0)
    (trace,) = inbox.due(3.0)
    assert [log.event.name for log in trace.logs.values()] == ["yes", "yes", "no"]


def test_a_span_for_a_trace_that_is_forgotten_is_counted_as_late():
    inbox = TraceInbox(wait=3.0, remembered=0)
    inbox.add([span(1, 1)], size=100, segment=1, now=0.0)
    inbox.taken(inbox.due(3.0))
    assert inbox.first_segment() is None
    log = SpanLog(1, 2, SpanEvent("x", time_ns=0))
    inbox.add([span(1, 2, parent=1), log], size=100, segment=1, now=4.0)
    assert (inbox.late, inbox.open) == ({1: 1}, {})


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 5), st.booleans(), st.sampled_from([0.0, 2.0, 40.0])),
        max_size=30,
    )
)
def test_in_whatever_order_spans_come_each_is_taken_once(arrivals):
    inbox = TraceInbox(wait=3.0)
    now = 0.0
    kept = {}
    for trace_id, span_id, is_root, pause in arrivals:
        now += pause
        inbox.add([span(trace_id, span_id, None if is_root else 9)], size=10, segment=1, now=now)
        due = inbox.due(now)
        kept |= {trace.trace_id: set(trace.spans) for trace in due}
        inbox.taken(due)
    rest = inbox.due(now, at_once=True)
    kept |= {trace.trace_id: set(trace.spans) for trace in rest}
    inbox.taken(rest)
    wanted = {}
    for trace_id, span_id, *_ in arrivals:
        wanted.setdefault(trace_id, set()).add(span_id)
    assert kept == wanted
    assert (inbox.size, inbox.open, inbox.late) == (0, {}, {})
