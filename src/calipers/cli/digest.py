"""What `calipers run --json` prints: the outcome of each evaluation, as one JSON document.

Numbers are those of the report: pass rate and summaries with their intervals. Attempts are not in it; `--out json:PATH`
writes them.
"""

from collections.abc import Sequence
from typing import Any

from calipers.data.jsonable import plain
from calipers.report.report import Report

from .exits import WORDS
from .verdict import Outcome

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
    counts: dict[str, Any] = plain(report.counts())
    return {
        "name": report.name,
        "dataset_name": report.dataset_name,
        **counts,
        "pass_rate": plain(report.pass_rate(None)),
        "infrastructure": plain(report.infrastructure()),
        "summaries": plain(report.summaries()),
        "slices": plain(report.slices()),
        "durations": plain(report.durations(None)),
        "repeat": report.repeat,
        "seed": report.seed,
        "started_at": report.started_at,
        "duration": report.duration,
        "incomplete": report.incomplete,
        "metadata": plain(report.metadata),
    }
