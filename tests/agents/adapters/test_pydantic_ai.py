"""An agent of pydantic-ai is recorded by the messages of its runs."""

import asyncio

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

from calipers import Case, Dataset
from calipers.agents import Adapter, PydanticAIAdapter, ToolCall, TraceRecorder, TurnType, tool
from calipers.errors import TaskContractError
from calipers.models import Price, set_prices
from calipers.testing import check_agent_adapter


class Secret:
    api_key = "sk-live-1234567890"


def model(messages, info):
    """Looks up the last word of the request, and tells what came back, after how many requests."""
    asked = [
        part.content for message in messages for part in message.parts if isinstance(part, UserPromptPart)
    ]
    last = messages[-1].parts[-1]
    if last.part_kind == "user-prompt":
        return ModelResponse(
            parts=[ToolCallPart("look_up", {"word": last.content.split()[-1]})],
            usage=RequestUsage(input_tokens=1_000_000, output_tokens=0),
        )
    return ModelResponse(parts=[TextPart(f"{last.content} ({len(asked)})")])


def make(**options):
    agent = Agent(
        FunctionModel(model, model_name="clerk-model"), deps_type=Secret, name="clerk", retries=3, **options
    )

    @agent.tool
    async def look_up(ctx: RunContext[Secret], word: str) -> str:
        await asyncio.sleep(0)
        if word == "nothing":
            raise ModelRetry("no such word")
        if word == "fire":
            raise ConnectionError("the line is dead")
        return f"{word} found"

    return agent


AGENT = make()


@pytest.fixture(autouse=True)
def prices():
    set_prices({"clerk-model": Price(input=2.5, output=0)})
    yield
    set_prices({})


def evaluate(adapter, *cases, **options):
    return Dataset(cases=list(cases)).evaluate_sync(adapter, progress=False, **options)


def test_the_messages_of_a_run_tell_what_the_agent_did():
    trace = check_agent_adapter(
        PydanticAIAdapter(AGENT, options={"deps": Secret()}),
        request="find gold",
        call=ToolCall("look_up", {"word": "gold"}, output="gold found"),
        output="gold found (1)",
        failing="find nothing",
        raising="find fire",
        turns={"find a": "a found (1)", "find more": "more found (2)"},
    )
    assert trace.agent_name == "clerk"
    assert trace.total_input_tokens >= 1_000_000
    assert trace.llm_calls[0].cost == 2.5


def test_a_refused_call_is_a_failed_call():
    trace = evaluate(PydanticAIAdapter(AGENT), Case(inputs="find nothing")).cases[0].trace
    call = trace.tool_calls[0]
    assert not call.success
    assert "no such word" in call.error


def test_an_agent_that_raises_keeps_the_trace_up_to_there():
    failure = evaluate(PydanticAIAdapter(AGENT), Case(inputs="find fire")).failures[0]
    assert "the line is dead" in failure.error_message
    call = failure.trace.tool_calls[0]
    assert (call.name, call.arguments, call.unknown) == ("look_up", {"word": "fire"}, ())
    assert (call.success, call.error) == (False, "ConnectionError: the line is dead")
    assert failure.trace.input_text == "find fire"
    assert failure.metrics["cost"] == 2.5


def test_every_step_has_its_time():
    (case,) = evaluate(PydanticAIAdapter(AGENT), Case(inputs="find gold")).cases
    began = [turn.timestamp for turn in case.trace.turns]
    assert None not in began
    assert began == sorted(began)
    assert all(call.latency_ms is not None for call in (*case.trace.llm_calls, *case.trace.tool_calls))


def test_the_output_may_be_of_any_type_and_its_tool_is_no_call():
    class Price(BaseModel):
        amount: int

    agent = Agent(TestModel(), output_type=Price)
    report = evaluate(PydanticAIAdapter(agent), Case(inputs="how much?"))
    assert report.cases[0].output == Price(amount=0)
    trace = report.cases[0].trace
    assert trace.tool_calls == ()
    assert trace.records_calls
    assert trace.output_text == '{"amount":0}'
    assert trace.turns[-1].turn_type is TurnType.AGENT_MESSAGE
    chosen = PydanticAIAdapter(agent, output=lambda result: result.output.amount + 1)
    assert evaluate(chosen, Case(inputs="how much?")).cases[0].output == 1


def test_what_the_framework_gives_a_tool_is_no_argument():
    trace = asyncio.run(PydanticAIAdapter(AGENT, options={"deps": Secret()}).invoke("find gold"))
    assert trace.tool_calls[0].arguments == {"word": "gold"}
    assert "sk-live" not in str(trace.to_dict())


