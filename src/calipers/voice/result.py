"""How the calls that an agent made fit those that were expected: `EvalResult` of one request, `BatchResult` of many.

`matches` has one `ToolCallMatch` for each expected call, in that order, and may have more for calls that were not expected. The match
rate is the share of entries that matched; without entries it is the score, or else 1 for passed and 0 for not.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from calipers.data.result import check_score
from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError
from calipers.matching import CallOf

if TYPE_CHECKING:
    from calipers.report.report import Report

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


@dataclass
class SingleRunResult:
    """One run of one prompt."""

    prompt: str
    run_index: int
    """Which run of the prompt, from 0."""
    eval_result: EvalResult
    """The judgement; not passed where the run failed."""
    error: str | None = None
    """Why there is no judgement: the synthesizer, the agent or the evaluator failed."""

    @property
    def passed(self) -> bool:
        """Whether the calls were right. A run that failed did not pass."""
        return self.error is None and self.eval_result.passed

    def lines(self) -> list[str]:
        """The run for a person, and what differed, where something did."""
        matches = [] if self.passed or self.error is not None else self.eval_result.matches
        missed = [str(match) for match in matches if not match.matched]
        return [str(self), *(f"    {line}" for text in missed for line in text.splitlines())]

    def __str__(self) -> str:
        if self.error is not None:
            return f"[-] run {self.run_index}: {' '.join(self.error.split())}"
        return (
            f"[{'+' if self.passed else '-'}] run {self.run_index}: {self.eval_result.match_rate:.0%} match"
        )


@dataclass(repr=False)
class BatchResult:
    """All runs of all prompts, prompt by prompt."""

    runs: list[SingleRunResult]
    report: "Report"
    """The same as a report, with an interval for every rate."""

    @property
    def total(self) -> int:
        """How many runs there were."""
        return len(self.runs)

    @property
    def passed_count(self) -> int:
        """How many passed."""
        return sum(run.passed for run in self.runs)

    @property
    def failed_count(self) -> int:
        """How many did not pass, those that ended in an error among them."""
        return self.total - self.passed_count

    @property
    def error_count(self) -> int:
        """How many ended in an error."""
        return sum(run.error is not None for run in self.runs)

    @property
    def passed(self) -> bool:
        """Whether every run passed, and none is missing because the batch was interrupted."""
        return bool(self.runs) and self.passed_count == self.total and self.report.incomplete is None

    @property
    def pass_rate(self) -> float:
        """The share of runs that passed, from 0 to 1. Its interval is `report.pass_rate()`."""
        return self.passed_count / self.total if self.runs else 0.0

    @property
    def match_rate(self) -> float:
        """The mean match rate of the runs; a run that ended in an error matched nothing."""
        if not self.runs:
            return 0.0
        return sum(0.0 if run.error else run.eval_result.match_rate for run in self.runs) / self.total

    def summary(self) -> str:
        """The batch for a person, prompt by prompt."""
        noun = "run" if self.total == 1 else "runs"
        lines = [
            f"{'PASSED' if self.passed else 'FAILED'} ({self.pass_rate:.0%} pass rate, {self.total} {noun})",
            f"  Passed: {self.passed_count}/{self.total}",
        ]
        for prompt, group in groupby(self.runs, key=lambda run: run.prompt):
            runs = list(group)
            lines.append(f"  Prompt: {prompt!r}")
            lines.append(f"    {sum(run.passed for run in runs)}/{len(runs)} passed")
            lines += [f"    {line}" for run in runs for line in run.lines()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<BatchResult: {self.passed_count} of {self.total} passed>"


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
        InvalidOptionError: it is not a result.
        ToolCallAssertionError: it did not pass; the text is the summary.
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
