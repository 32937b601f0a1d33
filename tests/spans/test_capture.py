import asyncio
import contextvars
import logging
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased

from calipers.errors import SpanTreeRecordingError
from calipers.spans import SpanRecorder, SpanTree, span_recorder
from calipers.spans.collector import REMEMBERED_TRACES

# The tests give each recorder a provider of its own: the global one can be set only once in a process.
# What depends on the global one runs in a process of its own, at the end.


@pytest.fixture
def provider():
    return TracerProvider(shutdown_on_exit=False)


@pytest.fixture
def tracer(provider):
    return provider.get_tracer("task")


@pytest.fixture
def recorder(provider):
    return recording(provider)


@pytest.fixture
def exported(provider):
    """What a user's own exporter receives."""
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter.get_finished_spans


def recording(provider):
    recorder = span_recorder(wanted=True, provider=provider)
    assert isinstance(recorder, SpanRecorder)
    return recorder


def outline(tree):
    return [(node.depth, node.name) for node in tree]


def current_span_id():
    return trace.get_current_span().get_span_context().span_id


def test_the_tree_holds_the_spans_of_the_block_without_the_attempts_own(recorder, tracer):
    with tracer.start_as_current_span("before"):
        pass
    with recorder.attempt("case 1") as capture:
        with tracer.start_as_current_span("plan"), tracer.start_as_current_span("think"):
            pass
        with tracer.start_as_current_span("act"):
            pass
    with tracer.start_as_current_span("after"):
        pass
    assert outline(capture.tree) == [(0, "plan"), (1, "think"), (0, "act")]
    assert capture.unfinished_spans == 0
    assert capture.tree is capture.tree
    assert capture.tree_or_error is capture.tree


def test_an_attempt_without_spans_has_an_empty_tree(recorder):
    with recorder.attempt("case 1") as capture:
        pass
    assert outline(capture.tree) == []


def test_the_ids_lead_to_the_attempts_own_span(recorder, exported):
    with recorder.attempt("case 1", {"calipers.data.case": "one"}) as capture:
        assert capture.trace_id is not None
    [own] = exported()
    assert own.name == "case 1"
    assert dict(own.attributes) == {"calipers.data.case": "one"}
    assert capture.trace_id == trace.format_trace_id(own.context.trace_id)
    assert capture.span_id == trace.format_span_id(own.context.span_id)


def test_attributes_events_and_status_arrive_as_they_would_from_storage(recorder, tracer):
    with recorder.attempt("case 1") as capture:
        with tracer.start_as_current_span("a", attributes={"tags": ["x", "y"], "n": 1}) as a:
            a.set_status(trace.StatusCode.OK)
            a.add_event("note", {"sizes": (1, 2)})
        with tracer.start_as_current_span("b"):
            pass
    a, b = capture.tree
    assert a.attributes == {"tags": ["x", "y"], "n": 1}
    assert a.events[0].attributes == {"sizes": [1, 2]}
    assert (a.status, b.status) == ("ok", "unset")
    assert a.duration >= 0
    assert SpanTree.from_dict(capture.tree.to_dict()) == capture.tree


def test_an_exception_leaves_the_block_and_is_noted_on_the_spans_it_passed(recorder, tracer, exported):
    capture = recorder.attempt("case 1")
    with pytest.raises(KeyError, match="lost"), capture, tracer.start_as_current_span("look up"):
        raise KeyError("lost")
    [node] = capture.tree
    assert node.status == "error"
    assert node.events[0].name == "exception"
    assert node.events[0].attributes["exception.type"] == "KeyError"
    own = exported()[-1]
    assert (own.name, own.status.status_code) == ("case 1", trace.StatusCode.ERROR)


def test_an_attempt_is_a_trace_of_its_own_linked_to_the_callers_span(recorder, tracer, exported):
    with tracer.start_as_current_span("user's own") as outer:
        with recorder.attempt("case 1") as capture:
            assert trace.format_span_id(current_span_id()) == capture.span_id
        assert trace.get_current_span() is outer
        with tracer.start_as_current_span("still a child"):
            pass
    own, child, _ = exported()
    assert own.parent is None
    assert own.context.trace_id != outer.get_span_context().trace_id
    assert [link.context for link in own.links] == [outer.get_span_context()]
    assert child.parent.span_id == outer.get_span_context().span_id
    assert outline(capture.tree) == []


