"""An agent of the OpenAI Agents SDK is recorded by the hooks of its runs."""

import json

import pytest
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic import BaseModel

from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    Runner,
    Usage,
    function_tool,
)
from calipers import Case, Dataset
from calipers.agents import Adapter, OpenAIAgentsAdapter, ToolCall, tool
from calipers.errors import TaskContractError
from calipers.models import Price as ModelPrice
from calipers.models import set_prices
from calipers.testing import check_agent_adapter


class Price(BaseModel):
    amount: int


class Scripted(Model):
    """Calls the tool that the request names with its last word, and tells what came back, after how many requests."""

    model = "clerk-model"

    async def get_response(self, **options):
        asked = options["input"]
        items = asked if isinstance(asked, list) else [{"role": "user", "content": asked}]
        last = items[-1]
        count = sum(item.get("role") == "user" for item in items)
        if last.get("type") == "function_call_output":
            output = said(f"{last['output']} ({count})")
        elif "broken" in last["content"]:
            raise ConnectionError("no model")
        elif "amount" in last["content"]:
            output = said('{"amount": 3}')
        else:
            name, *_, word = last["content"].split()
            given = {} if name.startswith("transfer") else {"word": word}
            output = ResponseFunctionToolCall(
                type="function_call", call_id=f"call {count}", name=name, arguments=json.dumps(given)
            )
        usage = Usage(requests=1, input_tokens=1_000_000, output_tokens=5, total_tokens=1_000_005)
        return ModelResponse(output=[output], usage=usage, response_id=None)

    def stream_response(self, *args, **options):
        raise NotImplementedError


def said(text):
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id="1", type="message", role="assistant", status="completed", content=[content]
    )


@function_tool
async def find(context: RunContextWrapper, word: str) -> dict:
    if word == "fire":
        raise ConnectionError("the line is dead")
    return {"found": word}


@function_tool(failure_error_function=None)
def strict(word: str) -> str:
    raise ConnectionError("the line is dead")


@function_tool
@tool
def shout(word: str) -> str:
    return word.upper()


AGENT = Agent(name="clerk", model=Scripted(), tools=[find, strict, shout])
OPTIONS = {"run_config": {"tracing_disabled": True}}


@pytest.fixture(autouse=True)
def prices():
    set_prices({"clerk-model": ModelPrice(input=2, output=0)})
    yield
    set_prices({})


def evaluate(agent, *cases, **options):
    adapter = OpenAIAgentsAdapter(agent, **{"options": OPTIONS, **options})
    return Dataset(cases=list(cases)).evaluate_sync(adapter, progress=False)


def test_the_hooks_tell_what_the_agent_did():
    trace = check_agent_adapter(
        OpenAIAgentsAdapter(AGENT, options=OPTIONS),
        request="find gold",
        call=ToolCall("find", {"word": "gold"}, output={"found": "gold"}),
        output="{'found': 'gold'} (1)",
        tokens=(2_000_000, 10),
        failing="find fire",
        raising="broken",
        turns={"find a": "{'found': 'a'} (1)", "find more": "{'found': 'more'} (2)"},
    )
    assert (trace.agent_name, trace.model, trace.total_cost) == ("clerk", "clerk-model", 4)
    assert trace.tool_calls[0].call_id == "call 1"
    assert trace.tool_calls[0].latency_ms is not None


def test_a_tool_that_raised_is_a_failed_call_and_a_marked_one_is_one_call():
    failed, shouted = evaluate(AGENT, Case(inputs="find fire"), Case(inputs="shout gold")).cases
    call = failed.trace.tool_calls[0]
    assert (call.success, call.error, call.output) == (False, "ConnectionError: the line is dead", None)
    assert [(call.name, call.output) for call in shouted.trace.tool_calls] == [("shout", "GOLD")]


def test_an_agent_that_raises_keeps_the_trace_up_to_there():
    tool_failed, model_failed = evaluate(AGENT, Case(inputs="strict fire"), Case(inputs="broken")).failures
    call = tool_failed.trace.tool_calls[0]
    assert (call.name, call.arguments, call.success) == ("strict", {"word": "fire"}, False)
    assert "the line is dead" in call.error
    assert model_failed.trace.llm_calls[0].metadata == {"error": "ConnectionError: no model"}


