"""What an agent did."""

import copy
import dataclasses
import pickle
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import LLMCall, ToolCall, Trace, Turn
from calipers.data.trace import TurnType, observed_call, observed_trace, observed_turn
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
        (lambda: ToolCall("a", success="no"), "success of tool call 'a' must be True or False, got 'no'"),
        (lambda: ToolCall("a", latency_ms=10**400), "must be a finite number of milliseconds"),
    ],
)
def test_a_tool_call_that_cannot_be_is_refused(build, hint):
    with pytest.raises(InvalidTraceError) as caught:
        build()
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("given", "success"),
    [
        ({}, True),
        ({"error": "down"}, False),
        ({"success": False}, False),
        ({"success": True, "error": "slow"}, True),
    ],
)
def test_a_call_with_an_error_has_failed_unless_it_says_otherwise(given, success):
    assert ToolCall("a", **given).success is success


def test_a_tool_call_shows_itself_and_survives_copying():
    call = ToolCall(
        "a", {"x": [1]}, output={"y": 2}, success=False, error="down", latency_ms=1.5, call_id="7"
    )
    assert repr(call) == "ToolCall('a', {'x': [1]})"
    for again in (copy.copy(call), copy.deepcopy(call), pickle.loads(pickle.dumps(call))):
        assert again == call
        assert (again.output, again.success, again.error, again.latency_ms) == ({"y": 2}, False, "down", 1.5)


@pytest.mark.parametrize(("error", "unknown"), [(None, ()), ("down", ("output",))])
def test_what_a_recording_observed_is_what_the_classes_make_of_it(error, unknown):
    made = ToolCall(
        "a", {"x": 1}, output=[2], error=error, latency_ms=1.5, call_id="7", timestamp=START, unknown=unknown
    )
    call = observed_call("a", {"x": 1}, [2], error, 1.5, "7", START, unknown)
    assert [getattr(call, name) for name in ToolCall.__slots__] == [
        getattr(made, name) for name in ToolCall.__slots__
    ]
    asked = LLMCall(model="m")
    for turn, same in (
        (
            observed_turn(TurnType.TOOL_CALL, "1", START, tool_call=call),
            Turn(tool_call=made, turn_id="1", timestamp=START),
        ),
        (observed_turn(TurnType.LLM_CALL, "1", None, llm_call=asked), Turn(llm_call=asked, turn_id="1")),
        (
            observed_turn(TurnType.USER_MESSAGE, "1", None, "hi"),
            Turn(turn_type="user_message", content="hi", turn_id="1"),
        ),
    ):
        assert turn == same
        assert (turn.turn_type, turn.turn_id) == (same.turn_type, same.turn_id)
        for again in (copy.deepcopy(turn), pickle.loads(pickle.dumps(turn)), dataclasses.replace(turn)):
            assert again == turn


@pytest.mark.parametrize("models", [[], ["m"], ["m", "m"], ["m", "other"]])
def test_a_trace_that_a_recording_observed_is_what_the_class_makes_of_it(models):
    turns = [Turn(turn_type="user_message", content="hi", turn_id="1", timestamp=START)]
    turns += [Turn(llm_call=LLMCall(model=model, input_tokens=3, output_tokens=1)) for model in models]
    turns.append(Turn(tool_call=ToolCall("a", {"x": 1}, latency_ms=2.0)))
    told = {
        "agent_name": "travel",
        "input_text": "hi",
        "output_text": "done",
        "turns": turns,
        "total_latency_ms": 5.0,
        "metadata": {"conversation_id": "c"},
        "records_calls": True,
        "trace_id": "1",
        "created_at": START,
    }
    trace, same = observed_trace(**told), Trace(**told)
    for each in dataclasses.fields(Trace):
        assert getattr(trace, each.name) == getattr(same, each.name), each.name
    for again in (copy.deepcopy(trace), pickle.loads(pickle.dumps(trace)), dataclasses.replace(trace)):
        assert again == same


def test_totals_follow_from_the_calls_unless_they_are_given():
    calls = [LLMCall(model="m", input_tokens=10, output_tokens=1), LLMCall(model="m", input_tokens=5)]
    trace = Trace(llm_calls=calls)
    assert (trace.total_input_tokens, trace.total_output_tokens) == (15, 1)
    given = Trace(llm_calls=calls, total_input_tokens=99, total_output_tokens=0)
    assert (given.total_input_tokens, given.total_output_tokens) == (99, 0)


