"""An agent of LangChain, or a graph of LangGraph, is recorded by LangChain's callbacks."""

import asyncio
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain.tools import ToolRuntime
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import ToolException
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from pydantic import BaseModel

from calipers import Case, Dataset
from calipers.agents import Adapter, LangChainAdapter, ToolCall, tool
from calipers.errors import TaskContractError
from calipers.models import Price as ModelPrice
from calipers.models import set_prices
from calipers.testing import check_agent_adapter


class Price(BaseModel):
    amount: int


class Model(BaseChatModel):
    """Calls the tool that the request names with its last word, and tells what came back, after how many requests."""

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, *args, **options):
        last = messages[-1]
        count = sum(message.type == "human" for message in messages)
        told: dict[str, Any] = {
            "usage_metadata": {"input_tokens": 1_000_000, "output_tokens": 5, "total_tokens": 1_000_005},
            "response_metadata": {"model_name": "clerk-model"},
        }
        if last.type == "tool":
            answer = AIMessage(f"{last.content} ({count})", **told)
        else:
            if "broken" in last.content:
                raise ConnectionError("no model")
            name, *_, word = last.content.split()
            given = {"amount": 3} if name == "Price" else {"word": word}
            answer = AIMessage("", tool_calls=[{"name": name, "args": given, "id": f"call {count}"}], **told)
        return ChatResult(generations=[ChatGeneration(message=answer)])


@langchain_tool
def find(word: str, runtime: ToolRuntime) -> Any:
    """Find a word."""
    if word == "fire":
        raise ConnectionError("the line is dead")
    return {"found": word}


@langchain_tool
async def note(word: str, runtime: ToolRuntime) -> Command:
    """Note a word."""
    await asyncio.sleep(0)
    return Command(update={"messages": [ToolMessage(f"noted {word}", tool_call_id=runtime.tool_call_id)]})


@langchain_tool
@tool
def shout(word: str) -> str:
    """Shout a word."""
    return word.upper()


AGENT = create_agent(Model(), [find, note, shout], name="clerk")


@pytest.fixture(autouse=True)
def prices():
    set_prices({"clerk-model": ModelPrice(input=2, output=0)})
    yield
    set_prices({})


def evaluate(agent, *cases, **options):
    return Dataset(cases=list(cases)).evaluate_sync(LangChainAdapter(agent, **options), progress=False)


@pytest.mark.parametrize("checkpointer", [None, InMemorySaver()])
def test_the_callbacks_tell_what_the_agent_did(checkpointer):
    agent = create_agent(Model(), [find, note, shout], name="clerk", checkpointer=checkpointer)
    trace = check_agent_adapter(
        LangChainAdapter(agent),
        request="find gold",
        call=ToolCall("find", {"word": "gold"}, output={"found": "gold"}),
        output='{"found": "gold"} (1)',
        tokens=(2_000_000, 10),
        failing="find fire",
        raising="broken",
        turns={"find a": '{"found": "a"} (1)', "find more": '{"found": "more"} (2)'},
    )
    assert (trace.agent_name, trace.model, trace.total_cost) == ("clerk", "clerk-model", 4)
    assert trace.tool_calls[0].call_id == "call 1"
    assert trace.tool_calls[0].latency_ms is not None


def test_a_tool_may_answer_by_a_command_and_a_marked_one_is_one_call():
    noted, shouted = evaluate(AGENT, Case(inputs="note gold"), Case(inputs="shout gold")).cases
    assert [(call.name, call.output) for call in noted.trace.tool_calls] == [("note", "noted gold")]
    assert [(call.name, call.output) for call in shouted.trace.tool_calls] == [("shout", "GOLD")]


def test_a_tool_that_does_not_exist_is_a_failed_call():
    trace = evaluate(AGENT, Case(inputs="guess gold")).cases[0].trace
    call = trace.tool_calls[0]
    assert (call.name, call.arguments, call.success) == ("guess", {"word": "gold"}, False)
    assert "not a valid tool" in call.error


def test_an_agent_that_raises_keeps_the_trace_up_to_there():
    tool_failed, model_failed = evaluate(AGENT, Case(inputs="find fire"), Case(inputs="broken")).failures
    call = tool_failed.trace.tool_calls[0]
    assert (call.name, call.arguments, call.error) == (
        "find",
        {"word": "fire"},
        "ConnectionError: the line is dead",
    )
    assert model_failed.trace.llm_calls[0].metadata == {"error": "ConnectionError: no model"}


