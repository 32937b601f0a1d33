"""`calipers import`: runs that were made elsewhere."""

from typing import Any

import click

from .command import Command
from .completing import complete_files
from .store_options import redact_option, store_option

EXAMPLES = """
# a run that somebody exported
calipers import run.jsonl
# what pydantic_evals and Inspect AI left behind
calipers import report.json logs/*.eval
# into the store of the team
calipers import report.json --store postgresql://evals@db.example.org/evals
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, shell_complete=complete_files)
@store_option
@redact_option
def command(**options: Any) -> int:
    """Keep runs that were made elsewhere: exported runs and reports of Calipers, reports of pydantic_evals, logs of Inspect AI.

    Which of them a file is, is told by its content. A file that is imported twice is kept once. What has no place in a run is
    kept in its metadata; what cannot be read is told.

    Exit codes: 0 all are kept now, 2 wrong usage, or no such file, 3 a file is none of these or damaged, or the store could not
    be written; the others are kept.
    """
    from .importing import import_files

    return import_files(**options)
