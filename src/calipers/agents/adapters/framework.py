"""`FrameworkAdapter`: what the adapters of frameworks share. Nothing has to be instrumented.

A framework tells what its agent did: in the messages that a run returns, or by callbacks of its own. The adapter reads that
into a recording, so an attempt has its trace, and the output of the attempt is what the agent returned, of any type. A tool
that is also marked with `@tool` is one call: the mark is right about its values.

- Every call that the agent makes is recorded. What a tool does inside, such as asking another agent, is the tool's own affair,
  unless that is recorded as well.
- Arguments are those that the model chose. What a framework passes to a tool besides is not recorded.
- In a case with `turns`, the agent is given the messages of the turns before.
- An agent that raises leaves the trace up to there, as far as its framework tells.
- In a block of `intercepting_tools`, calls of tools go through its interceptors. Where a framework has no place of its own for that,
  the one method by which it runs tools is replaced, for the process and at the first such block: it is as before for all but the agents
  of adapters in such a block. Your agent is left as it is.
"""

import functools
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from importlib import import_module
from typing import Any, ClassVar

from calipers.agents.recording import Recording, TraceRecorder
from calipers.agents.tool_interception import are_tools_intercepted
from calipers.data.trace import Trace, Turn, TurnType
from calipers.errors import MissingExtraError, TaskContractError
from calipers.models.accounting import count
from calipers.models.model_answer import Completion, Usage

from .function import is_turn, text_of

_REPLACED = "_calipers_replaced"
_REPLACING = threading.Lock()
_INTERCEPTED: ContextVar[bool] = ContextVar("calipers_intercepted_framework", default=False)


class FrameworkAdapter:
    """An agent of a framework. Each framework has an adapter of its own.

    Args:
        agent: the agent, as you made it.
        name: the agent's name in traces and reports; default: its own.
        options: what to pass to each run of the agent besides the request, by name.
        output: makes the output of an attempt of what the framework returns; default: its final answer, of whatever type.
        tags: of each trace.
        keep_secrets: record what looks like a secret as it is, rather than as `[redacted]`.

    Raises:
        TaskContractError: it is no agent of this framework.
        MissingExtraError: the framework is not installed.
    """

    is_async: ClassVar[bool] = True
    """It is awaited."""

    def __init__(
        self,
        agent: Any,
        *,
        name: str | None = None,
        options: Mapping[str, Any] | None = None,
        output: Callable[[Any], Any] | None = None,
        tags: Sequence[str] = (),
        keep_secrets: bool = False,
    ) -> None:
        self.agent = agent
        self.options = options
        self.output = output
        self.tags = tags
        self.keep_secrets = keep_secrets
        self._check()
        self.name = self._own_name() if name is None else name
        """What the agent is called in traces and reports."""
        TraceRecorder(self.name, None, tags)  # refuses what no trace could hold

    async def invoke(self, input_text: Any, /) -> Trace:
        """Ask the agent: the trace of what it did. An answer that is not text is told as JSON."""
        _, recording = await self._run(input_text, {})
        return recording.trace

    async def __call__(self, inputs: Any, /, *, state: dict[str, Any] | None = None) -> Any:
        """Ask the agent, as the task of a run: what it answers, of any type. The attempt has the trace.

        Args:
            inputs: what to ask.
            state: of a conversation; the messages so far are kept in it.
        """
        output, recording = await self._run(inputs, {} if state is None else state)
        return recording.trace if is_turn() else output

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    # ------------------------------------------------------------------ what a framework's adapter says

    def _check(self) -> None:
        """Refuse what is no agent of this framework."""
        raise NotImplementedError

    def _own_name(self) -> str:
        """What the agent calls itself."""
        named = getattr(self.agent, "name", None)
        return named if isinstance(named, str) and named else "agent"

    async def _ask(self, inputs: Any, state: dict[str, Any], recording: Recording) -> Any:
        """Run the agent, tell the recording what it did, and keep in the state what the next turn needs; the answer."""
        raise NotImplementedError

    def _intercept(self) -> None:
        """Have the framework's tools go through the interceptors; called before an agent that runs with some."""

    # ------------------------------------------------------------------ the same for all

    async def _run(self, inputs: Any, state: dict[str, Any]) -> tuple[Any, Recording]:
        recording = Recording(
            self.name,
            tags=self.tags,
            input_text=inputs if isinstance(inputs, str) else str(inputs),
            keep_secrets=self.keep_secrets,
            records_calls=True,
        )
        async with recording:
            output = await self._ask_intercepted(inputs, state, recording)
            answer = text_of(output)
            if answer and not _is_said(answer, recording.log.turns):
                recording.record_agent_message(answer)
            recording.output_text = answer
        return output, recording

    async def _ask_intercepted(self, inputs: Any, state: dict[str, Any], recording: Recording) -> Any:
        if not are_tools_intercepted():
            return await self._ask(inputs, state, recording)
        self._intercept()
        token = _INTERCEPTED.set(True)
        try:
            return await self._ask(inputs, state, recording)
        finally:
            _INTERCEPTED.reset(token)

    def _answer(self, returned: Any, answer: Any) -> Any:
        """The output: what the user makes of what the framework returned, else its answer."""
        return answer if self.output is None else self.output(returned)


def load_framework(module: str, framework: str, extra: str) -> Any:
    """A module of a framework.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError.of(f"an agent of {framework}", extra) from error


def replace_once(owner: type, name: str, replacement: Callable[..., Any]) -> None:
    """Replace a method of a framework, once, by a function of the method itself, the object and the arguments.

    It is called for agents of adapters that run with interceptors, and the method as it was for all others.
    """
    with _REPLACING:
        _replace_once(owner, name, replacement)


def _replace_once(owner: type, name: str, replacement: Callable[..., Any]) -> None:
    own = getattr(owner, name)
    if getattr(own, _REPLACED, False):
        return

    def method(self: Any, *args: Any, **given: Any) -> Any:
        if not _INTERCEPTED.get():
            return own(self, *args, **given)
        return replacement(own, self, *args, **given)

    async def method_later(self: Any, *args: Any, **given: Any) -> Any:
        return await method(self, *args, **given)

    replaced = functools.wraps(own)(method_later if inspect.iscoroutinefunction(own) else method)
    setattr(replaced, _REPLACED, True)
    setattr(owner, name, replaced)


async def call_apart(function: Callable[..., Awaitable[Any]], *args: Any) -> Any:
    """Call what runs a tool: an agent that it asks meanwhile has methods of the framework as they were."""
    token = _INTERCEPTED.set(False)
    try:
        return await function(*args)
    finally:
        _INTERCEPTED.reset(token)


def no_agent(agent: Any, of: str) -> TaskContractError:
    """The error for an object that is no agent of a framework."""
    return TaskContractError(f"expected {of}, got {type(agent).__name__}: {agent!r:.200}")


def tell(recording: Recording, told: Trace) -> None:
    """Put what a framework tells into a recording, and count for the attempt what its models used."""
    for turn in recording.adopt(told):
        if (call := turn.llm_call) is not None:
            tokens = Usage(call.input_tokens, call.output_tokens) if call.input_tokens else None
            count(Completion(usage=tokens, model=call.model, cost=call.cost), call.model)


def _is_said(answer: str, turns: Sequence[Turn]) -> bool:
    last = next((turn for turn in reversed(turns) if turn.turn_type is TurnType.AGENT_MESSAGE), None)
    return last is not None and last.content == answer
