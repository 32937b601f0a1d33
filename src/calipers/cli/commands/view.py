"""`calipers view`: the runs of a store in a browser."""

from typing import Any

import click

from calipers.cli.app import Command

EXAMPLES = """
# the runs of this folder
calipers view
# the newest run, on a port of your choice
calipers view --run latest --port 8400
# another store
calipers view /data/runs.db
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("store", metavar="[STORE]", required=False)
@click.option(
    "--run", metavar="RUN", help="The run to show first: its id, the beginning of it, its name, or latest."
)
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any that is free",
    help="Where to listen.",
)
@click.option("--no-browser", is_flag=True, help="Open no browser; the address is printed.")
@click.option(
    "--read-only", is_flag=True, help="Allow no labels and no deleting, and write nothing to the store."
)
def command(**options: Any) -> int:
    """Show the runs of a STORE in a browser: a list, each run, its cases, comparisons and labels.

    The server listens on this machine alone, until Ctrl-C. STORE is a file, sqlite:///PATH or postgresql://USER@HOST/DATABASE; default: CALIPERS_STORE, else the project's file, else .calipers/runs.db.

    Exit codes: 0 ended by Ctrl-C, 2 wrong usage, no such store or run, or a port that is taken, 3 the store cannot be read.
    """
    from calipers.cli.actions.view import ViewOptions, view

    return view(ViewOptions(**options))
