"""An agent that is a function becomes a task whose trace was recorded."""

import asyncio
import functools
import threading

import msgspec
import pytest

from calipers import Case, Dataset, Retry
from calipers.agents import (
    Adapter,
    FunctionAdapter,
    HttpAdapter,
    Trace,
    TraceRecorder,
    current_recording,
    tool,
)
from calipers.data.jsonable import plain
from calipers.errors import InvalidTraceError, TaskContractError


@tool
def shout(text):
    return text.upper()


@tool
async def shout_later(text):
    await asyncio.sleep(0)
    return text.upper()


def agent(text):
    current_recording().record_llm_call("small", input_tokens=3, output_tokens=1)
    return shout(text)


async def agent_later(text):
    current_recording().record_llm_call("small", input_tokens=3, output_tokens=1)
    return await shout_later(text)


class Agent:
    def __call__(self, text):
        return agent(text)


class AgentLater:
    async def __call__(self, text):
        return await agent_later(text)


def answered(adapter, text):
    """The trace, awaited where that is needed."""
    found = adapter.invoke(text)
    if isinstance(found, Trace):
        return found

    async def wait():
        return await found

    return asyncio.run(wait())


EVERY_KIND = [
    (agent, "agent", False),
    (agent_later, "agent_later", True),
    (functools.partial(agent), "agent", False),
    (functools.partial(agent_later), "agent_later", True),
    (Agent(), "Agent", False),
    (AgentLater(), "AgentLater", True),
    (lambda text: agent(text), "agent", False),
    (lambda text: agent_later(text), "agent", False),  # only a call shows that it is async
]
IDS = ["sync", "async", "partial", "async partial", "object", "async object", "lambda", "lambda of async"]


@pytest.mark.parametrize(("function", "name", "is_async"), EVERY_KIND, ids=IDS)
def test_what_the_agent_does_is_in_the_trace(function, name, is_async):
    adapter = FunctionAdapter(function)
    assert (adapter.name, adapter.is_async) == (name, is_async)
    trace = answered(adapter, "hello")
    assert (trace.agent_name, trace.input_text, trace.output_text) == (name, "hello", "HELLO")
    assert [call.arguments for call in trace.tool_calls] == [{"text": "hello"}]
    assert (trace.model, trace.total_input_tokens) == ("small", 3)
    assert trace.latency_measured
    assert current_recording() is None


@pytest.mark.parametrize(("function", "name", "is_async"), EVERY_KIND, ids=IDS)
def test_an_agent_is_a_task_in_one_line_and_every_evaluator_has_its_trace(function, name, is_async):
    cases = [Case(name=text, inputs=text, expected_output=text.upper()) for text in ("a", "b", "c")]

    def own_trace(trace, inputs):
        return (trace.input_text, len(trace.tool_calls)) == (inputs, 1)

    dataset = Dataset(
        cases=cases, evaluators=[own_trace, lambda output, expected_output: output == expected_output]
    )
    report = dataset.evaluate_sync(FunctionAdapter(function), progress=False)
    assert report.failures == []
    assert [case.passed for case in report.cases] == [True, True, True]
    assert report.name == name


def test_a_blocking_agent_does_not_hold_the_event_loop():
    """Two requests wait for each other: only in threads of their own can they meet."""
    both = threading.Barrier(2)

    def meets(text):
        both.wait(20)
        return text

    dataset = Dataset(cases=[Case(inputs="a"), Case(inputs="b")])
    report = dataset.evaluate_sync(FunctionAdapter(meets), progress=False)
    assert [case.output for case in report.cases] == ["a", "b"]


def test_an_async_agent_is_awaited_on_the_event_loop():
    """More requests wait for one another than there are threads."""

    def make():
        waiting = []

        async def meets(text):
            waiting.append(text)
            while len(waiting) < 60:
                await asyncio.sleep(0)
            return text

        return meets

    cases = [Case(inputs=str(number)) for number in range(60)]
    report = Dataset(cases=cases).evaluate_sync(FunctionAdapter(make()), progress=False)
    assert len(report.cases) == 60


def test_requests_at_once_do_not_mix():
    async def main():
        adapter = FunctionAdapter(agent_later)
        return await asyncio.gather(*(adapter.invoke(f"t{number}") for number in range(20)))

    for number, trace in enumerate(asyncio.run(main())):
        assert [call.arguments["text"] for call in trace.tool_calls] == [f"t{number}"]
        assert trace.output_text == f"T{number}"


def test_a_trace_that_the_function_gives_stands_as_it_is():
    given = Trace(agent_name="other", output_text="mine")
    assert FunctionAdapter(lambda text: given).invoke("x") is given

    def records_itself(text):
        with TraceRecorder("inner", input_text=text) as recording:
            recording.output_text = shout(text)
        return recording.trace

    trace = FunctionAdapter(records_itself).invoke("a")
    assert (trace.agent_name, len(trace.tool_calls)) == ("inner", 1)


def test_an_agent_with_a_recorder_of_its_own_that_gives_text_is_recorded_all_the_same():
    def records_itself(text):
        with TraceRecorder("inner"):
            return shout(text)

    trace = FunctionAdapter(records_itself, name="outer").invoke("a")
    assert (trace.agent_name, [call.name for call in trace.tool_calls]) == ("outer", ["shout"])


@pytest.mark.parametrize("later", [False, True], ids=["sync", "async"])
def test_no_answer_is_a_failure_never_an_empty_answer(later):
    async def agent_later(text):
        return None

    adapter = FunctionAdapter(agent_later if later else lambda text: None, name="bot")
    with pytest.raises(TaskContractError, match="agent 'bot' gave no answer, but None"):
        answered(adapter, "x")
    with pytest.raises(TaskContractError, match="gave no answer, but <generator"):
        FunctionAdapter(lambda text: (each for each in text)).invoke("x")


