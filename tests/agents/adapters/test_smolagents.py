"""An agent of smolagents is recorded where it asks its model and calls its tools."""

import json

import pytest
from smolagents import ChatMessage, CodeAgent, Model, ToolCallingAgent, tool
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction
from smolagents.monitoring import TokenUsage

from calipers import Case, Dataset
from calipers.agents import Adapter, SmolagentsAdapter, ToolCall
from calipers.errors import TaskContractError
from calipers.models import Price, set_prices
from calipers.testing import check_agent_adapter


class Scripted(Model):
    """Calls the tool that the last request names with its last word, then answers with what came back."""

    def __init__(self, *, writes_code):
        super().__init__(model_id="clerk-model")
        self.writes_code = writes_code

    def generate(self, messages, *args, **options):
        texts = [part["text"] for message in messages for part in message.content or () if "text" in part]
        tasks = [text for text in texts if text.startswith("New task:")]
        name, *_, word = tasks[-1].split("\n")[-1].split()
        if name == "broken":
            raise ConnectionError("no model")
        usage = TokenUsage(input_tokens=1_000_000, output_tokens=5)
        if self.writes_code:
            code = f"<code>\nfinal_answer([{name}('{word}'), {len(tasks)}])\n</code>"
            return ChatMessage(role="assistant", content=code, token_usage=usage)
        observed = texts[-1] if texts[-1].startswith(("Observation", "Error")) else None
        wanted, given = (name, {"word": word}) if observed is None else ("final_answer", {"answer": observed})
        call = ChatMessageToolCall(
            function=ChatMessageToolCallFunction(name=wanted, arguments=json.dumps(given)),
            id="call 1",
            type="function",
        )
        return ChatMessage(role="assistant", content="", tool_calls=[call], token_usage=usage)


@tool
def find(word: str) -> str:
    """Find a word.

    Args:
        word: Which.
    """
    if word == "fire":
        raise ConnectionError("the line is dead")
    return f"{word} found"


def code_agent():
    return CodeAgent(tools=[find], model=Scripted(writes_code=True), verbosity_level=-1, max_steps=1)


def calling_agent():
    return ToolCallingAgent(tools=[find], model=Scripted(writes_code=False), verbosity_level=-1, max_steps=2)


@pytest.fixture(autouse=True)
def prices():
    set_prices({"clerk-model": Price(input=2, output=0)})
    yield
    set_prices({})


def evaluate(agent, *cases, **options):
    return Dataset(cases=list(cases)).evaluate_sync(SmolagentsAdapter(agent, **options), progress=False)


@pytest.mark.parametrize("agent", [code_agent, code_agent()], ids=["function", "agent"])
def test_the_tools_that_the_code_of_an_agent_calls_are_recorded(agent):
    own = None if agent is code_agent else (agent.model, dict(agent.tools))
    trace = check_agent_adapter(
        SmolagentsAdapter(agent),
        request="find gold",
        call=ToolCall("find", {"word": "gold"}, output="gold found"),
        output=["gold found", 1],
        tokens=(1_000_000, 5),
        raising="broken gold",
        turns={"find a": '["a found",1]', "find more": '["more found",2]'},
    )
    assert trace.output_text == '["gold found",1]'
    assert trace.tool_calls[0].latency_ms is not None
    assert (trace.model, trace.total_cost) == ("clerk-model", 2)
    assert own is None or (agent.model, dict(agent.tools)) == own  # it has its own again


def test_an_agent_that_calls_tools_is_recorded_and_its_answer_is_no_call():
    found, failed, strange = evaluate(
        calling_agent, Case(inputs="find gold"), Case(inputs="find fire"), Case(inputs="guess gold")
    ).cases
    assert "gold found" in found.output
    assert [(call.name, call.output, call.call_id) for call in found.trace.tool_calls] == [
        ("find", "gold found", "call 1")
    ]
    assert failed.trace.tool_calls[0].error == "ConnectionError: the line is dead"
    call = strange.trace.tool_calls[0]
    assert (call.name, call.arguments, call.success) == ("guess", {"word": "gold"}, False)
    assert len(strange.trace.tool_calls) == 1


def test_a_model_that_fails_leaves_the_trace_up_to_there():
    failure = evaluate(code_agent, Case(inputs="broken gold")).failures[0]
    assert "no model" in failure.error_message
    assert failure.trace.llm_calls[0].metadata == {"error": "ConnectionError: no model"}


def test_a_managed_agent_is_called_like_a_tool():
    helper = calling_agent()
    helper.name, helper.description = "helper", "Helps."
    manager = CodeAgent(
        tools=[],
        model=Scripted(writes_code=True),
        managed_agents=[helper],
        verbosity_level=-1,
        max_steps=1,
    )
    trace = evaluate(manager, Case(inputs="helper gold")).cases[0].trace
    assert [(call.name, call.arguments) for call in trace.tool_calls] == [("helper", {"task": "gold"})]


@pytest.mark.parametrize("make", [code_agent, calling_agent])
def test_calls_go_through_interceptors_and_what_the_agent_saw_is_recorded(intercepted, make):
    report, one = intercepted(lambda: evaluate(make(), Case(inputs="find gold")), value="lead")
    assert "lead" in str(report.cases[0].output)
    assert report.cases[0].trace.tool_calls[0].output == "lead"
    assert (one.asked, one.seen) == ([("find", {"word": "gold"})], ["gold found"])
    broken, _ = intercepted(
        lambda: evaluate(make(), Case(inputs="find gold")), error=TimeoutError("too slow")
    )
    [attempt] = [*broken.cases, *broken.failures]
    assert "too slow" in attempt.trace.tool_calls[0].error


def test_it_is_an_adapter_and_other_objects_are_refused():
    adapter = SmolagentsAdapter(code_agent)
    assert isinstance(adapter, Adapter)
    assert adapter.name == "code_agent"
    with pytest.raises(TaskContractError, match="expected an agent of smolagents, or a function"):
        SmolagentsAdapter("agent")
    assert "expected an agent of smolagents" in evaluate(list, Case(inputs="a")).failures[0].error_message
