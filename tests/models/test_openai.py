"""Tool calls in what OpenAI answers: completions, chunks, responses and Realtime events."""

from types import SimpleNamespace as Thing

import pytest

from calipers.data.trace import ToolCall
from calipers.models.model_answer import Usage
from calipers.models.model_request import Sound
from calipers.models.openai import body, read_answer
from calipers.voice.parsers import OpenAIResponseParser

PARSER = OpenAIResponseParser()
BOOK = ToolCall("book", {"to": "LA"})


def function(name, arguments, identity="call_1"):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def completion(*calls, **message):
    content = {"role": "assistant", "content": None, "tool_calls": list(calls) or None, **message}
    return {
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "stop", "message": content}],
    }


def kinds(response):
    return [problem.kind for problem in response.problems]


# ---------------------------------------------------------------------- chat completions


def test_parallel_calls_come_in_order_with_their_ids():
    raw = completion(function("book", '{"to": "LA"}', "call_1"), function("pay", "{}", "call_2"))
    response = PARSER.parse(raw)
    assert response.tool_calls == [BOOK, ToolCall("pay")]
    assert [call.call_id for call in response.tool_calls] == ["call_1", "call_2"]
    assert (response.problems, response.raw) == ([], raw)


def test_objects_of_the_sdk_are_read_like_dicts():
    call = Thing(id="call_1", function=Thing(name="book", arguments='{"to": "LA"}'))
    message = Thing(content=None, tool_calls=[call], refusal=None, audio=Thing(transcript="Booked."))
    response = PARSER.parse(Thing(choices=[Thing(message=message, finish_reason="tool_calls")]))
    assert response.tool_calls == [BOOK]
    assert response.text == "Booked."


def test_an_object_whose_attributes_raise_is_no_answer():
    class Broken:
        @property
        def choices(self):
            raise RuntimeError("not loaded")

    assert kinds(PARSER.parse(Broken())) == ["no_answer"]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (completion(content="Hello."), "Hello."),
        (completion(content=[{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]), "Hel\nlo"),
        (completion(refusal="I cannot."), "I cannot."),
        (completion(audio={"id": "a", "transcript": "Hi."}), "Hi."),
        (completion(), None),
    ],
)
def test_words_are_content_refusal_or_the_transcript_of_what_was_spoken(raw, text):
    response = PARSER.parse(raw)
    assert (response.text, response.tool_calls, response.problems) == (text, [], [])


def test_the_older_function_call_counts():
    response = PARSER.parse(completion(function_call={"name": "book", "arguments": '{"to": "LA"}'}))
    assert response.tool_calls == [BOOK]


def test_a_custom_tool_takes_its_text_as_input():
    raw = completion({"id": "c", "type": "custom", "custom": {"name": "run", "input": "ls"}})
    assert PARSER.parse(raw).tool_calls == [ToolCall("run", {"input": "ls"})]


def test_the_calls_of_all_choices_count():
    choices = (
        completion(content="Let me see.")["choices"] + completion(function("book", '{"to": "LA"}'))["choices"]
    )
    response = PARSER.parse({"choices": choices})
    assert (response.text, response.tool_calls) == ("Let me see.", [BOOK])


