"""`StrandsAdapter`: an agent of Strands, recorded by the messages that it streams.

An agent of Strands holds one conversation. Given an agent, the adapter runs one attempt after the other: each begins with the state
that the agent had at the first, and a conversation goes on with its own. Given a function that makes an agent, attempts run side by
side, each with an agent of its own. The tool by which a model gives a structured output is its answer, and no call.
"""

import asyncio
import copy
import inspect
import weakref
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from calipers.agents.recording import Recording
from calipers.agents.tool_interception import await_tool
from calipers.data.trace import Trace
from calipers.models.model_answer import Usage as Tokens
from calipers.models.prices import cost_of
from calipers.spans.conversation_trace import trace_of_history
from calipers.spans.messages import Call, Message, Result, Text, Usage, read_messages

from .framework import FrameworkAdapter, load_framework, no_agent, replace_once, tell
from .function import text_of

_AGENT = "agent"
_STATE = "state"
_ANSWER = "structured_output"


class StrandsAdapter(FrameworkAdapter):
    """An agent of Strands.

    ```python
    report = dataset.evaluate_sync(StrandsAdapter(lambda: Agent(model=model, tools=[search])))
    ```

    Args:
        agent: the agent, or a function without parameters that makes one for each conversation.
        name: the agent's name in traces and reports; default: its own.
        options: what to pass to each `agent.stream_async`, such as `invocation_state` or `structured_output_model`.
        output: makes the output of an attempt of the `AgentResult`; default: its structured output, else the text of its message.
        tags: of each trace.
        keep_secrets: record what looks like a secret as it is, rather than as `[redacted]`.

    Raises:
        TaskContractError: it is neither an agent of Strands nor a function.
        MissingExtraError: Strands is not installed.
    """

    def _check(self) -> None:
        self._kind = load_framework("strands", "Strands", "strands").Agent
        self._is_agent = isinstance(self.agent, self._kind)
        if not self._is_agent and not callable(self.agent):
            raise no_agent(self.agent, "an Agent of Strands, or a function that makes one")
        self._locks: weakref.WeakKeyDictionary[Any, asyncio.Lock] = weakref.WeakKeyDictionary()
        self._first: Any = None

    def _own_name(self) -> str:
        named = super()._own_name()
        return named if self._is_agent else getattr(self.agent, "__name__", named)

    def _intercept(self) -> None:
        hooks = load_framework("strands.hooks", "Strands", "strands")
        replace_once(hooks.HookRegistry, "invoke_callbacks_async", _select_stand_in)

    async def _ask(self, inputs: Any, state: dict[str, Any], recording: Recording) -> Any:
        if not self._is_agent:
            agent = state.get(_AGENT) or await self._made(state)
            return await self._run_agent(agent, inputs, recording)
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if self._first is None:
                self._first = self.agent.take_snapshot(preset="session")
            self.agent.load_snapshot(state.get(_STATE, self._first))
            answer = await self._run_agent(self.agent, inputs, recording)
            state[_STATE] = self.agent.take_snapshot(preset="session")
            return answer

    async def _made(self, state: dict[str, Any]) -> Any:
        agent = self.agent()
        agent = state[_AGENT] = await agent if inspect.isawaitable(agent) else agent
        if not isinstance(agent, self._kind):
            raise no_agent(agent, f"an Agent of Strands from {self.name!r}")
        return agent

    async def _run_agent(self, agent: Any, inputs: Any, recording: Recording) -> Any:
        messages: list[Any] = []
        result: Any = None
        try:
            async for event in agent.stream_async(inputs, **(self.options or {})):
                if "message" in event:
                    messages.append(event["message"])
                result = event.get("result", result)
        finally:
            chosen = getattr(result, "structured_output", None)
            answer_tool = None if chosen is None else type(chosen).__name__
            tell(recording, _told(recording.input_text, messages, _model_name(agent), answer_tool))
        return self._answer(result, _text(result.message) if chosen is None else chosen)