def test_the_callers_baggage_is_seen_inside_and_unchanged_after(recorder):
    token = context.attach(baggage.set_baggage("user", "ada"))
    try:
        with recorder.attempt("case 1"):
            assert baggage.get_baggage("user") == "ada"
            context.attach(baggage.set_baggage("user", "left behind"))
        assert baggage.get_baggage("user") == "ada"
        assert not trace.get_current_span().get_span_context().is_valid
    finally:
        context.detach(token)


def test_an_attempt_inside_an_attempt_keeps_its_spans_to_itself(recorder, tracer):
    with recorder.attempt("outer") as outer:
        with (
            tracer.start_as_current_span("a"),
            recorder.attempt("inner") as inner,
            tracer.start_as_current_span("b"),
        ):
            pass
        with tracer.start_as_current_span("c"):
            pass
    assert outline(outer.tree) == [(0, "a"), (0, "c")]
    assert outline(inner.tree) == [(0, "b")]


def test_two_hundred_attempts_at_once_get_separate_and_complete_trees(recorder, tracer):
    def in_thread(number):
        with tracer.start_as_current_span(f"thread {number}"):
            pass

    async def child(number, index):
        with tracer.start_as_current_span(f"child {number}.{index}"):
            await asyncio.sleep(0)

    async def attempt(number):
        with recorder.attempt(f"case {number}") as capture:
            with tracer.start_as_current_span(f"root {number}"):
                await asyncio.gather(child(number, 0), child(number, 1), asyncio.to_thread(in_thread, number))
            by_hand = threading.Thread(target=contextvars.copy_context().run, args=(in_thread, number))
            by_hand.start()
            await asyncio.to_thread(by_hand.join)
        return capture

    async def everything():
        return await asyncio.gather(*map(attempt, range(200)))

    captures = asyncio.run(everything())
    for number, capture in enumerate(captures):
        root, thread = capture.tree.roots
        assert (root.name, thread.name) == (f"root {number}", f"thread {number}")
        assert sorted(node.name for node in root.children) == [
            f"child {number}.0",
            f"child {number}.1",
            f"thread {number}",
        ]
        assert len(capture.tree) == 5
        assert capture.unfinished_spans == 0
    assert len({capture.trace_id for capture in captures}) == 200
    assert recorder.late_spans == 0


def test_attempts_in_worker_threads_get_separate_trees(recorder, tracer):
    barrier = threading.Barrier(8)

    def work(number):
        with recorder.attempt("case") as capture:
            barrier.wait(timeout=60)
            with tracer.start_as_current_span(f"step {number}"):
                pass
        return outline(capture.tree)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(64))) == [[(0, f"step {number}")] for number in range(64)]


def test_a_span_that_outlives_the_attempt_is_counted_and_left_out(recorder, tracer):
    with recorder.attempt("case 1") as capture:
        background = tracer.start_span("background")
        with trace.use_span(background), tracer.start_as_current_span("orphan"):
            pass
    assert outline(capture.tree) == [(0, "orphan")]
    assert capture.unfinished_spans == 1
    assert recorder.late_spans == 0
    background.end()
    assert recorder.late_spans == 1
    assert outline(capture.tree) == [(0, "orphan")]
    assert capture.unfinished_spans == 1


def test_spans_of_other_traces_are_not_counted_as_late(recorder, tracer):
    with recorder.attempt("case 1"):
        pass
    with tracer.start_as_current_span("unrelated"):
        pass
    assert recorder.late_spans == 0


def test_closed_traces_do_not_pile_up(recorder):
    for _ in range(REMEMBERED_TRACES + 10):
        with recorder.attempt("case"):
            pass
    assert len(recorder.collector._traces) == REMEMBERED_TRACES


def test_a_cancelled_attempt_still_has_its_spans(recorder, tracer, exported):
    async def attempt():
        capture = recorder.attempt("case 1")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                with capture, tracer.start_as_current_span("slow"):
                    await asyncio.Event().wait()
        assert not trace.get_current_span().get_span_context().is_valid
        return capture

    assert outline(asyncio.run(attempt()).tree) == [(0, "slow")]
    assert exported()[-1].status.status_code is trace.StatusCode.ERROR