@pytest.mark.parametrize("arguments", ['{"to": ', "[]", "LA", '{"a": 1} {"b": 2}'])
def test_malformed_arguments_are_kept_as_they_came(arguments):
    response = PARSER.parse(completion(function("book", arguments)))
    assert kinds(response) == ["malformed_arguments"]
    assert response.problems[0].raw == arguments
    assert [call.name for call in response.tool_calls] == ["book (unreadable arguments)"]


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_an_answer_that_was_broken_off_is_recorded(reason):
    raw = completion(content="The")
    raw["choices"][0]["finish_reason"] = reason
    assert kinds(PARSER.parse(raw)) == ["incomplete", "no_answer"]
    raw["choices"][0]["message"]["tool_calls"] = [function("book", '{"to": "LA"}')]
    assert kinds(PARSER.parse(raw)) == ["incomplete"]


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        ({"choices": None}, ["no_answer"]),
        ({"choices": []}, ["no_answer"]),
        ({"choices": [{"message": {}}]}, ["no_answer"]),
        ({"choices": [{"message": {}, "finish_reason": "stop"}]}, []),
        ({"choices": [{"message": {"content": ""}}]}, []),
        ({"choices": [None]}, ["malformed_message", "no_answer"]),
        ({"choices": [{"message": None}]}, ["malformed_message", "no_answer"]),
        ({"choices": "none"}, ["malformed_message", "no_answer"]),
        ({"error": {"message": "overloaded"}}, ["error", "no_answer"]),
        (None, ["malformed_message", "no_answer"]),
    ],
    ids=str,
)
def test_what_has_no_answer_says_so(raw, found):
    response = PARSER.parse(raw)
    assert (kinds(response), response.tool_calls) == (found, [])


# ---------------------------------------------------------------------- chunks


def test_the_pieces_of_a_stream_are_put_together_by_index():
    def chunk(*calls, content=None):
        return {"choices": [{"index": 0, "delta": {"content": content, "tool_calls": list(calls) or None}}]}

    raw = [
        chunk(content="One "),
        chunk(content="moment."),
        chunk({"index": 0, "id": "call_1", "function": {"name": "book", "arguments": ""}}),
        chunk({"index": 1, "id": "call_2", "function": {"name": "pay", "arguments": '{"eur'}}),
        chunk({"index": 0, "function": {"arguments": '{"to": '}}),
        chunk(
            {"index": 1, "function": {"arguments": '": 5}'}}, {"index": 0, "function": {"arguments": '"LA"}'}}
        ),
        {"choices": [], "usage": {}},
    ]
    response = PARSER.parse(raw)
    assert response.tool_calls == [BOOK, ToolCall("pay", {"eur": 5})]
    assert [call.call_id for call in response.tool_calls] == ["call_1", "call_2"]
    assert (response.text, response.problems) == ("One moment.", [])


# ---------------------------------------------------------------------- responses


def test_items_of_the_responses_api_are_read():
    raw = {
        "object": "response",
        "status": "completed",
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "call_id": "c1", "name": "book", "arguments": '{"to": "LA"}'},
            {"type": "message", "content": [{"type": "output_text", "text": "Booked."}]},
        ],
    }
    response = PARSER.parse(raw)
    assert (response.tool_calls, response.text, response.problems) == ([BOOK], "Booked.", [])


