"""What the parts of a voice test must have: a method, no base class, no registration.

Each part may be sync or async: `await` is used where there is something to await.
"""

from collections.abc import Awaitable
from typing import Any, Protocol, TypeAlias, runtime_checkable

from calipers.data.result import EvaluationReason
from calipers.data.trace import ToolCall

from .audio import Audio
from .response import AgentResponse
from .result import EvalResult

Judgement: TypeAlias = EvalResult | EvaluationReason | bool | float
"""What an evaluator of spoken requests may give."""


@runtime_checkable
class Synthesizer(Protocol):
    """Says a text."""

    def synthesize(self, text: str) -> Audio | Awaitable[Audio]:
        """The text as sound."""
        ...


@runtime_checkable
class Agent(Protocol):
    """Hears a request and calls tools."""

    def run(self, audio: Audio) -> AgentResponse | Awaitable[AgentResponse]:
        """What the agent does about what it hears."""
        ...


@runtime_checkable
class TextAgent(Protocol):
    """Reads a request and calls tools."""

    def run_text(self, text: str) -> AgentResponse | Awaitable[AgentResponse]:
        """What the agent does about what it reads."""
        ...


@runtime_checkable
class Evaluator(Protocol):
    """Compares the calls that were made with those that were expected."""

    def evaluate(
        self, expected: list[ToolCall], actual: list[ToolCall], /
    ) -> Judgement | Awaitable[Judgement]:
        """The judgement: an `EvalResult`, or only whether it passed, or only a score from 0 to 1, with or without a reason."""
        ...


@runtime_checkable
class ResponseParser(Protocol):
    """Finds the tool calls in what a provider answered."""

    def parse(self, raw: Any) -> AgentResponse:
        """The answer in our words."""
        ...


@runtime_checkable
class Perturbs(Protocol):
    """Makes a sound harder to understand."""

    def apply(self, audio: Audio) -> Audio:
        """The sound as it is heard through it."""
        ...
