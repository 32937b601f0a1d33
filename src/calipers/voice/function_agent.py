"""`@agent`: a function becomes an agent.

The function takes an `Audio` and gives an `AgentResponse`, a list of tool calls, or a `Trace`. A second function may
take the request as text, so that what an agent hears and what it decides can be told apart:

```python
@agent
async def assistant(audio): ...

@assistant.for_text
async def assistant(text): ...
```
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from calipers.data.context import are_tool_calls
from calipers.data.trace import Trace
from calipers.errors import TaskContractError
from calipers.process.user_code import call_in_thread

from .audio import Audio
from .protocols import TextAgent
from .response import AgentResponse


class FunctionAgent:
    """An agent made of a function."""

    def __init__(
        self, function: Callable[[Audio], Any], *, text_function: Callable[[str], Any] | None = None
    ) -> None:
        if not callable(function):
            raise TaskContractError(f"an agent is made of a function of audio, got {function!r}")
        if isinstance(function, type):
            raise TaskContractError(
                f"an agent is made of a function of audio, got the class {function!r}: if its objects are agents, give one"
            )
        self.function = function
        self.text_function = text_function
        functools.update_wrapper(self, function, updated=())

    async def run(self, audio: Audio) -> AgentResponse:
        """What the function does about what it hears."""
        return as_response(await called(self.function, audio), by=self._name)

    async def run_text(self, text: str) -> AgentResponse:
        """What the function for texts does about what it reads.

        Raises:
            TaskContractError: there is no such function.
        """
        if self.text_function is None:
            raise TaskContractError(
                f"the agent {self._name!r} only hears: give it a synthesizer, "
                f"or a function of texts with @{self._name}.for_text"
            )
        return as_response(await called(self.text_function, text), by=self._name)

    def for_text(self, function: Callable[[str], Any]) -> "FunctionAgent":
        """The same agent, with a function for requests that are text."""
        return FunctionAgent(self.function, text_function=function)

    def __call__(self, audio: Audio) -> Any:
        """Call the function as it is."""
        return self.function(audio)

    @property
    def _name(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def __repr__(self) -> str:
        return f"<agent {self._name}>"


def agent(function: Callable[[Audio], Any]) -> FunctionAgent:
    """A function of audio as an agent."""
    return FunctionAgent(function)


def can_read(agent: Any) -> bool:
    """Whether an agent takes requests as text; one made of a function does if it has another for that."""
    if isinstance(agent, FunctionAgent):
        return agent.text_function is not None
    return isinstance(agent, TextAgent)


async def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a sync or async function gives. A sync one runs in a thread, since nothing else could go on beside it."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return await function(*arguments)
    found = await call_in_thread(function, *arguments)
    return await found if inspect.isawaitable(found) else found


def as_response(answer: Any, *, by: str) -> AgentResponse:
    """What an agent gave, as a response."""
    if isinstance(answer, AgentResponse):
        if not are_tool_calls(answer.tool_calls):
            raise TaskContractError(
                f"the tool_calls of the agent {by!r} must be a list of ToolCall, got {answer.tool_calls!r:.200}"
            )
        return answer
    if isinstance(answer, Trace):
        if not answer.calls_known:
            raise TaskContractError(
                f"the trace that the agent {by!r} gave does not tell its tool calls: mark its tools with "
                "@calipers.agents.tool, or give Trace(tool_calls=[]) to say that it made none"
            )
        return AgentResponse(tool_calls=list(answer.tool_calls), raw=answer, text=answer.output_text or None)
    if are_tool_calls(answer):
        return AgentResponse(tool_calls=list(answer), raw=answer)
    if are_tool_calls(calls := getattr(answer, "tool_calls", None)):
        return AgentResponse(tool_calls=list(calls), raw=answer)
    raise TaskContractError(
        f"the agent {by!r} must give an AgentResponse, a list of ToolCall or a Trace, got {answer!r:.200}"
    )
