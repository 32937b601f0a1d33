"""`--calipers-out FORMAT:PATH`: what a session measured, as report files; `storing` keeps the same in a store."""

import sys
from pathlib import Path

import pytest

from calipers.errors import CalipersError
from calipers.pytest_plugin.merging import read_runs, report_of_all
from calipers.pytest_plugin.session import Session
from calipers.pytest_plugin.storing import SESSION_NAME, store_report
from calipers.report.report import Incomplete, Report
from calipers.views.formats import parse_target, write_report
from calipers.views.github import commands_off


def checked_targets(targets: list[str], session: Session) -> list[str]:
    """The targets of `--calipers-out`, found from the folder where pytest began: a test may go elsewhere.

    Raises:
        pytest.UsageError: one of them is no report file.
    """
    found = []
    folder = session.config.invocation_params.dir
    for target in targets:
        try:
            form, path = parse_target(target, views=session.views)
        except CalipersError as error:
            raise pytest.UsageError(f"--calipers-out: {error}") from None
        found.append(f"{form}:{path}" if path == "-" else f"{form}:{folder / path}")
    return found


def _write(report: Report, target: str, session: Session) -> None:
    form, path = parse_target(target, views=session.views)
    if path != "-":
        write_report(report, target, views=session.views)
        session.written.append(_shown(path, session.config.invocation_params.dir))
    elif form == "github":
        write_report(report, target)  # commands are what it is made of, and it keeps them apart from the text
    else:
        with commands_off():
            write_report(report, target, views=session.views)


def _shown(path: str, folder: Path) -> str:
    """The path as it was given, as far as it is in the folder where pytest began."""
    return str(Path(path).relative_to(folder)) if Path(path).is_relative_to(folder) else path


def write_reports(session: Session) -> None:
    """Write everything that was measured to the report files, and keep it; what goes wrong is noted and shown."""
    report = report_of_all(read_runs(session.runs), name=SESSION_NAME, seed=session.seed)
    report.started_at = session.started_at
    report.duration = session.duration
    ended = [Incomplete(kind, reason) for kind, reason in session.ended_early]
    report.incomplete = Incomplete.together([*ended, *([report.incomplete] if report.incomplete else [])])
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and any(target.endswith(":-") for target in session.targets):
        terminal.write_line("")  # what goes to standard output begins a line of its own
        terminal.flush()
    for target in session.targets:
        try:
            _write(report, target, session)
        except (CalipersError, OSError) as error:
            session.problems.append(f"--calipers-out could not write {target}: {error}")
    store_report(report, session)
    if terminal is None:
        sys.stderr.writelines(f"{problem}\n" for problem in session.problems)
