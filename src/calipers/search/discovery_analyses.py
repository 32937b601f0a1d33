"""What a search found, as analyses of its report: the kinds of failure, the curve of discoveries, and what was tried."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean

from calipers.data.value_text import shorten
from calipers.report.analysis import Analysis, Cell, LinePlot, PlotLine, PlotPoint, TableResult
from calipers.report.report_evaluator import ReportEvaluator, ReportEvaluatorContext
from calipers.rollouts.rollout_outcome import as_text
from calipers.stats.number_text import plural

from .findings import Findings, size_of
from .objective import Objective
from .trial_outcome import Outcome

_NOT_A_RATE = "a search tries what is likely to fail, so shares of its trials do not tell how often the system fails in use"
_MOST_OPTIONS = 40
"""A choice with more values than this is no choice to compare by."""
_TEXT = 200
"""Characters of inputs that are shown."""


@dataclass
class DiscoveryAnalyses(ReportEvaluator):
    """Says what a search found. Every search has one."""

    objective: Objective | None = None
    """That of the search; `None`: the default one."""

    def evaluate(self, ctx: ReportEvaluatorContext) -> list[Analysis]:
        """The kinds of failure, the curve of discoveries, and what was tried."""
        found = Findings.of(ctx.report, self.objective)
        if not found.outcomes:
            return []
        tried = _tried(found.outcomes)
        return [_kinds(found), _curve(found.outcomes), *([tried] if tried.rows else [])]


def _kinds(found: Findings) -> TableResult:
    """The kinds of failure, the one with the smallest inputs first."""
    rows: list[list[Cell]] = []
    for kind, outcomes in found.kinds.items():
        smallest = min(outcomes, key=lambda outcome: (size_of(outcome.proposal.inputs), outcome.number))
        size = size_of(smallest.proposal.inputs)
        text = shorten(" ".join(as_text(smallest.proposal.inputs).split()), _TEXT)
        rows.append([kind or "failure", len(outcomes), outcomes[0].number, size, smallest.number, text])
    rows.sort(key=lambda row: (row[3], row[2]))
    unknown = f"; of {plural(found.unknown, 'trial')} it is not known" if found.unknown else ""
    return TableResult(
        title="Failures found",
        description=f"{plural(len(found.failures), 'failure')} in {plural(len(found.outcomes), 'trial')}{unknown}. "
        "The kinds with the smallest inputs come first",
        note=_NOT_A_RATE,
        columns=["kind", "failures", "first trial", "words", "trial", "smallest inputs"],
        rows=rows,
    )


def _curve(outcomes: Sequence[Outcome]) -> LinePlot:
    """Failures and kinds of failure over the calls of the system."""
    lines: dict[str, list[PlotPoint]] = {"failures": [], "kinds": []}
    calls = failures = 0
    kinds: set[str] = set()
    for at, outcome in enumerate(outcomes):
        calls += outcome.calls
        if outcome.failed:
            failures += 1
            kinds.add(outcome.signature)
        if outcome.failed or at in {0, len(outcomes) - 1}:
            lines["failures"].append(PlotPoint(x=calls, y=failures))
            lines["kinds"].append(PlotPoint(x=calls, y=len(kinds)))
    return LinePlot(
        title="Discoveries",
        x_label="calls of the system",
        y_label="found",
        lines=[PlotLine(name=name, points=points) for name, points in lines.items()],
        stepped=True,
    )


def _tried(outcomes: Sequence[Outcome]) -> TableResult:
    """How the options of each choice did."""
    options: dict[str, dict[Hashable, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        for name, value in outcome.proposal.choices.items():
            if isinstance(value, str | int | bool):
                options[name][value].append(outcome)
    rows: list[list[Cell]] = []
    for name, by_value in options.items():
        if not 2 <= len(by_value) <= _MOST_OPTIONS:
            continue
        ranked = sorted(by_value.items(), key=lambda item: -fmean(each.reward for each in item[1]))
        for value, mine in ranked:
            failed = sum(bool(each.failed) for each in mine)
            reward = fmean(each.reward for each in mine)
            best = max(each.reward for each in mine)
            rows.append([name, as_text(value), len(mine), failed, round(reward, 4), round(best, 4)])
    return TableResult(
        title="What was tried",
        description="Each option of each choice, the most rewarding first",
        note=_NOT_A_RATE,
        columns=["choice", "option", "trials", "failures", "mean reward", "best reward"],
        rows=rows,
    )
