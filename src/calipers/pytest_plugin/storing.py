"""`--calipers-store URL`: what a session measured, kept as one run in a store.

One run and not one per evaluation: a session is what somebody looks back at, and tests of single cases would make a run of
each case.
"""

from contextlib import chdir
from shlex import quote

import pytest

from calipers.errors import CalipersError
from calipers.project import find_project
from calipers.pytest_plugin.session import Session
from calipers.report import Report
from calipers.stores.opening import open_store
from calipers.stores.redaction import hide_keys


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
            session.kept = f"calipers show {store.add_report(report).id} --store {quote(store.url)}"
    except (CalipersError, OSError) as error:
        session.problems.append(f"--calipers-store could not keep what was measured: {error}")