async def _select_stand_in(own: Callable[..., Any], registry: Any, event: Any) -> Any:
    """Have a call of a tool made by a stand-in, after the agent's own hooks have chosen the tool."""
    hooks = load_framework("strands.hooks", "Strands", "strands")
    answer = await own(registry, event)
    is_call = isinstance(event, hooks.BeforeToolCallEvent)
    if is_call and event.selected_tool is not None and event.selected_tool.tool_type != _ANSWER:
        event.selected_tool = _stand_in(event.selected_tool)
    return answer


class _ToolFailedError(Exception):
    """A tool answered with an error, which its last event tells."""


def _stand_in(tool: Any) -> Any:
    """A copy of a tool whose calls go through the interceptors."""
    stand_in = copy.copy(tool)

    async def stream(tool_use: Any, invocation_state: Any, **given: Any) -> AsyncIterator[Any]:
        events: list[Any] = []

        async def run() -> Any:
            async for event in tool.stream(tool_use, invocation_state, **given):
                events.append(event)
            result = _result(events)
            if result is None:
                return None
            if result["status"] == "error":
                raise _ToolFailedError
            return _content(result)

        given_input = tool_use.get("input")
        arguments = given_input if isinstance(given_input, dict) else {}
        try:
            value = await await_tool(tool.tool_name, arguments, run)
        except _ToolFailedError:
            value = None
        else:
            result = _result(events)
            if result is None or result["status"] == "error" or _content(result) != value:
                events = events[:-1] if result is not None else []
                types = load_framework("strands.types._events", "Strands", "strands")
                text = {"text": text_of(value)}
                changed = {"toolUseId": tool_use.get("toolUseId"), "status": "success", "content": [text]}
                events.append(types.ToolResultEvent(changed))
        for event in events:
            yield event

    stand_in.stream = stream
    return stand_in


def _result(events: Sequence[Any]) -> Any:
    """The result of a tool, which is its last event; `None`: it has none, such as one that asks a person first."""
    last = events[-1] if events else None
    told = getattr(last, "tool_result", last)
    return told if isinstance(told, Mapping) and {"status", "content"} <= told.keys() else None


def _content(result: Mapping[str, Any]) -> Any:
    """What a tool gave: its text, or else its blocks."""
    blocks = result["content"]
    return "".join(each["text"] for each in blocks) if all("text" in each for each in blocks) else blocks


def _told(said: str, streamed: Sequence[Any], model: str | None, answer_tool: str | None) -> Trace:
    messages = [Message("user", [Text(said)])]
    usages: list[Usage | None] = []
    answers: set[str | None] = set()
    for each in streamed:
        for message in read_messages([{"role": each["role"], "content": each["content"]}]):
            answers |= {
                part.call_id for part in message.parts if isinstance(part, Call) and part.name == answer_tool
            }
            message.parts = [
                part
                for part in message.parts
                if not isinstance(part, Call | Result) or part.call_id not in answers
            ]
            messages.append(message)
            if message.role == "assistant":
                usages.append(_usage((each.get("metadata") or {}).get("usage") or {}, model))
    return trace_of_history(messages, usages)


def _usage(used: Mapping[str, Any], model: str | None) -> Usage:
    """What an answer took, with its price if that is known."""
    given, answered = used.get("inputTokens") or 0, used.get("outputTokens") or 0
    tokens = Tokens(input=given, output=answered, cache_read=used.get("cacheReadInputTokens"))
    return Usage(model, given, answered, cost_of(model, tokens) if model and given else None)


def _model_name(agent: Any) -> str | None:
    """What the agent's model is called, by its configuration."""
    config = agent.model.get_config()
    named = config.get("model_id") if isinstance(config, Mapping) else getattr(config, "model_id", None)
    return named if isinstance(named, str) else None


def _text(message: Mapping[str, Any]) -> str:
    return "".join(part["text"] for part in message["content"] if "text" in part)