def test_a_block_left_in_another_context_than_it_was_entered_in_is_closed_quietly(recorder, tracer, caplog):
    capture = recorder.attempt("case 1")
    inside = contextvars.copy_context()
    inside.run(capture.__enter__)
    inside.run(lambda: tracer.start_span("a").end())
    with caplog.at_level(logging.DEBUG), tracer.start_as_current_span("mine") as mine:
        capture.__exit__(None, None, None)
        assert trace.get_current_span() is mine
    assert outline(capture.tree) == [(0, "a")]
    assert caplog.records == []


def test_the_tree_cannot_be_read_before_the_block_is_left(recorder):
    with recorder.attempt("case 1") as capture:
        with pytest.raises(SpanTreeRecordingError, match="'case 1' are complete only after its with block"):
            _ = capture.tree
        assert capture.unfinished_spans is None
    assert outline(capture.tree) == []


def test_a_provider_that_was_shut_down_still_records(provider, tracer):
    provider.shutdown()
    recorder = recording(provider)
    provider.shutdown()
    with recorder.attempt("case 1") as capture, tracer.start_as_current_span("a"):
        pass
    assert outline(capture.tree) == [(0, "a")]


def test_a_provider_that_calls_its_processors_in_parallel_is_supported():
    provider = TracerProvider(active_span_processor=ConcurrentMultiSpanProcessor(2), shutdown_on_exit=False)
    with (
        recording(provider).attempt("case 1") as capture,
        provider.get_tracer("t").start_as_current_span("a"),
    ):
        pass
    provider.shutdown()
    assert outline(capture.tree) == [(0, "a")]


@pytest.mark.parametrize(
    ("sampler", "described"),
    [(ALWAYS_OFF, "AlwaysOffSampler"), (ParentBased(TraceIdRatioBased(0)), "TraceIdRatioBased{0}")],
)
def test_a_trace_that_the_sampler_dropped_is_an_error_and_not_an_empty_tree(sampler, described):
    provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
    with (
        recording(provider).attempt("case 1") as capture,
        provider.get_tracer("t").start_as_current_span("a"),
    ):
        pass
    assert isinstance(capture.tree_or_error, SpanTreeRecordingError)
    with pytest.raises(
        SpanTreeRecordingError, match="sampler of the tracer provider dropped the trace"
    ) as caught:
        _ = capture.tree
    assert described in str(caught.value)
    assert "OTEL_TRACES_SAMPLER=always_on" in str(caught.value)
    assert (capture.trace_id, capture.span_id, capture.unfinished_spans) == (None, None, None)


def test_a_provider_that_is_turned_off_is_an_error_and_not_an_empty_tree(monkeypatch):
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    recorder = recording(TracerProvider(shutdown_on_exit=False))
    with recorder.attempt("case 1") as capture:
        pass
    with pytest.raises(
        SpanTreeRecordingError, match="turned off in the tracer provider; unset OTEL_SDK_DISABLED"
    ):
        _ = capture.tree


def test_the_collector_is_registered_once_per_provider():
    registered = []

    class Counting(TracerProvider):
        def add_span_processor(self, span_processor):
            registered.append(span_processor)
            super().add_span_processor(span_processor)

    provider = Counting(shutdown_on_exit=False)
    first, second = recording(provider), recording(provider)
    assert first.collector is second.collector
    with first.attempt("one"), second.attempt("two"):
        pass
    assert registered == [first.collector]
    other = recording(TracerProvider(shutdown_on_exit=False))
    assert other.collector is not first.collector


@dataclass
class StandIn(trace.TracerProvider):
    """A provider that passes everything on to another one, which can be exchanged; unhashable, as dataclasses are."""

    inner: trace.TracerProvider
    deaf: bool = False

    def get_tracer(self, *args, **kwargs):
        return StandInTracer(self)

    def add_span_processor(self, span_processor):
        if not self.deaf:
            self.inner.add_span_processor(span_processor)


@dataclass
class StandInTracer(trace.Tracer):
    provider: StandIn

    def start_span(self, *args, **kwargs):
        return self.provider.inner.get_tracer("t").start_span(*args, **kwargs)

    def start_as_current_span(self, *args, **kwargs):
        return self.provider.inner.get_tracer("t").start_as_current_span(*args, **kwargs)


