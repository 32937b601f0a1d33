"""Whether an agent without a recorded call called nothing, or called what nothing records."""

import asyncio
import functools
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from langchain_core.tools import tool as langchain_tool
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

import calipers.agents
from calipers import Case, Dataset, ToolCall, Trace
from calipers.agents import (
    FunctionAdapter,
    HttpAdapter,
    ToolUsageAuditor,
    TraceComparisonEvaluator,
    TraceRecorder,
    carry,
    current_recording,
    tool,
)
from calipers.agents.call_evidence import MARK, tools_reached
from calipers.agents.recording import Recording
from calipers.data.context import NO_TOOL_CALLS, not_recorded
from calipers.data.trace import joined
from calipers.data.trace_json import read_trace, trace_data
from calipers.evaluators import FollowsTrajectory, ToolCallCount, ToolCallsMatch
from calipers.report.report import Report
from calipers.testing import HttpAgentServer, Reply
from calipers.voice import ExactEvaluator


@tool
def search(query: str) -> str:
    """Finds things."""
    return query


@tool
def find(query: str) -> str:
    """Finds one thing."""
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
    FollowsTrajectory({"never": ["search"]}),
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
    assert tools_reached(function) == (frozenset({"search"} if found else ()), False)


class Step:
    """An object of another library: its attributes have the names of our methods."""

    def __init__(self):
        self.tool_call = {"query": "x"}

    def record_tool_call(self):
        return plain_search("x")


def unmarked_framework_agent():
    agent = Agent(TestModel())
    agent.tool_plain(plain_search)
    return lambda request: agent.run_sync(request).output


def uses_names(request):
    for tool_call in [Step().tool_call]:
        plain_search(**tool_call)
    return Step().record_tool_call()


def uses_names_beside_a_recorder(request):
    with TraceRecorder("bot"):
        return plain_search(**Step().tool_call)


@pytest.mark.parametrize(
    "function", [unmarked_framework_agent(), uses_names, uses_names_beside_a_recorder, Step()]
)
def test_a_name_is_no_evidence(function):
    assert tools_reached(function) == (frozenset(), False)
    task = function if function is uses_names_beside_a_recorder else FunctionAdapter(lambda q: str(function))
    assert {skip.reason for skip in judged(task).skipped} == {NO_TOOL_CALLS}


def test_a_function_that_only_wears_the_mark_is_no_tool():
    worn = functools.wraps(plain_search)(lambda query: query)
    setattr(worn, MARK, "search")
    assert tools_reached(worn) == (frozenset(), False)


RECORDER = TraceRecorder("bot")


def by_current(request):
    recording = current_recording()
    if recording is not None and "please" in request:
        recording.record_tool_call("search")
    return "no"


def by_module(request):
    with calipers.agents.TraceRecorder("bot") as recording:
        if "please" in request:
            with recording.tool_call("search"):
                pass
    return "no"


def by_local_import(request):
    from calipers.agents import current_recording as here

    if "please" in request and (recording := here()):
        recording.record_tool_call("search")
    return "no"


def by_annotation(request, recording: Recording | None = None):
    if recording is not None:
        recording.record_tool_call("search")
    return "no"


def by_global(request):
    with RECORDER.recording() as recording:
        if "please" in request:
            recording.record_tool_call("search")
    return "no"


class Holder:
    def __init__(self):
        self.recorder = TraceRecorder("bot")

    def run(self, request):
        with self.recorder.recording() as recording:
            if "please" in request:
                recording.record_tool_call("search")
        return "no"


@pytest.mark.parametrize(
    "function", [by_current, by_module, by_local_import, by_annotation, by_global, Holder().run]
)
def test_code_that_records_by_hand_is_found_by_its_recording(function):
    assert tools_reached(function) == (frozenset(), True)
    record = judged(FunctionAdapter(function))
    assert not record.skipped
    assert record.trace.recorded_tools is None, "it may record any tool"


def test_the_same_code_with_another_agent_has_other_evidence():
    def ask(agent):
        with TraceRecorder("bot") as recording:
            recording.output_text = agent("hello")
        return recording.trace

    assert ask(with_tools).recorded_tools == ("search",)
    assert not ask(without_tools).calls_known


def delete(name):
    """A tool that is not marked."""


def with_unmarked(request):
    delete(request)
    return search(request) if "please" in request else "no"


NAMING = [
    FollowsTrajectory({"never": ["delete"]}),
    FollowsTrajectory(["delete"]),
    FollowsTrajectory({"before": [["delete", "search"]]}),
    ToolCallCount(tool="delete", maximum=0),
    ToolCallCount(tool="delete", minimum=1),
    ToolCallsMatch(["delete"], mode="superset"),
    ToolCallsMatch(["delete", "search"], mode="subset"),
    ToolUsageAuditor(["delete"]),
]


@pytest.mark.parametrize("request_text", ["hello", "please"])
def test_a_claim_that_names_a_tool_whose_calls_would_not_be_seen_is_skipped(request_text):
    dataset = Dataset(cases=[Case(inputs=request_text)], evaluators=[*NAMING, ToolCallCount(maximum=3)])
    (record,) = dataset.evaluate_sync(FunctionAdapter(with_unmarked), progress=False).cases
    assert [result.value for result in record.results] == [True], "of all calls, marked tools are evidence"
    assert len(record.skipped) == len(NAMING)
    assert {skip.reason for skip in record.skipped} == {
        (
            "calls of 'delete' would not be seen: the agent's code reaches no tool of that name marked with @tool: mark it, or if "
            "the agent has no such tool, say calipers.agents.FunctionAdapter(agent, records_calls=True)"
        )
    }
    told = dataset.evaluate_sync(FunctionAdapter(with_unmarked, records_calls=True), progress=False)
    assert not any("@tool" in skip.reason for skip in told.cases[0].skipped)


