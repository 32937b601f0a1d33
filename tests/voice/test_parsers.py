"""Tool calls in any JSON, by the names of their fields."""

import json

import pytest

from calipers.data.trace import ToolCall
from calipers.voice.parsers import JsonResponseParser, steps

CALL = {"name": "book", "arguments": {"to": "LA"}}
BOOK = ToolCall("book", {"to": "LA"})


@pytest.mark.parametrize(
    ("options", "raw", "calls"),
    [
        ({}, {"tool_calls": [CALL]}, [BOOK]),
        ({}, json.dumps({"tool_calls": [CALL]}), [BOOK]),
        ({}, json.dumps({"tool_calls": [CALL]}).encode(), [BOOK]),
        ({}, {"tool_calls": [CALL, {"name": "pay"}, CALL]}, [BOOK, ToolCall("pay"), BOOK]),
        ({}, {"tool_calls": [{"name": "book", "arguments": '{"to": "LA"}'}]}, [BOOK]),
        ({}, {"tool_calls": [{"name": "book", "arguments": ""}]}, [ToolCall("book")]),
        ({}, {"tool_calls": [{"name": "book", "arguments": None}]}, [ToolCall("book")]),
        ({}, {"tool_calls": None}, []),
        ({}, {"tool_calls": []}, []),
        ({"tool_calls_key": "a.b"}, {"a": {"b": [CALL]}}, [BOOK]),
        ({"tool_calls_key": "a.1.b"}, {"a": [{}, {"b": [CALL]}]}, [BOOK]),
        ({"tool_calls_key": "a.7.b"}, {"a": [{}], "text": "no"}, []),
        ({"tool_calls_key": "a.b.c"}, {"a": {"b": {"c": None}}}, []),
        ({}, {"text": "There is nothing to do."}, []),
        ({}, {"transcript": ""}, []),
        ({}, {"tool_calls": [], "error": None}, []),
        ({}, [{"status": "thinking"}, {"tool_calls": []}], []),
        ({"tool_calls_key": ""}, [{"status": "thinking"}, {"text": "Hello."}], []),
        ({"tool_calls_key": r"a\.b"}, {"a.b": [CALL]}, [BOOK]),
        ({"tool_calls_key": ""}, [{"status": "thinking"}, CALL], [BOOK]),
        ({"tool_calls_key": "call", "single": True}, {"call": CALL}, [BOOK]),
        ({"tool_calls_key": "call", "single": True}, {"call": None}, []),
        (
            {"name_key": "function.name", "arguments_key": "function.args"},
            {"tool_calls": [{"function": {"name": "book", "args": {"to": "LA"}}}]},
            [BOOK],
        ),
        (
            {},
            [{"tool_calls": [CALL]}, {"text": "so"}, {"tool_calls": [{"name": "pay"}]}],
            [BOOK, ToolCall("pay")],
        ),
        (
            {"merge": "first"},
            [{"tool_calls": []}, {"tool_calls": [CALL]}, {"tool_calls": [{"name": "x"}]}],
            [BOOK],
        ),
        ({"merge": "last"}, [{"tool_calls": [{"name": "x"}]}, {"tool_calls": [CALL]}, {"text": "."}], [BOOK]),
    ],
)
def test_calls_are_found_where_the_keys_say(options, raw, calls):
    response = JsonResponseParser(**options).parse(raw)
    assert response.tool_calls == calls
    assert response.problems == []
    assert response.raw is raw


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("a", ["a"]),
        ("a.b", ["a", "b"]),
        (r"a\.b.c", ["a.b", "c"]),
        (r"a\\.b", ["a\\", "b"]),
        (r"a\x.b", [r"a\x", "b"]),
        ("a\\", ["a\\"]),
        ("a..b", ["a", "", "b"]),
        ("", [""]),
    ],
)
def test_a_backslash_keeps_a_dot_in_its_key(path, keys):
    assert list(steps(path)) == keys


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ('{"to": "LA"', "book"),
        ("[1]", "book"),
        ('"LA"', "book"),
        ([1], "book"),
        (7, "book"),
        ('{"x": NaN}', "book"),
    ],
    ids=str,
)
def test_arguments_that_are_no_object_are_recorded_and_the_call_cannot_match(arguments, name):
    response = JsonResponseParser().parse(
        {"tool_calls": [{"name": name, "arguments": arguments, "id": "c1"}]}
    )
    (call,) = response.tool_calls
    assert call != ToolCall(name)
    assert call.name == "book (unreadable arguments)"
    assert call.arguments == {"unreadable": arguments}
    assert call.call_id == "c1"
    (problem,) = response.problems
    assert problem.kind == "malformed_arguments"
    assert problem.raw == arguments
    assert "'book'" in problem.message


