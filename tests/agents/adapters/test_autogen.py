"""An agent of AutoGen is recorded by the messages that it streams."""

import json

import pytest

from calipers import Case, Dataset
from calipers.agents import Adapter, AutoGenAdapter, ToolCall
from calipers.errors import TaskContractError
from calipers.testing import check_agent_adapter

agents = pytest.importorskip(
    "autogen_agentchat.agents", reason="autogen-agentchat is not installed: it needs an older protobuf"
)
from autogen_core import FunctionCall  # noqa: E402
from autogen_core.models import ChatCompletionClient, CreateResult, ModelInfo, RequestUsage  # noqa: E402


class Scripted(ChatCompletionClient):
    """Calls the tool that the request names with its last word, and tells after how many requests."""

    component_type = "model"
    component_config_schema = None
    capabilities = None
    model_info = ModelInfo(
        vision=False, function_calling=True, json_output=False, family="unknown", structured_output=False
    )

    async def create(self, messages, **options):
        last = messages[-1]
        count = sum(message.type == "UserMessage" for message in messages)
        used = RequestUsage(prompt_tokens=7, completion_tokens=3)
        if last.type == "FunctionExecutionResultMessage":
            content = f"{last.content[0].content} ({count})"
            return CreateResult(finish_reason="stop", content=content, usage=used, cached=False)
        if "broken" in last.content:
            raise ConnectionError("no model")
        name, *_, word = last.content.split()
        call = FunctionCall(id=f"call {count}", name=name, arguments=json.dumps({"word": word}))
        return CreateResult(finish_reason="function_calls", content=[call], usage=used, cached=False)

    def create_stream(self, *args, **options):
        raise NotImplementedError

    async def close(self):
        return None

    def actual_usage(self):
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    total_usage = actual_usage

    def count_tokens(self, *args, **options):
        return 0

    remaining_tokens = count_tokens


async def find(word: str) -> str:
    """Find a word."""
    if word == "fire":
        raise ConnectionError("the line is dead")
    return json.dumps({"found": word})


def clerk():
    return agents.AssistantAgent("clerk", Scripted(), tools=[find], reflect_on_tool_use=True)


def evaluate(agent, *cases, **options):
    return Dataset(cases=list(cases)).evaluate_sync(AutoGenAdapter(agent, **options), progress=False)


@pytest.mark.parametrize("agent", [clerk, None], ids=["function", "agent"])
def test_the_messages_of_a_run_tell_what_the_agent_did(agent):
    trace = check_agent_adapter(
        AutoGenAdapter(agent or clerk()),
        request="find gold",
        call=ToolCall("find", {"word": "gold"}, output={"found": "gold"}),
        output='{"found": "gold"} (1)',
        tokens=(14, 6),
        failing="find fire",
        raising="broken",
        turns={"find a": '{"found": "a"} (1)', "find more": '{"found": "more"} (2)'},
    )
    assert trace.agent_name == "clerk"


def test_a_tool_that_raised_or_does_not_exist_is_a_failed_call():
    failed, strange = evaluate(clerk, Case(inputs="find fire"), Case(inputs="guess gold")).cases
    assert "the line is dead" in failed.trace.tool_calls[0].error
    call = strange.trace.tool_calls[0]
    assert (call.name, call.arguments, call.success) == ("guess", {"word": "gold"}, False)


def test_calls_go_through_interceptors_and_what_the_agent_saw_is_recorded(intercepted):
    asked = [Case(inputs="find gold"), Case(inputs="find iron")]
    report, one = intercepted(lambda: evaluate(clerk, *asked), value="lead")
    assert [case.output for case in report.cases] == ["lead (1)"] * 2
    assert [case.trace.tool_calls[0].output for case in report.cases] == ["lead"] * 2
    assert sorted(one.asked, key=str) == [("find", {"word": word}) for word in ("gold", "iron")]
    assert '{"found": "gold"}' in one.seen
    broken, _ = intercepted(lambda: evaluate(clerk, asked[0]), error=TimeoutError("too slow"))
    call = broken.cases[0].trace.tool_calls[0]
    assert not call.success
    assert "too slow" in call.error
    assert evaluate(clerk, asked[0]).cases[0].trace.tool_calls[0].output != "lead"


def test_it_is_an_adapter_and_other_objects_are_refused():
    adapter = AutoGenAdapter(clerk)
    assert isinstance(adapter, Adapter)
    with pytest.raises(TaskContractError, match="expected an agent of AutoGen, or a function"):
        AutoGenAdapter("agent")
