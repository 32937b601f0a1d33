"""What a span says, whatever convention it follows: `AgentStep`, `ModelStep`, `ToolStep`.

A convention reads one span and knows nothing of others. What a span does not show is `UNSET`, or `None` where it is a name,
an id or a number. Messages are read only when someone asks: a request repeats the whole history before it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from .messages import Message
from .tree import SpanNode

Reading: TypeAlias = Callable[[SpanNode], list[Message] | None]
"""Reads messages of a span when it is called; `None`: the span has none."""


def nothing(_: SpanNode) -> None:
    """The reading of a span without messages."""


class AgentStep(msgspec.Struct):
    """An agent ran, or another piece of work that holds a whole run."""

    node: SpanNode
    name: str | None = None
    conversation: str | None = None
    input_text: str | None = None
    output_text: str | None = None
    error: str | None = None
    history: Reading = nothing
    """The messages of this run, where the span of the agent has them all."""
    answer: Reading = nothing
    """What it answered, where the span of the agent has it as messages."""
    is_inner: bool = False
    """Whether a tool of another agent asked it. `runs_in` sees it."""


class ModelStep(msgspec.Struct):
    """A model was asked."""

    node: SpanNode
    convention: str
    model: str | None = None
    conversation: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    error: str | None = None
    response_id: str | None = None
    given: Reading = nothing
    """The messages that the model was given."""
    answer: Reading = nothing
    """What it answered."""
    is_inner: bool = False
    """Whether an agent asked it that a tool of another one asked: what it answers is not said to the user. `runs_in` sees it."""
    _given: list[Message] | UnsetType | None = UNSET
    _answer: list[Message] | UnsetType | None = UNSET

    def read_given(self) -> list[Message] | None:
        """The messages that the model was given; `None` if the span has none."""
        if self._given is UNSET:
            self._given = read(self.given, self.node)
        return self._given

    def read_answer(self) -> list[Message] | None:
        """What the model answered; `None` if the span does not say."""
        if self._answer is UNSET:
            self._answer = read(self.answer, self.node)
        return self._answer


def read(reading: Reading, node: SpanNode) -> list[Message] | None:
    """Messages of a span. Those that have no known shape are none: a recording may hold anything under a known name."""
    try:
        return reading(node)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


class ToolStep(msgspec.Struct):
    """A tool ran."""

    node: SpanNode
    convention: str
    name: str
    conversation: str | None = None
    arguments: dict[str, Any] | UnsetType = UNSET
    output: Any = UNSET
    error: str | None = None
    call_id: str | None = None
    is_answer: bool = False
    """Whether it is a framework's way to let its model answer, and no tool."""
    is_inner: bool = False
    """Whether an agent called it that a tool of another one asked. `runs_in` sees it."""


Step: TypeAlias = AgentStep | ModelStep | ToolStep


# ---------------------------------------------------------------------- what all conventions share


class SpanFailure(NamedTuple):
    """Why a span failed."""

    kind: str
    """The type of the error; empty if the span does not say."""
    text: str

    def __str__(self) -> str:
        if not self.text:
            return self.kind or "failed"
        # Some writers put the type into the text as well.
        return self.text if not self.kind or self.kind in self.text else f"{self.kind}: {self.text}"


def span_failure(node: SpanNode) -> SpanFailure | None:
    """Why a span failed; `None` if it did not."""
    if node.status != "error":
        return None
    for event in node.events:
        if event.name == "exception":
            described = str(event.attributes.get("exception.message") or "")
            kind = str(event.attributes.get("exception.type") or "").rpartition(".")[2]
            if described or kind:
                return SpanFailure(kind, described)
    return SpanFailure(str(node.attributes.get("error.type") or ""), node.status_message)


def failure_of(node: SpanNode) -> str | None:
    """Why a span failed, in words; `None` if it did not."""
    return None if node.status != "error" else str(span_failure(node))


def count(attributes: dict[str, Any], *names: str) -> int | None:
    """The first of some attributes that is a number of tokens."""
    for name in names:
        value = attributes.get(name)
        if type(value) is int and value >= 0:
            return value
        if type(value) is float and value >= 0 and value.is_integer():
            return int(value)
    return None


def text(attributes: dict[str, Any], *names: str) -> str | None:
    """The first of some attributes that is a text with something in it."""
    for name in names:
        value = attributes.get(name)
        if value and type(value) is str:
            return value
    return None


def numbered(attributes: dict[str, Any], prefix: str, before_rest: str = ".") -> list[dict[str, Any]]:
    """The items of a list that is flattened into names such as `prefix3.rest`, in the order of their numbers."""
    size = len(prefix)
    found: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        if key.startswith(prefix):
            number, _, rest = key[size:].partition(before_rest)
            if number.isdecimal():
                found.setdefault(int(number), {})[rest] = value
    return [item for _, item in sorted(found.items())]