def test_a_structured_response_is_the_output_and_no_call():
    agent = create_agent(Model(), [find], response_format=ToolStrategy(Price))
    case = evaluate(agent, Case(inputs="Price please")).cases[0]
    assert case.output == Price(amount=3)
    assert case.trace.tool_calls == ()
    assert case.trace.output_text == '{"amount":3}'


def test_any_graph_and_any_runnable_is_an_agent():
    class State(TypedDict):
        word: str
        answer: str

    graph = StateGraph(State)
    graph.add_node("look", lambda state: {"answer": shout.invoke({"word": state["word"]})})
    graph.add_edge(START, "look")
    graph.add_edge("look", END)
    case = evaluate(graph.compile(), Case(inputs={"word": "a"}), output=lambda state: state["answer"]).cases[
        0
    ]
    assert case.output == "A"
    assert [(call.name, call.arguments, call.output) for call in case.trace.tool_calls] == [
        ("shout", {"word": "a"}, "A")
    ]
    assert evaluate(RunnableLambda(len), Case(inputs="four")).cases[0].output == 4
    asked = evaluate(Model(), Case(inputs="find gold")).cases[0]
    assert asked.trace.tool_calls[0].unknown == ("output", "success")  # no one ran it


def test_calls_go_through_interceptors_and_what_the_agent_saw_is_recorded(intercepted):
    asked = [Case(inputs="find gold"), Case(inputs="shout gold"), Case(inputs="note gold")]
    report, one = intercepted(lambda: evaluate(AGENT, *asked), value="lead")
    assert [case.output for case in report.cases] == ["lead (1)"] * 3
    assert [case.trace.tool_calls[0].output for case in report.cases] == ["lead"] * 3
    assert sorted(one.asked) == [(name, {"word": "gold"}) for name in ("find", "note", "shout")]
    assert {"found": "gold"} in one.seen
    broken, _ = intercepted(lambda: evaluate(AGENT, asked[0]), error=TimeoutError("too slow"))
    assert broken.failures[0].trace.tool_calls[0].error == "TimeoutError: too slow"
    assert evaluate(AGENT, asked[1]).cases[0].output == "GOLD (1)"


def test_interceptors_see_the_arguments_that_the_model_chose_as_the_trace_has_them(intercepted):
    class Size(BaseModel):
        width: int
        depth: int = 5

    @langchain_tool
    def look(word: str, runtime: ToolRuntime, times: int = 3, size: Size | None = None) -> str:
        """Look a word up."""
        return f"{word} {times} {size}"

    class Picky(Model):
        def _generate(self, messages, *args, **options):
            if messages[-1].type == "tool":
                answer = AIMessage(" and ".join(each.content for each in messages if each.type == "tool"))
            else:
                given = {"word": "a"}, {"word": "b", "times": "2", "size": {"width": "1"}}
                calls = [{"name": "look", "args": each, "id": each["word"]} for each in given]
                answer = AIMessage("", tool_calls=calls)
            return ChatResult(generations=[ChatGeneration(message=answer)])

    report, one = intercepted(lambda: evaluate(create_agent(Picky(), [look]), Case(inputs="go")))
    assert report.cases[0].output == "a 3 None and b 2 width=1 depth=5"
    calls = [(call.name, call.arguments) for call in report.cases[0].trace.tool_calls]
    assert sorted(calls, key=str) == sorted(one.asked, key=str)
    assert ("look", {"word": "b", "times": "2", "size": {"width": "1"}}) in one.asked


def test_an_artifact_beside_the_content_stays_and_handled_errors_are_told(intercepted):
    @langchain_tool(response_format="content_and_artifact")
    def find(word: str) -> Any:
        """Find a word."""
        return f"{word} found", [word]

    find.handle_tool_error = True
    agent = create_agent(Model(), [find])
    case, options = Case(inputs="find gold"), {"output": lambda state: state["messages"][-2]}
    report, one = intercepted(lambda: evaluate(agent, case, **options), value="lead")
    assert one.seen == ["gold found"]
    assert (report.cases[0].output.content, report.cases[0].output.artifact) == ("lead", ["gold"])
    told, _ = intercepted(lambda: evaluate(agent, case), error=ToolException("not now"))
    assert told.cases[0].output == "not now (1)"


def test_it_is_an_adapter_and_other_objects_are_refused():
    adapter = LangChainAdapter(AGENT)
    assert isinstance(adapter, Adapter)
    with pytest.raises(TaskContractError, match="expected a Runnable of LangChain"):
        LangChainAdapter(len)