@pytest.mark.parametrize(
    "claim",
    [
        FollowsTrajectory({"never": ["delete", "search"]}),
        FollowsTrajectory({"steps": ["delete"], "at_most": {"search": 0}}),
        ToolCallsMatch(["delete"]),
        ToolCallsMatch(["delete", "find"], mode="superset"),
        ToolUsageAuditor(["delete", "find"]),
    ],
)
def test_what_is_seen_to_be_wrong_fails_beside_a_tool_that_is_not_seen(claim):
    def agent(request):
        return find(request) if request == "never" else with_unmarked(request)

    (record,) = (
        Dataset(cases=[Case(inputs="please")], evaluators=[claim])
        .evaluate_sync(FunctionAdapter(agent), progress=False)
        .cases
    )
    assert not record.skipped
    assert record.passed is False


def test_the_recorded_tools_survive_storing_and_joining():
    some, other = (
        Trace(records_calls=True, recorded_tools=["a"]),
        Trace(records_calls=True, recorded_tools=["b"]),
    )
    every, silent, called = Trace(records_calls=True), Trace(), Trace(tool_calls=[ToolCall("c")])
    assert read_trace(trace_data(some)).recorded_tools == ("a",)
    assert read_trace(trace_data(every)).recorded_tools is None
    assert joined([some, other, every]).recorded_tools == ("a", "b")
    assert joined([every, called]).recorded_tools is None
    assert joined([called, silent]).unrecorded(["c", "d"]) == ("d",)
    assert some.unrecorded(["a", "b", "b"]) == ("b",)
    assert silent.unrecorded(["a"]) == ("a",)
    assert every.unrecorded(["a"]) == ()


def test_what_contains_itself_comes_to_an_end():
    loop = []
    loop.append(loop)
    assert tools_reached(loop) == (frozenset(), False)


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


def test_a_plain_task_records_the_calls_of_marked_tools():
    for task in (with_tools, functools.partial(with_tools), Worker().run, by_thread, by_awaiting):
        dataset = Dataset(
            cases=[Case(inputs="please"), Case(inputs="hello")],
            evaluators=[ToolCallCount(tool="search", minimum=1)],
        )
        called, silent = dataset.evaluate_sync(task, progress=False).cases
        assert [call.name for call in called.trace.tool_calls] == ["search"]
        assert (called.passed, silent.passed) == (True, False), "that it called nothing is known, too"
        assert called.trace.recorded_tools == silent.trace.recorded_tools == ("search",)
        assert (called.trace.input_text, called.trace.output_text) == ("please", "please")
        assert not called.trace.latency_measured


async def by_awaiting(request):
    return await asyncio.to_thread(with_tools, request)


def by_thread(request):
    with ThreadPoolExecutor() as pool:
        return pool.submit(carry(with_tools), request).result()


def test_a_plain_task_whose_tools_are_not_marked_is_not_judged():
    record = judged(without_tools)
    assert record.trace is None
    assert not record.results
    assert NO_TOOL_CALLS in {skip.reason for skip in record.skipped}
    assert not judged(by_current).results, "without a recording, nothing is recorded by hand"


def test_calls_beside_a_recording_are_in_the_trace_of_the_attempt():
    def task(request):
        find(request)
        with TraceRecorder("bot") as recording:
            recording.output_text = search(request)
        return "done"

    (record,) = Dataset(cases=[Case(inputs="x")]).evaluate_sync(task, progress=False).cases
    assert [call.name for call in record.trace.tool_calls] == ["find", "search"]


def test_what_an_evaluator_calls_is_no_call_of_the_agent():
    def judge(output):
        return find(output) == "no"

    (record,) = (
        Dataset(cases=[Case(inputs="x")], evaluators=[judge]).evaluate_sync(with_tools, progress=False).cases
    )
    assert record.passed
    assert record.trace.tool_calls == ()


def test_a_further_try_starts_without_the_calls_of_the_one_before():
    tries = []

    def task(request):
        search(request)
        tries.append(request)
        if len(tries) == 1:
            raise ConnectionError("try again")
        return request

    report = Dataset(cases=[Case(inputs="x")]).evaluate_sync(
        task, progress=False, retry_task={"attempts": 2, "backoff": 0}
    )
    assert len(report.cases[0].trace.tool_calls) == 1


def test_a_plain_task_that_fails_has_its_calls_in_the_report():
    def task(request):
        search(request)
        raise ValueError("broken")

    (failure,) = Dataset(cases=[Case(inputs="x")]).evaluate_sync(task, progress=False).failures
    assert [call.name for call in failure.trace.tool_calls] == ["search"]


def test_a_conversation_without_a_call_is_judged_where_the_tools_are_marked():
    def chat(messages):
        return with_tools(messages[-1]["content"])

    def silent(messages):
        return without_tools(messages[-1]["content"])

    dataset = Dataset(
        cases=[Case(turns=["hello", "goodbye"])],
        evaluators=[ToolCallCount(tool="search", maximum=0), ToolCallCount(tool="delete", maximum=0)],
    )
    (record,) = dataset.evaluate_sync(chat, progress=False).cases
    assert [result.value for result in record.results] == [True]
    assert [skip.reason for skip in record.skipped] == [not_recorded(["delete"])]
    (record,) = dataset.evaluate_sync(silent, progress=False).cases
    assert {skip.reason for skip in record.skipped} == {NO_TOOL_CALLS}
