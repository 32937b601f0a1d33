"""What a framework fills in is no argument of the agent's: tools under real frameworks, recorded."""

from __future__ import annotations

import contextlib
import types
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolArg
from langchain_core.tools import tool as langchain_tool
from pydantic_ai import Agent, RunContext
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from calipers import Case, Dataset
from calipers.agents import FunctionAdapter, TraceRecorder, tool
from calipers.data.redaction import REDACTED
from calipers.errors import InvalidOptionError
from calipers.views.formats import write_report

KEY = "hunter2-is-no-known-shape"


@dataclass
class Deps:
    api_key: str
    user: str = "ada"


def only_call(function, *args, **kwargs):
    with TraceRecorder("bot") as recording, contextlib.suppress(Exception):
        function(*args, **kwargs)
    (call,) = recording.trace.tool_calls
    return call


# ---------------------------------------------------------------------- real frameworks


def weather_agent(model):
    agent = Agent(model, deps_type=Deps)

    @agent.tool
    @tool
    def weather(ctx: RunContext[Deps], city: str) -> str:
        """The weather in a city."""
        return f"sunny in {city} for {ctx.deps.user}"

    @agent.tool
    @tool
    async def wind(ctx: RunContext[Deps], city: str) -> str:
        """The wind in a city."""
        if city != "Rome":
            raise ValueError(f"{ctx.deps.api_key} was not accepted")
        return "calm"

    return agent


def test_pydantic_ai_tools_are_recorded_without_the_context_and_its_keys(tmp_path):
    agent = weather_agent(TestModel(custom_output_text="done"))

    async def ask(request: str) -> str:
        return (await agent.run(request, deps=Deps(KEY))).output

    report = Dataset(cases=[Case(name="one", inputs="Rome?")]).evaluate_sync(FunctionAdapter(ask))
    (failure,) = report.failures  # wind refuses the city that TestModel makes up
    wind = next(
        call for call in failure.trace.tool_calls if call.name == "wind"
    )  # the other may not have begun
    assert list(wind.arguments) == ["city"]
    assert wind.error == failure.error_message == f"ValueError: {REDACTED} was not accepted"
    assert KEY not in failure.error_stacktrace


def test_no_report_file_of_a_pydantic_ai_agent_has_its_keys(tmp_path):
    def say(messages: list[Any], info: AgentInfo) -> Any:
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

        if len(messages) > 1:
            return ModelResponse(parts=[TextPart("sunny and calm")])
        return ModelResponse(parts=[ToolCallPart(name, {"city": "Rome"}) for name in ("weather", "wind")])

    agent = weather_agent(FunctionModel(say))

    async def ask(request: str) -> str:
        return (await agent.run(request, deps=Deps(KEY))).output

    report = Dataset(cases=[Case(name="one", inputs="Rome?")]).evaluate_sync(FunctionAdapter(ask))
    (case,) = report.cases
    # The two run side by side, one of them in a thread.
    assert sorted((call.name, call.arguments, call.output) for call in case.trace.tool_calls) == [
        ("weather", {"city": "Rome"}, "sunny in Rome for ada"),
        ("wind", {"city": "Rome"}, "calm"),
    ]
    for name in ("report.json", "report.html", "report.xml", "report.md", "report.csv", "report.jsonl"):
        write_report(report, tmp_path / name)
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert KEY not in text
        assert "RunContext" not in text


def test_langchain_tools_are_recorded_without_config_and_injected_arguments():
    @langchain_tool
    @tool
    def look_up(
        query: str,
        config: RunnableConfig,
        state: Annotated[dict[str, Any], InjectedToolArg] = {},  # noqa: B006
    ) -> str:
        """Looks something up."""
        return f"{query}: {sorted(config['configurable'])} {state}"

    with TraceRecorder("bot") as recording:
        look_up.invoke({"query": "x", "state": {"a": KEY}}, config={"configurable": {"k": KEY}})
    (call,) = recording.trace.tool_calls
    assert (call.name, call.arguments) == ("look_up", {"query": "x"})


# ---------------------------------------------------------------------- annotations


def framework(module, name):
    """A class as a framework that is not installed here has it."""
    return type(name, (), {"__module__": module, "__class_getitem__": classmethod(types.GenericAlias)})


Wrapper = framework("agents.run_context", "RunContextWrapper")
Context = framework("mcp.server.fastmcp.server", "Context")
InjectedState = framework("langgraph.prebuilt.tool_node", "InjectedState")
Own = framework("shop.models", "Context")
Alias = Annotated[Wrapper[Deps] | None, "what else"]


@pytest.mark.parametrize(
    "annotation",
    [
        *(
            Wrapper,
            Wrapper[Deps],
            Wrapper | None,
            Annotated[Wrapper[Deps], "x"],
            Context,
            Alias,
        ),
        *(
            Annotated[dict, InjectedState],
            Annotated[dict, InjectedState()],
            RunnableConfig,
            RunnableConfig | None,
        ),
        *(
            "Wrapper",
            "Wrapper[Deps]",
            "Wrapper[Nowhere] | None",
            "Optional['Wrapper[Deps]']",
            "Alias",
            "RunnableConfig",
        ),
        *(
            "Annotated[dict, InjectedState('messages')]",
            "agents.RunContextWrapper[Deps]",
            "RunContextWrapper[Any]",
        ),
        *("pydantic_ai.RunContext[Deps]", "ToolRuntime", "Annotated[str, InjectedToolCallId]"),
    ],
)
def test_an_annotation_tells_what_a_framework_fills_in(annotation):
    def look_up(ctx, query):
        return query

    look_up.__annotations__ = {"ctx": annotation, "query": str}
    assert only_call(tool(look_up), {"api_key": KEY}, "x").arguments == {"query": "x"}


