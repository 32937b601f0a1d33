"""Tool calls in what Gemini answers, by request and live."""

from enum import Enum
from types import SimpleNamespace as Thing

import pytest

from calipers.data.trace import ToolCall
from calipers.models.gemini import body, read_answer
from calipers.models.model_answer import Usage
from calipers.models.model_request import Sound
from calipers.voice.parsers import GeminiResponseParser

PARSER = GeminiResponseParser()
BOOK = ToolCall("book", {"to": "LA"})


def answer(*parts, reason="STOP", **more):
    return {
        "candidates": [{"content": {"parts": list(parts), "role": "model"}, "finishReason": reason, **more}]
    }


def call(name="book", identity=None, **args):
    return {"name": name, "args": args, **({"id": identity} if identity else {})}


def kinds(response):
    return [problem.kind for problem in response.problems]


@pytest.mark.parametrize(
    "raw",
    [
        answer({"functionCall": call(to="LA")}),
        answer({"function_call": call(to="LA")}),
        answer({"functionCall": {"name": "book", "args": '{"to": "LA"}'}}),
        {"candidates": [{"content": {"parts": [{"functionCall": call(to="LA")}]}}]},
        [answer({"functionCall": call(to="LA")})],
        {"toolCall": {"functionCalls": [call(to="LA")]}},
        {"tool_call": {"function_calls": [call(to="LA")]}},
        Thing(
            candidates=[
                Thing(content=Thing(parts=[Thing(function_call=Thing(name="book", args={"to": "LA"}))]))
            ]
        ),
        Thing(tool_call=Thing(function_calls=[Thing(id=None, name="book", args={"to": "LA"})])),
    ],
    ids=range(9),
)
def test_a_call_is_found_in_every_casing_and_container(raw):
    response = PARSER.parse(raw)
    assert (response.tool_calls, response.problems) == ([BOOK], [])


def test_parallel_calls_and_words_come_in_order_without_thoughts():
    raw = [
        answer({"text": "Let me ", "thought": False}, {"text": "think", "thought": True}),
        answer(
            {"text": "book."},
            {"functionCall": call(to="LA", identity="1")},
            {"functionCall": call("pay", "2")},
        ),
    ]
    response = PARSER.parse(raw)
    assert response.tool_calls == [BOOK, ToolCall("pay")]
    assert [found.call_id for found in response.tool_calls] == ["1", "2"]
    assert response.text == "Let me book."


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        ({"candidates": None}, ["no_answer"]),
        ({"candidates": []}, ["no_answer"]),
        ({"candidates": [None]}, ["no_answer"]),
        ({"candidates": {}}, ["malformed_message", "no_answer"]),
        ({"candidates": [{"content": None}]}, ["no_answer"]),
        ({"candidates": [{"content": {"parts": None}}]}, []),
        ({"candidates": [{"content": {"parts": [None]}}]}, []),
        ({"promptFeedback": {"blockReason": "SAFETY"}}, ["incomplete", "no_answer"]),
        ({"error": {"code": 429, "message": "quota"}}, ["error", "no_answer"]),
        ({"setupComplete": {}}, ["no_answer"]),
        ({}, ["no_answer"]),
    ],
    ids=str,
)
def test_missing_fields_survive_and_no_answer_says_so(raw, found):
    response = PARSER.parse(raw)
    assert (kinds(response), response.tool_calls) == (found, [])


class FinishReason(Enum):
    STOP = "STOP"
    MAX_TOKENS = "MAX_TOKENS"


@pytest.mark.parametrize(
    ("reason", "found"),
    [
        ("STOP", []),
        (None, []),
        (FinishReason.STOP, []),
        (1, []),
        ("MAX_TOKENS", ["incomplete", "no_answer"]),
        ("SAFETY", ["incomplete", "no_answer"]),
        (FinishReason.MAX_TOKENS, ["incomplete", "no_answer"]),
        ([], ["incomplete", "no_answer"]),
    ],
    ids=str,
)
def test_an_answer_that_was_broken_off_is_recorded(reason, found):
    assert kinds(PARSER.parse(answer({"text": "The"}, reason=reason))) == found


