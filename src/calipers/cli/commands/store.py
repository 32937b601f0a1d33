"""`calipers store`: what concerns a whole store. The options of its commands; what they do loads when they are called."""

from typing import Any

import click

from calipers.cli.app import Command, debug_option
from calipers.cli.options import store_option

COPY_EXAMPLES = """
# all runs of this folder to the server of the team
calipers store copy .calipers/runs.db postgresql://evals@db.example.org/evals
# one run back
calipers store copy postgresql://evals@db.example.org/evals here.db --run 20261116-0223
"""

OFFLOAD_EXAMPLES = """
# large values of runs that are older than a month, to a folder on a large disk
calipers store offload --to /archive/evals --older-than 30d
# to a bucket, also smaller ones
calipers store offload --to s3://our-evals/values --older-than 2w --min-size 16kB
# where the values are
calipers store offload
# all of them back
calipers store offload --back
"""

EXAMPLES = """
# all runs of this folder to the server of the team
calipers store copy .calipers/runs.db postgresql://evals@db.example.org/evals
# large values of runs that are older than a month, to a bucket
calipers store offload --to s3://our-evals/values --older-than 30d
"""


class StoreGroup(click.Group):
    """A group whose help ends with examples, like that of a command."""

    format_epilog = Command.format_epilog
    examples = EXAMPLES


@click.group(cls=StoreGroup)
def command() -> None:
    """Copy runs to another store, or move old large values out of one."""


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
    help="Copy a run again that TARGET has with other content.",
)
@click.option("--json", is_flag=True, help="Print what became of each run as JSON.")
def copy(**options: Any) -> int:
    """Copy the runs of SOURCE to TARGET, each a file, sqlite:///PATH or postgresql://USER@HOST/DATABASE.

    Every attempt is read back and compared by a checksum, and a run appears in TARGET when it is whole. If a copy was
    interrupted, the same command continues it. A run that is being written is left out.

    Exit codes: 0 copied, or there already, 2 wrong usage, or no such store or run, 3 a store could not be read or written, or runs
    were left out.
    """
    from calipers.cli.actions.store import copy_runs

    return copy_runs(**options)


@command.command(
    "offload",
    cls=Command,
    examples=OFFLOAD_EXAMPLES,
    short_help="Move old large values to a folder or a bucket.",
)
@store_option
@click.option(
    "--to",
    metavar="PLACE",
    help="A folder, or a bucket that fsspec knows, such as s3://bucket/folder. Credentials come from the environment.",
)
@click.option(
    "--older-than",
    metavar="AGE",
    help="Move only values that no newer run has: 30d, or a number of weeks (w), hours (h) or minutes (m).",
)
@click.option(
    "--min-size",
    metavar="SIZE",
    help="The smallest value to move, by its compressed size in the store: 64kB, which is the default, or 1MB.",
)
@click.option(
    "--back",
    is_flag=True,
    help="Bring all values back into the store, and remove them from where they were moved to.",
)
def offload(**options: Any) -> int:
    """Move old large inputs, outputs and traces out of the store. They are read from there when they are asked for.

    Every value is read back and compared before it leaves the store. Results of evaluators stay. If a move was interrupted, the same command
    continues it. Without --to and --back, it says where values are.

    Exit codes: 0 moved, 2 wrong usage, or no such store, 3 something could not be read or written.
    """
    from calipers.cli.actions.store import offload as move

    return move(**options)
