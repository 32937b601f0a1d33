"""Laws that hold for every parser: nothing makes one raise, and no call gets lost or matches by accident."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.data.trace import ToolCall
from calipers.models.model_answer import excerpt, read, read_arguments
from calipers.voice.parsers import (
    AnthropicResponseParser,
    GeminiResponseParser,
    JsonResponseParser,
    OpenAIResponseParser,
)
from calipers.voice.response import AgentResponse

PARSERS = [
    OpenAIResponseParser(),
    GeminiResponseParser(),
    AnthropicResponseParser(),
    JsonResponseParser(),
    JsonResponseParser(tool_calls_key="", single=True),
    JsonResponseParser(tool_calls_key="choices.0.message", single=True, merge="last"),
]

WORDS = [
    "choices",
    "message",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "id",
    "index",
    "delta",
    "content",
    "refusal",
    "audio",
    "transcript",
    "output",
    "type",
    "status",
    "response",
    "item",
    "item_id",
    "response_id",
    "output_index",
    "error",
    "call_id",
    "status_details",
    "reason",
    "finish_reason",
    "candidates",
    "parts",
    "functionCall",
    "function_call",
    "args",
    "thought",
    "text",
    "finishReason",
    "toolCall",
    "functionCalls",
    "serverContent",
    "modelTurn",
    "outputTranscription",
    "inputTranscription",
    "toolCallCancellation",
    "ids",
    "promptFeedback",
    "blockReason",
    "input",
    "content_block",
    "partial_json",
    "stop_reason",
    "function_call",
    "custom",
    "usage",
    "prompt_tokens",
    "usageMetadata",
    "promptTokenCount",
]
VALUES = [
    "response.done",
    "response.output_item.done",
    "response.function_call_arguments.delta",
    "error",
    "function_call",
    "message",
    "text",
    "tool_use",
    "response.function_call_arguments.done",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "cancelled",
    "STOP",
    "MALFORMED_FUNCTION_CALL",
    "length",
]

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(VALUES)
    | st.sampled_from(['{"a": 1}', '{"a": ', "[]", "null", ""])
    | st.binary(max_size=4)
)
json_like = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=40,
)


@given(raw=json_like)
def test_no_value_makes_a_parser_raise(raw):
    for parser in PARSERS:  # drawing the value takes longer than reading it
        response = parser.parse(raw)
        assert isinstance(response, AgentResponse)
        assert response.raw is raw
        unreadable = [call for call in response.tool_calls if not call.success]
        assert len(response.problems) >= len(unreadable)
        assert response.text is None or response.text
        if response.no_answer is not None:
            assert response.tool_calls == []


arguments = st.dictionaries(
    st.text(max_size=5),
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    max_size=4,
)
calls = st.lists(st.tuples(st.text(min_size=1, max_size=10), arguments), max_size=4)


def as_openai(made):
    found = [
        {"id": str(number), "function": {"name": name, "arguments": json.dumps(values)}}
        for number, (name, values) in enumerate(made)
    ]
    return {"choices": [{"message": {"tool_calls": found}}]}


def as_gemini(made):
    parts = [{"functionCall": {"name": name, "args": values}} for name, values in made]
    return {"candidates": [{"content": {"parts": parts}}]}


def as_anthropic(made):
    return {"content": [{"type": "tool_use", "name": name, "input": values} for name, values in made]}


def as_json(made):
    return {"tool_calls": [{"name": name, "arguments": values} for name, values in made]}


@pytest.mark.parametrize(
    ("parser", "write"),
    [(PARSERS[0], as_openai), (PARSERS[1], as_gemini), (PARSERS[2], as_anthropic), (PARSERS[3], as_json)],
    ids=["openai", "gemini", "anthropic", "json"],
)
@given(made=calls)
def test_what_a_provider_would_write_is_read_back_in_order(parser, write, made):
    response = parser.parse(write(made))
    assert response.tool_calls == [ToolCall(name, values) for name, values in made]
    assert response.problems == []


@given(st.text())
def test_arguments_are_read_or_refused_with_a_reason(text):
    found, why = read_arguments(text)
    assert (found is None) == bool(why)
    if found == {}:
        assert text.strip() in ("", "null") or json.loads(text) == {}


@pytest.mark.parametrize("value", ["text", b"bytes", [1], (1,), 5, 1.5, True, None], ids=repr)
@pytest.mark.parametrize("name", ["index", "count", "real", "decode", "__class__"])
def test_plain_values_have_attributes_but_no_fields(value, name):
    assert read(value, name) is None


def test_arguments_whose_keys_are_no_text_are_refused():
    assert read_arguments({1: 2}) == (None, "its keys are not all strings")


def test_nesting_beyond_reason_is_refused_and_not_raised():
    assert read_arguments("[" * 100_000)[0] is None


def test_an_excerpt_is_short_and_survives_a_broken_repr():
    class Rude:
        def __repr__(self):
            raise RuntimeError("no")

    assert len(excerpt("x" * 10_000)) < 300
    assert "Rude" in excerpt(Rude())
