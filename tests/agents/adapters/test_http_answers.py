"""Reading an answer in JSON: what is where, what may be missing, and what is said when it is not there."""

import pytest

from calipers.agents import ToolCall
from calipers.agents.adapters.http import read_count, read_text, read_tool_calls
from calipers.errors import AgentReplyError

ANSWER = {
    "choices": [{"message": {"content": "hello"}}, {"message": {"content": None}}],
    "usage": {"in": 3, "none": None, "bad": -1, "flag": True, "half": 1.5},
    "0": "a key of digits",
    "": "an empty key",
}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("choices.0.message.content", "hello"),
        ("choices.-2.message.content", "hello"),
        ("0", "a key of digits"),
        ("", "an empty key"),
        (lambda answer: answer["choices"][0]["message"]["content"] * 2, "hellohello"),
    ],
    ids=["path", "from the end", "digits", "empty", "function"],
)
def test_a_text_is_found_at_its_path(path, text):
    assert read_text(ANSWER, path) == text


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "choice.0",
            "no 'choice' (of the path 'choice.0') in the answer, which has 'choices', 'usage', '0', ''",
        ),
        (
            "choices.7.message",
            "no '7' (of the path 'choices.7.message') in 'choices', a list of 2",
        ),
        ("choices.first", "no 'first' (of the path 'choices.first') in 'choices', a list of 2"),
        ("usage.in.deeper", "no 'deeper' (of the path 'usage.in.deeper') in 'usage.in', which is 3"),
        ("choices.1.message.content", "is not text: None"),
        ("usage", "is not text: {'in': 3"),
        (lambda answer: answer["nope"], "the function for <lambda> failed on the answer: KeyError: 'nope'"),
    ],
    ids=["key", "position", "letters", "too deep", "null", "object", "function"],
)
def test_what_is_not_there_is_said_with_what_is(path, message):
    with pytest.raises(AgentReplyError) as caught:
        read_text(ANSWER, path)
    assert message in str(caught.value)


def test_an_agent_that_called_tools_may_have_said_nothing():
    assert read_text(ANSWER, "choices.1.message.content", may_be_null=True) == ""
    assert read_text({}, "text", may_be_null=True) == ""
    with pytest.raises(AgentReplyError):
        read_text(ANSWER, "choices.7.message.content", may_be_null=True)


@pytest.mark.parametrize(
    ("path", "count"),
    [("usage.in", 3), ("usage.none", None), ("usage.absent", None)],
    ids=["there", "null", "absent"],
)
def test_a_count_may_be_missing(path, count):
    assert read_count(ANSWER, path) == count


@pytest.mark.parametrize("path", ["usage.bad", "usage.flag", "usage.half", "choices", "use.in"])
def test_a_count_that_is_none_is_refused(path):
    with pytest.raises(AgentReplyError):
        read_count(ANSWER, path)


@pytest.mark.parametrize(
    "item",
    [
        {"name": "a", "arguments": {"x": 1}},
        {"name": "a", "arguments": '{"x": 1}'},
        {"tool_name": "a", "tool_input": {"x": 1}},
        {"name": "a", "input": {"x": 1}, "type": "tool_use"},
        {"tool": "a", "args": {"x": 1}},
        {"id": "c1", "type": "function", "function": {"name": "a", "arguments": '{"x": 1}'}},
        ToolCall("a", {"x": 1}),
    ],
    ids=["plain", "text", "recorders", "blocks", "short", "function", "object"],
)
def test_tool_calls_are_read_in_the_usual_shapes(item):
    assert read_tool_calls({"calls": [item]}, "calls") == [ToolCall("a", {"x": 1})]


def test_what_came_of_a_call_is_read_too():
    items = [
        {"name": "a", "output": [1], "latency_ms": 2.5, "id": 7},
        {"name": "b", "error": "no such page"},
        {"name": "c", "success": False},
        {"name": "d", "is_error": True, "result": "trouble"},
        {"name": "e", "success": True, "error": None},
    ]
    a, b, c, d, e = read_tool_calls(items, lambda answer: answer)
    assert (a.output, a.latency_ms, a.call_id, a.success) == ([1], 2.5, "7", True)
    assert (b.success, b.error) == (False, "no such page")
    assert (c.success, d.success, d.output, e.success) == (False, False, "trouble", True)
    assert a.timestamp is None


@pytest.mark.parametrize("arguments", [None, "", "  ", "{}", {}], ids=repr)
def test_a_call_without_arguments_has_none(arguments):
    assert read_tool_calls([{"name": "a", "arguments": arguments}], lambda answer: answer)[0].arguments == {}


@pytest.mark.parametrize(
    "arguments", ['{"x": ', "[1]", "3", [1], 3, "[" * 100_000], ids=lambda v: repr(v)[:9]
)
def test_a_call_whose_arguments_cannot_be_read_is_a_failed_call_that_matches_nothing(arguments):
    (call,) = read_tool_calls([{"name": "a", "arguments": arguments}], lambda answer: answer)
    assert call.name == "a (unreadable arguments)"
    assert call.arguments == {"unreadable": arguments}
    assert not call.success
    assert "not a JSON object" in call.error


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"calls": {"name": "a"}}, "are not a list"),
        ({"calls": ["a"]}, "'calls'[0] is not an object: 'a'"),
        ({"calls": [{"arguments": {}}]}, "'calls'[0] has no name"),
        ({"calls": [{"name": 3}]}, "has no name"),
        ({"calls": [{"name": "a", "latency_ms": "fast"}]}, "is invalid: latency_ms"),
        ([], "no 'calls'"),
    ],
    ids=["no list", "text", "nameless", "number", "latency", "no object"],
)
def test_what_are_no_tool_calls_is_refused(answer, message):
    with pytest.raises(AgentReplyError) as caught:
        read_tool_calls(answer, "calls")
    assert message in str(caught.value)


@pytest.mark.parametrize("answer", [{"calls": None}, {"calls": []}], ids=repr)
def test_an_answer_may_say_that_no_tool_was_called(answer):
    assert read_tool_calls(answer, "calls") == []


def test_an_answer_without_the_field_says_nothing_of_tool_calls():
    assert read_tool_calls({}, "calls") is None
    assert read_tool_calls({}, lambda answer: answer.get("calls")) is None
