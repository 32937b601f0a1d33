"""`OpenAIAgentsAdapter`: an agent of the OpenAI Agents SDK, recorded by the hooks of its runs.

- A handoff is a call of the tool by which the model makes it. The next turn of a conversation goes to the agent that answered last.
- The SDK tells its model in words that a tool failed; the adapter hears of it from `RunConfig.tool_error_formatter`. A tool with a
  `failure_error_function` of its own has a result: the words that this function makes.
- An agent that another one uses as a tool is one call, in the trace and for interceptors: the SDK runs it apart.
- Hosted tools run at the provider, as part of the model's answer, and do not go through interceptors.
"""

import copy
import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from calipers.agents.event_log import error_text
from calipers.agents.recording import Recording
from calipers.agents.tool_interception import await_tool
from calipers.models.model_answer import Usage
from calipers.models.prices import cost_of
from calipers.spans.messages import Call, Result, Text, arguments_of, parts_of, read_messages

from .framework import FrameworkAdapter, call_apart, load_framework, no_agent, replace_once, tell
from .observed_calls import ObservedCalls

_AGENT = "agent"
_MESSAGES = "messages"
_MODEL = "model"


class OpenAIAgentsAdapter(FrameworkAdapter):
    """An agent of the OpenAI Agents SDK.

    ```python
    report = dataset.evaluate_sync(OpenAIAgentsAdapter(agent, options={"max_turns": 5}))
    ```

    Args:
        agent: the `Agent`.
        name: the agent's name in traces and reports; default: its own.
        options: what to pass to each `Runner.run`, such as `context`, `max_turns`, `run_config` or `hooks`.
        output: makes the output of an attempt of the `RunResult`; default: its `final_output`, of whatever type.
        tags: of each trace.
        keep_secrets: record what looks like a secret as it is, rather than as `[redacted]`.

    Raises:
        TaskContractError: it is no agent of the SDK.
        MissingExtraError: the SDK is not installed.
    """

    def _check(self) -> None:
        framework = load_framework("agents", "the OpenAI Agents SDK", "openai-agents")
        if not isinstance(self.agent, framework.Agent):
            raise no_agent(self.agent, "an Agent of the OpenAI Agents SDK")

    def _intercept(self) -> None:
        replace_once(
            load_framework("agents", "the OpenAI Agents SDK", "openai-agents").Agent,
            "get_all_tools",
            _stand_ins,
        )

    async def _ask(self, inputs: Any, state: dict[str, Any], recording: Recording) -> Any:
        from agents import RunConfig, Runner

        calls = ObservedCalls(recording.input_text)
        options = dict(self.options or {})
        given = options.pop("run_config", None) or {}
        config = RunConfig(**given) if isinstance(given, Mapping) else given
        failures: dict[str, str] = {}
        config = dataclasses.replace(
            config, tool_error_formatter=_Formatter(config.tool_error_formatter, failures)
        )
        hooks = _hooks_class()(calls, failures, options.pop("hooks", None), config.model)
        request = inputs if isinstance(inputs, str | list) else str(inputs)
        if before := state.get(_MESSAGES):
            said = [{"role": "user", "content": request}] if isinstance(request, str) else request
            request = [*before, *said]
        agent = state.get(_AGENT, self.agent)
        try:
            result = await Runner.run(agent, request, hooks=hooks, run_config=config, **options)
        except BaseException as error:
            calls.broke_off(error_text(error))
            raise
        finally:
            tell(recording, calls.trace)
        state[_AGENT] = result.last_agent
        if options.get("session") is None:  # a session keeps the messages itself
            state[_MESSAGES] = result.to_input_list()
        return self._answer(result, result.final_output)


async def _stand_ins(get_all_tools: Any, agent: Any, context: Any) -> list[Any]:
    """The tools of an agent, with stand-ins for those that run here."""
    from agents import FunctionTool

    tools = await get_all_tools(agent, context)
    return [_stand_in(each) if isinstance(each, FunctionTool) else each for each in tools]


def _stand_in(tool: Any) -> Any:
    """A copy of a tool whose calls go through the interceptors: inside of the SDK's handling of errors."""
    stand_in = copy.copy(tool)
    handler = stand_in.on_invoke_tool  # of the copy, if the SDK made it
    own = getattr(handler, "_invoke_tool_impl", handler)

    @functools.wraps(own)
    async def invoke(context: Any, arguments: str) -> Any:
        given = arguments_of(arguments)
        chosen = given if isinstance(given, dict) else {}
        return await await_tool(tool.name, chosen, functools.partial(call_apart, own, context, arguments))

    if own is handler:
        stand_in.on_invoke_tool = invoke
    else:
        handler._invoke_tool_impl = invoke  # noqa: SLF001 - the SDK has no public place inside of its error handling
    return stand_in


