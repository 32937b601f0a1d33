"""How the calls that an agent made fit those that were expected: `EvalResult`, one `ToolCallMatch` per call.

`matches` has one entry for each expected call, in that order, and may have more for calls that nobody expected. The
match rate is the share of entries that matched. An evaluator that lists no entries has only given a score, which is its rate, or
said whether it passed: then its rate is 1 or 0.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from calipers.data.result import check_score
from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError
from calipers.matching import CallOf

if TYPE_CHECKING:
    from .audio import Audio
    from .response import AgentResponse


def tool_call(name: str, /, **arguments: Any) -> ToolCall:
    """A tool call, written as one: `tool_call("book_flight", to="LA")`."""
    return ToolCall(name, arguments)


@dataclass
class ToolCallMatch:
    """What became of one expected call."""

    expected: ToolCall
    actual: ToolCall | None = None
    """The call it was compared with; `None` if there was none."""
    matched: bool = False
    details: str = ""
    """What differed."""

    def __str__(self) -> str:
        actual = "(no match)" if self.actual is None else _shown(self.actual)
        lines = [f"[{'+' if self.matched else '-'}] {_shown(self.expected)} -> {actual}"]
        return "\n".join([*lines, *(f"    {line}" for line in self.details.splitlines())])


@dataclass
class EvalResult:
    """The judgement on one spoken request."""

    passed: bool
    expected: list[ToolCall]
    actual: list[ToolCall]
    matches: list[ToolCallMatch] = field(default_factory=list)
    score: float | None = None
    """From 0 to 1, from evaluators that grade; `None` from those that do not."""
    prompt: str | None = None
    """What was said; filled in by `run`."""
    audio: "Audio | None" = field(default=None, repr=False)
    """What the agent heard, for a person to listen to; filled in by `run`."""
    response: "AgentResponse | None" = field(default=None, repr=False)
    """All that the agent answered; filled in by `run`."""
    timings: Mapping[str, float] = field(default_factory=dict, repr=False)
    """Seconds that each stage took: `synthesize`, `perturb`, `agent`, `evaluate`; filled in by `run`."""
    reason: str = ""
    """Why, in the evaluator's words; empty where the matches say it all."""

    def __post_init__(self) -> None:
        if self.score is not None:
            check_score(self.score)

    @property
    def match_rate(self) -> float:
        """The share of calls that matched, from 0 to 1."""
        if not self.matches:
            return float(self.passed if self.score is None else self.score)
        return sum(match.matched for match in self.matches) / max(len(self.expected), len(self.matches))

    def summary(self) -> str:
        """The judgement for a person, one line per call."""
        head = f"{'PASSED' if self.passed else 'FAILED'} ({self.match_rate:.0%} match rate)"
        lines = [
            *self.reason.splitlines(),
            *(line for match in self.matches for line in str(match).splitlines()),
        ]
        return "\n".join([head, *(f"  {line}" for line in lines)])


class ToolCallAssertionError(AssertionError):
    """The calls that an agent made were not those that were expected."""

    def __init__(self, text: str, result: Any) -> None:
        super().__init__(text)
        self.result = result
        """The `EvalResult` or `BatchResult` that did not pass."""


def assert_tool_calls(result: Any, *, message: str = "") -> None:
    """Raise unless the result passed.

    Args:
        result: what `run` or `run_concurrent` gave.
        message: to stand before the summary.

    Raises:
        InvalidOptionError: it is none.
        ToolCallAssertionError: it did not; the text is the summary.
    """
    __tracebackhide__ = True
    if not hasattr(result, "passed"):
        hint = ": await it first" if inspect.isawaitable(result) else ""
        raise InvalidOptionError(
            f"there is a result to assert from run and run_concurrent, got {result!r:.200}{hint}"
        )
    if not result.passed:
        raise ToolCallAssertionError("\n".join(filter(None, [message, result.summary()])), result)


def _shown(call: ToolCall) -> str:
    return f"{call.name}(…)" if isinstance(call, CallOf) else f"{call.name}({call.arguments})"
