"""Assertions about what an agent did."""

import re

import pytest

from calipers import LLMCall, ToolCall, Trace
from calipers.errors import InvalidOptionError
from calipers.testing import assert_trace

TRACE = Trace(
    output_text='{"booked": "AZ611"}',
    tool_calls=[
        ToolCall("search", {"to": "Rome", "adults": 2}, latency_ms=100),
        ToolCall("search", {"to": "Rom"}, error="unknown place"),
        ToolCall("book", {"flight": "AZ611"}, latency_ms=50),
    ],
    llm_calls=[LLMCall(model="small", input_tokens=90, output_tokens=10)],
)
BARE = Trace(output_text="", tool_calls=[])


def test_claims_that_hold_are_chained():
    (
        assert_trace(TRACE)
        .has_tool("search")
        .has_tool("search", times=2)
        .has_tool("search", {"to": "Rome"}, times=1)
        .lacks_tool("cancel", "refund")
        .has_tools_in_order("search", "book")
        .has_tools_in_order("search", "search", "book")
        .has_tool_calls(at_least=3, at_most=3)
        .has_llm_calls(at_most=1)
        .used_at_most(tokens=100)
        .took_at_most(150)
        .has_output()
        .contains("booked", "AZ611")
        .lacks("sorry")
        .matches(r"AZ\d+")
        .is_json()
    )


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (
            lambda it: it.has_tool("cancel"),
            "expected a call of cancel\n  called search({'to': 'Rome', 'adults': 2})",
        ),
        (lambda it: it.has_tool("search", times=1), "expected 1 call of search, got 2"),
        (lambda it: it.has_tool("book", {"flight": "LH1"}), "expected a call of book with {'flight': 'LH1'}"),
        (lambda it: it.lacks_tool("book"), "expected no call of book"),
        (
            lambda it: it.has_tools_in_order("book", "search"),
            "expected book → search, and search does not come",
        ),
        (lambda it: it.has_tool_calls(at_least=4), "expected at least 4 tool calls, got 3"),
        (lambda it: it.has_tool_calls(at_most=2), "expected at most 2 tool calls, got 3"),
        (lambda it: it.has_no_failed_tool(), "expected every tool to succeed\n  search: unknown place"),
        (lambda it: it.has_llm_calls(at_least=2), "got 1\n  small"),
        (lambda it: it.used_at_most(99), "expected at most 99 tokens, got 100"),
        (lambda it: it.took_at_most(149), "expected at most 149 ms, got 150"),
        (lambda it: it.contains("AZ611", "Lyon"), "expected the output to contain ['Lyon']\n  got "),
        (lambda it: it.lacks("AZ611"), "expected the output not to contain ['AZ611']"),
        (lambda it: it.matches("^no"), "expected the output to match '^no'"),
    ],
)
def test_a_claim_that_does_not_hold_says_what_there_was(claim, message):
    with pytest.raises(AssertionError, match=re.escape(message)):
        claim(assert_trace(TRACE))


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (lambda it: it.has_tool("search"), "called no tool"),
        (lambda it: it.has_no_failed_tool(), "expected at least 1 tool call, got 0"),
        (lambda it: it.used_at_most(99), "no tokens were counted"),
        (lambda it: it.took_at_most(99), "no time was measured"),
        (lambda it: it.lacks("sorry"), "expected an output, got none"),
        (lambda it: it.is_json(), "expected an output, got none"),
    ],
)
def test_nothing_vacuous_holds(claim, message):
    with pytest.raises(AssertionError, match=re.escape(message)):
        claim(assert_trace(BARE))


def test_text_that_is_no_json_is_told():
    with pytest.raises(AssertionError, match="expected JSON"):
        assert_trace(TRACE.replace(output_text="{")).is_json()


def test_many_calls_are_not_all_listed():
    many = Trace(tool_calls=[ToolCall("poll", {"n": number}) for number in range(30)])
    with pytest.raises(AssertionError) as caught:
        assert_trace(many).has_tool("stop")
    assert str(caught.value).splitlines()[-1] == "  and 20 more"


@pytest.mark.parametrize(
    "claim",
    [
        lambda: assert_trace("text"),
        lambda: assert_trace(TRACE).lacks_tool(),
        lambda: assert_trace(TRACE).has_tools_in_order(),
        lambda: assert_trace(TRACE).contains(""),
        lambda: assert_trace(TRACE).lacks(),
    ],
)
def test_a_claim_about_nothing_is_refused(claim):
    with pytest.raises(InvalidOptionError):
        claim()


def test_a_trace_is_written_as_plain_data_and_read_back():
    again = Trace.from_dict(TRACE.to_dict())
    assert again.to_dict() == TRACE.to_dict()
    assert again.tool_calls == TRACE.tool_calls
    assert again.trace_id == TRACE.trace_id