@pytest.mark.parametrize("answer", [3, {"answer": "x"}, ["a", 1], b"bytes"], ids=repr)
def test_an_answer_may_be_of_any_type_and_the_trace_has_it_as_json(answer):
    async def agent_later(text):
        shout(text)
        return answer

    def agent_now(text):
        shout(text)
        return answer

    for function in (agent_later, agent_now, lambda text: agent_later(text)):
        adapter = FunctionAdapter(function)
        assert answered(adapter, "x").output_text == msgspec.json.encode(plain(answer)).decode()
        case = Dataset(cases=[Case(inputs="x")]).evaluate_sync(adapter, progress=False).cases[0]
        assert case.output == answer
        assert [call.name for call in case.trace.tool_calls] == ["shout"]
        assert case.trace.total_latency_ms > 0
        talk = Dataset(cases=[Case(turns=["x"])]).evaluate_sync(adapter, progress=False).cases[0]
        assert next(iter(talk.output.walk())).response == case.trace.output_text


def test_inputs_that_are_no_text_reach_the_function_and_are_shown_as_text():
    trace = FunctionAdapter(lambda inputs: inputs["city"]).invoke({"city": "Oslo"})
    assert (trace.input_text, trace.output_text) == ("{'city': 'Oslo'}", "Oslo")


@pytest.mark.parametrize("function", [agent, agent_later], ids=["sync", "async"])
def test_a_failing_agent_is_a_failed_attempt_with_its_own_error_and_the_trace_so_far(function):
    def fails(text):
        shout(text)
        raise ConnectionError("model gone")

    async def fails_later(text):
        await shout_later(text)
        raise ConnectionError("model gone")

    task = FunctionAdapter(fails if function is agent else fails_later, name="bot")
    retry = Retry(attempts=2, backoff=0, on=ConnectionError)
    report = Dataset(cases=[Case(inputs="a")]).evaluate_sync(task, retry=retry, progress=False)
    failure = report.failures[0]
    assert (failure.error_type, failure.tries) == ("ConnectionError", 2)
    assert failure.trace is not None
    assert [call.arguments for call in failure.trace.tool_calls] == [{"text": "a"}]
    assert failure.trace.metadata == {"error": "ConnectionError: model gone"}
    assert failure.trace.input_text == "a"


def test_an_agent_that_runs_out_of_time_leaves_the_trace_so_far_and_what_it_was_at():
    given_up = threading.Event()

    @tool
    def hang(text):
        given_up.wait(20)

    @tool
    async def hang_later(text):
        await asyncio.Event().wait()

    def hangs(text):
        hang(shout(text))

    async def hangs_later(text):
        await hang_later(shout(text))

    for function in (hangs, hangs_later):
        report = Dataset(cases=[Case(inputs="a")]).evaluate_sync(
            FunctionAdapter(function), task_timeout=0.5, progress=False
        )
        assert report.failures[0].error_type == "AttemptTimeoutError"
        finished, running = report.failures[0].trace.tool_calls
        assert (finished.name, finished.output) == ("shout", "A")
        assert (running.arguments, running.success) == ({"text": "A"}, False)
        assert running.error.startswith("unfinished")
    given_up.set()


def test_a_try_that_was_given_up_does_not_put_its_trace_in_the_place_of_the_next():
    events = {}

    async def agent(text):
        if not events:
            events.update(second_began=asyncio.Event(), first_ended=asyncio.Event())
            try:
                await asyncio.Event().wait()
            finally:  # still cleaning up when the second try is under way
                await events["second_began"].wait()
                asyncio.get_running_loop().call_soon(events["first_ended"].set)
        events["second_began"].set()
        await events["first_ended"].wait()
        return await shout_later("second")

    dataset = Dataset(cases=[Case(inputs="a")], evaluators=[lambda trace: len(trace.tool_calls) == 1])
    report = dataset.evaluate_sync(
        FunctionAdapter(agent), task_timeout=0.5, retry=Retry(backoff=0), progress=False
    )
    assert (report.cases[0].tries, report.cases[0].passed) == (2, True)


def test_what_is_not_a_function_or_has_no_name_is_refused():
    with pytest.raises(TaskContractError, match="an agent is a function"):
        FunctionAdapter("agent")
    with pytest.raises(InvalidTraceError, match="agent_name must be a text that is not empty"):
        FunctionAdapter(agent, name="")
    with pytest.raises(InvalidTraceError, match="tags"):
        FunctionAdapter(agent, tags="nightly")


def test_name_model_and_tags_are_those_given():
    adapter = FunctionAdapter(str.upper, name="bot", model="large", tags=["a"])
    trace = adapter("x")
    assert (trace.agent_name, trace.model, trace.tags) == ("bot", "large", ("a",))
    assert repr(adapter).startswith("FunctionAdapter(<method 'upper'")


class Own:
    name = "own"

    def invoke(self, input_text):
        return Trace(output_text=input_text)


class OwnLater:
    @property
    def name(self):
        return "own"

    async def invoke(self, input_text):
        return Trace(output_text=input_text)


class Nameless:
    def invoke(self, input_text):
        return Trace()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Own(), True),
        (OwnLater(), True),
        (FunctionAdapter(str.upper), True),
        (HttpAdapter("http://localhost"), True),
        (Nameless(), False),
        (str.upper, False),
    ],
    ids=["own", "own async", "function", "http", "nameless", "plain function"],
)
def test_an_adapter_is_known_by_what_it_has(value, expected):
    assert isinstance(value, Adapter) is expected
