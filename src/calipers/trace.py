"""What an agent did: the tools it called, the models it asked, and the totals.

A tool call is `ToolCall(name, arguments)`. It may also be built and read as `tool_name`, `tool_input` and
`tool_output`, the words that trace recorders use. Two calls are equal when name and arguments are: what came back,
how long it took and which id it carried are circumstances, not identity.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from .errors import InvalidTraceError


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
        called = _either("name", name, "tool_name", tool_name)
        if not isinstance(called, str) or not called:
            raise InvalidTraceError(
                f"a tool call needs the tool's name as a non-empty string, got {called!r}"
            )
        given = _either("arguments", arguments, "tool_input", tool_input)
        if given is not None and not isinstance(given, Mapping):
            raise InvalidTraceError(f"the arguments of tool call {called!r} must be a mapping, got {given!r}")
        self.name = called
        self.arguments = dict(given) if given is not None else {}
        self.output = _either("output", output, "tool_output", tool_output)
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


def _either(word: str, value: Any, other_word: str, other: Any) -> Any:
    """The value under whichever of the two words it was given."""
    if value is not None and other is not None:
        raise InvalidTraceError(
            f"{word}={value!r} and {other_word}={other!r} are two words for one thing: give one of them"
        )
    return other if value is None else value


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