def test_recording_goes_on_when_the_provider_behind_a_stand_in_is_exchanged():
    provider = StandIn(TracerProvider(shutdown_on_exit=False))
    recorder = recording(provider)
    tracer = provider.get_tracer("t")
    for _ in range(3):
        with recorder.attempt("case") as capture, tracer.start_as_current_span("a"):
            pass
        assert outline(capture.tree) == [(0, "a")]
        assert capture.unfinished_spans == 0
        provider.inner = TracerProvider(shutdown_on_exit=False)


def test_spans_that_never_reach_the_processors_are_an_error_and_not_an_empty_tree():
    provider = StandIn(TracerProvider(shutdown_on_exit=False), deaf=True)
    with (
        recording(provider).attempt("case 1") as capture,
        provider.get_tracer("t").start_as_current_span("a"),
    ):
        pass
    with pytest.raises(SpanTreeRecordingError, match="did not hand them to its span processors"):
        _ = capture.tree


def test_a_provider_without_processors_is_the_reason_why_nothing_is_recorded():
    reason = span_recorder(wanted=True, provider=trace.NoOpTracerProvider())
    assert isinstance(reason, SpanTreeRecordingError)
    assert "NoOpTracerProvider" in str(reason)
    assert "takes no span processors" in str(reason)


def in_own_process(code, **environment):
    """Runs the code in a fresh interpreter, where nothing is imported or configured, and returns what it printed."""
    preamble = "import sys\nfrom calipers.spans import *\nfrom calipers.errors import *\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", preamble + code],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


NOTHING_IMPORTED = "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"


def test_nothing_is_imported_where_spans_are_neither_wanted_nor_configured():
    printed = in_own_process(
        "reason = span_recorder(False)\n"
        "assert isinstance(reason, SpanTreeRecordingError)\n" + NOTHING_IMPORTED + "print(reason)"
    )
    assert "no tracer provider was configured and no evaluator asked for spans" in printed
    assert "pip install 'calipers[otel]'" in printed
    assert "set_tracer_provider" in printed


def test_an_api_that_is_imported_and_not_configured_is_not_configured():
    printed = in_own_process(
        "import opentelemetry.trace as trace\n"
        "print(span_recorder(False))\n"
        "assert 'opentelemetry.sdk' not in sys.modules\n"
        "assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)\n"
    )
    assert "no tracer provider was configured" in printed


def test_wanted_spans_are_recorded_through_a_provider_set_up_on_the_spot():
    printed = in_own_process(
        "from opentelemetry import trace\n"
        "from opentelemetry._logs import get_logger\n"
        "early, logger = trace.get_tracer('made before'), get_logger('made before')\n"
        "recorder = span_recorder(True)\n"
        "with recorder.attempt('case') as capture, early.start_as_current_span('a'):\n"
        "    logger.emit(event_name='said', body={'what': 'hello'})\n"
        "assert trace.get_tracer_provider() is recorder.provider\n"
        "assert span_recorder(False).collector is recorder.collector\n"
        "print([(node.name, node.events[0].attributes) for node in capture.tree])"
    )
    assert printed == "[('a', {'what': 'hello'})]\n"


def test_a_provider_configured_by_the_user_is_used_whether_wanted_or_not():
    printed = in_own_process(
        "from opentelemetry import trace\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "mine = TracerProvider()\n"
        "trace.set_tracer_provider(mine)\n"
        "assert span_recorder(False).provider is mine\n"
        "assert 'opentelemetry.sdk._logs' not in sys.modules\n"
        "print([span_recorder(wanted).provider is mine for wanted in (False, True)])"
    )
    assert printed == "[True, True]\n"


@pytest.mark.parametrize("missing", ["opentelemetry", "opentelemetry.sdk"])
def test_wanted_spans_without_the_sdk_tell_how_to_install_it(missing):
    printed = in_own_process(
        f"sys.modules[{missing!r}] = None\n"
        "reason = span_recorder(True)\n"
        "assert isinstance(reason, SpanTreeRecordingError)\n"
        "print(reason)"
    )
    assert "pip install 'calipers[otel]'" in printed
    assert missing in printed


def test_a_provider_that_cannot_be_loaded_is_the_reason_and_not_a_crash():
    printed = in_own_process(
        "reason = span_recorder(True)\nassert isinstance(reason, SpanTreeRecordingError)\nprint(reason)",
        OTEL_PYTHON_TRACER_PROVIDER="no_such_provider",
    )
    assert "could not be used" in printed
    assert "OTEL_*" in printed
