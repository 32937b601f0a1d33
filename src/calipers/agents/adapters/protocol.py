"""`Adapter`: what stands between an agent and those who test it. A name and a method; no base class, no registration."""

from collections.abc import Awaitable
from typing import Any, Protocol, runtime_checkable

from calipers.data.trace import Trace


@runtime_checkable
class Adapter(Protocol):
    """Runs an agent once and tells what it did. Any object with a `name` and `invoke` is one, and is a task of a run."""

    @property
    def name(self) -> str:
        """What the agent is called in reports."""
        ...

    def invoke(self, input_text: Any, /) -> Trace | Awaitable[Trace]:
        """Put a request to the agent. An agent that gives no answer is an exception, never an empty trace."""
        ...
