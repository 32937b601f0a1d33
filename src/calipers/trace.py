"""What an agent did: the tools it called, the models it asked, and the totals.

A tool call is `ToolCall(name, arguments)`. It may also be built and read as `tool_name`, `tool_input` and
`tool_output`, the words that trace recorders use. Two calls are equal when name and arguments are: what came back,
how long it took and which id it carried are circumstances, not identity.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from .errors import CalipersError


class ToolCall:
    """One call of one tool."""

    __slots__ = ("arguments", "call_id", "error", "latency_ms", "name", "output", "success")

    name: str
    """Which tool."""
    arguments: dict[str, Any]
    """By parameter name."""
    output: Any
    """What the tool gave back; `None` when it was not recorded."""
    success: bool
    """False when the tool failed."""
    error: str | None
    """Why it failed."""
    latency_ms: float | None
    """How long it took, in milliseconds; `None` when it was not measured."""
    call_id: str | None
    """The provider's id of the call."""

    def __init__(
        self,
        name: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        *,
        output: Any = None,
        success: bool = True,
        error: str | None = None,
        latency_ms: float | None = None,
        call_id: str | None = None,
        tool_name: str | None = None,
        tool_input: Mapping[str, Any] | None = None,
        tool_output: Any = None,
    ) -> None:
        name = name if name is not None else tool_name
        if not isinstance(name, str) or not name:
            raise CalipersError(f"a tool call needs the tool's name as a non-empty string, got {name!r}")
        given = arguments if arguments is not None else tool_input
        if given is not None and not isinstance(given, Mapping):
            raise CalipersError(f"the arguments of tool call {name!r} must be a mapping, got {given!r}")
        self.name = name
        self.arguments = dict(given) if given is not None else {}
        self.output = output if output is not None else tool_output
        self.success = success
        self.error = error
        self.latency_ms = latency_ms
        self.call_id = call_id

    @property
    def tool_name(self) -> str:
        """`name`, in the words of trace recorders."""
        return self.name

    @property
    def tool_input(self) -> dict[str, Any]:
        """`arguments`, in the words of trace recorders."""
        return self.arguments

    @property
    def tool_output(self) -> Any:
        """`output`, in the words of trace recorders."""
        return self.output

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolCall):
            return NotImplemented
        return self.name == other.name and self.arguments == other.arguments

    def __hash__(self) -> int:
        # Arguments may hold lists and dicts, so only the name takes part: equal calls still hash alike.
        return hash(self.name)

    def __repr__(self) -> str:
        return f"ToolCall({self.name!r}, {self.arguments!r})"


class LLMCall(msgspec.Struct, kw_only=True):
    """One request to a language model."""

    model: str
    """The model's name as the provider knows it."""
    input_tokens: int = 0
    output_tokens: int = 0
    input_text: str = ""
    output_text: str = ""
    latency_ms: float | None = None
    """How long it took, in milliseconds; `None` when it was not measured."""


@dataclass(kw_only=True)
class Trace:
    """What one execution of an agent left behind. Totals follow from the calls unless they are given."""

    agent_name: str = ""
    input_text: str = ""
    output_text: str = ""
    tool_calls: Sequence[ToolCall] = ()
    llm_calls: Sequence[LLMCall] = ()
    total_input_tokens: int | None = None
    total_output_tokens: int | None = None
    total_latency_ms: float | None = None
    """Wall-clock milliseconds; `None` when it was not measured."""
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.total_input_tokens is None:
            self.total_input_tokens = sum(call.input_tokens for call in self.llm_calls)
        if self.total_output_tokens is None:
            self.total_output_tokens = sum(call.output_tokens for call in self.llm_calls)
