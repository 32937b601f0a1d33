"""`calipers store`: what concerns a whole store. The options of its commands; what they do loads when they are called."""

from typing import Any

import click

from calipers.cli.app import Command, debug_option

COPY_EXAMPLES = """
# all runs of this folder to the server of the team
calipers store copy .calipers/runs.db postgresql://evals@db.example.org/evals
# one run back
calipers store copy postgresql://evals@db.example.org/evals here.db --run 20261116-0223
"""

EXAMPLES = """
# all runs of this folder to the server of the team
calipers store copy .calipers/runs.db postgresql://evals@db.example.org/evals
"""


class StoreGroup(click.Group):
    """A group whose help ends with examples, like that of a command."""

    format_epilog = Command.format_epilog
    examples = EXAMPLES


@click.group(cls=StoreGroup)
def command() -> None:
    """Copy the runs of a store to another one."""


command.params.append(debug_option())


@command.command("copy", cls=Command, examples=COPY_EXAMPLES, short_help="Copy runs to another store.")
@click.argument("source", metavar="SOURCE")
@click.argument("target", metavar="TARGET")
@click.option(
    "--run",
    metavar="RUN",
    multiple=True,
    help="Only this run: by its id, the beginning of its id, its name, or latest. Repeatable.",
)
@click.option("--name", metavar="NAME", help="Only runs of that name.")
@click.option(
    "--replace",
    is_flag=True,
    help="Copy a run again that both stores have and that says something else in TARGET.",
)
@click.option("--json", is_flag=True, help="Print what became of each run as JSON.")
def copy(**options: Any) -> int:
    """Copy the runs of SOURCE to TARGET, each a file, sqlite:///PATH or postgresql://USER@HOST/DATABASE.

    Every attempt is read back and compared by a checksum, and a run appears in TARGET when it is whole. A copy that was broken off is
    gone on with by the same command. A run that is being written is left out.

    Exit codes: 0 copied, or there already, 2 wrong usage, or no such store or run, 3 a store could not be read or written, or runs
    were left out.
    """
    from calipers.cli.actions.store import copy_runs

    return copy_runs(**options)
