"""Whether an agent without a recorded call called nothing, or called what nothing records."""

import asyncio
import functools
import json
from dataclasses import dataclass

import pytest
from langchain_core.tools import tool as langchain_tool
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from calipers import Case, Dataset, ToolCall, Trace
from calipers.agents import (
    FunctionAdapter,
    HttpAdapter,
    ToolUsageAuditor,
    TraceComparisonEvaluator,
    TraceRecorder,
    tool,
)
from calipers.agents.evidence import reaches_tools
from calipers.context import NO_TOOL_CALLS
from calipers.evaluators import FollowsTrajectory, ToolCallCount, ToolCallsMatch
from calipers.report import Report
from calipers.testing import HttpAgentServer, Reply
from calipers.trace import joined
from calipers.trace_data import read_trace, trace_data
from calipers.voice import ExactEvaluator


@tool
def search(query: str) -> str:
    """Finds things."""
    return query


def plain_search(query):
    return query


def without_tools(request):
    return plain_search(request)


def with_tools(request):
    return search(request) if "please" in request else "no"


CLAIMS = [
    ToolCallsMatch([]),
    ToolCallsMatch(["search"], mode="subset"),
    ToolCallCount(maximum=3),
    FollowsTrajectory({"never": ["delete"]}),
    FollowsTrajectory({"at_most": {"search": 2}}),
    FollowsTrajectory({"extra": "forbidden"}),
    FollowsTrajectory(["search"]),
    ToolUsageAuditor([]),
    ToolUsageAuditor(["search"]),
    ExactEvaluator(),
    lambda tool_calls: not tool_calls,
]


def judged(task, *, inputs="hello"):
    dataset = Dataset(cases=[Case(inputs=inputs, expected_output=[])], evaluators=CLAIMS)
    (record,) = dataset.evaluate_sync(task, progress=False).cases
    assert not record.evaluator_failures, record.evaluator_failures
    return record


def no_recorder(request):
    with TraceRecorder("bot") as recording:
        recording.output_text = plain_search(request)
    return "done"


@pytest.mark.parametrize(
    "task",
    [
        FunctionAdapter(without_tools),
        no_recorder,
        lambda request: Trace(output_text="no"),
        FunctionAdapter(lambda request: Trace(output_text="no")),
    ],
)
def test_without_evidence_no_claim_about_calls_is_judged(task):
    record = judged(task)
    assert not record.results
    assert {skip.reason for skip in record.skipped} == {NO_TOOL_CALLS}


def by_hand(request):
    with TraceRecorder("bot") as recording:
        if "please" in request:
            recording.record_tool_call("search")
        recording.output_text = "no"
    return "done"


def by_recorder(request):
    with TraceRecorder("bot") as recording:
        recording.output_text = with_tools(request)
    return "done"


@pytest.mark.parametrize(
    "task",
    [
        FunctionAdapter(with_tools),
        FunctionAdapter(without_tools, records_calls=True),
        by_hand,
        by_recorder,
        lambda request: Trace(output_text="no", tool_calls=[]),
    ],
)
def test_with_evidence_an_agent_that_called_nothing_is_judged(task):
    record = judged(task)
    results = {result.name: result.value for result in record.results}
    assert results["ToolCallsMatch"] is results["ToolCallCount"] is results["FollowsTrajectory"] is True
    assert results["ToolCallsMatch_2"] is False, "calls were expected, and none was made"
    assert results["FollowsTrajectory_4"] is results["tool-usage-auditor_2"] is False
    assert not record.skipped


@dataclass
class Toolbox:
    tools: dict


class Worker:
    def run(self, request):
        return search(request) if "please" in request else "no"


def framework_agent():
    agent = Agent(TestModel(call_tools=[]))
    agent.tool_plain(search)

    def ask(request):
        return agent.run_sync(request).output

    return ask


def wrapped():
    @functools.wraps(without_tools)
    def outer(request):
        return with_tools(request)

    return outer


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (search, True),
        (with_tools, True),
        (lambda request: with_tools(request), True),
        (functools.partial(lambda tools, request: "no", [{"a": search}]), True),
        (Worker().run, True),
        (functools.partial(lambda box, request: "no", Toolbox({"search": search})), True),
        (functools.partial(lambda tools, request: "no", [langchain_tool(search)]), True),
        (framework_agent(), True),
        (wrapped(), True),
        (without_tools, False),
        (lambda request: "no", False),
        (len, False),
        (FunctionAdapter(without_tools), False),
        (functools.partial(print, list(range(10_000))), False),
    ],
)
def test_tools_are_found_in_what_an_agent_uses(function, found):
    assert reaches_tools(function) is found


def test_what_contains_itself_comes_to_an_end():
    loop = []
    loop.append(loop)
    assert not reaches_tools(loop)


@pytest.mark.parametrize(
    ("reply", "options", "known"),
    [
        (Reply(text="no", calls=[ToolCall("search")]), {}, True),
        ({"text": "no", "tool_calls": []}, {}, True),
        ({"text": "no", "tool_calls": None}, {}, True),
        ({"text": "no"}, {}, False),
        ({"text": "no"}, {"records_calls": True}, True),
        ({"text": "no", "tool_calls": []}, {"tool_calls": None}, False),
        ({"text": "no", "tool_calls": []}, {"output": None}, False),
    ],
)
def test_an_answer_over_http_tells_its_calls_where_it_has_a_field_for_them(reply, options, known):
    given = reply if isinstance(reply, Reply) else Reply(raw=json.dumps(reply))
    with HttpAgentServer(given) as server:
        report = Dataset(cases=[Case(inputs="x")], evaluators=[ToolCallCount(maximum=3)]).evaluate_sync(
            HttpAdapter(server.url, **options), progress=False
        )
    (record,) = report.cases
    assert record.trace.calls_known is known
    assert bool(record.results) is known
    assert bool(record.skipped) is not known


def test_what_is_known_of_calls_survives_being_stored():
    for task in (FunctionAdapter(with_tools), FunctionAdapter(without_tools)):
        report = Dataset(cases=[Case(inputs="x")]).evaluate_sync(task, progress=False)
        again = Report.from_dict(report.to_dict())
        assert again.cases[0].trace.records_calls is report.cases[0].trace.records_calls
    assert read_trace(trace_data(Trace(records_calls=False))).records_calls is False
    assert read_trace({"turns": [], "tool_calls": []}).records_calls is None, "older data does not tell"


def test_of_several_executions_the_calls_are_known_if_they_are_of_each():
    told, silent, called = Trace(records_calls=True), Trace(), Trace(tool_calls=(ToolCall("a"),))
    assert joined([told, called]).calls_known
    assert not joined([told, silent]).calls_known
    assert joined([told, silent]).records_calls is None


def test_traces_are_compared_by_calls_only_where_both_tell_them():
    reference = Trace(output_text="no", tool_calls=[ToolCall("a")])
    for trace, left_out in ((Trace(output_text="no"), True), (Trace(output_text="no", tool_calls=[]), False)):
        result = asyncio.run(TraceComparisonEvaluator(reference).evaluate(Case(name="x", inputs=""), trace))
        assert ("tool_sequence" in result.metadata["left_out"]) is left_out