def test_a_response_without_output_called_nothing_unless_it_was_broken_off():
    assert kinds(PARSER.parse({"output": [], "status": "completed"})) == []
    response = PARSER.parse(
        {"output": [], "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    )
    assert kinds(response) == ["incomplete", "no_answer"]


# ---------------------------------------------------------------------- Realtime


def item(name="book", arguments='{"to": "LA"}', identity="item_1", call_id="call_1"):
    return {"id": identity, "type": "function_call", "name": name, "call_id": call_id, "arguments": arguments}


def done(*items, status="completed", identity="resp_1", **details):
    response = {"id": identity, "status": status, "output": list(items), "status_details": details or None}
    return {"type": "response.done", "response": response}


STREAMED = [
    {"type": "session.created", "session": {}},
    {"type": "response.created", "response": {"id": "resp_1"}},
    {
        "type": "response.output_item.added",
        "response_id": "resp_1",
        "output_index": 0,
        "item": item(arguments=""),
    },
    {
        "type": "response.function_call_arguments.delta",
        "response_id": "resp_1",
        "item_id": "item_1",
        "delta": '{"to": ',
    },
    {
        "type": "response.function_call_arguments.delta",
        "response_id": "resp_1",
        "item_id": "item_1",
        "delta": '"LA"}',
    },
    {
        "type": "response.function_call_arguments.done",
        "response_id": "resp_1",
        "item_id": "item_1",
        "call_id": "call_1",
        "arguments": '{"to": "LA"}',
    },
    {"type": "response.output_item.done", "response_id": "resp_1", "output_index": 0, "item": item()},
]


@pytest.mark.parametrize("seen", range(5, len(STREAMED) + 1))
def test_a_call_counts_once_however_many_events_tell_of_it(seen):
    events = STREAMED[:seen]
    assert PARSER.parse(events).tool_calls == [BOOK]
    response = PARSER.parse([*events, done(item())])
    assert (response.tool_calls, response.problems) == ([BOOK], [])
    assert response.tool_calls[0].call_id == "call_1"


def test_the_last_event_alone_is_enough():
    message = {"id": "m", "type": "message", "content": [{"type": "output_audio", "transcript": "Booking."}]}
    response = PARSER.parse([done(message, item(), item("pay", "{}", "item_2", "call_2"))])
    assert response.tool_calls == [BOOK, ToolCall("pay")]
    assert response.text == "Booking."


def test_items_without_ids_are_told_apart_by_their_place():
    plain = [{"type": "function_call", "name": name, "arguments": "{}"} for name in ("a", "b")]
    added = {
        "type": "response.output_item.done",
        "response_id": "resp_1",
        "output_index": 1,
        "item": plain[1],
    }
    response = PARSER.parse([added, done(*plain)])
    assert sorted(call.name for call in response.tool_calls) == ["a", "b"]


def test_the_calls_of_a_cancelled_response_do_not_count():
    response = PARSER.parse(
        [*STREAMED, done(status="cancelled", reason="turn_detected"), done(identity="resp_2")]
    )
    assert response.tool_calls == []
    assert kinds(response) == ["incomplete"]


def test_calls_of_several_responses_are_merged():
    later = item("pay", "{}", "item_2", "call_2")
    assert PARSER.parse([done(item()), done(later, identity="resp_2")]).tool_calls == [BOOK, ToolCall("pay")]


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (done(status="failed", error={"code": "server_error"}), "error"),
        (done(status="incomplete", reason="max_output_tokens"), "incomplete"),
        ({"type": "error", "error": {"message": "bad session"}}, "error"),
        ({"type": "surprise"}, "malformed_message"),
    ],
)
def test_an_event_of_trouble_is_a_problem(event, kind):
    assert kinds(PARSER.parse([event, done()])) == [kind]


def test_an_end_without_its_response_is_none():
    assert kinds(PARSER.parse([{"type": "response.done", "response": None}])) == [
        "malformed_message",
        "no_answer",
    ]


@pytest.mark.parametrize("status", ["incomplete", "failed", "cancelled"])
def test_the_last_response_says_whether_nothing_was_called(status):
    cut = done(status=status, identity="resp_2")
    assert "no_answer" in kinds(PARSER.parse([done(), cut]))
    assert "no_answer" not in kinds(PARSER.parse([cut, done()]))
    assert "no_answer" not in kinds(PARSER.parse([done(item()), cut]))


def test_what_the_server_heard_is_kept():
    heard = {"type": "conversation.item.input_audio_transcription.completed", "transcript": "book LA"}
    assert PARSER.parse([heard, done(item())]).transcript == "book LA"


def test_a_session_that_never_answered_is_no_answer():
    assert kinds(PARSER.parse([{"type": "session.created"}])) == ["no_answer"]


def test_tokens_and_the_end_are_read_from_a_chat_completion():
    raw = {
        "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 30,
            "prompt_tokens_details": {"cached_tokens": 60},
            "completion_tokens_details": {"reasoning_tokens": 20},
        },
    }
    found = read_answer(raw)
    assert (found.text, found.finish) == ("Hi", "stop")
    assert found.usage == Usage(input=100, output=30, cache_read=60, reasoning=20)


