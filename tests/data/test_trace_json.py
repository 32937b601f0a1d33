"""A trace as plain data, and back."""

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import LLMCall, ToolCall, Trace, Turn
from calipers.data.jsonable import plain
from calipers.data.trace_json import read_trace, trace_data
from calipers.errors import InvalidTraceError

TEXT = st.text(max_size=5)
SURROGATES = st.text(st.characters(categories=None), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
ANYTHING = st.recursive(
    JSON | st.floats() | st.binary(max_size=3) | st.sets(st.integers()) | st.dates() | SURROGATES,
    lambda inner: st.tuples(inner) | st.dictionaries(st.integers() | SURROGATES, inner, max_size=2),
    max_leaves=4,
)
TIMES = st.none() | st.datetimes(
    datetime(1970, 1, 2),  # noqa: DTZ001 - hypothesis wants bounds without a zone
    datetime(2500, 1, 1),  # noqa: DTZ001 - same
    timezones=st.sampled_from([None, UTC, timezone(timedelta(hours=-3))]),
)
LATENCIES = st.none() | st.floats(0, 1e9) | st.integers(0, 10**6)


def traces(values, text):
    """Traces whose arguments, outputs and metadata are drawn from `values`."""
    metadata = st.dictionaries(text, values, max_size=2)
    circumstances = {"latency_ms": LATENCIES, "call_id": st.none() | text, "timestamp": TIMES}
    tool_calls = st.builds(
        ToolCall,
        st.text(min_size=1, max_size=4),
        metadata,
        output=values,
        success=st.booleans(),
        error=st.none() | text,
        **circumstances,
    )
    requests = st.builds(
        LLMCall,
        model=text,
        input_tokens=st.integers(0, 10**9),
        output_tokens=st.integers(0, 10**9),
        input_text=text,
        output_text=text,
        metadata=metadata,
        **circumstances,
    )
    turns = st.one_of(
        st.builds(
            Turn, turn_type=st.sampled_from(["user_message", "agent_message"]), content=text, timestamp=TIMES
        ),
        st.builds(Turn, llm_call=requests, timestamp=TIMES),
        st.builds(Turn, tool_call=tool_calls, content=text),
    )
    told = {
        "agent_name": text,
        "model": st.none() | text,
        "input_text": text,
        "output_text": text,
        "tags": st.lists(text, max_size=2),
        "metadata": metadata,
        "total_input_tokens": st.none() | st.integers(0, 10**9),
        "total_latency_ms": LATENCIES,
        "created_at": st.datetimes(timezones=st.just(UTC)),
    }
    by_turns = st.builds(Trace, turns=st.lists(turns, max_size=4), **told)
    by_calls = st.builds(
        Trace, tool_calls=st.lists(tool_calls, max_size=2), llm_calls=st.lists(requests, max_size=2), **told
    )
    return by_turns | by_calls


START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2026, 1, 2, tzinfo=UTC)


def through_json(data):
    return json.loads(json.dumps(data, allow_nan=False, ensure_ascii=False).encode())


@given(traces(JSON, TEXT))
def test_a_trace_of_plain_things_comes_back_the_same_down_to_its_ids_and_times(trace):
    again = read_trace(through_json(trace_data(trace)))
    assert again == trace
    assert plain(again) == plain(trace), "calls are equal by name and arguments, so equality is not enough"


@given(traces(ANYTHING, SURROGATES))
def test_whatever_a_trace_holds_what_comes_back_is_written_the_same(trace):
    data = trace_data(trace)
    assert trace_data(read_trace(through_json(data))) == data


@given(traces(JSON, TEXT))
def test_a_trace_that_was_written_field_by_field_is_read_as_well(trace):
    assert plain(read_trace(plain(trace))) == plain(trace)


@pytest.mark.parametrize("at", [START, None])
@pytest.mark.parametrize(
    "call",
    [
        ToolCall("a", {"x": [1, "é"]}, output=0, latency_ms=1.5, call_id="7", timestamp=START),
        ToolCall("a", output="é", timestamp=START),
        LLMCall(model="m", input_tokens=1, output_text="hi", latency_ms=0.0, call_id="", timestamp=START),
        LLMCall(model="m", output_tokens=2, timestamp=START, cost=0.5, metadata={"a": 1}),
    ],
    ids=repr,
)
def test_a_call_is_written_the_same_whether_or_not_its_turn_has_its_time(call, at):
    """Calls that begin with their turn are written by a shorter way."""
    word = "tool_call" if isinstance(call, ToolCall) else "llm_call"
    (turn,) = trace_data(Trace(turns=[Turn(**{word: call}, timestamp=at)]))["turns"]
    assert turn[word] == trace_data(Trace(turns=[Turn(**{word: call}, timestamp=LATER)]))["turns"][0][word]
    assert read_trace(trace_data(Trace(turns=[Turn(**{word: call}, timestamp=at)]))).turns[0] == Turn(
        **{word: call}, timestamp=at
    )


def test_defaults_are_left_out_and_calls_are_written_once():
    call = ToolCall("search", {"q": "x"}, output=0)
    trace = Trace(turns=[Turn(tool_call=call)])
    [turn] = trace.turns
    assert trace_data(trace) == {
        "total_input_tokens": 0,
        "total_output_tokens": 0,
        "total_latency_ms": 0,
        "trace_id": trace.trace_id,
        "created_at": trace.created_at.isoformat(),
        "turns": [
            {
                "turn_type": "tool_call",
                "turn_id": turn.turn_id,
                "tool_call": {"name": "search", "arguments": {"q": "x"}, "output": 0},
            }
        ],
    }


