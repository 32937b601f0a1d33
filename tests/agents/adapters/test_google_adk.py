"""An agent of Google ADK is recorded by the events of its runs."""

import pytest

from calipers import Case, Dataset
from calipers.agents import Adapter, GoogleADKAdapter, ToolCall
from calipers.errors import TaskContractError
from calipers.testing import check_agent_adapter

agents = pytest.importorskip("google.adk.agents", reason="google-adk is not installed: it takes 110 MB")
from google.adk.models import BaseLlm, LlmResponse  # noqa: E402
from google.adk.tools import ToolContext  # noqa: E402
from google.genai import types  # noqa: E402


class Scripted(BaseLlm):
    """Calls the tool that the request names with its last word, and tells what came back, after how many requests."""

    async def generate_content_async(self, llm_request, stream=False):
        asked = [part for content in llm_request.contents for part in content.parts]
        last = asked[-1]
        count = sum(
            bool(part.text) and content.role == "user"
            for content in llm_request.contents
            for part in content.parts
        )
        if last.function_response:
            part = types.Part(text=f"{last.function_response.response['found']} ({count})")
        elif "broken" in last.text:
            raise ConnectionError("no model")
        else:
            name, *_, word = last.text.split()
            part = types.Part(
                function_call=types.FunctionCall(id=f"call {count}", name=name, args={"word": word})
            )
        used = types.GenerateContentResponseUsageMetadata(prompt_token_count=7, candidates_token_count=3)
        yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=used)


def find(word: str, tool_context: ToolContext) -> dict:
    """Find a word."""
    if word == "fire":
        raise ConnectionError("the line is dead")
    return {"found": word}


AGENT = agents.LlmAgent(name="clerk", model=Scripted(model="clerk-model"), tools=[find])


def evaluate(agent, *cases, **options):
    return Dataset(cases=list(cases)).evaluate_sync(GoogleADKAdapter(agent, **options), progress=False)


def test_the_events_of_a_run_tell_what_the_agent_did():
    trace = check_agent_adapter(
        GoogleADKAdapter(AGENT),
        request="find gold",
        call=ToolCall("find", {"word": "gold"}, output={"found": "gold"}),
        output="gold (1)",
        tokens=(14, 6),
        failing="find fire",
        raising="broken",
        turns={"find a": "a (1)", "find more": "more (2)"},
    )
    assert trace.agent_name == "clerk"


def test_an_agent_that_raises_keeps_the_trace_up_to_there():
    tool_failed, model_failed = evaluate(AGENT, Case(inputs="find fire"), Case(inputs="broken")).failures
    assert "the line is dead" in tool_failed.error_message
    call = tool_failed.trace.tool_calls[0]
    assert (call.name, call.arguments) == ("find", {"word": "fire"})
    assert "no model" in model_failed.error_message


def test_calls_go_through_interceptors_and_what_the_agent_saw_is_recorded(intercepted):
    asked = [Case(inputs="find gold"), Case(inputs="find iron")]
    report, one = intercepted(lambda: evaluate(AGENT, *asked), value={"found": "lead"})
    assert [case.output for case in report.cases] == ["lead (1)"] * 2
    assert [case.trace.tool_calls[0].output for case in report.cases] == [{"found": "lead"}] * 2
    assert sorted(one.asked, key=str) == [("find", {"word": word}) for word in ("gold", "iron")]
    assert {"found": "gold"} in one.seen
    broken, _ = intercepted(lambda: evaluate(AGENT, asked[0]), error=TimeoutError("too slow"))
    assert "too slow" in broken.failures[0].error_message
    assert evaluate(AGENT, asked[0]).cases[0].trace.tool_calls[0].output != {"found": "lead"}


def test_it_is_an_adapter_and_other_objects_are_refused():
    adapter = GoogleADKAdapter(AGENT)
    assert isinstance(adapter, Adapter)
    with pytest.raises(TaskContractError, match="expected an agent of Google ADK"):
        GoogleADKAdapter("agent")