def test_tokens_and_the_end_are_read_from_a_response():
    raw = {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}],
        "usage": {"input_tokens": 7, "output_tokens": 2},
    }
    found = read_answer(raw)
    assert (found.text, found.finish, found.cut_short) == ("Hi", "length", True)
    assert found.usage == Usage(input=7, output=2)


@pytest.mark.parametrize(
    ("choice", "finish"),
    [
        ({"message": {"content": "x"}, "finish_reason": "stop"}, "stop"),
        ({"message": {"content": "x"}, "finish_reason": "length"}, "length"),
        ({"message": {"content": None}, "finish_reason": "content_filter"}, "filtered"),
        ({"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}, "refused"),
        ({"message": {"tool_calls": [{"function": {"name": "f"}}]}, "finish_reason": "stop"}, "tool_call"),
        ({"message": {"content": "x"}, "finish_reason": "brand_new"}, "unknown"),
        ({"message": {"content": "x"}}, "unknown"),
    ],
)
def test_only_a_known_word_is_a_known_end(choice, finish):
    assert read_answer({"choices": [choice]}).finish == finish


def test_an_answer_without_usage_does_not_report_zero():
    assert read_answer({"choices": [{"message": {"content": "x"}}]}).usage is None


@pytest.mark.parametrize("count", ["many", -1, 1.5, True, 10**400])
def test_a_number_of_tokens_that_cannot_be_is_a_problem_and_not_counted(count):
    raw = {"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": count}}
    found = read_answer(raw)
    assert [problem.kind for problem in found.problems] == ["malformed_usage"]
    assert found.usage == Usage()


def test_an_answer_without_a_field_for_calls_does_not_say_that_there_were_none():
    assert read_answer({"choices": [{"message": {"content": "x"}}]}).reports_calls is False
    assert read_answer({"choices": [{"message": {"content": "x", "tool_calls": None}}]}).reports_calls


def test_a_session_counts_the_tokens_of_all_its_responses():
    def done(**usage):
        return {"type": "response.done", "response": {"status": "completed", "output": [], "usage": usage}}

    events = [done(input_tokens=1, output_tokens=2), done(input_tokens=10, output_tokens=20)]
    found = read_answer(events)
    assert (found.usage, found.finish) == (Usage(input=11, output=22), "stop")
    assert read_answer([*events, {"type": "response.done", "response": {}}]).usage is None


def test_a_body_holds_text_sound_tools_and_options_that_win():
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": Sound(b"RIFF", "wav")},
    ]
    made = body(messages, model="m", tools=[{"name": "book"}], options={"model": "other", "seed": 1})
    sound = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    assert made == {
        "model": "other",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": [sound]}],
        "tools": [{"type": "function", "function": {"name": "book"}}],
        "seed": 1,
    }


def test_an_error_beside_an_answer_is_an_error():
    choice = {"finish_reason": "stop", "message": {"content": "yes"}}
    failed = {"code": 502, "message": "upstream"}
    for raw in ({"choices": [choice], "error": failed}, {"choices": [{**choice, "error": failed}]}):
        assert [problem.kind for problem in read_answer(raw).problems] == ["error"]
    assert read_answer({"choices": [choice], "error": None}).problems == []


def test_a_response_that_says_it_is_whole_is_not_where_a_part_of_it_is_not():
    item = {"type": "message", "status": "completed", "content": [{"type": "output_text", "text": "yes"}]}
    whole = {"status": "completed", "output": [item], "incomplete_details": None}
    assert read_answer(whole).finish == "stop"
    for status in ("incomplete", "in_progress"):
        assert read_answer({**whole, "output": [{**item, "status": status}]}).finish == "unfinished"
    for reason, finish in (("max_output_tokens", "length"), ("content_filter", "filtered"), ("x", "unknown")):
        assert read_answer({**whole, "incomplete_details": {"reason": reason}}).finish == finish
