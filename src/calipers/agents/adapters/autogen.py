"""`AutoGenAdapter`: an agent or a team of AutoGen's AgentChat, recorded by the messages that it streams.

An agent of AutoGen holds one conversation. Given an agent, the adapter runs one attempt after the other: each begins with the state
that the agent had when the adapter was made, and a conversation goes on with its own. Given a function that makes an agent, attempts
run side by side, each with an agent of its own. AutoGen's messages do not name the model. Tools go through interceptors; those of a
workbench that calls them elsewhere, such as MCP's, do not.
"""

import asyncio
import functools
import inspect
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from calipers.agents.recording import Recording
from calipers.agents.tool_interception import await_tool
from calipers.data.trace import Trace
from calipers.spans.conversation_trace import trace_of_history
from calipers.spans.messages import Call, Message, Part, Result, Text, Usage, arguments_of, told

from .framework import FrameworkAdapter, load_framework, no_agent, replace_once, tell

_AGENT = "agent"
_STATE = "state"


class AutoGenAdapter(FrameworkAdapter):
    """An agent or a team of AutoGen's AgentChat.

    ```python
    report = dataset.evaluate_sync(AutoGenAdapter(lambda: AssistantAgent("clerk", client, tools=[search])))
    ```

    Args:
        agent: the agent or the team, or a function without parameters that makes one for each conversation.
        name: the agent's name in traces and reports; default: its own.
        options: what to pass to each `agent.run_stream`.
        output: makes the output of an attempt of the `TaskResult`; default: the content of its last message, of whatever type.
        tags: of each trace.
        keep_secrets: record what looks like a secret as it is, rather than as `[redacted]`.

    Raises:
        TaskContractError: it is neither an agent of AutoGen nor a function.
        MissingExtraError: AutoGen is not installed.
    """

    def _check(self) -> None:
        base = load_framework("autogen_agentchat.base", "AutoGen", "autogen")
        self._kind = base.ChatAgent, base.Team
        self._is_agent = isinstance(self.agent, self._kind)
        if not self._is_agent and not callable(self.agent):
            raise no_agent(self.agent, "an agent of AutoGen, or a function that makes one")
        self._locks: weakref.WeakKeyDictionary[Any, asyncio.Lock] = weakref.WeakKeyDictionary()
        self._first: Any = None

    def _own_name(self) -> str:
        named = super()._own_name()
        return getattr(self.agent, "__name__", named) if not self._is_agent else named

    def _intercept(self) -> None:
        tools = load_framework("autogen_core.tools", "AutoGen", "autogen")
        replace_once(tools.BaseTool, "run_json", _run_json)

    async def _ask(self, inputs: Any, state: dict[str, Any], recording: Recording) -> Any:
        if not self._is_agent:
            agent = state.get(_AGENT) or await self._made(state)
            return await self._run_agent(agent, inputs, recording)
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if self._first is None:
                self._first = await self.agent.save_state()
            await self.agent.load_state(state.get(_STATE, self._first))
            answer = await self._run_agent(self.agent, inputs, recording)
            state[_STATE] = await self.agent.save_state()
            return answer

    async def _made(self, state: dict[str, Any]) -> Any:
        agent = self.agent()
        agent = state[_AGENT] = await agent if inspect.isawaitable(agent) else agent
        if not isinstance(agent, self._kind):
            raise no_agent(agent, f"an agent of AutoGen from {self.name!r}")
        return agent

    async def _run_agent(self, agent: Any, inputs: Any, recording: Recording) -> Any:
        seen: list[Any] = []
        try:
            async for message in agent.run_stream(task=inputs, **(self.options or {})):
                seen.append(message)  # noqa: PERF401 - one by one: what came before an error counts
        finally:
            tell(recording, _told(each for each in seen if hasattr(each, "source")))
        result = seen[-1]
        return self._answer(result, result.messages[-1].content if result.messages else None)


async def _run_json(
    own: Callable[..., Any], tool: Any, args: Mapping[str, Any], *more: Any, **given: Any
) -> Any:
    """Run a tool through the interceptors, inside of AutoGen's handling of errors."""
    return await await_tool(tool.name, args, functools.partial(own, tool, args, *more, **given))


def _told(streamed: Iterable[Any]) -> Trace:
    messages: list[Message] = []
    usages: list[Usage | None] = []
    for each in streamed:
        content, used = getattr(each, "content", None), getattr(each, "models_usage", None)
        items = content if isinstance(content, list) else [content]
        parts = [part for item in items if (part := _part(item)) is not None]
        if any(isinstance(part, Result) for part in parts):
            messages.append(Message("tool", parts))
        elif each.source == "user":
            messages.append(Message("user", parts))
        elif used is not None or parts:
            messages.append(Message("assistant", parts))
            usages.append(None if used is None else Usage(None, used.prompt_tokens, used.completion_tokens))
    return trace_of_history(messages, usages)


def _part(item: Any) -> Part | None:
    """A text, a `FunctionCall` or a `FunctionExecutionResult`."""
    if isinstance(item, str):
        return Text(item)
    if hasattr(item, "arguments") and hasattr(item, "name"):
        return Call(item.name, arguments_of(item.arguments), item.id)
    if hasattr(item, "call_id"):
        return Result(item.call_id, item.name, told(item.content), item.is_error is True)
    return None
