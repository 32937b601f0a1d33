"""`SmolagentsAdapter`: an agent of smolagents, a `CodeAgent` or a `ToolCallingAgent`, recorded where it asks its model and calls its tools.

A `CodeAgent` calls its tools from code that its model writes, and its memory does not show these calls. So the agent runs with
stand-ins of its model and tools that note each call; afterwards it has its own again. The code itself is no tool call, and neither is
`final_answer`, by which the model answers.

An agent of smolagents is one conversation at a time. Given an agent, the adapter runs one attempt after the other, each with a memory
of its own. Given a function that makes an agent, attempts run side by side, each with an agent of its own.
"""

import asyncio
import contextvars
import copy
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from calipers.agents.event_log import error_text
from calipers.agents.recording import Recording
from calipers.agents.tool_interception import are_tools_intercepted, call_tool
from calipers.models.model_answer import Usage
from calipers.models.prices import cost_of
from calipers.spans.messages import Call, arguments_of

from .framework import FrameworkAdapter, load_framework, no_agent, tell
from .observed_calls import ObservedCalls

_AGENT = "agent"
_MEMORY = "memory"
_ANSWER = "final_answer"
_NO_TOOL = "it was not run"


class SmolagentsAdapter(FrameworkAdapter):
    """An agent of smolagents.

    ```python
    report = dataset.evaluate_sync(SmolagentsAdapter(lambda: CodeAgent(tools=[search], model=model)))
    ```

    Args:
        agent: the agent, or a function without parameters that makes one for each conversation.
        name: the agent's name in traces and reports; default: its own.
        options: what to pass to each `agent.run`, such as `max_steps` or `additional_args`.
        output: makes the output of an attempt of what the run returns; default: the final answer, of whatever type.
        tags: of each trace.
        keep_secrets: record what looks like a secret as it is, rather than as `[redacted]`.

    Raises:
        TaskContractError: it is neither an agent of smolagents nor a function.
        MissingExtraError: smolagents is not installed.
    """

    def _check(self) -> None:
        framework = load_framework("smolagents", "smolagents", "smolagents")
        self._is_agent = isinstance(self.agent, framework.MultiStepAgent)
        if not self._is_agent and not callable(self.agent):
            raise no_agent(self.agent, "an agent of smolagents, or a function that makes one")
        self._one_at_a_time = threading.Lock()

    def _own_name(self) -> str:
        named = super()._own_name()
        return getattr(self.agent, "__name__", named) if not self._is_agent else named

    async def _ask(self, inputs: Any, state: dict[str, Any], recording: Recording) -> Any:
        calls = ObservedCalls(recording.input_text)
        try:
            returned = await asyncio.to_thread(self._run_agent, inputs, state, calls)
        finally:
            tell(recording, calls.trace)
        answer = returned.to_raw() if hasattr(returned, "to_raw") else returned
        return self._answer(returned, answer)

    def _run_agent(self, inputs: Any, state: dict[str, Any], calls: ObservedCalls) -> Any:
        if not self._is_agent:
            agent = state.setdefault(_AGENT, None) or self._made(state)
            return self._observed(agent, inputs, state, calls)
        with self._one_at_a_time:
            return self._observed(self.agent, inputs, state, calls)

    def _made(self, state: dict[str, Any]) -> Any:
        agent = state[_AGENT] = self.agent()
        if not isinstance(agent, load_framework("smolagents", "smolagents", "smolagents").MultiStepAgent):
            raise no_agent(agent, f"an agent of smolagents from {self.name!r}")
        return agent

    def _observed(self, agent: Any, inputs: Any, state: dict[str, Any], calls: ObservedCalls) -> Any:
        """Run the agent with stand-ins of its model, tools and managed agents, and with the memory of this conversation."""
        from smolagents.memory import AgentMemory

        own = agent.model, agent.tools, agent.managed_agents, agent.memory
        agent.model = _observed_model(agent, calls)
        # Code of a model runs in a thread of its own, which does not inherit the interceptors.
        context = contextvars.copy_context() if are_tools_intercepted() else None
        agent.tools = {
            name: tool if name == _ANSWER else _observed_tool(tool, calls, context)
            for name, tool in own[1].items()
        }
        agent.managed_agents = {name: _Managed(name, each, calls, context) for name, each in own[2].items()}
        is_first = _MEMORY not in state
        agent.memory = state.setdefault(_MEMORY, AgentMemory(agent.system_prompt))
        try:
            request = inputs if isinstance(inputs, str) else str(inputs)
            return agent.run(request, **{"reset": is_first, **(self.options or {})})
        finally:
            calls.not_run(_last_error(agent))
            agent.model, agent.tools, agent.managed_agents, agent.memory = own


