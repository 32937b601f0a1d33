"""Requests to Anthropic's Messages API, and what it answers."""

from types import SimpleNamespace as Thing

import pytest

from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError
from calipers.models.anthropic import ANTHROPIC, VERSION, body, messages_address, read_answer
from calipers.models.model_answer import Usage
from calipers.models.model_request import Sound
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
    assert found.usage == Usage(input=90, output=5, cache_read=60, cache_write=20)
    assert found.finish == "stop"


def test_a_stream_reports_its_tokens_in_two_events():
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 7}},
    ]
    found = read_answer(events)
    assert (found.usage, found.finish) == (Usage(input=10, output=7), "length")


# ---------------------------------------------------------------------- requests


def test_a_request_has_the_system_message_apart_and_a_limit_of_tokens():
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello."},
        {"role": "system", "content": "Answer in French."},
        {"role": "user", "content": "Again?"},
    ]
    assert body(messages, model="claude", options={"max_tokens": 9, "metadata": {"user_id": "u"}}) == {
        "model": "claude",
        "max_tokens": 9,
        "system": "Be brief.\n\nAnswer in French.",
        "messages": [messages[1], messages[2], messages[4]],
        "metadata": {"user_id": "u"},
    }


def test_tools_are_declared_by_their_input_schema():
    tool = {"name": "book", "description": "Books.", "parameters": {"type": "object", "properties": {}}}
    search = {"type": "web_search_20250305", "name": "web_search"}
    made = body([{"role": "user", "content": "Hi"}], model="claude", tools=[tool, {"name": "pay"}, search])
    assert made["tools"] == [
        {"name": "book", "description": "Books.", "input_schema": {"type": "object", "properties": {}}},
        {"name": "pay", "input_schema": {"type": "object"}},
        search,
    ]


def test_a_sound_is_refused():
    with pytest.raises(InvalidOptionError, match="takes no sound"):
        body([{"role": "user", "content": Sound(b"", "wav")}], model="claude")


def test_requests_go_to_messages_with_the_key_and_the_version_in_headers():
    assert messages_address(ANTHROPIC.home) == "https://api.anthropic.com/v1/messages"
    assert messages_address("http://127.0.0.1:8000/v1/messages") == "http://127.0.0.1:8000/v1/messages"
    assert ANTHROPIC.headers("k", VERSION) == {"x-api-key": "k", "anthropic-version": "2023-06-01"}


def test_an_error_beside_an_answer_is_an_error():
    raw = {"type": "message", "stop_reason": "end_turn", "content": [{"type": "text", "text": "yes"}]}
    assert "error" in {
        problem.kind for problem in read_answer({**raw, "error": {"type": "api_error"}}).problems
    }
