"""An agent of Agno is recorded by the messages of its runs."""

import json

import pytest

from calipers import Case, Dataset
from calipers.agents import Adapter, AgnoAdapter, ToolCall
from calipers.errors import TaskContractError
from calipers.testing import check_agent_adapter

agno_agent = pytest.importorskip("agno.agent", reason="agno is not installed: it takes 60 MB")
from agno.metrics import MessageMetrics  # noqa: E402
from agno.models.base import Model  # noqa: E402
from agno.models.response import ModelResponse  # noqa: E402
from agno.run import RunContext  # noqa: E402


class Scripted(Model):
    """Calls the tool that the request names with its last word, and tells what came back, after how many requests."""

    def invoke(self, messages, **options):
        last = messages[-1]
        count = sum(message.role == "user" for message in messages)
        used = MessageMetrics(input_tokens=7, output_tokens=3)
        if last.role == "tool":
            return ModelResponse(role="assistant", content=f"{last.content} ({count})", response_usage=used)
        if "broken" in last.content:
            raise ConnectionError("no model")
        name, *_, word = last.content.split()
        function = {"name": name, "arguments": json.dumps({"word": word})}
        call = {"id": f"call {count}", "type": "function", "function": function}
        return ModelResponse(role="assistant", tool_calls=[call], response_usage=used)

    async def ainvoke(self, messages, **options):
        return self.invoke(messages)

    def invoke_stream(self, *args, **options):
        raise NotImplementedError

    def ainvoke_stream(self, *args, **options):
        raise NotImplementedError

    def _parse_provider_response(self, response, **options):
        raise NotImplementedError

    def _parse_provider_response_delta(self, response):
        raise NotImplementedError


def find(run_context: RunContext, word: str) -> dict:
    """Find a word."""
    if word == "fire":
        raise ConnectionError("the line is dead")
    return {"found": word}


AGENT = agno_agent.Agent(name="clerk", model=Scripted(id="clerk-model"), tools=[find], telemetry=False)


def evaluate(agent, *cases, **options):
    return Dataset(cases=list(cases)).evaluate_sync(AgnoAdapter(agent, **options), progress=False)


def test_the_messages_of_a_run_tell_what_the_agent_did():
    trace = check_agent_adapter(
        AgnoAdapter(AGENT),
        request="find gold",
        call=ToolCall("find", {"word": "gold"}, output={"found": "gold"}),
        output="{'found': 'gold'} (1)",
        tokens=(14, 6),
        failing="find fire",
        raising="broken",
        turns={"find a": "{'found': 'a'} (1)", "find more": "{'found': 'more'} (2)"},
    )
    assert (trace.agent_name, trace.model) == ("clerk", "clerk-model")


def test_a_tool_that_raised_or_does_not_exist_is_a_failed_call():
    failed, strange = evaluate(AGENT, Case(inputs="find fire"), Case(inputs="guess gold")).cases
    assert failed.trace.tool_calls[0].error == "the line is dead"
    call = strange.trace.tool_calls[0]
    assert (call.name, call.arguments, call.success) == ("guess", {"word": "gold"}, False)


def test_a_run_that_ended_in_an_error_fails_and_keeps_its_trace():
    failure = evaluate(AGENT, Case(inputs="broken")).failures[0]
    assert failure.error_message == "AgentError: the agent 'clerk' ended in an error: no model"
    assert failure.trace.input_text == "broken"


def test_calls_go_through_interceptors_and_what_the_agent_saw_is_recorded(intercepted):
    asked = [Case(inputs="find gold"), Case(inputs="find iron")]
    report, one = intercepted(lambda: evaluate(AGENT, *asked), value={"found": "lead"})
    assert [case.output for case in report.cases] == ["{'found': 'lead'} (1)"] * 2
    assert [case.trace.tool_calls[0].output for case in report.cases] == [{"found": "lead"}] * 2
    assert sorted(one.asked, key=str) == [("find", {"word": word}) for word in ("gold", "iron")]
    assert {"found": "gold"} in one.seen
    broken, _ = intercepted(lambda: evaluate(AGENT, asked[0]), error=TimeoutError("too slow"))
    call = broken.cases[0].trace.tool_calls[0]
    assert not call.success
    assert "too slow" in call.error
    assert evaluate(AGENT, asked[0]).cases[0].trace.tool_calls[0].output == {"found": "gold"}


def test_it_is_an_adapter_and_other_objects_are_refused():
    adapter = AgnoAdapter(AGENT)
    assert isinstance(adapter, Adapter)
    with pytest.raises(TaskContractError, match="expected an Agent or a Team of Agno"):
        AgnoAdapter("agent")
