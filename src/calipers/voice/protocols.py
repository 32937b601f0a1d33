"""What the parts of a voice test must have: one method each, sync or async, and no base class.

Parts are checked before the first prompt: a run of a thousand should not fail a thousand times for one mistake.
"""

import inspect
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

from calipers.data.result import EvaluationReason
from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError

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


def check_part(part: object, protocol: type, noun: str, method: str) -> None:
    """Check that something is an agent, synthesizer, evaluator, parser or perturbation.

    Args:
        part: what was given.
        protocol: what it should be.
        noun: the word for that in the error.
        method: the method that it needs, with its arguments.
    """
    if isinstance(part, type):
        raise InvalidOptionError(
            f"{part!r} is a class: give one of its objects as the {noun}, such as {part.__name__}()"
        )
    if not isinstance(part, protocol):
        raise InvalidOptionError(
            f"{part!r:.200} is not a valid {noun}: it has no method {method}{_way_out(part, noun)}"
        )


def _way_out(part: object, noun: str) -> str:
    if noun == "agent" and inspect.isroutine(part):
        return "; a function becomes an agent with @calipers.voice.agent, or with agent(function)"
    if noun == "perturbation" and isinstance(part, str | Mapping | list | tuple):
        return "; calipers.voice.perturbations.from_spec(...) makes one of a name or plain data"
    if noun == "parser" and isinstance(part, str):
        return "; names are for files: give an object, such as calipers.voice.parsers.JsonResponseParser()"
    return ""


def check_options(part: object, noun: str) -> None:
    """Check the options of a part that can check them itself (`wrong_options`)."""
    if wrong := [why for _, why in getattr(part, "wrong_options", tuple)()]:
        raise InvalidOptionError(f"the {noun} {part!r:.200} cannot work: {'; '.join(wrong)}")
