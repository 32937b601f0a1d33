"""`CrewAIAdapter`: an agent or a crew of CrewAI, recorded where it asks its models and calls its tools.

Each attempt runs a copy that CrewAI itself makes, with stand-ins of its models and tools that note each call. So attempts run side
by side, and yours is left as it is. Tools that CrewAI adds while it runs, such as those to delegate, are recorded by what the
model is told of them. A model that asks for tools in its text is not told by id: such calls are recorded when the tool runs, with the
values of parameters that the model left out, and not when CrewAI answers from its cache.
"""

import asyncio
import copy
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from calipers.agents.event_log import error_text
from calipers.agents.recording import Recording
from calipers.agents.tool_interception import call_tool
from calipers.models.model_answer import Usage
from calipers.models.prices import cost_of
from calipers.spans.messages import Call, Result, arguments_of, told

from .framework import FrameworkAdapter, load_framework, no_agent, tell
from .observed_calls import ObservedCalls

_MESSAGES = "messages"
_ASKING: ContextVar[bool] = ContextVar("calipers_crewai_asking", default=False)
"""Whether this code runs inside a request that is noted already: some models ask themselves again."""


class CrewAIAdapter(FrameworkAdapter):
    """An agent or a crew of CrewAI.

    ```python
    report = dataset.evaluate_sync(CrewAIAdapter(Agent(role="clerk", goal="find", backstory="-", llm=llm, tools=[search])))
    ```

    Args:
        agent: the `Agent` or the `Crew`.
        name: the agent's name in traces and reports; default: the role of an agent, the name of a crew.
        options: what to pass to each `kickoff`, such as `response_format`.
        output: makes the output of an attempt of what `kickoff` returns; default: its `pydantic`, else its `raw`.
        tags: of each trace.
        keep_secrets: record what looks like a secret as it is, rather than as `[redacted]`.

    Raises:
        TaskContractError: it is neither an agent nor a crew of CrewAI.
        MissingExtraError: CrewAI is not installed.
    """

    def _check(self) -> None:
        framework = load_framework("crewai", "CrewAI", "crewai")
        if not isinstance(self.agent, framework.Agent | framework.Crew):
            raise no_agent(self.agent, "an Agent or a Crew of CrewAI")
        self._is_crew = isinstance(self.agent, framework.Crew)

    def _own_name(self) -> str:
        role = getattr(self.agent, "role", None)
        return role if isinstance(role, str) and role else super()._own_name()

    async def _ask(self, inputs: Any, state: dict[str, Any], recording: Recording) -> Any:
        calls = ObservedCalls(recording.input_text)
        request: Any
        if self._is_crew:
            request = {"inputs": inputs if isinstance(inputs, Mapping) else {"input": inputs}}
        else:
            asked = [{"role": "user", "content": inputs}] if isinstance(inputs, str) else list(inputs)
            request = {"messages": [*state.get(_MESSAGES, ()), *asked]}
        try:
            result = await asyncio.to_thread(self._run_copy, request, calls)
        finally:
            tell(recording, calls.trace)
        if not self._is_crew:
            answered = {"role": "assistant", "content": result.raw}
            state[_MESSAGES] = [*request["messages"], answered]
        return self._answer(result, result.raw if result.pydantic is None else result.pydantic)

    def _run_copy(self, request: dict[str, Any], calls: ObservedCalls) -> Any:
        twin = self.agent.copy()
        stand_ins = _StandIns(calls)
        if self._is_crew:
            for agent in [*twin.agents, *([twin.manager_agent] if twin.manager_agent else [])]:
                stand_ins.put_into(agent)
            for task in twin.tasks:
                task.tools = stand_ins.of_tools(task.tools or ())
            if twin.manager_llm is not None:
                twin.manager_llm = stand_ins.of_model(
                    load_framework("crewai.utilities.llm_utils", "CrewAI", "crewai").create_llm(
                        twin.manager_llm
                    )
                )
        else:
            twin.apps, twin.mcps = self.agent.apps, self.agent.mcps  # a copy has none
            stand_ins.put_into(twin)
        return twin.kickoff(**request, **(self.options or {}))