def test_a_tool_that_is_marked_as_well_is_one_call_and_what_it_calls_stands_after_it():
    @tool
    def inner(word: str) -> int:
        return len(word)

    agent = Agent(TestModel())

    @agent.tool_plain
    @tool
    def outer(word: str) -> int:
        return inner(word)

    @agent.tool_plain
    def silent(word: str) -> int:
        return 1

    with TraceRecorder("around") as around:
        trace = asyncio.run(PydanticAIAdapter(agent).invoke("go"))
    names = [call.name for call in trace.tool_calls]
    assert sorted(names) == ["inner", "outer", "silent"]  # two of them run side by side
    assert names.index("outer") < names.index("inner")
    assert trace.tool_calls[0].output == 1
    assert trace.tool_calls[0].latency_ms is not None
    assert trace.tool_calls[0].call_id
    assert sorted(call.name for call in around.trace.tool_calls) == ["inner", "outer", "silent"]
    assert len(around.trace.llm_calls) == 2


def test_calls_go_through_interceptors_and_what_the_agent_saw_is_recorded(intercepted):
    adapter, case = PydanticAIAdapter(AGENT), Case(inputs="find gold")
    report, one = intercepted(lambda: evaluate(adapter, case), value="lead found")
    assert report.cases[0].output == "lead found (1)"
    assert report.cases[0].trace.tool_calls[0].output == "lead found"
    assert (one.asked, one.seen) == ([("look_up", {"word": "gold"})], ["gold found"])
    told, _ = intercepted(lambda: evaluate(adapter, case), error=ModelRetry("not now"))
    assert "not now" in told.cases[0].trace.tool_calls[0].error
    broken, _ = intercepted(lambda: evaluate(adapter, case), error=TimeoutError("too slow"))
    assert "too slow" in broken.failures[0].error_message
    assert evaluate(adapter, case).cases[0].output == "gold found (1)"


def test_a_marked_tool_of_an_agent_is_intercepted_once_and_its_answer_never(intercepted):
    class Price(BaseModel):
        amount: int

    agent = Agent(TestModel(), output_type=Price)
    agent.tool_plain(tool(quote))
    report, one = intercepted(lambda: evaluate(PydanticAIAdapter(agent), Case(inputs="go")), value=3)
    assert [name for name, _ in one.asked] == ["quote"]
    assert [call.output for call in report.cases[0].trace.tool_calls] == [3]


def test_interceptors_see_the_arguments_that_the_model_chose_as_the_trace_has_them(intercepted):
    agent = make()

    @agent.tool_plain
    def count(word: str, *, times: int = 3) -> str:
        return word * times

    asked = [ToolCallPart("count", {"word": "a"}), ToolCallPart("count", '{"word": "b", "times": "2"}')]
    first = FunctionModel(
        lambda messages, info: ModelResponse(parts=asked if len(messages) == 1 else [TextPart("done")])
    )
    report, one = intercepted(
        lambda: evaluate(
            PydanticAIAdapter(agent, options={"deps": Secret(), "model": first}), Case(inputs="x")
        )
    )
    calls = [(call.name, call.arguments) for call in report.cases[0].trace.tool_calls]
    assert calls == one.asked == [("count", {"word": "a"}), ("count", {"word": "b", "times": "2"})]


@pytest.mark.parametrize("is_marked", [False, True])
def test_an_agent_that_a_tool_asks_is_one_call_and_its_marked_tools_are_calls_of_their_own(
    intercepted, is_marked
):
    def look_up(word: str) -> str:
        return f"{word} found"

    async def ask(word: str) -> str:
        """Ask the other agent."""
        return (await inner.run(f"look up {word}")).output

    inner = Agent(FunctionModel(model), tools=[tool(look_up) if is_marked else look_up])
    asks = FunctionModel(
        lambda messages, info: ModelResponse(
            parts=[ToolCallPart("ask", {"word": "a"}) if len(messages) == 1 else TextPart("done")]
        )
    )
    outer = Agent(asks, tools=[ask])
    report, one = intercepted(lambda: evaluate(PydanticAIAdapter(outer), Case(inputs="x")))
    trace = report.cases[0].trace
    names = ["ask", *(["look_up"] if is_marked else [])]
    assert [call.name for call in trace.tool_calls] == names
    assert sorted(name for name, _ in one.asked) == names
    assert len(trace.llm_calls) == 2


def quote(word: str) -> int:
    return len(word)


def test_it_is_an_adapter_and_other_objects_are_refused():
    adapter = PydanticAIAdapter(AGENT, name="librarian", tags=["nightly"])
    assert isinstance(adapter, Adapter)
    assert repr(adapter) == "PydanticAIAdapter('librarian')"
    with pytest.raises(TaskContractError, match="expected an Agent of pydantic-ai, got str"):
        PydanticAIAdapter("agent")
