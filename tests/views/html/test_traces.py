"""What the agent did, as data for the page."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import LLMCall, ToolCall, Trace, Turn
from calipers.views.html import traces
from calipers.views.html.records import embedded_json, embedded_records
from calipers.views.html.traces import embedded_trace, embedded_traces


def embed(report, *, limit=20_000):
    return json.loads(embedded_json(embedded_records(report, report.summaries(), limit=limit)))["attempts"]


def test_the_turns_stand_in_order_with_what_each_has_to_say():
    trace = Trace(
        agent_name="bot",
        metadata={"session": 1},
        turns=[
            Turn(turn_type="user_message", content="Oslo?"),
            Turn(
                llm_call=LLMCall(
                    model="m", input_tokens=8, output_tokens=2, latency_ms=1500, output_text="look it up"
                )
            ),
            Turn(tool_call=ToolCall("weather", {"city": "Oslo"}, output={"rain": True}, latency_ms=20)),
            Turn(tool_call=ToolCall("warn", success=False, error="no signal")),
            Turn(turn_type="agent_message", content="Rain."),
        ],
    )
    assert embedded_trace(trace, limit=100) == {
        "agent_name": "bot",
        "model": "m",
        "tokens": [8, 2],
        "seconds": 1.52,
        "metadata": {"json": '{"session": 1}'},
        "turns": [
            {"kind": "user_message", "content": {"text": "Oslo?"}},
            {
                "kind": "llm_call",
                "name": "m",
                "tokens": [8, 2],
                "seconds": 1.5,
                "output": {"text": "look it up"},
            },
            {
                "kind": "tool_call",
                "name": "weather",
                "seconds": 0.02,
                "arguments": {"json": '{"city": "Oslo"}'},
                "output": {"json": '{"rain": true}'},
            },
            {"kind": "tool_call", "name": "warn", "failed": True, "error": "no signal"},
            {"kind": "agent_message", "content": {"text": "Rain."}},
        ],
    }


def test_what_was_not_measured_is_not_there():
    trace = Trace(tool_calls=[ToolCall("t")], llm_calls=[LLMCall(model="m")])
    assert [set(turn) for turn in embedded_trace(trace, limit=None)["turns"]] == [{"kind", "name"}] * 2
    assert embedded_trace(Trace(), limit=None) == {"turns": []}


def test_attempts_with_a_trace_carry_it_and_others_carry_nothing(records):
    trace = Trace(tool_calls=[ToolCall("t")])
    report = records.report(
        records.case("a", trace=trace),
        records.case("b"),
        records.failure("c", trace=trace),
        records.failure("d"),
    )
    assert ["trace" in attempt for attempt in embed(report)] == [True, False, True, False]
    repeated = records.report(
        records.case("a [1/2]", source_case_name="a", trace=trace),
        records.case("a [2/2]", source_case_name="a"),
        repeat=2,
    )
    assert ["trace" in attempt for attempt in embed(repeated)] == [True, False]


@pytest.mark.parametrize("limit", [50, 20_000])
def test_long_values_are_cut_and_keep_their_length(limit):
    call = ToolCall("t" * 30_000, {"q": "x" * 30_000}, output="y" * 30_000, success=False, error="z" * 30_000)
    trace = Trace(turns=[Turn(tool_call=call), Turn(turn_type="user_message", content="w" * 30_000)])
    tool, message = embedded_trace(trace, limit=limit)["turns"]
    most = min(limit, traces.VALUE)
    assert tool["output"] == {"text": "y" * most, "length": 30_000}
    assert message["content"] == {"text": "w" * most, "length": 30_000}
    assert len(tool["arguments"]["json"]) == most
    assert tool["error"] == "z" * most + "… (30,000 characters)"
    assert len(json.dumps(embedded_trace(trace, limit=limit))) < 6 * most + 500
    whole = embedded_trace(trace, limit=None)["turns"][0]
    assert (whole["output"], whole["error"]) == ({"text": "y" * 30_000}, "z" * 30_000)


def test_of_many_turns_the_first_are_shown_and_all_are_counted():
    trace = Trace(tool_calls=[ToolCall(f"t{i}") for i in range(500)])
    found = embedded_trace(trace, limit=20_000)
    assert [turn["name"] for turn in found["turns"]] == [f"t{i}" for i in range(traces.TURNS)]
    assert found["of"] == 500
    whole = embedded_trace(trace, limit=None)
    assert (len(whole["turns"]), "of" in whole) == (500, False)


def test_where_there_is_no_room_for_all_traces_those_that_did_not_pass_come_first(records):
    long = Trace(tool_calls=[ToolCall("t", output="y" * 2000) for _ in range(100)])
    cases = [records.case(str(i), records.result("ok", i % 10 == 9), trace=long) for i in range(60)]
    found = embedded_traces(cases, limit=20_000)
    shown = [case for case in cases if "turns" in found[id(case)]]
    assert shown
    assert not any(case.passed for case in shown)
    assert {tuple(data.items()) for data in found.values() if "turns" not in data} == {(("left_out", 100),)}
    assert len(json.dumps(list(found.values()))) < 1.1 * traces.ALL
    assert all("turns" in data for data in embedded_traces(cases, limit=None).values())


def test_a_call_that_was_changed_after_it_was_made_is_shown_without_its_time():
    call = ToolCall("t", latency_ms=1.0)
    trace = Trace(tool_calls=[call])
    for nonsense in (math.nan, math.inf, "soon", None):
        call.latency_ms = nonsense
        assert embedded_trace(trace, limit=None)["turns"] == [{"kind": "tool_call", "name": "t"}]


STRANGE = st.sampled_from(["</script>", "<!--", "\ud800", "\u2028", "$data"]) | st.text(max_size=5)
ANYTHING = st.recursive(
    st.none() | st.integers() | st.floats() | STRANGE | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(STRANGE, inner, max_size=2),
    max_leaves=4,
)


@given(ANYTHING, STRANGE)
def test_whatever_a_trace_holds_the_page_can_hold_it(records, anything, text):
    trace = Trace(
        agent_name=text,
        metadata={text: anything},
        turns=[
            Turn(
                tool_call=ToolCall(
                    text or "t", {text: anything}, output=anything, success=False, error=anything
                )
            ),
            Turn(llm_call=LLMCall(model=text, input_text=anything, output_text=text)),
            Turn(turn_type="user_message", content=anything),
        ],
    )
    data = embedded_json(
        embedded_records(
            report := records.report(records.case("a", trace=trace)), report.summaries(), limit=9
        )
    )
    assert not set(data) & set("<>&\u2028\u2029")
    assert len(json.loads(data)["attempts"][0]["trace"]["turns"]) == 3
