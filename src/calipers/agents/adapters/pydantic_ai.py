"""`PydanticAIAdapter`: an agent of pydantic-ai, recorded by the messages of its runs.

A call of an output tool is how pydantic-ai lets its model answer: it is the answer, and no tool call. A tool that raised
`ModelRetry`, or was called with arguments that do not fit, is a failed call. Interceptors of tools are a capability of the run.
"""

import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from calipers.agents.recording import Recording
from calipers.agents.tool_interception import are_tools_intercepted, await_tool
from calipers.data.trace import Trace
from calipers.models.model_answer import Usage as Tokens
from calipers.models.prices import cost_of
from calipers.models.pydantic_ai_model import PROVIDERS
from calipers.spans.conversation_trace import trace_of_history
from calipers.spans.messages import Call, Message, Result, Usage, read_messages, usage_of

from .framework import FrameworkAdapter, load_framework, no_agent, tell

_MESSAGES = "messages"


class PydanticAIAdapter(FrameworkAdapter):
    """An agent of pydantic-ai.

    ```python
    report = dataset.evaluate_sync(PydanticAIAdapter(agent, options={"deps": deps}))
    ```

    Args:
        agent: the `Agent`.
        name: the agent's name in traces and reports; default: its own.
        options: what to pass to each `agent.run`, such as `deps`, `model` or `usage_limits`.
        output: makes the output of an attempt of the `AgentRunResult`; default: its `output`, of whatever type.
        tags: of each trace.
        keep_secrets: record what looks like a secret as it is, rather than as `[redacted]`.

    Raises:
        TaskContractError: it is no agent of pydantic-ai.
        MissingExtraError: pydantic-ai is not installed.
    """

    def _check(self) -> None:
        framework = load_framework("pydantic_ai.agent", "pydantic-ai", "pydantic-ai")
        if not isinstance(self.agent, framework.AbstractAgent):
            raise no_agent(self.agent, "an Agent of pydantic-ai")

    async def _ask(self, inputs: Any, state: dict[str, Any], recording: Recording) -> Any:
        from pydantic_ai import capture_run_messages

        before: list[Any] = state.get(_MESSAGES, [])
        prompt = inputs if isinstance(inputs, str | list) else str(inputs)
        options = {"message_history": before, **(self.options or {})}
        if are_tools_intercepted():
            options["capabilities"] = [*(options.get("capabilities") or ()), _capability_class()()]
        with capture_run_messages() as captured:
            try:
                result = await self.agent.run(prompt, **options)
            except BaseException:
                new = captured[len(options["message_history"]) :]  # before them stands the history
                tell(recording, _told(new, _output_tools(self.agent, None)))
                raise
        tell(recording, _told(result.new_messages(), _output_tools(self.agent, result)))
        state[_MESSAGES] = result.all_messages()
        return self._answer(result, result.output)


@functools.cache
def _capability_class() -> Any:
    """The class whose method pydantic-ai calls to run a tool; made here, because its base loads with the framework."""
    base: Any = load_framework("pydantic_ai.capabilities", "pydantic-ai", "pydantic-ai").AbstractCapability

    class Interception(base):  # type: ignore[misc]
        """Sends the calls of tools through the interceptors."""

        async def wrap_tool_execute(
            self, *_: Any, call: Any, args: Any, handler: Callable[[Any], Awaitable[Any]], **__: Any
        ) -> Any:
            """Run a tool."""
            return await await_tool(call.tool_name, call.args_as_dict(), functools.partial(handler, args))

    return Interception


def _told(history: Sequence[Any], answers: frozenset[str]) -> Trace:
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    entries = ModelMessagesTypeAdapter.dump_python(list(history))
    messages: list[Message] = []
    usages: list[Usage | None] = []
    for entry in entries:
        for message in read_messages([entry]):
            message.parts = [
                part
                for part in message.parts
                if not isinstance(part, Call | Result) or part.name not in answers
            ]
            messages.append(message)
            if message.role == "assistant":
                usages.append(_usage(entry))
    return trace_of_history(messages, usages)


def _usage(entry: Mapping[str, Any]) -> Usage | None:
    """What an answer took, with its price if that is known."""
    found, used = usage_of(entry), entry.get("usage")
    if found is not None and found.cost is None and found.input_tokens and isinstance(used, Mapping):
        provider = str(entry.get("provider_name") or "")
        name = f"{PROVIDERS.get(provider, provider)}:{found.model or ''}"
        tokens = Tokens(
            input=found.input_tokens,
            output=found.output_tokens,
            cache_read=used.get("cache_read_tokens") or None,
            cache_write=used.get("cache_write_tokens") or None,
        )
        found.cost = cost_of(name, tokens, answered_by=found.model)
    return found


def _output_tools(agent: Any, result: Any) -> frozenset[str]:
    """The tools by which the agent's model gives its output. The framework has no public word for them."""
    while (wrapped := getattr(agent, "wrapped", None)) is not None:
        agent = wrapped
    listed = getattr(getattr(agent, "_output_toolset", None), "processors", None)
    used = getattr(result, "_output_tool_name", None)
    return frozenset(listed if isinstance(listed, Mapping) else ()) | frozenset([used] if used else ())
