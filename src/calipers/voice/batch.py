"""Many spoken requests judged: `BatchResult`."""

from dataclasses import dataclass
from itertools import groupby

from calipers.report.report import Report

from .result import EvalResult


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
    report: Report
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
