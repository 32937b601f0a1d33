"""`--calipers-store URL`: what a session measured, kept as one run in a store.

One run and not one per evaluation: a session is what you look back at, and tests of single cases would make a run of each case.

What came of the gate of a test is noted beside the run, as a look (`calipers.gate.looks`), so that no later gate takes a run for its
baseline in which it did not pass.
"""

from contextlib import chdir
from shlex import quote

import pytest

from calipers.errors import CalipersError
from calipers.files.project import find_project
from calipers.gate.looks import Look, number_of
from calipers.gate.verdict import Outcome
from calipers.pytest_plugin.session import Session
from calipers.report.report import Report
from calipers.stores.redaction import hide_keys
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.stores.store_url import open_store

SESSION_NAME = "pytest"
"""What the run of a session is called."""


def checked_store(url: str, session: Session) -> str:
    """The store, once it was opened: what is wrong with it is told before any test runs.

    Raises:
        pytest.UsageError: it cannot be opened.
    """
    try:
        with chdir(session.config.invocation_params.dir), open_store(url):
            return url
    except (CalipersError, OSError) as error:
        raise pytest.UsageError(f"--calipers-store: {error}") from None


def store_report(report: Report, session: Session) -> None:
    """Keep the report; what goes wrong is noted and shown."""
    if session.store is None or not session.runs:
        return
    try:
        # A test may have gone to another folder.
        fields = find_project(session.config.invocation_params.dir).redact
        hooks = [hide_keys(*fields)] if fields else []
        with (
            chdir(session.config.invocation_params.dir),
            open_store(session.store, redact=hooks) as store,
        ):
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
