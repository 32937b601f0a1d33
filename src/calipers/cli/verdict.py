"""What a report means for the exit code, and the sentence that says so.

A task or an evaluator that did not finish is an error, unless errors are allowed: then it is only what it always is, not
a pass. Thresholds decide if there are any; else every case that asserts something has to pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from calipers.report.report import Report
from calipers.stats.number_text import plural
from calipers.views.outcome import silences
from calipers.views.text import fit

from .exits import ERRORED, FAILED, FROM_OUTSIDE, NOTHING, first_of
from .threshold import Finding


class Complaint(NamedTuple):
    """One reason why an evaluation does not simply pass."""

    code: int
    message: str


@dataclass(kw_only=True)
class Outcome:
    """What became of one evaluation."""

    label: str
    report: Report | None = None
    """`None` if it did not come to one."""
    findings: Sequence[Finding] | None = None
    """What the report says to the thresholds; `None` if there are none."""
    complaints: list[Complaint] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    """Where the report was written."""
    kept_in: str | None = None
    """The store that the run is kept in; `None` if it is not."""

    @property
    def code(self) -> int:
        """The exit code, were it the only one."""
        return first_of(complaint.code for complaint in self.complaints)


def judge(
    report: Report,
    findings: Sequence[Finding] | None,
    *,
    allow_errors: bool = False,
    way_to_judge: str = "give the dataset evaluators",
) -> list[Complaint]:
    """Everything that is wrong with a report.

    Args:
        report: the report.
        findings: what it says to the thresholds; `None` if there are none.
        allow_errors: leave what did not finish to the thresholds.
        way_to_judge: what to do if there are no evaluators.
    """
    errors = [] if allow_errors else _errors(report)
    complaints = [*_ended_early(report), *errors, *_nothing(report, way_to_judge)]
    if findings is None:
        complaints += _not_passed(report)
    else:
        complaints += [Complaint(FAILED, str(finding)) for finding in findings if not finding.met]
    return complaints


def _ended_early(report: Report) -> list[Complaint]:
    if report.incomplete is None:
        return []
    return [Complaint(FROM_OUTSIDE.get(report.interrupted_by or "", ERRORED), report.incomplete)]


def _errors(report: Report) -> list[Complaint]:
    counts = report.counts()
    found: list[Complaint] = []
    if counts.failed_tasks:
        found.append(
            Complaint(
                ERRORED,
                f"{sum(counts.failed_tasks.values()):,} of {plural(counts.attempts, 'task')} did not finish",
            )
        )
    for name, number in counts.failed_evaluators.items():
        found.append(Complaint(ERRORED, f"evaluator {name} did not finish on {plural(number, 'attempt')}"))
    found += [
        Complaint(ERRORED, f"report evaluator {failure.name} did not finish")
        for failure in report.report_evaluator_failures
    ]
    if counts.failed_teardowns:
        found.append(
            Complaint(ERRORED, f"clean-up failed after {plural(counts.failed_teardowns, 'attempt')}")
        )
    return found


def _nothing(report: Report, way_to_judge: str) -> list[Complaint]:
    counts = report.counts()
    if report.incomplete is not None:
        return []  # that it ended early says enough
    if not counts.attempts:
        return [Complaint(NOTHING, "there are no cases: nothing ran")]
    if counts.failed_tasks or counts.failed_evaluators or report.analyses:
        return []
    summaries = report.summaries()
    if not any(summary.count for summary in summaries.values()):
        hint = "" if summaries else f" ({way_to_judge})"
        skipped = [f"\n  - {fit(name, 60)}: {fit(why, 600)}" for name, why in silences(report)]
        return [Complaint(NOTHING, f"no evaluator gave a result: nothing was judged{hint}{''.join(skipped)}")]
    return []


def _not_passed(report: Report) -> list[Complaint]:
    rate = report.pass_rate(None)
    counts = report.counts()
    if rate is None:
        lost = sum(counts.failed_tasks.values())
        return [Complaint(FAILED, f"{plural(lost, 'attempt')} did not pass")] if lost else []
    missed = rate.n_observations - counts.passed
    if not missed:
        return []
    what = "case" if rate.n_observations == rate.n_units else "attempt"
    return [Complaint(FAILED, f"{missed:,} of {plural(rate.n_observations, what)} did not pass")]
