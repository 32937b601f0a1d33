"""What `calipers baseline` does: read a run, and accept what it did or say what it does otherwise."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import click

from calipers.cli.exits import FAILED, INCONCLUSIVE, NOTHING, PASSED
from calipers.cli.message import CommandError, no_file, note, note_file, problem_lines
from calipers.cli.output import printing
from calipers.cli.reports import check_targets, named_reports
from calipers.comparison.accepted_traces import Acceptance, AcceptedTraces, accept_traces
from calipers.comparison.drift import check_drift
from calipers.errors import DatasetFileError
from calipers.files.baseline_file import check_baseline_name
from calipers.process.atomic_file import changing_alone
from calipers.stats.number_text import plural
from calipers.views.drift import drift_target, print_drift, write_drift
from calipers.views.text import fit

CODES: Final[dict[Literal["follows", "drifted", "unknown", "nothing"], int]] = {
    "follows": PASSED,
    "drifted": FAILED,
    "unknown": INCONCLUSIVE,
    "nothing": NOTHING,
}
_LISTED = 20
"""Attempts that were not accepted, and are named."""


def accept(
    *,
    run: str,
    out: str,
    case: Sequence[str] = (),
    add: bool = False,
    no_output: bool = False,
    answers: bool = False,
    all_attempts: bool = False,
    store: str | None = None,
    dataset: str | None = None,
) -> int:
    """Accept what a run did; returns the exit code."""
    check_targets("--out", [out], [run])
    check_baseline_name(out)
    (found,) = named_reports([run], store, dataset=dataset, concludes=True)
    made = accept_traces(
        found.report, cases=case or None, only_passed=not all_attempts, outputs=not no_output, answers=answers
    )
    if made.accepted.cases:
        with changing_alone(out):
            before = _read(out) if Path(out).exists() else AcceptedTraces()
            after = before.updated(made.accepted, add=add)
            after.to_file(out)
        click.echo(_counts(before, after, made))
        note(f"Wrote {out}")
    else:
        click.echo("Nothing was accepted.")
    if made.refused:
        _list_refused(made, passing=not all_attempts)
    return NOTHING if not made.accepted.cases else FAILED if made.without else PASSED


def check(
    *,
    run: str,
    baseline: str,
    confidence: float = 0.95,
    store: str | None = None,
    dataset: str | None = None,
    out: Sequence[str] = (),
    quiet: bool = False,
) -> int:
    """Say what a run does otherwise; returns the exit code."""
    targets = [drift_target(each) for each in out]
    check_targets("--out", [target.path for target in targets], [run, baseline])
    accepted = _read(baseline)
    (found,) = named_reports([run], store, dataset=dataset, concludes=True)
    drift = check_drift(found.report, accepted, confidence=confidence)
    for target in targets:
        write_drift(drift, f"{target.format}:{target.path}")
        if target.path != "-":
            note_file(target.path)
    if not quiet and not any(target.path == "-" for target in targets):
        with printing():
            print_drift(drift)
    return CODES[drift.state]


def _read(path: str) -> AcceptedTraces:
    if not Path(path).is_file():
        raise no_file(path)
    try:
        return AcceptedTraces.from_file(path)
    except DatasetFileError as error:
        raise CommandError(problem_lines(error.problems)) from error


def _counts(before: AcceptedTraces, after: AcceptedTraces, made: Acceptance) -> str:
    """How many cases were accepted, and how many of them are new or changed."""
    old = {case.name: case for case in before.cases}
    new = {case.name: case for case in after.cases}
    names = [case.name for case in made.accepted.cases]
    same = sum(old.get(name) == new[name] for name in names)
    fresh = sum(name not in old for name in names)
    facts = [
        f"{fresh:,} new" if fresh else "",
        f"{len(names) - same - fresh:,} changed" if len(names) > same + fresh else "",
        f"{same:,} as before" if same else "",
    ]
    others = len(new) - len(names)
    kept = f"; {plural(others, 'other')} kept" if others else ""
    return f"Accepted {plural(len(names), 'case')}: {', '.join(filter(None, facts))}{kept}"


def _list_refused(made: Acceptance, *, passing: bool) -> None:
    click.echo(f"\nNot accepted: {plural(len(made.refused), 'attempt')}")
    for each in made.refused[:_LISTED]:
        click.echo(f"  {fit(each.case, 80)}, attempt {each.attempt}: {each.why}")
    if len(made.refused) > _LISTED:
        click.echo(f"  … and {len(made.refused) - _LISTED:,} more")
    if passing and any(
        each.why in {"it did not pass", "nothing was asserted of it"} for each in made.refused
    ):
        click.echo("--all-attempts accepts attempts that did not pass, too.")
