"""An instrumented agent is judged by the spans that it leaves."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings

from calipers import Case, Dataset
from calipers.agents import tool
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn
from calipers.evaluators import FollowsTrajectory, ToolCallCount, ToolCallsMatch
from calipers.spans.attempt_trace import with_spans


def answering(messages: Any, _info: Any) -> ModelResponse:
    """A model that asks twice for one tool, and then says that it is done."""
    if len(messages) > 1:
        return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[ToolCallPart("find", {"to": to}) for to in ("Oslo", "Rome")])


def found(to: str) -> list[str]:
    return [f"{to}1"]


def traced(function: Any, *evaluators: Any, **settings: Any) -> Any:
    """The record of a run of the agent, and its trace."""
    seen = []

    def look(span_tree: Any, ctx: Any) -> bool:
        seen.append(ctx.trace)
        return len(span_tree) > 0

    agent = Agent(FunctionModel(answering), name="travel")
    agent.tool_plain(name="find")(function)

    async def task(question: str) -> str:
        Agent.instrument_all(InstrumentationSettings(**settings))
        try:
            return (await agent.run(question)).output
        finally:
            Agent.instrument_all(False)

    report = Dataset(cases=[Case(inputs="to Oslo or Rome?")], evaluators=[look, *evaluators]).evaluate_sync(
        task
    )
    (record,) = report.cases
    return record, seen[0]


FINDS = [ToolCall("find", {"to": to}) for to in ("Oslo", "Rome")]


def test_an_instrumented_agent_is_judged_by_its_spans():
    record, trace = traced(
        found, ToolCallsMatch(FINDS), FollowsTrajectory(["find", "find"]), ToolCallCount(maximum=2)
    )
    assert [result.value for result in record.results] == [True] * 4
    assert [call.output for call in trace.tool_calls] == [["Oslo1"], ["Rome1"]]
    assert (trace.agent_name, trace.input_text, trace.output_text) == ("travel", "to Oslo or Rome?", "done")
    assert len(trace.llm_calls) == record.metrics["requests"] == 2
    assert trace.total_input_tokens == record.metrics["input_tokens"] > 0


def test_a_marked_tool_of_an_instrumented_agent_is_one_call():
    _, trace = traced(tool(name="find")(found))
    assert list(trace.tool_calls) == FINDS
    assert all(call.call_id for call in trace.tool_calls)


def test_a_claim_about_arguments_that_are_left_out_is_skipped():
    record, trace = traced(
        found,
        ToolCallsMatch(FINDS),
        ToolCallsMatch([ToolCall("book")], evaluation_name="books"),
        ToolCallCount(maximum=2),
        FollowsTrajectory([{"find": {"to": "Oslo"}}]),
        FollowsTrajectory(["find", "find"], evaluation_name="names"),
        include_content=False,
    )
    assert trace.tool_calls[0].unknown == ("arguments", "output")
    values = {result.name: result.value for result in record.results}
    assert values["ToolCallCount"] is values["names"] is True
    assert values["books"] is False  # the tools alone show it
    assert {each.name: each.reason for each in record.skipped} == dict.fromkeys(
        ("ToolCallsMatch", "FollowsTrajectory"),
        "the recording does not show the arguments of the call of 'find'",
    )


# ---------------------------------------------------------------------- joining


def trace(*calls: ToolCall, **more: Any) -> Trace:
    return Trace(tool_calls=list(calls), **more)


def test_recorded_calls_and_those_of_spans_are_joined_by_arguments_and_then_by_order():
    recorded = trace(ToolCall("f", {"a": 2}, output="two"), ToolCall("f", {"a": 1, "b": 0}, output="one"))
    told = trace(ToolCall("f", {"a": 1}, call_id="x"), ToolCall("f", {"a": 2}, call_id="y"))
    joined = with_spans(recorded, told)
    assert [(call.output, call.call_id) for call in joined.tool_calls] == [("one", "x"), ("two", "y")]


def test_calls_that_both_have_an_id_are_joined_by_it_alone():
    recorded = trace(ToolCall("f", {"a": 1}, call_id="y", output="y"), ToolCall("f", {"a": 1}, call_id="z"))
    told = trace(ToolCall("f", {"a": 1}, call_id="x"), ToolCall("f", {"a": 1}, call_id="y"))
    joined = with_spans(recorded, told)
    assert sorted(call.call_id for call in joined.tool_calls) == ["x", "y", "z"]


def test_a_call_that_only_one_side_saw_counts():
    joined = with_spans(trace(ToolCall("f"), ToolCall("g")), trace(ToolCall("f"), ToolCall("h")))
    assert sorted(call.name for call in joined.tool_calls) == ["f", "g", "h"]


def test_requests_recorded_by_hand_stand():
    by_hand = trace(llm_calls=[LLMCall(model="m", input_tokens=5)])
    told = trace(ToolCall("f"), llm_calls=[LLMCall(model="m", input_tokens=5)])
    joined = with_spans(by_hand, told)
    assert (len(joined.llm_calls), joined.total_input_tokens, len(joined.tool_calls)) == (1, 5, 1)


def test_as_many_requests_on_both_sides_are_the_same_and_the_spans_tell_their_times():
    at = [datetime(2026, 1, 1, 12, 0, second, tzinfo=UTC) for second in range(3)]
    answers = ["", "done"]
    recorded = Trace(
        turns=[
            Turn(llm_call=LLMCall(model="m", output_text=answers[0])),
            Turn(tool_call=ToolCall("f", output=1)),
            Turn(llm_call=LLMCall(model="m", output_text=answers[1])),
        ]
    )
    told = Trace(
        turns=[
            Turn(llm_call=LLMCall(model="m", latency_ms=5), timestamp=at[0]),
            Turn(tool_call=ToolCall("f", latency_ms=6), timestamp=at[1]),
            Turn(llm_call=LLMCall(model="m", latency_ms=7), timestamp=at[2]),
        ]
    )
    turns = with_spans(recorded, told).turns
    assert [turn.timestamp for turn in turns] == at
    assert [(turn.llm_call or turn.tool_call).latency_ms for turn in turns] == [5, 6, 7]
    assert [turn.llm_call.output_text for turn in turns if turn.llm_call] == answers
    assert turns[1].tool_call.output == 1


def test_what_has_no_time_stands_beside_what_was_recorded_next_to_it():
    requests = [Turn(llm_call=LLMCall(model=name)) for name in "abcd"]
    tools = [Turn(tool_call=ToolCall(name)) for name in "fg"]
    recorded = Trace(turns=[*requests[:2], tools[0], requests[2], tools[1], requests[3]])
    told = trace(ToolCall("f"), ToolCall("g"))
    joined = with_spans(recorded, told)
    names = [turn.llm_call.model if turn.llm_call else turn.tool_call.name for turn in joined.turns]
    assert names == ["a", "b", "f", "c", "g", "d"]


def test_without_a_recording_the_spans_speak_alone():
    told = trace(ToolCall("f"))
    assert with_spans(None, told) is told


def test_spans_of_no_known_convention_change_nothing():
    from opentelemetry import trace as otel

    seen = []

    def task(question: str) -> str:
        with otel.get_tracer("x").start_as_current_span("work"):
            return question

    def look(span_tree: Any, ctx: Any) -> bool:
        seen.append(ctx.trace)
        return bool(len(span_tree))

    Dataset(cases=[Case(inputs="x")], evaluators=[look]).evaluate_sync(task)
    assert seen == [None]


@pytest.mark.parametrize("what", ["arguments", "output", "success"])
def test_what_is_unknown_of_a_call_survives_storage(what: str):
    told = trace(ToolCall("f", unknown=[what]))
    assert Trace.from_dict(told.to_dict()).tool_calls[0].unknown == (what,)