class _Formatter:
    """Notes why a tool failed, and says of it what was to be said anyway."""

    def __init__(self, own: Any, failures: dict[str, str]) -> None:
        self.own = own
        self.failures = failures

    def __call__(self, told: Any) -> Any:
        error = getattr(told, "error", None)
        known = error_text(error) if isinstance(error, BaseException) else told.default_message
        self.failures[told.call_id] = known
        return None if self.own is None else self.own(told)


@functools.cache
def _hooks_class() -> Any:
    """The class whose methods the SDK calls; made here, because its base loads with the SDK."""
    from agents import RunHooks

    class Hooks(RunHooks[Any]):
        """Notes the calls of one execution, and calls the user's own hooks."""

        def __init__(self, calls: ObservedCalls, failures: dict[str, str], own: Any, model: Any) -> None:
            self.calls = calls
            self.failures = failures
            self.own = own
            self.model = model

        async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
            """A model is asked."""
            given = parts_of(read_messages(list(input_items)))
            self.calls.results_given(
                self._with_failures(part for _, part in given if isinstance(part, Result))
            )
            self.calls.model_begins(_MODEL, _model_name(self.model or agent.model) or "unknown")
            await self._forward("on_llm_start", context, agent, system_prompt, input_items)

        async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
            """A model has answered."""
            self.calls.model_ends(_MODEL, **_answered(response, self.model or agent.model))
            await self._forward("on_llm_end", context, agent, response)

        async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
            """A tool begins."""
            call_id = getattr(context, "tool_call_id", None)
            given = arguments_of(getattr(context, "tool_arguments", None))
            self.calls.tool_begins(
                (call_id, tool.name), tool.name, given if isinstance(given, dict) else None, call_id
            )
            await self._forward("on_tool_start", context, agent, tool)

        async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
            """A tool has run."""
            call_id = getattr(context, "tool_call_id", None)
            error = self.failures.pop(call_id or "", None)
            self.calls.tool_ends((call_id, tool.name), None if error else result, error=error)
            await self._forward("on_tool_end", context, agent, tool, result)

        async def on_agent_start(self, *given: Any, **named: Any) -> None:
            """An agent begins."""
            await self._forward("on_agent_start", *given, **named)

        async def on_agent_end(self, *given: Any, **named: Any) -> None:
            """An agent has answered."""
            await self._forward("on_agent_end", *given, **named)

        async def on_handoff(self, *given: Any, **named: Any) -> None:
            """An agent hands over to another."""
            await self._forward("on_handoff", *given, **named)

        async def _forward(self, name: str, /, *given: Any, **named: Any) -> None:
            if self.own is not None:
                await getattr(self.own, name)(*given, **named)

        def _with_failures(self, results: Any) -> Any:
            for result in results:
                if (error := self.failures.pop(result.call_id or "", None)) is not None:
                    result.output, result.failed = error, True
                yield result

    return Hooks


def _model_name(model: Any) -> str | None:
    """What a model is called: a name, or an object that has one."""
    named = model if isinstance(model, str) else getattr(model, "model", None)
    return named if isinstance(named, str) and named else None


def _answered(response: Any, model: Any) -> dict[str, Any]:
    """What the answer of a model says."""
    items = [item if isinstance(item, dict) else item.model_dump() for item in response.output]
    parts = [part for _, part in parts_of(read_messages(items))]
    found: dict[str, Any] = {
        "said": "".join(part.text for part in parts if isinstance(part, Text) and part.text),
        "calls": [part for part in parts if isinstance(part, Call)],
    }
    used, name = response.usage, _model_name(model)
    if used is None or not used.input_tokens:
        return found
    found |= {"input_tokens": used.input_tokens, "output_tokens": used.output_tokens}
    if name is not None:
        cached = getattr(used.input_tokens_details, "cached_tokens", None)
        tokens = Usage(input=used.input_tokens, output=used.output_tokens, cache_read=cached)
        # A name alone is a model of OpenAI; an object asks the server that its client names.
        client = getattr(model, "_client", None)
        address = None if isinstance(model, str) or client is None else str(client.base_url)
        asked = f"openai:{name}" if isinstance(model, str) and "/" not in name else name
        found["cost"] = cost_of(asked, tokens, address=address)
    return found
