"""`PydanticAIAdapter`: an agent of pydantic-ai, recorded by the messages of its runs.

A call of an output tool is how pydantic-ai lets its model answer: it is the answer, and no tool call. A tool that raised
`ModelRetry`, or was called with arguments that do not fit, is a failed call. The messages say when a model was asked and when it
answered; what a tool took, and that it raised, is known of a capability of the run, by which tools also go through the interceptors.

Runs take capabilities since pydantic-ai 1.86. An agent of an earlier release is recorded without the times of its tools, and does not run
where interceptors are set.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from time import perf_counter
from typing import Any

from calipers.agents.event_log import error_text
from calipers.agents.recording import Recording
from calipers.agents.tool_interception import are_tools_intercepted, await_tool
from calipers.data.trace import Trace, Turn, TurnType
from calipers.errors import TaskContractError
from calipers.models.model_answer import Usage as Tokens
from calipers.models.prices import cost_of
from calipers.models.pydantic_ai_model import PROVIDERS
from calipers.spans.conversation_trace import trace_of_history
from calipers.spans.messages import Call, Message, Result, Usage, read_messages, usage_of

from .framework import FrameworkAdapter, load_framework, no_agent, tell

_MESSAGES = "messages"
_FIRST = "1.86"
"""The first release whose runs take capabilities."""


@dataclass(frozen=True)
class _ToolRun:
    """A tool that was run."""

    began: datetime
    milliseconds: float
    error: str | None


@dataclass(frozen=True)
class _Answer:
    """When a model was asked, and when it had answered, where the messages say so."""

    asked: datetime | None
    given: datetime | None

    @property
    def milliseconds(self) -> float | None:
        if self.asked is None or self.given is None or self.given < self.asked:
            return None
        return (self.given - self.asked).total_seconds() * 1000


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
        runs: dict[str, _ToolRun] = {}
        if _has_capabilities():
            options["capabilities"] = [*(options.get("capabilities") or ()), _capability_class()(runs)]
        elif are_tools_intercepted():
            raise TaskContractError(
                f"faults, tapes and other interceptors need pydantic-ai {_FIRST} or later, whose runs take capabilities, and this is "
                f"{version('pydantic-ai-slim')}: pip install --upgrade 'calipers[pydantic-ai]'"
            )
        with capture_run_messages() as captured:
            try:
                result = await self.agent.run(prompt, **options)
            except BaseException:
                new = captured[len(options["message_history"]) :]  # before them stands the history
                tell(recording, _told(new, _output_tools(self.agent, None), runs, raised=True))
                raise
        tell(recording, _told(result.new_messages(), _output_tools(self.agent, result), runs))
        state[_MESSAGES] = result.all_messages()
        return self._answer(result, result.output)


@functools.cache
def _has_capabilities() -> bool:
    """Whether the runs of this release of pydantic-ai take them. Some earlier ones have them only for an agent as a whole."""
    framework = load_framework("pydantic_ai.agent", "pydantic-ai", "pydantic-ai")
    return "capabilities" in inspect.signature(framework.AbstractAgent.run).parameters


@functools.cache
def _capability_class() -> Any:
    """The class whose method pydantic-ai calls to run a tool; made here, because its base loads with the framework."""
    base: Any = load_framework("pydantic_ai.capabilities", "pydantic-ai", "pydantic-ai").AbstractCapability

    class ToolRuns(base):  # type: ignore[misc]
        """Notes the calls of tools, and sends them through the interceptors."""

        def __init__(self, runs: dict[str, _ToolRun]) -> None:
            self.runs = runs

        async def wrap_tool_execute(
            self, *_: Any, call: Any, args: Any, handler: Callable[[Any], Awaitable[Any]], **__: Any
        ) -> Any:
            """Run a tool."""
            began, start, error = datetime.now(UTC), perf_counter(), None
            try:
                return await await_tool(call.tool_name, call.args_as_dict(), functools.partial(handler, args))
            except BaseException as raised:
                error = error_text(raised)
                raise
            finally:
                took = (perf_counter() - start) * 1000
                self.runs[call.tool_call_id] = _ToolRun(began, took, error)

    return ToolRuns


def _told(
    history: Sequence[Any], answers: frozenset[str], runs: Mapping[str, _ToolRun], *, raised: bool = False
) -> Trace:
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    entries = ModelMessagesTypeAdapter.dump_python(list(history))
    messages: list[Message] = []
    usages: list[Usage | None] = []
    times: list[_Answer] = []
    asked: datetime | None = None
    for entry in entries:
        if entry.get("kind") == "request":
            asked = entry.get("timestamp")
        for message in read_messages([entry]):
            message.parts = [
                part
                for part in message.parts
                if not isinstance(part, Call | Result) or part.name not in answers
            ]
            messages.append(message)
            if message.role == "assistant":
                usages.append(usage := _usage(entry))
                if usage is not None:
                    times.append(_Answer(asked, entry.get("timestamp")))
    told = trace_of_history(messages, usages)
    return told.replace(turns=list(_timed(told.turns, times, runs, raised=raised)))


def _timed(
    turns: Sequence[Turn], times: Sequence[_Answer], runs: Mapping[str, _ToolRun], *, raised: bool
) -> Iterator[Turn]:
    """The turns with the time at which each began, and the failure of tools after which the agent raised."""
    coming = iter(times)
    following, last = next(coming, None), None
    for turn in turns:
        if turn.llm_call is not None and following is not None:
            last, following = following, next(coming, None)
            call = copy(turn.llm_call)
            call.timestamp, call.latency_ms = last.asked, last.milliseconds
            yield Turn(llm_call=call, turn_id=turn.turn_id, timestamp=last.asked)
        elif turn.tool_call is not None and (run := runs.get(turn.tool_call.call_id or "")) is not None:
            tool = copy(turn.tool_call)
            tool.timestamp, tool.latency_ms = run.began, run.milliseconds
            if raised and run.error is not None and "success" in tool.unknown:
                tool.error, tool.success, tool.unknown = run.error, False, ()
            yield Turn(tool_call=tool, turn_id=turn.turn_id, timestamp=run.began)
        elif turn.turn_type is TurnType.USER_MESSAGE and following is not None:
            yield Turn(
                turn_type=turn.turn_type,
                content=turn.content,
                turn_id=turn.turn_id,
                timestamp=following.asked,
            )
        elif turn.turn_type is TurnType.AGENT_MESSAGE and last is not None and last.asked is not None:
            yield Turn(
                turn_type=turn.turn_type, content=turn.content, turn_id=turn.turn_id, timestamp=last.given
            )
        else:
            yield turn


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
