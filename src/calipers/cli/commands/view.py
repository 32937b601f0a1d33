"""`calipers view`: the runs of a store in a browser."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_files, complete_run

EXAMPLES = """
# the runs of this folder
calipers view
# the newest run
calipers view --run latest
# another store, on a port of your choice
calipers view /data/runs.db --port 8400
# an address that opens the viewer that runs, for another browser
calipers view --url
# for a team: by one name, with a password
CALIPERS_VIEW_PASSWORD=... calipers view --host 0.0.0.0 --port 8400 --trusted-host evals.example.com
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("store", metavar="[STORE]", required=False, shell_complete=complete_files)
@click.option(
    "--run",
    metavar="RUN",
    shell_complete=complete_run,
    help="The run to show first: its id, the beginning of it, its name, or latest.",
)
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    help="Where to listen; 0 for any port that is free. Default: 8400 or, if that is taken, any that is free.",
)
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on. One that other machines reach needs a password, and 0.0.0.0 a --trusted-host, too.",
)
@click.option(
    "--trusted-host",
    metavar="NAME",
    multiple=True,
    help="A name or address, with its port unless it is ours, by which browsers reach the viewer: through a proxy, a tunnel, or "
    "--host 0.0.0.0. Repeatable.",
)
@click.option(
    "--password",
    is_flag=True,
    help="Ask for a password that opens the viewer. CALIPERS_VIEW_PASSWORD gives one without asking.",
)
@click.option("--no-browser", is_flag=True, help="Open no browser; the address is printed.")
@click.option(
    "--url", is_flag=True, help="Print a new address for the viewer that is running, and start nothing."
)
@click.option("--read-only", is_flag=True, help="Allow no labels, and write nothing to the store.")
def command(**options: Any) -> int:
    """Show the runs of a STORE in a browser: a list of them, each with its cases, comparisons and labels.

    STORE is a file, sqlite:///PATH or postgresql://USER@HOST/DATABASE. Default: CALIPERS_STORE, else the project's file, else .calipers/runs.db. The server listens on this machine alone, until Ctrl-C. Its address has a token that opens once.

    Exit codes: 0 ended by Ctrl-C or SIGTERM, 2 wrong usage, no such store or run, or a port that is taken, 3 the store cannot be read.
    """
    from calipers.cli.actions.view import ViewOptions, view

    return view(ViewOptions(**options))
