"""What `calipers import` does: put the runs in files into a store, and say what came of each."""

from collections.abc import Sequence
from pathlib import Path

import click

from calipers.errors import CalipersError
from calipers.exchange.importing import ImportedRun, import_run
from calipers.stats.number_text import plural
from calipers.stores.store import Store

from .exits import PASSED, first_of
from .message import describe, no_file, note, shown, trace
from .storing import open_or_make, shown_store


def import_files(*, files: Sequence[str], store: str | None = None, redact: Sequence[str] = ()) -> int:
    """Store the runs in files; returns the exit code."""
    for path in files:
        if not Path(path).is_file():
            raise no_file(path)
    with open_or_make(store, redact=redact) as opened:
        return first_of([_import(path, opened) for path in files])


def _import(path: str, store: Store) -> int:
    try:
        imported = import_run(path, store)
    except (CalipersError, OSError) as error:
        trace(error)
        code, message = describe(error)
        note(f"Error: {path}: {message}")
        return code
    click.echo(shown(_line(path, imported, store)))
    for each in imported.notes:
        note(f"{path}: {each}")
    return PASSED


def _line(path: str, imported: ImportedRun, store: Store) -> str:
    run = imported.run
    if not imported.is_new:
        return f"{path}: {imported.kind}; it is kept already as run {run.id}"
    count = plural(run.attempts, "attempt")
    return f"{path}: {imported.kind} {run.name!r} with {count}, kept in {shown_store(store)} as run {run.id}"
