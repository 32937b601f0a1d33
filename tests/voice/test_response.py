"""What an agent answered, and the calls that cannot be read."""

import pytest

from calipers.data.trace import ToolCall
from calipers.voice.response import AgentResponse, ResponseProblem, unreadable_call


def test_a_response_is_empty_until_something_is_said():
    response = AgentResponse()
    assert response.tool_calls == []
    assert response.problems == []
    assert (response.raw, response.text, response.transcript) == (None, None, None)
    assert response.timed_out is False


def test_two_responses_share_no_list():
    AgentResponse().tool_calls.append(ToolCall("f"))
    assert AgentResponse().tool_calls == []


@pytest.mark.parametrize("name", ["book", "(call without a name)"])
def test_an_unreadable_call_never_equals_the_call_without_arguments(name):
    call = unreadable_call(name, '{"a": ', error="cut off", call_id="c1")
    assert call != ToolCall(name)
    assert call.name != name
    assert call.arguments == {"unreadable": '{"a": '}
    assert (call.success, call.error, call.call_id) == (False, "cut off", "c1")


def test_an_unreadable_call_shows_the_name_it_was_made_under():
    assert unreadable_call("book", None, error="").name == "book (unreadable arguments)"
    assert unreadable_call(None, None, error="").name == "(call without a name)"


def test_a_problem_cannot_be_changed_after_the_fact():
    with pytest.raises(AttributeError):
        ResponseProblem("error", "no").message = "yes"  # type: ignore[misc]
