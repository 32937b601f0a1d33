"""The attempts of a report, as data for the page."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import LLMCall, ToolCall, Trace, Turn
from calipers.data.jsonable import plain
from calipers.data.record import Failure
from calipers.data.result import EvalVerdict
from calipers.views.html import records as traces_of_page
from calipers.views.html.records import (
    embedded_json,
    embedded_records,
    embedded_trace,
    embedded_traces,
    json_text,
    shown_pair,
    shown_text,
    shown_value,
)

DANGEROUS = st.text(
    st.characters() | st.sampled_from("<>&\u2028\u2029\"'\\/!-\x00\x7f\ufeff\u202e"), max_size=40
) | st.sampled_from(["</script>", "<!--", "<script>", "]]>", "&lt;", "\\u003c", "\ud800"])


def embed(report, **options):
    return embedded_records(report, report.summaries(), **({"limit": None} | options))


@given(st.dictionaries(DANGEROUS, DANGEROUS | st.lists(DANGEROUS, max_size=3), max_size=4))
def test_embedded_json_is_the_same_data_and_nothing_in_it_can_end_a_script(data):
    text = embedded_json(plain(data))
    assert json.loads(text) == plain(data)
    assert not set(text) & set("<>&\u2028\u2029")


@given(DANGEROUS)
def test_whatever_an_attempt_says_is_embedded_as_it_was_said(records, text):
    case = records.case(
        text,
        records.result("check", False, text),
        records.result("label", text),
        inputs=text,
        output={text: [text]},
        expected_output=text,
        attributes={text: text},
        evaluator_failures=(records.broken(text, text, text),),
        skipped=(records.skip(text, text),),
        cluster=text,
    )
    [found] = json.loads(embedded_json(embed(records.report(case))))["attempts"]
    said = text.encode("utf-8", "backslashreplace").decode()
    assert found["name"] == found["inputs"]["text"] == found["expected"]["text"] == found["cluster"] == said
    assert json.loads(found["output"]["json"]) == {said: [said]}
    assert found["attributes"] == {said: {"text": said}}
    assert [result.get("reason") or result["value"] for result in found["results"]] == [said or False, said]
    assert found["skipped"] == [{"evaluator": said, "reason": said}]
    assert found["failures"][0] | {"traceback": said} == {
        "evaluator": said,
        "message": said,
        "traceback": said,
    }


def test_an_attempt_keeps_only_what_it_has_to_say(records):
    data = embed(records.report(records.case("a", records.result("ok", True))))
    assert data == {
        "columns": [{"name": "ok", "kind": "assertion", "evaluator": "ok"}],
        "repeat": 1,
        "attempts": [
            {
                "name": "a",
                "outcome": "passed",
                "inputs": {"text": "question a"},
                "output": {"text": "answer a"},
                "results": [{"column": 0, "value": True}],
                "duration": 0.25,
                "total": 0.5,
            }
        ],
    }


def test_all_that_an_attempt_can_say_is_there(records):
    verdict = records.result(
        "judge", False, "too long", verdict=EvalVerdict.PARTIAL, score=0.5, metadata={"tokens": 3}
    )
    case = records.case(
        "a",
        verdict,
        expected_output=None,
        has_expected_output=True,
        metrics={"cost": 0.5},
        metadata={"topic": "x"},
        tries=2,
        trace_id="t1",
        span_id="s1",
        teardown_failure=Failure(
            error_type="OSError", error_message="OSError: gone", error_stacktrace="at x"
        ),
    )
    failure = records.failure("b", tries=3, not_run=("judge",), error_stacktrace="at y")
    first, second = embed(records.report(case, failure))["attempts"]
    assert first["expected"] == {"json": "null"}
    assert first["results"] == [
        {
            "column": 0,
            "value": False,
            "reason": "too long",
            "verdict": "partial",
            "score": 0.5,
            "metadata": {"json": '{"tokens": 3}'},
        }
    ]
    assert first["metrics"] == {"cost": {"json": "0.5"}}
    assert (first["metadata"], first["tries"]) == ({"json": '{"topic": "x"}'}, 2)
    assert (first["trace_id"], first["span_id"]) == ("t1", "s1")
    assert first["teardown"] == {"message": "OSError: gone", "traceback": "at x"}
    assert second["error"] == {"message": "ValueError: boom", "traceback": "at y"}
    assert (second["outcome"], second["tries"], second["not_run"]) == ("error", 3, ["judge"])
    assert "output" not in second
    assert "results" not in second


def test_every_attempt_has_its_outcome(records):
    report = records.report(
        records.case("held", records.result("ok", True), records.result("score", 0.5)),
        records.case("broken", records.result("ok", False)),
        records.case(
            "crashed", records.result("ok", True), evaluator_failures=(records.broken("j", "E: x"),)
        ),
        records.case("scored", records.result("score", 0.5)),
        records.failure("lost"),
    )
    outcomes = {attempt["name"]: attempt["outcome"] for attempt in embed(report)["attempts"]}
    assert outcomes == {
        "held": "passed",
        "broken": "failed",
        "crashed": "error",
        "scored": "skipped",
        "lost": "error",
    }


def test_repeats_stand_together_in_their_order_even_if_one_failed(records):
    def attempt(name, number):
        return {"name": f"{name} [{number}/3]", "source_case_name": name}

    report = records.report(
        *(records.case(**attempt("a", number)) for number in (1, 3)),
        *(records.case(**attempt("b", number)) for number in (1, 2, 3)),
        records.failure(**attempt("a", 2)),
        records.failure(**attempt("c", 1)),
        repeat=3,
    )
    data = embed(report)
    assert data["cases"] == ["a", "b", "c"]
    assert [attempt["name"] for attempt in data["attempts"]] == [
        f"{name} [{number}/3]"
        for name, last in (("a", 3), ("b", 3), ("c", 1))
        for number in range(1, last + 1)
    ]
    assert [attempt["case"] for attempt in data["attempts"]] == [0, 0, 0, 1, 1, 1, 2]


def test_a_name_with_two_kinds_of_results_has_two_columns(records):
    report = records.report(
        records.case("a", records.result("x", True)), records.case("b", records.result("x", 0.5))
    )
    data = embed(report)
    assert [column["name"] for column in data["columns"]] == ["x (assertion)", "x (score)"]
    assert [attempt["results"][0]["column"] for attempt in data["attempts"]] == [0, 1]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (2**53, {"value": 2**53}),
        (2**60, {"value": float(2**60), "text": "1.153e+18"}),
        (0.1, {"value": 0.1}),
    ],
)
def test_a_score_that_a_browser_could_not_read_exactly_brings_its_text(records, value, found):
    [attempt] = embed(records.report(records.case("a", records.result("n", value))))["attempts"]
    assert attempt["results"] == [{"column": 0, **found}]


def test_long_values_are_cut_to_the_limit(records):
    case = records.case("a", records.result("ok", False, "r" * 50), output="o" * 50)
    [attempt] = embed(records.report(case), limit=10)["attempts"]
    assert attempt["output"] == {"text": "o" * 10, "length": 50}
    assert attempt["results"][0]["reason"] == "r" * 10 + "… (50 characters)"


# ---------------------------------------------------------------------- traces


def embedded_attempts(report, *, limit=20_000):
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
        "notes": [
            "Times were not recorded: the steps stand in their order.",
            "Cost of 1 model call of 1 not known.",
        ],
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
    assert ["trace" in attempt for attempt in embedded_attempts(report)] == [True, False, True, False]
    repeated = records.report(
        records.case("a [1/2]", source_case_name="a", trace=trace),
        records.case("a [2/2]", source_case_name="a"),
        repeat=2,
    )
    assert ["trace" in attempt for attempt in embedded_attempts(repeated)] == [True, False]


@pytest.mark.parametrize("limit", [50, 20_000])
def test_long_values_are_cut_and_keep_their_length(limit):
    call = ToolCall("t" * 30_000, {"q": "x" * 30_000}, output="y" * 30_000, success=False, error="z" * 30_000)
    trace = Trace(turns=[Turn(tool_call=call), Turn(turn_type="user_message", content="w" * 30_000)])
    tool, message = embedded_trace(trace, limit=limit)["turns"]
    most = min(limit, traces_of_page.VALUE)
    assert tool["output"] == {"text": "y" * most, "length": 30_000}
    assert message["content"] == {"text": "w" * most, "length": 30_000}
    assert len(tool["arguments"]["json"]) == most
    assert tool["error"] == "z" * most + "… (30,000 characters)"
    assert len(json.dumps(embedded_trace(trace, limit=limit))) < 6 * most + 500
    whole = embedded_trace(trace, limit=None)["turns"][0]
    assert (whole["output"], whole["error"]) == ({"text": "y" * 30_000}, "z" * 30_000)


def test_of_many_turns_the_first_and_the_last_are_shown_and_all_are_counted():
    trace = Trace(tool_calls=[ToolCall(f"t{i}") for i in range(500)])
    found = embedded_trace(trace, limit=20_000)
    half = traces_of_page.TURNS // 2
    assert [turn["name"] for turn in found["turns"]] == [
        f"t{i}" for i in [*range(half), *range(500 - half, 500)]
    ]
    assert (found["before_fold"], found["folded"]) == (half, "400 steps folded: 400 tool calls")
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
    assert len(json.dumps(list(found.values()))) < 1.1 * traces_of_page.ALL
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


# ---------------------------------------------------------------------- values


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=20,
).map(plain)


@given(PLAIN, st.sampled_from([0, 20, 88]))
def test_json_for_reading_is_json_of_the_same_data(data, width):
    assert json.loads(json_text(data, width=width)) == data


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("3", {"text": "3"}),
        (3, {"json": "3"}),
        (1.0, {"json": "1.0"}),
        (2**70, {"json": "1180591620717411303424"}),
        (None, {"json": "null"}),
        (True, {"json": "true"}),
        (float("nan"), {"text": "NaN"}),
        ({"b": [1, 2], "a": "é"}, {"json": '{"b": [1, 2], "a": "é"}'}),
        ([], {"json": "[]"}),
        ("x" * 11, {"text": "x" * 10, "length": 11}),
        ([123456, 123456], {"json": "[123456, 1", "length": 16}),
        ("\ud800", {"text": "\\ud800"}),
    ],
)
def test_a_value_is_shown_as_text_or_as_json_and_cut_with_its_length(value, shown):
    found = shown_value(value, 10) if "length" in shown else shown_value(value, 1000)
    assert found == shown


def test_what_fits_on_a_line_stays_on_a_line():
    data = {"short": list(range(5)), "long": ["x" * 40, "y" * 40]}
    assert json_text(data) == (
        '{\n  "short": [0, 1, 2, 3, 4],\n  "long": [\n    "' + "x" * 40 + '",\n    "' + "y" * 40 + '"\n  ]\n}'
    )


def test_two_values_to_compare_are_broken_up_in_the_same_way():
    short, long = {"a": 1, "b": [1]}, {"a": 1, "b": [1], "c": "x" * 90}
    assert shown_pair(short, short, None)[0] == {"json": '{"a": 1, "b": [1]}'}
    one, other = (pair["json"].split("\n") for pair in shown_pair(short, long, None))
    assert one[:4] == other[:4] == ["{", '  "a": 1,', '  "b": [', "    1"]


def test_a_cut_message_says_so_at_the_end_and_a_traceback_at_its_beginning():
    assert shown_text("abcdef", 6) == shown_text("abcdef", None) == "abcdef"
    assert shown_text("abcdef", 4) == "abcd… (6 characters)"
    assert shown_text("abcdef", 4, keep_end=True) == "… (6 characters)\ncdef"
