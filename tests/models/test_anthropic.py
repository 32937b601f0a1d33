"""Tool calls in what Anthropic answers."""

from types import SimpleNamespace as Thing

import pytest

from calipers.data.trace import ToolCall
from calipers.models.anthropic import read_answer
from calipers.models.completion import Usage
from calipers.voice.parsers import AnthropicResponseParser

PARSER = AnthropicResponseParser()
BOOK = ToolCall("book", {"to": "LA"})


def message(*content, reason="end_turn"):
    return {"type": "message", "role": "assistant", "content": list(content), "stop_reason": reason}


def kinds(response):
    return [problem.kind for problem in response.problems]


def test_blocks_are_read_in_order_with_their_ids():
    raw = message(
        {"type": "text", "text": "Let me."},
        {"type": "tool_use", "id": "t1", "name": "book", "input": {"to": "LA"}},
        {"type": "server_tool_use", "id": "t2", "name": "search", "input": {}},
        {"type": "thinking", "thinking": "hm"},
    )
    response = PARSER.parse(raw)
    assert response.tool_calls == [BOOK, ToolCall("search")]
    assert [call.call_id for call in response.tool_calls] == ["t1", "t2"]
    assert (response.text, response.problems) == ("Let me.", [])


def test_objects_of_the_sdk_are_read_like_dicts():
    block = Thing(type="tool_use", id="t1", name="book", input={"to": "LA"})
    raw = Thing(type="message", content=[block], stop_reason="tool_use")
    assert PARSER.parse(raw).tool_calls == [BOOK]


def test_the_events_of_a_stream_are_put_together():
    raw = [
        {"type": "message_start", "message": {"content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "One "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "moment."}},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "t1", "name": "book", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": '{"to":'},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": ' "LA"}'},
        },
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}},
        {"type": "message_stop"},
    ]
    response = PARSER.parse(raw)
    assert (response.tool_calls, response.text) == ([BOOK], "One moment.")
    assert kinds(response) == ["incomplete"]


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (message(reason="refusal"), ["incomplete", "no_answer"]),
        (message({"type": "text", "text": "I"}, reason="max_tokens"), ["incomplete", "no_answer"]),
        (message({"type": "tool_use", "name": "f"}, reason="max_tokens"), ["incomplete"]),
        (message(), []),
        ({"content": "Hello."}, []),
        ({"content": None}, ["no_answer"]),
        ({"content": 5}, ["malformed_message"]),
        ({"type": "error", "error": {"type": "overloaded_error"}}, ["error", "no_answer"]),
        ({"error": "x"}, ["error", "no_answer"]),
        (message({"type": "tool_use", "input": {}}), ["missing_name"]),
        (message({"type": "tool_use", "name": "f", "input": [1]}), ["malformed_arguments"]),
    ],
    ids=str,
)
def test_trouble_is_recorded(raw, found):
    assert kinds(PARSER.parse(raw)) == found


def test_tokens_from_a_cache_are_part_of_what_was_read():
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 20,
        "output_tokens": 5,
    }
    found = read_answer(
        {"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn", "usage": usage}
    )
    assert found.usage == Usage(input=90, output=5, cache_read=60)
    assert found.finish == "stop"


def test_a_stream_reports_its_tokens_in_two_events():
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 7}},
    ]
    found = read_answer(events)
    assert (found.usage, found.finish) == (Usage(input=10, output=7), "length")