@pytest.mark.parametrize(
    "entry", [{"arguments": {}}, {"name": ""}, {"name": 5}, {"name": None}, "book", None, 3, []], ids=str
)
def test_an_entry_without_a_name_is_a_call_that_cannot_match(entry):
    response = JsonResponseParser().parse({"tool_calls": [entry]})
    assert [call.name for call in response.tool_calls] == ["(call without a name)"]
    assert [problem.kind for problem in response.problems] == ["missing_name"]


def test_one_object_in_the_place_of_the_list_is_pointed_out():
    response = JsonResponseParser().parse({"tool_calls": CALL})
    assert [problem.kind for problem in response.problems] == ["malformed_call"]
    assert "pass single=True" in response.problems[0].message
    assert len(response.tool_calls) == 1
    assert response.tool_calls[0] != BOOK


@pytest.mark.parametrize(
    "raw", [None, "", "<html>", b"\xff\x00", 5, [], ["no", "yes"], [[CALL]], "NaN"], ids=repr
)
def test_what_holds_no_object_is_no_answer(raw):
    response = JsonResponseParser().parse(raw)
    assert response.tool_calls == []
    assert response.problems[-1].kind == "no_answer"


@pytest.mark.parametrize(
    ("options", "raw"),
    [
        ({}, {}),
        ({}, [{}, {}]),
        ({}, {"toolCalls": [CALL]}),
        ({}, {"status": "ok"}),
        ({}, {"error": "no model"}),
        ({}, {"tool_calls": [], "error": {"code": 500}}),
        ({"tool_calls_key": "a.b"}, {"a": {}}),
        ({"tool_calls_key": "a.b"}, {"a": None}),
        ({"tool_calls_key": "a.7"}, {"a": []}),
        ({"tool_calls_key": ""}, [{"status": "thinking"}]),
        ({"text_key": "said"}, {"text": "Hello."}),
    ],
    ids=str,
)
def test_what_has_neither_calls_nor_words_is_no_answer(options, raw):
    response = JsonResponseParser(**options).parse(raw)
    assert response.tool_calls == []
    assert response.problems[-1].kind == "no_answer"


def test_a_problem_names_the_keys_that_an_answer_would_have():
    response = JsonResponseParser(tool_calls_key="result.calls").parse({"result": {}})
    assert response.no_answer == (
        "there is no answer here: expected a JSON object with 'result.calls' or 'text' or 'transcript', got {'result': {}}"
    )


def test_an_error_beside_calls_is_recorded_and_the_calls_count():
    response = JsonResponseParser().parse({"tool_calls": [CALL], "error": "the second call failed"})
    assert response.tool_calls == [BOOK]
    assert [problem.kind for problem in response.problems] == ["error"]
    assert response.no_answer is None


def test_sound_between_messages_is_passed_over_and_text_that_is_no_json_is_recorded():
    response = JsonResponseParser().parse(
        [b"\x00\xff\x01", {"tool_calls": [CALL]}, "pong", b'{"text": "Done."}']
    )
    assert response.tool_calls == [BOOK]
    assert response.text == "Done."
    assert [(problem.kind, problem.raw) for problem in response.problems] == [("malformed_message", "pong")]


def test_words_come_from_their_keys():
    parser = JsonResponseParser(text_key="said", transcript_key="asr.final")
    response = parser.parse([{"said": "One."}, {"said": "Two.", "asr": {"final": "book it"}}, {"said": 5}])
    assert response.text == "One.\nTwo."
    assert response.transcript == "book it"


def test_parsers_of_the_same_keys_are_equal_and_print_them():
    assert JsonResponseParser(tool_calls_key="a") == JsonResponseParser(tool_calls_key="a")
    assert "tool_calls_key='a'" in repr(JsonResponseParser(tool_calls_key="a"))