@pytest.mark.parametrize("output", [None, False, 0, 0.0, "", [], {}, True, 1, "None"], ids=repr)
def test_an_output_that_says_little_is_still_that_output(output):
    trace = Trace(tool_calls=[ToolCall("t", output=output)])
    [call] = read_trace(through_json(trace_data(trace))).tool_calls
    assert call.output == output
    assert type(call.output) is type(output)


def test_what_is_not_plain_comes_back_as_plain_data():
    @dataclass
    class Hit:
        title: str

    trace = Trace(tool_calls=[ToolCall("t", {"at": datetime(2026, 1, 2, tzinfo=UTC)}, output=Hit("a"))])
    [call] = read_trace(trace_data(trace)).tool_calls
    assert (call.arguments, call.output) == ({"at": "2026-01-02T00:00:00+00:00"}, {"title": "a"})


def test_a_time_of_any_offset_comes_back_as_that_time():
    odd = datetime(1900, 1, 1, tzinfo=timezone(timedelta(hours=1, minutes=2, seconds=3)))
    trace = Trace(turns=[Turn(turn_type="user_message", timestamp=odd)])
    assert read_trace(trace_data(trace)).turns[0].timestamp == odd


def test_a_call_that_was_changed_after_it_was_made_does_not_make_the_trace_unreadable():
    call, request = ToolCall("t", latency_ms=1.0), LLMCall(model="m", latency_ms=1.0)
    trace = Trace(tool_calls=[call], llm_calls=[request])
    call.latency_ms, request.latency_ms = math.nan, math.inf
    again = read_trace(through_json(trace_data(trace)))
    assert (again.tool_calls[0].latency_ms, again.llm_calls[0].latency_ms) == (None, None)


def test_what_users_put_where_a_text_belongs_does_not_make_the_trace_unreadable():
    trace = Trace(
        output_text={"a": 1},
        agent_name=None,
        turns=[
            Turn(turn_type="user_message", content=None),
            Turn(tool_call=ToolCall("t", error=ValueError("x"))),
            Turn(llm_call=LLMCall(model=None)),
        ],
    )
    again = read_trace(through_json(trace_data(trace)))
    assert (again.output_text, again.agent_name, again.turns[0].content) == ({"a": 1}, None, None)
    assert (again.tool_calls[0].error, again.llm_calls[0].model) == ("ValueError('x')", None)


def test_a_kind_of_call_of_ones_own_is_written_as_a_call():
    class Own(ToolCall):
        pass

    assert type(read_trace(trace_data(Trace(tool_calls=[Own("t")]))).tool_calls[0]) is ToolCall


def test_keys_of_a_later_release_are_passed_over():
    data = trace_data(Trace(tool_calls=[ToolCall("t")]))
    data["weather"] = data["turns"][0]["mood"] = data["turns"][0]["tool_call"]["cost"] = "fine"
    assert len(read_trace(data).tool_calls) == 1


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "a trace is stored as an object, got None"),
        ([], "a trace is stored as an object"),
        ("trace", "a trace is stored as an object"),
        ({"turns": None}, "turns are stored as a list, got None"),
        ({"turns": {}}, "turns are stored as a list"),
        ({"turns": "user_message"}, "turns are stored as a list"),
        ({"turns": [3]}, "a turn is stored as an object, got 3"),
        ({"turns": [{}]}, "a turn needs a turn_type"),
        ({"turns": [{"turn_type": "dance"}]}, "turn_type is one of"),
        ({"turns": [{"turn_type": []}]}, "turn_type is one of"),
        ({"turns": [{"turn_type": "tool_call"}]}, "needs its call"),
        ({"turns": [{"tool_call": "search"}]}, "a tool call is stored as an object"),
        ({"turns": [{"tool_call": {}}]}, "needs the tool's name"),
        ({"turns": [{"tool_call": {"name": ""}}]}, "needs the tool's name"),
        ({"turns": [{"tool_call": {"name": "t", "arguments": [1]}}]}, "must be a mapping"),
        ({"turns": [{"tool_call": {"name": "t", "latency_ms": "NaN"}}]}, "number of milliseconds"),
        ({"turns": [{"llm_call": []}]}, "a request to a model is stored as an object"),
        ({"turns": [{"llm_call": {}}]}, "needs the model's name"),
        ({"turns": [{"llm_call": {"model": "m", "input_tokens": "5"}}]}, "whole number from 0, got '5'"),
        ({"turns": [{"llm_call": {"model": "m"}, "tool_call": {"name": "t"}}]}, "a turn is one thing"),
        ({"tool_calls": [{"name": "t"}], "turns": [{"tool_call": {"name": "u"}}]}, "contradict each other"),
        ({"total_input_tokens": -1}, "whole number from 0, got -1"),
        ({"total_latency_ms": math.nan}, "number of milliseconds from 0, got nan"),
        ({"tags": "a b"}, "tags must be a list of str"),
        ({"tool_calls": [{"name": "t", "timestamp": "soon"}]}, "must be a datetime or None, got 'soon'"),
        ({"tool_calls": [{"name": "t", "timestamp": {}}]}, "must be a datetime or None"),
    ],
)
def test_data_that_is_no_trace_is_refused_with_what_is_wrong_about_it(data, says):
    with pytest.raises(InvalidTraceError) as caught:
        read_trace(data)
    assert says in str(caught.value)
