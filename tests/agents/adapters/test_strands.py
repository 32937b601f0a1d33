"""An agent of Strands is recorded by the messages that it streams."""

import asyncio
import json

import pytest
from pydantic import BaseModel

from calipers import Case, Dataset
from calipers.agents import Adapter, StrandsAdapter, ToolCall
from calipers.errors import TaskContractError
from calipers.testing import check_agent_adapter

strands = pytest.importorskip("strands", reason="strands-agents is not installed: it takes 110 MB")
from strands.models import Model  # noqa: E402

SECRET = "sk-live-1234567890"


class Price(BaseModel):
    amount: int


class Scripted(Model):
    """Calls the tool that the request names with its last word, and tells what came back, after how many requests."""

    def update_config(self, **options):
        raise NotImplementedError

    def get_config(self):
        return {"model_id": "clerk-model"}

    def structured_output(self, *args, **options):
        raise NotImplementedError

    async def stream(self, messages, *args, **options):
        last = messages[-1]["content"][0]
        count = sum("text" in message["content"][0] for message in messages if message["role"] == "user")
        yield {"messageStart": {"role": "assistant"}}
        if "toolResult" in last:
            told = last["toolResult"]["content"][0]
            text = f"{told.get('text') or json.dumps(told['json'])} ({count})"
            yield {"contentBlockDelta": {"delta": {"text": text}}}
        elif "broken" in last["text"]:
            raise ConnectionError("no model")
        else:
            name, *_, word = last["text"].split()
            yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": f"call {count}"}}}}
            given = {"amount": 3} if name == "Price" else {"word": word}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(given)}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if "toolResult" in last else "tool_use"}}
        used = {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}
        yield {"metadata": {"usage": used, "metrics": {"latencyMs": 1}}}


@strands.tool(context=True)
def find(word: str, tool_context: strands.ToolContext) -> str:
    """Find a word.

    Args:
        word: Which.
    """
    if word == "fire":
        raise ConnectionError("the line is dead")
    return f"{word} found"


def clerk(**options):
    return strands.Agent(name="clerk", model=Scripted(), tools=[find], callback_handler=None, **options)


def evaluate(agent, *cases, **options):
    return Dataset(cases=list(cases)).evaluate_sync(StrandsAdapter(agent, **options), progress=False)


@pytest.mark.parametrize("agent", [clerk, None], ids=["function", "agent"])
def test_the_messages_of_a_run_tell_what_the_agent_did(agent):
    trace = check_agent_adapter(
        StrandsAdapter(agent or clerk(), options={"invocation_state": {"key": "a secret"}}),
        request="find gold",
        call=ToolCall("find", {"word": "gold"}, output="gold found"),
        output="gold found (1)",
        tokens=(14, 6),
        failing="find fire",
        raising="broken",
        turns={"find a": "a found (1)", "find more": "more found (2)"},
    )
    assert (trace.agent_name, trace.model) == ("clerk", "clerk-model")
    assert trace.tool_calls[0].call_id == "call 1"


def test_a_tool_that_raised_or_does_not_exist_is_a_failed_call():
    failed, strange = evaluate(clerk, Case(inputs="find fire"), Case(inputs="guess gold")).cases
    assert "the line is dead" in failed.trace.tool_calls[0].error
    call = strange.trace.tool_calls[0]
    assert (call.name, call.arguments, call.success) == ("guess", {"word": "gold"}, False)


def test_a_structured_output_is_the_output_and_no_call():
    case = evaluate(clerk, Case(inputs="Price please"), options={"structured_output_model": Price}).cases[0]
    assert case.output == Price(amount=3)
    assert case.trace.tool_calls == ()
    assert case.trace.output_text == '{"amount":3}'
    chosen = evaluate(clerk, Case(inputs="find gold"), output=lambda result: result.stop_reason)
    assert chosen.cases[0].output == "end_turn"


def test_what_the_framework_gives_a_tool_is_no_argument():
    options = {"invocation_state": {"key": SECRET}}
    trace = asyncio.run(StrandsAdapter(clerk(state={"key": SECRET}), options=options).invoke("find gold"))
    assert trace.tool_calls[0].arguments == {"word": "gold"}
    assert SECRET not in str(trace.to_dict())


def test_calls_go_through_interceptors_and_what_the_agent_saw_is_recorded(intercepted):
    asked = [Case(inputs="find gold"), Case(inputs="find iron")]
    report, one = intercepted(lambda: evaluate(clerk, *asked), value="lead")
    assert [case.output for case in report.cases] == ["lead (1)"] * 2
    assert [case.trace.tool_calls[0].output for case in report.cases] == ["lead"] * 2
    assert sorted(one.asked, key=str) == [("find", {"word": word}) for word in ("gold", "iron")]
    assert "gold found" in one.seen
    broken, _ = intercepted(lambda: evaluate(clerk, asked[0]), error=TimeoutError("too slow"))
    call = broken.cases[0].trace.tool_calls[0]
    assert not call.success
    assert "too slow" in call.error
    assert evaluate(clerk, asked[0]).cases[0].trace.tool_calls[0].output != "lead"


def test_it_is_an_adapter_and_other_objects_are_refused():
    adapter = StrandsAdapter(clerk)
    assert isinstance(adapter, Adapter)
    assert adapter.name == "clerk"
    with pytest.raises(TaskContractError, match="expected an Agent of Strands, or a function"):
        StrandsAdapter("agent")
    assert "expected an Agent of Strands" in evaluate(list, Case(inputs="a")).failures[0].error_message
