"""What `calipers show` does: read a report, then show it, one case of it, or write it anew."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import click

from calipers.errors import InvalidOptionError, ReportFormatError
from calipers.report import Report
from calipers.views.formats import parse_target, read_report, write_report

from .details import Record, attempt_lines, case_name
from .exits import PASSED, USAGE
from .message import CommandError, note
from .screen import IncludeCases, show_report


def show(
    *,
    report: str,
    case: str | None = None,
    to: Sequence[str] = (),
    include_cases: IncludeCases = "failed",
    max_cases: int = 20,
    tracebacks: bool = False,
) -> int:
    """Show or convert a saved report; returns the exit code."""
    targets = [parse_target(each) for each in to]
    if case is not None and targets:
        raise InvalidOptionError("--case shows one case, and --to writes the whole report: give one of them")
    if not Path(report).exists():
        raise CommandError(f"there is no file {report!r}", USAGE)
    for target in targets:
        if target.path != "-" and Path(target.path).exists() and Path(target.path).samefile(report):
            raise InvalidOptionError(f"--to {target.path!r} would overwrite the report: name another file")
    try:
        found = read_report(report)
    except ReportFormatError as error:
        raise CommandError(f"{report!r} cannot be shown: {error}") from error
    for target in targets:
        write_report(found, f"{target.format}:{target.path}")
        if target.path != "-":
            note(f"Wrote {target.path}")
    if case is not None:
        _show_case(found, case)
    elif not targets:
        show_report(found, include_cases=include_cases, max_cases=max_cases, tracebacks=tracebacks)
    return PASSED


def _show_case(report: Report, name: str) -> None:
    records: list[Record] = [*report.cases, *report.failures]
    found = [record for record in records if name in {record.name, record.source_case_name}]
    if not found:
        names = list(dict.fromkeys(case_name(record) for record in records))
        near = get_close_matches(name, names, n=3)
        some = f"there are {', '.join(map(repr, names[:10]))}{' ...' if len(names) > 10 else ''}"
        hint = f"did you mean {', '.join(map(repr, near))}?" if near else some if names else "it has none"
        kept = "" if report.totals is None else "; the report keeps only attempts that did not pass"
        raise CommandError(f"no case of the report is called {name!r}; {hint}{kept}", USAGE)
    for number, record in enumerate(found):
        click.echo("\n" * (number > 0) + "\n".join(attempt_lines(record)))
