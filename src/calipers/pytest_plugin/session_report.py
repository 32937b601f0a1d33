"""What a session measured as one report: in the files of `--calipers-out`, and as one run in the store of `--calipers-store`.

It is one run and not one per evaluation: a session is what you look back at, and tests of single cases would make a run of each
case. What came of the gate of a test is noted beside the run, as a look (`calipers.gate.looks`), so that no later gate takes a run
for its baseline in which it did not pass.
"""

import sys
from contextlib import chdir
from pathlib import Path
from shlex import quote

import pytest

from calipers.errors import CalipersError
from calipers.files.project import find_project
from calipers.gate.looks import Look, number_of
from calipers.gate.verdict import Outcome
from calipers.pytest_plugin.merged_reports import read_runs, report_of_all
from calipers.pytest_plugin.session import Session
from calipers.report.incomplete import Incomplete
from calipers.report.report import Report
from calipers.stores.redaction import hide_keys
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.stores.store_url import open_store
from calipers.views.formats import parse_target, write_report
from calipers.views.github import commands_off

SESSION_NAME = "pytest"
"""What the run of a session is called."""


def checked_targets(targets: list[str], session: Session) -> list[str]:
    """The targets of `--calipers-out`, found from the folder where pytest began: a test may go elsewhere."""
    found = []
    folder = session.config.invocation_params.dir
    for target in targets:
        try:
            form, path = parse_target(target, views=session.views)
        except CalipersError as error:
            raise pytest.UsageError(f"--calipers-out: {error}") from None
        found.append(f"{form}:{path}" if path == "-" else f"{form}:{folder / path}")
    return found


def checked_store(url: str, session: Session) -> str:
    """The store, once it was opened: what is wrong with it is told before any test runs."""
    try:
        with chdir(session.config.invocation_params.dir), open_store(url):
            return url
    except (CalipersError, OSError) as error:
        raise pytest.UsageError(f"--calipers-store: {error}") from None


def write_reports(session: Session) -> None:
    """Write everything that was measured to the report files and the store; what goes wrong is noted and shown."""
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
    _store(report, session)
    if terminal is None:
        sys.stderr.writelines(f"{problem}\n" for problem in session.problems)


def _write(report: Report, target: str, session: Session) -> None:
    form, path = parse_target(target, views=session.views)
    if path != "-":
        write_report(report, target, views=session.views)
        folder = session.config.invocation_params.dir
        inside = Path(path).is_relative_to(folder)
        session.written.append(str(Path(path).relative_to(folder)) if inside else path)
    elif form == "github":
        write_report(report, target)  # commands are what it is made of, and it keeps them apart from the text
    else:
        with commands_off():
            write_report(report, target, views=session.views)


def _store(report: Report, session: Session) -> None:
    if session.store is None or not session.runs:
        return
    folder = session.config.invocation_params.dir  # a test may have gone to another
    try:
        fields = find_project(folder).redact
        hooks = [hide_keys(*fields)] if fields else []
        with chdir(folder), open_store(session.store, redact=hooks) as store:
            run = store.add_report(report)
            session.kept = f"calipers show {run.id} --store {quote(store.url)}"
            for test, outcome in session.gated.items():
                note_outcome(store, run, test, outcome)
    except (CalipersError, OSError) as error:
        session.problems.append(f"--calipers-store could not keep what was measured: {error}")


def note_outcome(store: Store, run: RunInfo, test: str, outcome: Outcome) -> None:
    """Note what came of the gate of a test beside the run that it judged, or that holds what it judged."""
    question, noted = _question(test), False
    while not noted:  # until no other process notes one at the same time
        earlier = store.looks(question)
        number = number_of(earlier, run.id, run.attempts)
        look = Look(run=run.id, attempts=run.attempts, number=number, outcome=outcome)
        noted = store.add_look(question, look, after=len(earlier))


def not_passed(store: Store, test: str) -> set[str]:
    """The ids of runs in which the gate of a test did not pass."""
    return {look.run for look in store.looks(_question(test)) if look.outcome != "PASS"}


def _question(test: str) -> str:
    return f"pytest {test}"
