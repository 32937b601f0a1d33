"""An agent or a crew of CrewAI is recorded where it asks its models and calls its tools."""

import json
import os

import pytest
from pydantic import BaseModel

from calipers import Case, Dataset
from calipers.agents import Adapter, CrewAIAdapter, ToolCall
from calipers.errors import TaskContractError
from calipers.testing import check_agent_adapter

# CrewAI sends what is done with it to its makers unless it is told not to, before it is imported.
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"}
crewai = pytest.importorskip("crewai", reason="crewai is not installed: it takes 1 GB")
from crewai.tools import tool  # noqa: E402


class Price(BaseModel):
    amount: int


class Scripted(crewai.BaseLLM):
    """Calls the tool that the request names with its last word, and tells what came back, after how many requests."""

    def supports_function_calling(self):
        return True

    def call(self, messages, tools=None, callbacks=None, available_functions=None, **options):
        self._track_token_usage_internal({"prompt_tokens": 7, "completion_tokens": 3})
        last = messages[-1]
        count = sum(message["role"] == "user" for message in messages)
        if last["role"] == "tool":
            return f"{last['content']} ({count})"
        asked = last["content"].replace("\n", " ").partition("Task:")[2].strip() or last["content"]
        words = asked.split()
        if "broken" in words:
            raise ConnectionError("no model")
        if "Price" in words:
            return Price(amount=3)
        word = words[words.index(next(each for each in words if each in {"find", "guess"})) + 1]
        name = next(each for each in words if each in {"find", "guess"})
        function = {"name": name, "arguments": json.dumps({"word": word})}
        return [{"id": f"call {count}", "type": "function", "function": function}]


@tool("find")
def find(word: str, limit: int = 3) -> dict:
    """Find a word."""
    if word == "fire":
        raise ConnectionError("the line is dead")
    return {"found": word}


pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # CrewAI reads fields of its own that it has deprecated


@pytest.fixture
def clerk():
    model = Scripted(model="clerk-model")
    return crewai.Agent(role="clerk", goal="find words", backstory="A clerk.", llm=model, tools=[find])


def evaluate(agent, *cases, **options):
    return Dataset(cases=list(cases)).evaluate_sync(CrewAIAdapter(agent, **options), progress=False)


def crew_of(agent, **options):
    task = crewai.Task(description="{input}", expected_output="a word", agent=agent, tools=[find])
    return crewai.Crew(name="office", agents=[agent], tasks=[task], **options)


def test_a_run_tells_what_the_agent_did(clerk):
    trace = check_agent_adapter(
        CrewAIAdapter(clerk),
        request="find gold",
        call=ToolCall("find", {"word": "gold"}, output={"found": "gold"}),
        output="{'found': 'gold'} (1)",
        tokens=(14, 6),
        failing="find fire",
        raising="broken",
        turns={"find a": "{'found': 'a'} (1)", "find more": "{'found': 'more'} (2)"},
    )
    assert (trace.agent_name, trace.model) == ("clerk", "clerk-model")
    assert trace.tool_calls[0].call_id == "call 1"
    assert (clerk.tools, clerk.llm.get_token_usage_summary().prompt_tokens) == ([find], 0)


def test_a_tool_that_raised_or_does_not_exist_is_a_failed_call(clerk):
    failed, strange = evaluate(clerk, Case(inputs="find fire"), Case(inputs="guess gold")).cases
    assert failed.trace.tool_calls[0].error == "ConnectionError: the line is dead"
    call = strange.trace.tool_calls[0]
    assert (call.name, call.arguments, call.success) == ("guess", {"word": "gold"}, False)


def test_a_structured_output_is_the_output(clerk):
    case = evaluate(clerk, Case(inputs="Price please"), options={"response_format": Price}).cases[0]
    assert case.output == Price(amount=3)
    assert case.trace.output_text == '{"amount":3}'


def test_a_crew_is_run_with_the_text_as_its_input(clerk):
    report = evaluate(crew_of(clerk), Case(inputs="find gold"), Case(inputs={"input": "find silver"}))
    assert not report.failures
    assert [case.trace.tool_calls[0].arguments for case in report.cases] == [
        {"word": "gold"},
        {"word": "silver"},
    ]
    assert report.cases[0].trace.agent_name == "office"


def test_calls_go_through_interceptors_and_what_the_agent_saw_is_recorded(clerk, intercepted):
    asked = [Case(inputs="find gold"), Case(inputs="find iron")]
    report, one = intercepted(lambda: evaluate(clerk, *asked), value="lead")
    assert [case.output for case in report.cases] == ["lead (1)"] * 2
    assert [case.trace.tool_calls[0].output for case in report.cases] == ["lead"] * 2
    assert sorted(one.asked, key=str) == [("find", {"word": word}) for word in ("gold", "iron")]
    assert {"found": "gold"} in one.seen
    broken, _ = intercepted(lambda: evaluate(clerk, asked[0]), error=TimeoutError("too slow"))
    assert broken.cases[0].trace.tool_calls[0].error == "TimeoutError: too slow"


def test_it_is_an_adapter_and_other_objects_are_refused(clerk):
    adapter = CrewAIAdapter(clerk)
    assert isinstance(adapter, Adapter)
    with pytest.raises(TaskContractError, match="expected an Agent or a Crew of CrewAI"):
        CrewAIAdapter("agent")