class _Managed:
    """A managed agent whose calls are noted."""

    def __init__(
        self, name: str, agent: Any, calls: ObservedCalls, context: contextvars.Context | None
    ) -> None:
        self._name = name
        self._agent = agent
        self._calls = calls
        self._context = context

    def __call__(self, *args: Any, **given: Any) -> Any:
        arguments = {**dict(zip(("task",), args, strict=False)), **given}
        run = functools.partial(self._agent, *args, **given)
        return _noted(self._calls, self._name, arguments, run, self._context)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)


def _observed_tool(tool: Any, calls: ObservedCalls, context: contextvars.Context | None) -> Any:
    """A stand-in of a tool that notes its calls."""
    observed = copy.copy(tool)

    def forward(*args: Any, **given: Any) -> Any:
        arguments = {**dict(zip(tool.inputs, args, strict=False)), **given}
        return _noted(calls, tool.name, arguments, functools.partial(tool.forward, *args, **given), context)

    observed.forward = forward
    return observed


def _noted(
    calls: ObservedCalls,
    name: str,
    arguments: dict[str, Any],
    run: Callable[[], Any],
    context: contextvars.Context | None,
) -> Any:
    key = object()
    calls.tool_begins(key, name, arguments)
    try:
        output = run() if context is None else context.copy().run(call_tool, name, arguments, run)
    except BaseException as error:
        calls.tool_ends(key, error=error_text(error))
        raise
    calls.tool_ends(key, output)
    return output


def _observed_model(agent: Any, calls: ObservedCalls) -> Any:
    """A stand-in of a model that notes its requests."""
    model = agent.model
    observed = copy.copy(model)
    named = str(getattr(model, "model_id", None) or "unknown")

    def begin() -> object:
        calls.not_run(_last_error(agent))
        calls.model_begins(key := object(), named)
        return key

    def generate(*args: Any, **given: Any) -> Any:
        key = begin()
        try:
            message = model.generate(*args, **given)
        except BaseException as error:
            calls.model_ends(key, error=error_text(error))
            raise
        calls.model_ends(key, **_answered([message], named))
        return message

    def generate_stream(*args: Any, **given: Any) -> Iterator[Any]:
        key = begin()
        parts: list[Any] = []
        try:
            for part in model.generate_stream(*args, **given):
                parts.append(part)
                yield part
        except BaseException as error:
            calls.model_ends(key, error=error_text(error))
            raise
        calls.model_ends(key, **_answered(parts, named))

    observed.generate = generate
    if hasattr(model, "generate_stream"):
        observed.generate_stream = generate_stream
    return observed


def _answered(messages: list[Any], model: str) -> dict[str, Any]:
    """What an answer says, whole or in parts. The calls in the parts of a stream are not whole, and are left to the tools."""
    found: dict[str, Any] = {"said": "".join(_text(message.content) for message in messages)}
    asked = getattr(messages[0], "tool_calls", None) or () if len(messages) == 1 else ()
    found["calls"] = [
        Call(call.function.name, arguments_of(call.function.arguments), call.id)
        for call in asked
        if getattr(call, "function", None) is not None and call.function.name != _ANSWER
    ]
    counted = [used for message in messages if (used := getattr(message, "token_usage", None)) is not None]
    if counted:
        tokens = Usage(
            input=sum(used.input_tokens for used in counted),
            output=sum(used.output_tokens for used in counted),
        )
        found |= {"input_tokens": tokens.input, "output_tokens": tokens.output}
        found["cost"] = cost_of(model.replace("/", ":", 1), tokens, answered_by=model)
    return found


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _last_error(agent: Any) -> str:
    """Why the last step of an agent failed."""
    steps = agent.memory.steps
    error = getattr(steps[-1], "error", None) if steps else None
    return _NO_TOOL if error is None else str(error)