def test_an_answer_that_was_broken_off_after_a_call_has_that_call():
    response = PARSER.parse(answer({"functionCall": {"name": "pay"}}, reason="MAX_TOKENS"))
    assert [call.name for call in response.tool_calls] == ["pay"]
    assert kinds(response) == ["incomplete"]


def test_a_call_that_the_server_could_not_read_is_a_call_that_cannot_match():
    raw = answer(reason="MALFORMED_FUNCTION_CALL", finishMessage="print(book('LA'))")
    response = PARSER.parse(raw)
    assert kinds(response) == ["malformed_call"]
    assert [found.name for found in response.tool_calls] == ["(call without a name)"]
    assert response.tool_calls[0].arguments == {"unreadable": "print(book('LA'))"}


def test_a_call_without_arguments_has_none():
    assert PARSER.parse({"toolCall": {"functionCalls": [{"name": "stop"}]}}).tool_calls == [ToolCall("stop")]


# ---------------------------------------------------------------------- live


def test_the_messages_of_a_live_session_are_read_together():
    raw = [
        {"setupComplete": {}},
        {"serverContent": {"inputTranscription": {"text": "book "}}},
        {"serverContent": {"inputTranscription": {"text": "LA"}}},
        {"serverContent": {"modelTurn": {"parts": [{"inlineData": {"data": "AAAA"}}]}}},
        {"serverContent": {"outputTranscription": {"text": "Book"}}},
        {"serverContent": {"outputTranscription": {"text": "ing."}}},
        b'{"toolCall": {"functionCalls": [{"id": "1", "name": "book", "args": {"to": "LA"}}]}}',
        {"serverContent": {"turnComplete": True}},
    ]
    response = PARSER.parse(raw)
    assert response.tool_calls == [BOOK]
    assert (response.text, response.transcript, response.problems) == ("Booking.", "book LA", [])


def test_a_call_that_is_taken_back_does_not_count():
    calls = [call(to="LA", identity="1"), call("pay", "2"), call("stop")]
    raw = [{"toolCall": {"functionCalls": calls}}, {"toolCallCancellation": {"ids": ["1", 5, None]}}]
    assert PARSER.parse(raw).tool_calls == [ToolCall("pay"), ToolCall("stop")]


@pytest.mark.parametrize(
    ("candidate", "found"),
    [({}, ["no_answer"]), ({"finishReason": "STOP"}, []), ({"content": {}}, [])],
    ids=str,
)
def test_a_candidate_that_says_nothing_at_all_is_no_answer(candidate, found):
    assert kinds(PARSER.parse({"candidates": [candidate]})) == found


def test_thoughts_are_part_of_what_was_written():
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 20}
    parts = [{"text": "so", "thought": True}, {"text": "Hi"}]
    raw = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}], "usageMetadata": usage}
    found = read_answer(raw)
    assert (found.text, found.finish) == ("Hi", "stop")
    assert found.usage == Usage(input=10, output=25, reasoning=20)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("MAX_TOKENS", "length"), ("SAFETY", "filtered"), ("CONTINUATION", "unfinished"), ("NEW", "unknown")],
)
def test_only_a_known_word_is_a_known_end(reason, finish):
    found = read_answer({"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": reason}]})
    assert (found.finish, found.cut_short) == (finish, True)


def test_a_body_keeps_the_system_message_apart():
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": Sound(b"RIFF", "wav")},
    ]
    assert body(messages, options={"generationConfig": {"seed": 1}}) == {
        "contents": [
            {"role": "user", "parts": [{"text": "Hello"}]},
            {"role": "model", "parts": [{"text": "Hi"}]},
            {"role": "user", "parts": [{"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}}]},
        ],
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "generationConfig": {"seed": 1},
    }