@pytest.mark.parametrize(
    "annotation",
    [
        Own,
        "Own",
        "Nowhere[Wrapper]",
        "list[Wrapper]",
        list[Wrapper],
        "Context.missing",
        "no annotation at all",
        "",
        3,
        Any,
    ],
)
def test_another_annotation_is_that_of_an_argument(annotation):
    def look_up(ctx, query):
        return query

    look_up.__annotations__ = {"ctx": annotation}
    assert only_call(tool(look_up), 1, "x").arguments == {"ctx": 1, "query": "x"}


def test_what_a_framework_made_is_no_argument_without_any_annotation():
    @tool
    def look_up(ctx, *rest, **more):
        return rest

    context = Context()
    assert only_call(look_up, context, "x", 1).arguments == {"rest": ["x", 1]}
    assert only_call(look_up, context, session=context, query="x").arguments == {"query": "x"}


def test_a_call_that_the_signature_refuses_does_not_record_what_was_filled_in():
    @tool
    def look_up(ctx: Wrapper, query):
        return query

    assert only_call(look_up, {"api_key": KEY}, "x", "too much").arguments == {"args": REDACTED}


def test_a_tool_names_the_parameters_to_leave_out():
    @tool(exclude=["session", "more"])
    def look_up(query, session=None, **more):
        raise ValueError(f"{session['password']} was refused")

    call = only_call(look_up, "x", {"password": KEY}, more=1, page=2)
    assert call.arguments == {"query": "x", "page": 2}
    assert call.error == f"ValueError: {REDACTED} was refused"


@pytest.mark.parametrize(
    ("exclude", "message"), [("ctx", "list of parameter names"), (["ctx"], "no parameter 'ctx'")]
)
def test_to_leave_out_what_is_not_there_is_refused(exclude, message):
    with pytest.raises(InvalidOptionError, match=message):
        tool(lambda query: query, name="q", exclude=exclude)


# ---------------------------------------------------------------------- keys among ordinary arguments


def test_keys_are_hidden_in_arguments_outputs_and_errors_unless_they_are_asked_for():
    def request(url, headers):
        if not url:
            raise ValueError(f"refused {headers['Authorization']} and sk-proj-abcdefgh1234")
        return {"access_token": KEY, "body": "ok"}

    hidden, kept = tool(request), tool(keep_secrets=True)(request)
    call = only_call(hidden, "https://me:pw@host/", {"Authorization": KEY})
    assert call.arguments == {"url": f"https://me:{REDACTED}@host/", "headers": {"Authorization": REDACTED}}
    assert call.output == {"access_token": REDACTED, "body": "ok"}
    assert (
        only_call(hidden, "", {"Authorization": KEY}).error
        == f"ValueError: refused {REDACTED} and {REDACTED}"
    )
    assert only_call(kept, "u", {"Authorization": KEY}).arguments["headers"] == {"Authorization": KEY}
    with TraceRecorder("bot", keep_secrets=True) as recording:
        hidden("u", {"Authorization": KEY})
    assert recording.trace.tool_calls[0].arguments["headers"] == {"Authorization": KEY}


def test_whatever_is_recorded_by_hand_is_recorded_without_its_keys():
    key = "sk-proj-abcdefgh1234"
    with TraceRecorder("bot", metadata={"api_key": key}) as recording:
        recording.record_tool_call("a", {"q": key}, output=[key], error=f"no {key}")
        recording.record_tool_call(tool_name="b", tool_input={"token": "x"}, tool_output={"secret": "y"})
        with recording.tool_call("c", {"password": "hunter2"}) as call:
            call.output, call.error = key, "hunter2 is wrong"
        recording.record_llm_call("m", input_text=key, output_text=key, metadata={"token": key})
        with recording.llm_call("m", input_text=key) as asked:
            asked.output_text, asked.metadata = key, {"headers": {"Authorization": key}}
        recording.output_text = f"the key is {key}"
    trace = recording.trace
    assert trace.output_text == f"the key is {key}", "what the agent said is what is judged"
    told = repr(
        [trace.metadata, trace.turns, [call.output for call in trace.tool_calls], trace.tool_calls[2].error]
    )
    assert key not in told
    assert "hunter2" not in told
    assert told.count(REDACTED) >= 12


def test_attributes_and_errors_of_an_attempt_are_noted_without_keys():
    from calipers import set_eval_attribute

    key = "ghp_" + "a1" * 18

    def task(inputs):
        set_eval_attribute("request", {"headers": {"Authorization": "x"}, "page": inputs})
        if inputs > 1:
            raise ValueError(f"refused: {key}")
        return inputs

    report = Dataset(cases=[Case(inputs=1), Case(inputs=2)]).evaluate_sync(task)
    assert report.cases[0].attributes == {"request": {"headers": {"Authorization": REDACTED}, "page": 1}}
    assert report.failures[0].error_message == f"ValueError: refused: {REDACTED}"
    assert key not in report.failures[0].error_stacktrace
