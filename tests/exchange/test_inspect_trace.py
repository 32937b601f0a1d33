"""What an agent did, by the messages and events of a log."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from calipers.data.trace import TurnType
from calipers.exchange.inspect_log import read_log
from calipers.exchange.inspect_trace import read_inspect_trace, usage_of

DATA = Path(__file__).parents[1] / "samples" / "inspect_log.json"
SAMPLE = SimpleNamespace(uuid="u", started_at=None)


@pytest.fixture
def trace():
    return next(read_log(json.loads(DATA.read_bytes()), "it").attempts()).record.trace


def trace_of(*messages, events=(), output=None):
    return read_inspect_trace(messages, events, output or {}, "some-model", SAMPLE)


def test_messages_are_turns_with_tokens_and_times_from_the_events(trace):
    assert [turn.turn_type for turn in trace.turns] == [
        TurnType.USER_MESSAGE,
        TurnType.LLM_CALL,
        TurnType.TOOL_CALL,
        TurnType.LLM_CALL,
    ]
    assert (trace.input_text, trace.output_text, trace.model) == ("What is 1+1?", "2", "mockllm/model")
    assert (trace.total_input_tokens, trace.total_output_tokens) == (20, 10)
    (call,) = trace.tool_calls
    assert (call.name, call.arguments, call.output, call.success) == ("add", {"x": 1, "y": 1}, "2", True)
    assert call.latency_ms > 0
    assert call.timestamp is not None


def test_a_sample_is_the_same_trace_every_time():
    first, second = (
        next(read_log(json.loads(DATA.read_bytes()), "it").attempts()).record.trace for _ in range(2)
    )
    assert (first.trace_id, first.created_at) == (second.trace_id, second.created_at)
    assert [turn.turn_id for turn in first.turns] == [turn.turn_id for turn in second.turns]


def test_without_events_the_messages_are_enough():
    trace = trace_of(
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image", "image": "…"}]},
        {
            "role": "assistant",
            "content": "wait",
            "tool_calls": [{"id": "1", "function": "f", "arguments": {}}],
        },
        {
            "role": "tool",
            "tool_call_id": "1",
            "content": "",
            "error": {"type": "timeout", "message": "too slow"},
        },
    )
    assert trace.metadata == {"system": ["be kind"]}
    assert trace.turns[0].content == "hi\n[image]"
    assert trace.llm_calls[0].model == "some-model"
    assert (trace.tool_calls[0].success, trace.tool_calls[0].error) == (False, "too slow")
    assert not trace.tokens_measured


def test_requests_of_scorers_are_not_the_agents():
    event = {
        "event": "model",
        "output": {"choices": [{"message": {"id": "of-a-scorer"}}], "usage": {"input_tokens": 9}},
    }
    assert (
        trace_of({"role": "assistant", "id": "mine", "content": "a"}, events=[event]).total_input_tokens == 0
    )


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"role": "assistant", "content": None, "tool_calls": "no"},
        {
            "role": "assistant",
            "content": 3,
            "tool_calls": [None, {}, {"function": 5}, {"function": "f", "arguments": []}],
        },
        {"role": "tool", "content": "answer to nobody"},
        {"role": "alien", "content": "?"},
    ],
    ids=["empty", "no calls", "odd calls", "lost answer", "unknown role"],
)
def test_odd_messages_do_not_break_a_trace(message):
    assert trace_of({"role": "user", "content": "hi"}, message).input_text == "hi"


def test_no_messages_no_trace():
    assert trace_of() is None


@pytest.mark.parametrize(
    ("usages", "expected"),
    [
        ([], {}),
        ([{"input_tokens": 1, "output_tokens": 0}, {"input_tokens": 2}], {"input_tokens": 3}),
        ([{"input_tokens": None, "total_tokens": "many"}], {}),
    ],
)
def test_tokens_that_nobody_counted_are_left_out(usages, expected):
    assert usage_of(usages) == expected
