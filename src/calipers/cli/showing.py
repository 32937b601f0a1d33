"""What `calipers show` does: read a report, then show it, one case of it, or write it anew."""

import json
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import click

from calipers.errors import InvalidOptionError, ReportFormatError
from calipers.report import Report
from calipers.views.formats import Target, parse_target, read_report, write_report

from .details import Record, attempt_lines, case_name
from .exits import PASSED, USAGE
from .message import CommandError, no_file, note
from .output import clean_stdout
from .plugin_list import named_plugins
from .screen import IncludeCases, show_report


def show(
    *,
    report: str,
    case: Sequence[str] = (),
    to: Sequence[str] = (),
    plugin: Sequence[str] = (),
    include_cases: IncludeCases = "failed",
    max_cases: int = 20,
    tracebacks: bool = False,
) -> int:
    """Show or convert a saved report; returns the exit code."""
    if case and to:
        raise InvalidOptionError("--case shows one case, and --to writes the whole report: give one of them")
    if plugin and not to:
        raise InvalidOptionError("--plugin is for --to, which may name the view of a plugin: give both")
    with named_plugins(plugin) as plugins:
        views = None if plugins is None else plugins.views
        with clean_stdout(wanted=plugins is not None):  # for what a plugin prints while it makes its view
            targets = [parse_target(each, views=views) for each in to]
        found = _read(report, targets)
        for target in targets:
            write_report(found, f"{target.format}:{target.path}", views=views)
            if target.path != "-":
                note(f"Wrote {target.path}")
    if case:
        _show_cases(found, case)
    elif not targets:
        show_report(found, include_cases=include_cases, max_cases=max_cases, tracebacks=tracebacks)
    return PASSED


def _read(path: str, targets: Sequence[Target]) -> Report:
    """The report in a file that none of the targets overwrites."""
    if not Path(path).exists() or Path(path).is_dir():
        raise no_file(path)
    for target in targets:
        if target.path != "-" and Path(target.path).exists() and Path(target.path).samefile(path):
            raise InvalidOptionError(f"--to {target.path!r} would overwrite the report: name another file")
    try:
        return read_report(path)
    except ReportFormatError as error:
        raise CommandError(f"{path!r} cannot be shown: {error}{_summary_hint(path)}") from error


def _summary_hint(path: str) -> str:
    """The way out for what `calipers run --json` printed, which is easily taken for a report."""
    try:
        found = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    if isinstance(found, dict) and "calipers_run" in found:
        return (
            "; it is the summary of `calipers run --json`: `calipers run --out json:PATH` writes the report"
        )
    return ""


def _show_cases(report: Report, names: Sequence[str]) -> None:
    found = [record for name in dict.fromkeys(names) for record in _attempts_at(report, name)]
    for number, record in enumerate(found):
        click.echo("\n" * (number > 0) + "\n".join(attempt_lines(record)))


def _attempts_at(report: Report, name: str) -> list[Record]:
    records: list[Record] = [*report.cases, *report.failures]
    found = [record for record in records if name in {record.name, record.source_case_name}]
    if not found:
        names = list(dict.fromkeys(case_name(record) for record in records))
        near = get_close_matches(name, names, n=3)
        some = f"there are {', '.join(map(repr, names[:10]))}{' ...' if len(names) > 10 else ''}"
        hint = f"did you mean {', '.join(map(repr, near))}?" if near else some if names else "it has none"
        kept = "" if report.totals is None else "; the report keeps only attempts that did not pass"
        raise CommandError(f"no case of the report is called {name!r}; {hint}{kept}", USAGE)
    return found
