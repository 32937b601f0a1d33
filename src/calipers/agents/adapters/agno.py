"""`AgnoAdapter`: an agent or a team of Agno, recorded by the messages of its runs.

Agno does not raise what its model raises: a run that ended in an error is raised here, as an `AgentError`, and the trace up to
there is kept. A call that no tool ran, such as one of a tool that does not exist, is a failed call.
"""

import functools
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from calipers.agents.recording import Recording
from calipers.agents.tool_interception import await_tool, call_tool
from calipers.data.trace import Trace
from calipers.errors import AgentError
from calipers.models.model_answer import Usage as Tokens
from calipers.models.prices import cost_of
from calipers.spans.conversation_trace import trace_of_history
from calipers.spans.messages import Message, Result, Usage, read_messages

from .framework import FrameworkAdapter, load_framework, no_agent, replace_once, tell

_MESSAGES = "messages"


class AgnoAdapter(FrameworkAdapter):
    """An agent or a team of Agno.

    ```python
    report = dataset.evaluate_sync(AgnoAdapter(agent, options={"dependencies": {"user": "ada"}}))
    ```

    Args:
        agent: the `Agent` or the `Team`.
        name: the agent's name in traces and reports; default: its own.
        options: what to pass to each `agent.arun`, such as `session_state`, `dependencies` or `user_id`.
        output: makes the output of an attempt of the `RunOutput`; default: its `content`, of whatever type.
        tags: of each trace.
        keep_secrets: record what looks like a secret as it is, rather than as `[redacted]`.

    Raises:
        TaskContractError: it is no agent of Agno.
        MissingExtraError: Agno is not installed.
    """

    def _check(self) -> None:
        known = (
            load_framework("agno.agent", "Agno", "agno").Agent,
            load_framework("agno.team", "Agno", "agno").Team,
        )
        if not isinstance(self.agent, known):
            raise no_agent(self.agent, "an Agent or a Team of Agno")

    def _intercept(self) -> None:
        tools = load_framework("agno.tools.function", "Agno", "agno")
        replace_once(tools.FunctionCall, "execute", _execute)
        replace_once(tools.FunctionCall, "aexecute", _execute_later)

    async def _ask(self, inputs: Any, state: dict[str, Any], recording: Recording) -> Any:
        message_class = load_framework("agno.models.message", "Agno", "agno").Message
        before: list[Any] = state.get(_MESSAGES, [])
        request = [*before, message_class(role="user", content=inputs)] if isinstance(inputs, str) else inputs
        result = await self.agent.arun(request, stream=False, **(self.options or {}))
        known = {message.id for message in before}
        spoken = [message for message in result.messages or () if message.role != "system"]
        ran = {run.tool_call_id for run in result.tools or ()}
        provider = f"{result.model_provider or ''}".lower()
        tell(recording, _told([each for each in spoken if each.id not in known], ran, provider, result.model))
        if result.status.value.lower() == "error":
            raise AgentError(f"the agent {self.name!r} ended in an error: {result.content}")
        state[_MESSAGES] = spoken
        return self._answer(result, result.content)


class _ToolFailedError(Exception):
    """A tool failed, and Agno made an outcome of it."""

    def __init__(self, outcome: Any) -> None:
        super().__init__(str(outcome.error))
        self.outcome = outcome


class _Execution:
    """One call of a tool. Interceptors see what the tool gave, and Agno sees its own outcome of it."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self._outcome: Any = None

    def run(self, execute: Callable[[], Any]) -> Any:
        return self._value(execute())

    async def run_later(self, execute: Callable[[], Awaitable[Any]]) -> Any:
        return self._value(await execute())

    def _value(self, outcome: Any) -> Any:
        self._outcome = outcome
        if outcome.status == "failure":
            raise _ToolFailedError(outcome)
        return outcome.result

    def returned(self, value: Any) -> Any:
        """The outcome of a call that gave a value."""
        if self._outcome is not None and self._outcome.status == "success" and self._outcome.result is value:
            return self._outcome
        self._call.result = value
        return _outcome(status="success", result=value)

    def raised(self, error: Exception) -> Any:
        """The outcome of a call that raised."""
        if isinstance(error, _ToolFailedError):
            return error.outcome
        if isinstance(error, load_framework("agno.exceptions", "Agno", "agno").AgentRunException):
            raise error  # it steers the run
        self._call.error = str(error)
        return _outcome(status="failure", error=str(error))


def _outcome(**said: Any) -> Any:
    return load_framework("agno.tools.function", "Agno", "agno").FunctionExecutionResult(**said)


def _execute(own: Callable[..., Any], call: Any) -> Any:
    execution = _Execution(call)
    run = functools.partial(execution.run, functools.partial(own, call))
    try:
        return execution.returned(call_tool(call.function.name, call.arguments or {}, run))
    except Exception as error:
        return execution.raised(error)


async def _execute_later(own: Callable[..., Any], call: Any) -> Any:
    execution = _Execution(call)
    run = functools.partial(execution.run_later, functools.partial(own, call))
    try:
        return execution.returned(await await_tool(call.function.name, call.arguments or {}, run))
    except Exception as error:
        return execution.raised(error)


def _told(history: Sequence[Any], ran: set[str | None], provider: str, model: str | None) -> Trace:
    messages: list[Message] = []
    usages: list[Usage | None] = []
    for each in history:
        entry = {"role": each.role, "content": each.content, "tool_calls": each.tool_calls}
        if each.role == "tool":
            entry |= {"tool_call_id": each.tool_call_id, "name": each.tool_name}
            entry["is_error"] = bool(each.tool_call_error)
        for message in read_messages([entry]):
            for part in message.parts:
                if isinstance(part, Result) and part.call_id not in ran:
                    part.failed = True
            messages.append(message)
            if message.role == "assistant":
                usages.append(_usage(each.metrics, provider, model))
    return trace_of_history(messages, usages)


def _usage(metrics: Any, provider: str, model: str | None) -> Usage:
    """What an answer took, with its price if that is known."""
    given, answered = getattr(metrics, "input_tokens", 0) or 0, getattr(metrics, "output_tokens", 0) or 0
    cost = getattr(metrics, "cost", None)
    if cost is None and given and model:
        cached = getattr(metrics, "cache_read_tokens", None) or None
        cost = cost_of(f"{provider}:{model}", Tokens(input=given, output=answered, cache_read=cached))
    return Usage(model, given, answered, cost)
