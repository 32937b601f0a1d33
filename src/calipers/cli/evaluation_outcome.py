"""What a report means for the exit code, and the sentence that says so.

A task or an evaluator that did not finish is an error, unless errors are allowed: then it is only what it always is, not
a pass. Thresholds decide if there are any; else every case that asserts something has to pass.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

from calipers.cli.exits import ERRORED, FAILED, FROM_OUTSIDE, NOTHING, WORDS, first_of
from calipers.data.jsonable import plain
from calipers.errors import InvalidOptionError
from calipers.report.report import Report
from calipers.stats import Estimate
from calipers.stats.number_text import plural
from calipers.views.outcome import silences
from calipers.views.text import fit


class Threshold(NamedTuple):
    """The least that will do."""

    evaluator: str | None
    """The column of the report; `None` for the pass rate."""
    minimum: float


class Finding(NamedTuple):
    """A threshold, and what a report has to say to it."""

    threshold: Threshold
    estimate: Estimate | None
    """`None` if it was not measured."""

    @property
    def met(self) -> bool:
        """Whether it was reached."""
        if self.estimate is None:
            return False
        value, minimum = self.estimate.value, self.threshold.minimum
        return value >= minimum or math.isclose(value, minimum, rel_tol=1e-12)

    def __str__(self) -> str:
        evaluator, minimum = self.threshold
        what = "the pass rate" if evaluator is None else evaluator
        if self.estimate is None:
            return f"{what} should be at least {minimum:g} and was not measured"
        return f"{what} is {self.estimate.value:.6g}, which is {'not ' if self.met else ''}below {minimum:g}"


def parse_threshold(text: str) -> Threshold:
    """`0.9`, `90%`, or either of them after `NAME=`."""
    name, equals, number = text.rpartition("=")
    try:
        minimum = float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError:
        minimum = math.nan
    if not math.isfinite(minimum) or (equals and not name):
        raise InvalidOptionError(f"--fail-under must be a number or NAME=number, got {text!r}")
    if not equals and not 0 <= minimum <= 1:
        raise InvalidOptionError(
            f"--fail-under {text}: a pass rate is from 0 to 1; write 0.9 or 90%, or NAME=number for a score"
        )
    return Threshold(name if equals else None, minimum)


def compare(thresholds: Sequence[Threshold], report: Report) -> list[Finding]:
    """What a report says to the thresholds that concern it."""
    summaries = report.summaries()
    found: list[Finding] = []
    for threshold in thresholds:
        if threshold.evaluator is None:
            found.append(Finding(threshold, report.pass_rate(None)))
        elif (summary := summaries.get(threshold.evaluator)) is not None:
            if summary.kind == "label":
                raise InvalidOptionError(
                    f"--fail-under {threshold.evaluator}=...: it gives labels, which have no rate to compare"
                )
            found.append(Finding(threshold, summary.estimate))
    return found


def unknown(thresholds: Sequence[Threshold], reports: Sequence[Report]) -> list[str]:
    """For each threshold whose evaluator no report knows, a message with the names there are."""
    names = list(dict.fromkeys(name for report in reports for name in report.summaries()))
    messages: list[str] = []
    for evaluator, minimum in thresholds:
        if evaluator is not None and evaluator not in names:
            near = get_close_matches(evaluator, names, n=1)
            there = f"there are {', '.join(map(repr, names))}" if names else "there are no results"
            hint = f"did you mean {near[0]!r}? T{there[1:]}." if near else there
            messages.append(f"--fail-under {evaluator}={minimum:g}: there is no such evaluator; {hint}")
    return messages


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
    if report.incomplete is None or report.came_to_end:
        return []
    return [Complaint(FROM_OUTSIDE.get(report.interrupted_by or "", ERRORED), str(report.incomplete))]


def _errors(report: Report) -> list[Complaint]:
    counts = report.counts()
    found: list[Complaint] = []
    if failed := sum(counts.failed_tasks.values()):
        faulty = report.under_faults()
        under = 0 if faulty is None else sum(faulty.failed_tasks.values())
        of_them = (
            f", {'all' if under == failed else f'{under:,}'} of them under faults of tools" if under else ""
        )
        found.append(
            Complaint(ERRORED, f"{failed:,} of {plural(counts.attempts, 'task')} did not finish{of_them}")
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
    if not counts.cases:
        return [
            Complaint(
                NOTHING, "every attempt was made under a fault of tools: nothing says how it goes without"
            )
        ]
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
        if not counts.cases:
            return []  # that all were made under faults says enough
        lost = sum(counts.failed_tasks.values())
        return [Complaint(FAILED, f"{plural(lost, 'attempt')} did not pass")] if lost else []
    missed = rate.n_observations - counts.passed
    if not missed:
        return []
    what = "case" if rate.n_observations == rate.n_units else "attempt"
    return [Complaint(FAILED, f"{missed:,} of {plural(rate.n_observations, what)} did not pass")]


VERSION = 1
"""Of the layout below."""


def digest(outcomes: Sequence[Outcome], code: int, problems: Sequence[str]) -> dict[str, Any]:
    """The outcome of a whole `calipers run`."""
    return {
        "calipers_run": VERSION,
        "exit_code": code,
        "outcome": WORDS[code],
        "problems": list(problems),
        "evaluations": [_evaluation(outcome) for outcome in outcomes],
    }


def _evaluation(outcome: Outcome) -> dict[str, Any]:
    return {
        "target": outcome.label,
        "outcome": WORDS[outcome.code],
        "problems": [complaint.message for complaint in outcome.complaints],
        "thresholds": [
            {
                "evaluator": finding.threshold.evaluator,
                "minimum": finding.threshold.minimum,
                "value": None if finding.estimate is None else finding.estimate.value,
                "met": finding.met,
            }
            for finding in outcome.findings or ()
        ],
        "files": outcome.files,
        "kept": _kept(outcome),
        "report": None if outcome.report is None else _report(outcome.report),
    }


def _kept(outcome: Outcome) -> dict[str, Any] | None:
    """The run in the store, and how much of it earlier runs had; `None` if it is not kept."""
    if outcome.kept_in is None or outcome.report is None or outcome.report.reuse is None:
        return None
    told: dict[str, Any] = plain(outcome.report.reuse)
    return {"store": outcome.kept_in, **told}


def _report(report: Report) -> dict[str, Any]:
    report = report.with_totals()
    counts: dict[str, Any] = plain(report.counts())
    return {
        "name": report.name,
        "dataset_name": report.dataset_name,
        **counts,
        "pass_rate": plain(report.pass_rate(None)),
        "under_faults": plain(report.under_faults()),
        "infrastructure": plain(report.infrastructure()),
        "summaries": plain(report.summaries()),
        "slices": plain(report.slices()),
        "durations": plain(report.durations(None)),
        "repeat": report.repeat,
        "seed": report.seed,
        "started_at": report.started_at,
        "duration": report.duration,
        "incomplete": plain(report.incomplete),
        "shard": None if report.shard is None else str(report.shard.shard),
        "metadata": plain(report.metadata),
    }