def test_a_trace_has_a_default_for_everything_and_says_what_was_not_measured():
    trace = Trace()
    assert (trace.agent_name, trace.output_text, trace.tool_calls, trace.metadata) == ("", "", (), {})
    assert (trace.total_input_tokens, trace.total_output_tokens, trace.total_latency_ms) == (0, 0, 0)
    assert (trace.tokens_measured, trace.latency_measured) == (False, False)
    assert LLMCall(model="m").latency_ms is None
    assert Trace().metadata is not Trace().metadata
    assert Trace().trace_id != Trace().trace_id
    assert Trace() == Trace()


@pytest.mark.parametrize(
    ("given", "tokens", "latency"),
    [
        ({"total_latency_ms": 5}, False, True),
        ({"total_output_tokens": 1}, True, False),
        ({"llm_calls": [LLMCall(model="m")]}, False, False),
        ({"llm_calls": [LLMCall(model="m", latency_ms=0)]}, False, True),
        ({"llm_calls": [LLMCall(model="m", output_tokens=1)]}, True, False),
        ({"tool_calls": [ToolCall("t", latency_ms=0.0)]}, False, True),
        ({"tool_calls": [ToolCall("t")]}, False, False),
    ],
)
def test_a_trace_tells_whether_tokens_and_time_were_measured(given, tokens, latency):
    trace = Trace(**given)
    assert (trace.tokens_measured, trace.latency_measured) == (tokens, latency)


def test_latency_follows_from_the_calls_that_were_timed():
    trace = Trace(
        llm_calls=[LLMCall(model="m", latency_ms=100), LLMCall(model="m")],
        tool_calls=[ToolCall("t", latency_ms=20.5)],
    )
    assert trace.total_latency_ms == 120.5
    assert trace.replace(total_latency_ms=90).total_latency_ms == 90


def test_the_model_is_the_one_that_every_request_names():
    assert Trace(llm_calls=[LLMCall(model="m"), LLMCall(model="m")]).model == "m"
    assert Trace(llm_calls=[LLMCall(model="m"), LLMCall(model="n")]).model is None
    assert Trace(model="given", llm_calls=[LLMCall(model="m")]).model == "given"


# ---------------------------------------------------------------------- turns and calls agree

START = datetime(2026, 1, 1, tzinfo=UTC)
calls = st.builds(
    ToolCall,
    st.sampled_from("abc"),
    st.dictionaries(st.sampled_from("xy"), st.integers(0, 2)),
    timestamp=st.none() | st.integers(0, 9).map(lambda second: START + timedelta(seconds=second)),
)
requests = st.builds(
    LLMCall,
    model=st.sampled_from("mn"),
    input_tokens=st.integers(0, 9),
    timestamp=st.none() | st.integers(0, 9).map(lambda second: START + timedelta(seconds=second)),
)
messages = st.builds(
    Turn, turn_type=st.sampled_from([TurnType.USER_MESSAGE, TurnType.AGENT_MESSAGE]), content=st.text()
)
turns = st.builds(lambda call: Turn(tool_call=call), calls) | st.builds(
    lambda call: Turn(llm_call=call), requests
)


def tools_among(trace):
    return tuple(turn.tool_call for turn in trace.turns if turn.tool_call is not None)


def requests_among(trace):
    return tuple(turn.llm_call for turn in trace.turns if turn.llm_call is not None)


@given(st.lists(calls), st.lists(requests))
def test_calls_make_turns_that_hold_the_same_calls_in_the_same_order(tool_calls, llm_calls):
    trace = Trace(tool_calls=tool_calls, llm_calls=llm_calls)
    assert tools_among(trace) == trace.tool_calls == tuple(tool_calls)
    assert requests_among(trace) == trace.llm_calls == tuple(llm_calls)


@given(st.lists(turns | messages))
def test_turns_make_the_calls_that_are_among_them(given_turns):
    trace = Trace(turns=given_turns)
    assert trace.turns == tuple(given_turns)
    assert tools_among(trace) == trace.tool_calls
    assert requests_among(trace) == trace.llm_calls
    assert Trace(turns=given_turns, tool_calls=trace.tool_calls, llm_calls=trace.llm_calls) == trace