class _StandIns:
    """Models and tools that note their calls, one for each of the agent's own."""

    def __init__(self, calls: ObservedCalls) -> None:
        self._calls = calls
        self._made: list[tuple[Any, Any]] = []
        self._offered: set[str] = set()
        """The names of the tools that models were offered."""

    def put_into(self, agent: Any) -> None:
        """Have an agent use stand-ins."""
        agent.llm = self.of_model(agent.llm)
        agent.tools = self.of_tools(agent.tools or ())

    def of_tools(self, tools: Iterable[Any]) -> list[Any]:
        """The stand-ins of some tools."""
        return [self._one(tool, self._of_tool) for tool in tools]

    def of_model(self, model: Any) -> Any:
        """The stand-in of a model; what is no object of CrewAI's models stays as it is."""
        base = load_framework("crewai", "CrewAI", "crewai").BaseLLM
        return self._one(model, self._of_model) if isinstance(model, base) else model

    def _one(self, own: Any, make: Callable[[Any], Any]) -> Any:
        for made, of in self._made:
            if own is of or own is made:
                return made
        self._made.append((make(own), own))
        return self._made[-1][0]

    def _of_tool(self, tool: Any) -> Any:
        inner, observed = copy.copy(tool), copy.copy(tool)
        name = _name(tool.name)

        def noted(function: Callable[..., Any]) -> Callable[..., Any]:
            def run(*args: Any, **given: Any) -> Any:
                arguments = {**dict(zip(inner.args_schema.model_fields, args, strict=False)), **given}
                return self._noted(name, arguments, lambda: function(*args, **given))

            return run

        # A call of a model comes by `run`; one that it asks for in its text by `_run`.
        observed.__dict__.update(run=noted(inner.run), _run=noted(inner._run))  # noqa: SLF001 - tools define it
        return observed

    def _noted(self, name: str, arguments: dict[str, Any], function: Callable[[], Any]) -> Any:
        def run() -> Any:
            value = function()
            return asyncio.run(value) if inspect.iscoroutine(value) else value

        key = object()
        self._calls.tool_begins(key, name, arguments)
        try:
            output = call_tool(name, arguments, run)
        except BaseException as error:
            self._calls.tool_ends(key, error=error_text(error))
            raise
        self._calls.tool_ends(key, output)
        return output

    def _of_model(self, model: Any) -> Any:
        observed = copy.copy(model)
        if (
            counters := getattr(model, "_token_usage", None)
        ) is not None:  # shared by all copies of the model
            setattr(observed, "_token_usage", dict.fromkeys(counters, 0))  # noqa: B010 - it is a private name of CrewAI
        own, own_later = observed.call, observed.acall

        def call(messages: Any, tools: Any = None, *args: Any, **given: Any) -> Any:
            if _ASKING.get():
                return own(messages, tools, *args, **given)
            with self._asked(observed, messages, tools) as answers:
                answers.append(own(messages, tools, *args, **given))
            return answers[0]

        async def acall(messages: Any, tools: Any = None, *args: Any, **given: Any) -> Any:
            if _ASKING.get():
                return await own_later(messages, tools, *args, **given)
            with self._asked(observed, messages, tools) as answers:
                answers.append(await own_later(messages, tools, *args, **given))
            return answers[0]

        observed.__dict__.update(call=call, acall=acall)
        return observed

    @contextmanager
    def _asked(self, model: Any, messages: Any, tools: Any) -> Iterator[list[Any]]:
        """A request to a model, whose answer is put into the list."""
        self._offered.update(each["function"]["name"] for each in tools or ())
        self._calls.results_given(self._results(messages if isinstance(messages, list) else ()))
        key, before = object(), model.get_token_usage_summary()
        self._calls.model_begins(key, model.model)
        token = _ASKING.set(True)
        answers: list[Any] = []
        try:
            yield answers
        except BaseException as error:
            self._calls.model_ends(key, error=error_text(error))
            raise
        finally:
            _ASKING.reset(token)
        used = model.get_token_usage_summary().delta_since(before)
        self._calls.model_ends(key, **_answered(answers[0], f"{model.provider}:{model.model}", used))

    def _results(self, messages: Iterable[Any]) -> Iterator[Result]:
        """The results of calls among some messages. Those of tools that do not exist are failed."""
        for each in messages:
            if each.get("role") == "tool":
                output = told(each.get("content"))
                yield Result(
                    each.get("tool_call_id"), each.get("name"), output, each.get("name") not in self._offered
                )


def _answered(answer: Any, model: str, used: Any) -> dict[str, Any]:
    """What a model answered: a text, a list of calls in the form of its provider, or an object of the user's own type."""
    found: dict[str, Any] = {"said": answer if isinstance(answer, str) else ""}
    if isinstance(answer, list):
        read = load_framework("crewai.utilities.agent_utils", "CrewAI", "crewai").extract_tool_call_info
        calls = [asked for each in answer if (asked := read(each)) is not None]
        found["calls"] = [Call(name, arguments_of(given), call_id) for call_id, name, given in calls]
    if used.prompt_tokens:
        cached = used.cached_prompt_tokens or None
        tokens = Usage(input=used.prompt_tokens, output=used.completion_tokens, cache_read=cached)
        found |= {"input_tokens": tokens.input, "output_tokens": tokens.output}
        found["cost"] = cost_of(model, tokens)
    return found


def _name(name: str) -> str:
    """What a model calls a tool."""
    made: str = load_framework("crewai.utilities.string_utils", "CrewAI", "crewai").sanitize_tool_name(name)
    return made
