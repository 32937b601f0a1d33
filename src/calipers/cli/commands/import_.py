"""`calipers import`: runs that were made elsewhere."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_files
from calipers.cli.exits import PASSED, first_of
from calipers.cli.message import describe, no_file, note, shown, trace
from calipers.cli.options import redact_option, store_option

if TYPE_CHECKING:
    from calipers.errors import CalipersError
    from calipers.exchange.run_import import ImportedRun
    from calipers.stores.store import Store

EXAMPLES = """
# a run that was exported elsewhere
calipers import run.jsonl
# what pydantic_evals and Inspect AI left behind
calipers import report.json logs/*.eval
# what an instrumented agent left behind, to be judged
calipers import spans.json logs.json
# called after the week that they are of
calipers import spans/ --name week-31
# into the store of the team
calipers import report.json --store postgresql://evals@db.example.org/evals
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, shell_complete=complete_files)
@click.option("--name", metavar="NAME", help="What to call the run of traces. Default: the agent's name.")
@store_option
@redact_option
def command(*, files: Sequence[str], name: str | None, store: str | None, redact: Sequence[str]) -> int:
    """Keep runs that were made elsewhere: exported runs and reports of Calipers, reports of pydantic_evals, logs of Inspect AI, traces.

    The content of a file says which of them it is. Traces are spans (OTLP as JSON or protobuf, also with gzip), log records and message
    histories; all that are named together, and all files of a folder, become one run with an attempt for each conversation. A file that is imported twice is kept once. What has no place in a run is
    kept in its metadata; what cannot be read is reported.

    Exit codes: 0 all are kept now, 2 wrong usage, or no such file, 3 a file is none of these or damaged, or the store could not
    be written; the others are kept.
    """
    from pathlib import Path

    from calipers.cli.stored_runs import open_or_make

    for path in files:
        if not Path(path).exists():
            raise no_file(path)
    with open_or_make(store, redact=redact) as opened:
        from calipers.exchange.run_import import import_files

        code, has_traces = PASSED, False
        for path, found in import_files(files, opened, name=name):
            code = first_of([code, _told(path, found, opened)])
            has_traces = has_traces or isinstance(found, Exception) or found.is_recording
        if name is not None and not has_traces:
            note(
                f"--name {name} is not used: it is for traces, and a run of another kind keeps the name that it has"
            )
        return code


def _told(path: str, imported: "ImportedRun | CalipersError | OSError", store: "Store") -> int:
    """Say what came of one file, or of several that are one recording."""
    from calipers.cli.stored_runs import shown_store
    from calipers.stats.number_text import plural

    if isinstance(imported, Exception):
        trace(imported)
        code, message = describe(imported)
        note(f"Error: {path}: {message}")
        return code
    run = imported.run
    if imported.is_new:
        what = f"{imported.kind} {run.name!r} with {plural(run.attempts, 'attempt')}"
        line = f"{path}: {what}, kept in {shown_store(store)} as run {run.id}"
    else:
        line = f"{path}: {imported.kind}; it is kept already as run {run.id}"
    click.echo(shown(line))
    for each in imported.notes:
        note(f"{path}: {each}")
    return PASSED