@given(st.lists(turns | messages), st.lists(calls), st.lists(requests))
def test_a_copy_with_other_calls_agrees_with_itself_as_well(given_turns, tool_calls, llm_calls):
    trace = Trace(turns=given_turns)
    for changes in ({"tool_calls": tool_calls}, {"llm_calls": llm_calls}):
        changed = trace.replace(**changes)
        assert tools_among(changed) == changed.tool_calls
        assert requests_among(changed) == changed.llm_calls
        assert changed.total_input_tokens == sum(call.input_tokens for call in changed.llm_calls)
        assert changed.trace_id != trace.trace_id
    assert trace.replace(tool_calls=tool_calls).tool_calls == tuple(tool_calls)


def test_calls_with_timestamps_become_turns_in_the_order_they_happened():
    def at(second):
        return START + timedelta(seconds=second)

    trace = Trace(
        llm_calls=[LLMCall(model="m", timestamp=at(0)), LLMCall(model="m", timestamp=at(2))],
        tool_calls=[ToolCall("t", timestamp=at(1))],
    )
    assert [turn.turn_type.value for turn in trace.turns] == ["llm_call", "tool_call", "llm_call"]
    first = datetime.min  # noqa: DTZ901 - without a zone, as some recorders write it
    mixed = Trace(
        llm_calls=[LLMCall(model="m", timestamp=at(0))], tool_calls=[ToolCall("t", timestamp=first)]
    )
    assert [turn.turn_type.value for turn in mixed.turns] == ["tool_call", "llm_call"]
    unknown = Trace(llm_calls=[LLMCall(model="m")], tool_calls=[ToolCall("t", timestamp=at(1))])
    assert [turn.turn_type.value for turn in unknown.turns] == ["llm_call", "tool_call"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"turns": [Turn(tool_call=ToolCall("a"))], "tool_calls": [ToolCall("b")]}, "contradict"),
        ({"turns": [Turn(turn_type="user_message")], "tool_calls": [ToolCall("b")]}, "contradict"),
        ({"turns": [Turn(tool_call=ToolCall("a"))], "llm_calls": [LLMCall(model="m")]}, "contradict"),
        ({"tool_calls": ["search"]}, "ToolCall objects, got 'search'"),
        ({"tool_calls": ToolCall("a")}, "a list of ToolCall"),
        ({"tags": "fast"}, "tags must be a list of str"),
        ({"total_input_tokens": -1}, "from 0, got -1"),
        ({"total_output_tokens": 1.5}, "whole number"),
        ({"total_output_tokens": True}, "whole number"),
        ({"total_latency_ms": float("nan")}, "finite"),
    ],
)
def test_a_trace_that_cannot_be_is_refused(fields, says):
    with pytest.raises(InvalidTraceError, match=says):
        Trace(**fields)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "needs a turn_type"),
        ({"turn_type": "tool_call"}, "needs its call"),
        ({"turn_type": "shout"}, "got 'shout'"),
        ({"turn_type": "user_message", "tool_call": ToolCall("a")}, "tool_call has that as its turn_type"),
        ({"tool_call": ToolCall("a"), "llm_call": LLMCall(model="m")}, "one thing"),
        ({"tool_call": {"name": "a"}}, "tool_call must be a ToolCall, got {'name': 'a'}"),
        ({"llm_call": "m"}, "llm_call must be a LLMCall, got 'm'"),
    ],
)
def test_a_turn_is_one_thing(fields, says):
    with pytest.raises(InvalidTraceError, match=says):
        Turn(**fields)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: LLMCall(model="m", input_tokens=-1), "input_tokens"),
        (lambda: LLMCall(model="m", output_tokens="3"), "output_tokens"),
        (lambda: LLMCall(model="m", latency_ms=-1.0), "latency_ms"),
        (lambda: ToolCall("t", latency_ms=float("inf")), "latency_ms"),
        (lambda: ToolCall("t", timestamp="noon"), "timestamp of tool call 't' must be a datetime"),
        (lambda: LLMCall(model="m", timestamp=3), "timestamp"),
        (lambda: Turn(turn_type="user_message", timestamp=0.5), "timestamp"),
        (lambda: Trace().replace(tools=[]), "no 'tools'"),
    ],
)
def test_numbers_and_names_that_cannot_be_are_refused(make, says):
    with pytest.raises(InvalidTraceError, match=says):
        make()


def test_a_trace_does_not_change():
    with pytest.raises(AttributeError):
        Trace().tool_calls = ()