def test_the_output_may_be_of_any_type():
    agent = AGENT.clone(output_type=Price)
    case = evaluate(agent, Case(inputs="what amount")).cases[0]
    assert case.output == Price(amount=3)
    assert case.trace.output_text == '{"amount":3}'
    asked = evaluate(agent, Case(inputs="what amount"), output=lambda result: result.last_agent.name)
    assert asked.cases[0].output == "clerk"


def test_a_handoff_is_a_call_and_the_next_turn_goes_to_the_agent_that_answered():
    other = Agent(name="billing", model=Scripted(), tools=[shout])
    first = Agent(name="front", model=Scripted(), tools=[find], handoffs=[other])
    case = evaluate(first, Case(turns=["transfer_to_billing please", "shout gold"])).cases[0]
    assert [call.name for call in case.trace.tool_calls] == ["transfer_to_billing", "shout"]
    assert all(call.success and not call.unknown for call in case.trace.tool_calls)


def test_the_hooks_and_the_formatter_of_the_user_are_called_as_well():
    heard = []

    class Hooks(RunHooks):
        async def on_tool_end(self, context, agent, tool, result):
            heard.append(result)

    options = {
        "hooks": Hooks(),
        "run_config": {"tracing_disabled": True, "tool_error_formatter": lambda told: "it broke"},
    }
    call = evaluate(AGENT, Case(inputs="find fire"), options=options).cases[0].trace.tool_calls[0]
    assert heard == ["it broke"]
    assert call.error == "ConnectionError: the line is dead"


def test_calls_go_through_interceptors_and_what_the_agent_saw_is_recorded(intercepted):
    asked = [Case(inputs="find gold"), Case(inputs="shout gold")]
    report, one = intercepted(lambda: evaluate(AGENT, *asked), value="lead")
    assert [case.output for case in report.cases] == ["lead (1)"] * 2
    assert [case.trace.tool_calls[0].output for case in report.cases] == ["lead"] * 2
    assert sorted(one.asked) == [(name, {"word": "gold"}) for name in ("find", "shout")]
    assert {"found": "gold"} in one.seen
    failing, one = intercepted(lambda: evaluate(AGENT, Case(inputs="find fire")))
    assert one.seen == ["ConnectionError"]
    assert failing.cases[0].trace.tool_calls[0].error == "ConnectionError: the line is dead"
    told, _ = intercepted(lambda: evaluate(AGENT, asked[0]), error=TimeoutError("too slow"))
    assert told.cases[0].trace.tool_calls[0].error == "TimeoutError: too slow"
    strict_one, _ = intercepted(lambda: evaluate(AGENT, Case(inputs="strict a")), error=TimeoutError("slow"))
    assert "slow" in strict_one.failures[0].error_message
    assert evaluate(AGENT, asked[1]).cases[0].output == "GOLD (1)"


def test_the_tools_behind_a_handoff_are_intercepted_too(intercepted):
    agent = Agent(name="front", model=Scripted(), handoffs=[AGENT])
    talk = Case(turns=["transfer_to_clerk now", "find gold"])
    _, one = intercepted(lambda: evaluate(agent, talk))
    assert one.asked == [("find", {"word": "gold"})]
    assert agent.handoffs == [AGENT]


def test_an_agent_as_a_tool_is_one_call_for_interceptors_as_it_is_in_the_trace(intercepted):
    @function_tool
    async def ask(word: str) -> str:
        found = await Runner.run(AGENT, f"find {word}", run_config=RunConfig(tracing_disabled=True))
        return found.final_output

    boss = Agent(name="boss", model=Scripted(), tools=[ask])
    report, one = intercepted(lambda: evaluate(boss, Case(inputs="ask gold")))
    assert one.asked == [("ask", {"word": "gold"})]
    assert [call.name for call in report.cases[0].trace.tool_calls] == ["ask"]


def test_it_is_an_adapter_and_other_objects_are_refused():
    adapter = OpenAIAgentsAdapter(AGENT, options=OPTIONS)
    assert isinstance(adapter, Adapter)
    with pytest.raises(TaskContractError, match="expected an Agent of the OpenAI Agents SDK, got function"):
        OpenAIAgentsAdapter(evaluate)
