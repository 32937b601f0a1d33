"""Events that are emitted as log records during an attempt join its spans."""

import json

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.trace import TracerProvider

from calipers.spans import span_recorder
from calipers.spans.attempt_trace import spans_trace


@pytest.fixture
def program():
    """What records spans, the tracer and the logger of a program, and how to make further recorders."""
    tracers = TracerProvider(shutdown_on_exit=False)
    loggers = LoggerProvider(shutdown_on_exit=False)

    def recorder():
        return span_recorder(wanted=False, provider=tracers, logger_provider=loggers)

    return recorder, tracers.get_tracer("task"), loggers.get_logger("task")


def test_an_event_belongs_to_the_span_in_which_it_was_emitted(program):
    recorder, tracer, logger = program
    recorder()
    with recorder().attempt("case 1") as capture:
        logger.emit(event_name="outside of all spans")
        with tracer.start_as_current_span("plan") as plan:
            plan.add_event("on the span")
            logger.emit(event_name="second", timestamp=2, attributes={"n": 1}, body={"raw": [b"x"]})
            logger.emit(event_name="", timestamp=1, attributes={"event.name": "first"}, body="a text")
            logger.emit(body="a log line")
            with tracer.start_as_current_span("think"):
                logger.emit(event_name="inside")
    logger.emit(event_name="later")
    plan, think = capture.tree
    assert [(event.name, event.attributes) for event in plan.events] == [
        ("on the span", {}),
        ("first", {"event.name": "first", "body": "a text"}),
        ("second", {"n": 1, "raw": ["eA=="]}),
    ]
    assert [event.name for event in think.events] == ["inside"]


def test_attempts_at_once_keep_their_events_apart(program):
    recorder, tracer, logger = program
    with recorder().attempt("case 1") as one, tracer.start_as_current_span("a"):
        with recorder().attempt("case 2") as other, tracer.start_as_current_span("b"):
            logger.emit(event_name="inner")
        logger.emit(event_name="outer")
    assert [event.name for node in one.tree for event in node.events] == ["outer"]
    assert [event.name for node in other.tree for event in node.events] == ["inner"]


def test_messages_in_events_are_the_trace_of_the_attempt(program):
    recorder, tracer, logger = program
    function = {"name": "find", "arguments": json.dumps({"to": "Oslo"})}
    call = {"id": "1", "type": "function", "function": function}
    with recorder().attempt("case 1") as capture:
        with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}):
            logger.emit(event_name="gen_ai.user.message", body={"content": "to Oslo?"})
            asked = {"role": "assistant", "tool_calls": [call]}
            logger.emit(event_name="gen_ai.choice", body={"index": 0, "message": asked})
        with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}):
            logger.emit(event_name="gen_ai.user.message", body={"content": "to Oslo?"})
            logger.emit(event_name="gen_ai.assistant.message", body={"tool_calls": [call]})
            logger.emit(event_name="gen_ai.tool.message", body={"id": "1", "content": "by train"})
            said = {"role": "assistant", "content": "Take the train."}
            logger.emit(event_name="gen_ai.choice", body={"index": 0, "message": said})
    trace = spans_trace(capture.tree)
    assert (trace.input_text, trace.output_text) == ("to Oslo?", "Take the train.")
    (found,) = trace.tool_calls
    assert (found.name, found.arguments, found.output) == ("find", {"to": "Oslo"}, "by train")
