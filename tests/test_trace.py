"""What an agent did."""

import copy
import pickle
from types import MappingProxyType

import pytest

from calipers import LLMCall, ToolCall, Trace
from calipers.errors import InvalidTraceError


def test_a_tool_call_is_built_and_read_under_both_vocabularies():
    ours = ToolCall("search", {"q": "x"}, output=[1])
    theirs = ToolCall(tool_name="search", tool_input={"q": "x"}, tool_output=[1])
    for call in (ours, theirs):
        assert (call.name, call.arguments, call.output) == ("search", {"q": "x"}, [1])
        assert (call.tool_name, call.tool_input, call.tool_output) == ("search", {"q": "x"}, [1])
        assert (call.success, call.error, call.latency_ms, call.call_id) == (True, None, None, None)
    assert ours == theirs


def test_a_tool_call_copies_the_mapping_it_is_given():
    given = {"q": "x"}
    call = ToolCall("search", MappingProxyType(given))
    given["q"] = "y"
    assert call.arguments == {"q": "x"}
    assert type(call.arguments) is dict
    assert ToolCall("search").arguments == {}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (ToolCall("a"), ToolCall("a", {}), True),
        (
            ToolCall("a", {"x": 1}),
            ToolCall("a", {"x": 1}, output=3, latency_ms=5, call_id="i", success=False),
            True,
        ),
        (ToolCall("a", {"x": 1, "y": 2}), ToolCall("a", {"y": 2, "x": 1}), True),
        (ToolCall("a"), ToolCall("A"), False),
        (ToolCall("a", {"x": None}), ToolCall("a", {}), False),
        (ToolCall("a", {"x": [1]}), ToolCall("a", {"x": [1, 2]}), False),
        (ToolCall("a"), "a", False),
        (ToolCall("a"), None, False),
    ],
)
def test_two_calls_are_equal_when_name_and_arguments_are(one, other, same):
    assert (one == other) is same
    assert (other == one) is same
    if same:
        assert hash(one) == hash(other)


def test_a_call_with_lists_among_its_arguments_can_still_be_hashed():
    assert len({ToolCall("a", {"x": [1]}), ToolCall("a", {"x": [1]}), ToolCall("b")}) == 2


@pytest.mark.parametrize(
    ("build", "hint"),
    [
        (lambda: ToolCall(), "non-empty string, got None"),
        (lambda: ToolCall(""), "non-empty string, got ''"),
        (lambda: ToolCall(3), "got 3"),
        (lambda: ToolCall(tool_name=""), "got ''"),
        (lambda: ToolCall("a", "x=1"), "tool call 'a' must be a mapping, got 'x=1'"),
        (lambda: ToolCall("a", [("x", 1)]), "must be a mapping"),
        (lambda: ToolCall("a", tool_name="b"), "name='a' and tool_name='b' are two words for one thing"),
        (
            lambda: ToolCall("a", {}, tool_input={"x": 1}),
            "arguments={} and tool_input={'x': 1} are two words",
        ),
        (lambda: ToolCall("a", output=1, tool_output=2), "output=1 and tool_output=2 are two words"),
    ],
)
def test_a_tool_call_that_cannot_be_is_refused(build, hint):
    with pytest.raises(InvalidTraceError) as caught:
        build()
    assert hint in str(caught.value)


def test_a_tool_call_shows_itself_and_survives_copying():
    call = ToolCall(
        "a", {"x": [1]}, output={"y": 2}, success=False, error="down", latency_ms=1.5, call_id="7"
    )
    assert repr(call) == "ToolCall('a', {'x': [1]})"
    for again in (copy.copy(call), copy.deepcopy(call), pickle.loads(pickle.dumps(call))):
        assert again == call
        assert (again.output, again.success, again.error, again.latency_ms) == ({"y": 2}, False, "down", 1.5)


def test_totals_follow_from_the_calls_unless_they_are_given():
    calls = [LLMCall(model="m", input_tokens=10, output_tokens=1), LLMCall(model="m", input_tokens=5)]
    trace = Trace(llm_calls=calls)
    assert (trace.total_input_tokens, trace.total_output_tokens) == (15, 1)
    given = Trace(llm_calls=calls, total_input_tokens=99, total_output_tokens=0)
    assert (given.total_input_tokens, given.total_output_tokens) == (99, 0)


def test_a_trace_has_a_default_for_everything_and_none_for_what_was_not_measured():
    trace = Trace()
    assert (trace.agent_name, trace.output_text, trace.tool_calls, trace.metadata) == ("", "", (), {})
    assert trace.total_latency_ms is None
    assert LLMCall(model="m").latency_ms is None
    assert Trace().metadata is not Trace().metadata
