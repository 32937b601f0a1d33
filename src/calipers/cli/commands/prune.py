"""`calipers prune`: remove runs."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_run
from calipers.cli.options import store_option

EXAMPLES = """
# what would be removed, if only the newest twenty runs were kept
calipers prune --keep 20
# remove them
calipers prune --keep 20 --yes
# runs of one evaluation that are older than a month, but always the newest three
calipers prune --name support --older-than 30d --keep 3 --yes
# the oldest runs, until the store takes at most two gigabytes
calipers prune --max-size 2GB --yes
# one run
calipers prune --run 20261116-0223 --yes
# answers of models that were kept more than two weeks ago
calipers prune --model-answers 2w --yes
"""


@click.command(cls=Command, examples=EXAMPLES)
@store_option
@click.option(
    "--keep",
    metavar="N",
    type=click.IntRange(min=0),
    help="Remove all but the newest N; with --older-than, only those of them that are old enough.",
)
@click.option(
    "--older-than",
    metavar="AGE",
    help="Remove runs that began longer ago: 30d, or a number of weeks (w), hours (h) or minutes (m).",
)
@click.option(
    "--max-size",
    metavar="SIZE",
    help="Remove the oldest runs until the store takes about so much: 2GB, 500MB or 100kB. With --keep or --older-than, only of "
    "those that these choose.",
)
@click.option(
    "--run",
    metavar="RUN",
    multiple=True,
    shell_complete=complete_run,
    help="Remove this run: by its id, the beginning of its id, its name, or latest. Repeatable.",
)
@click.option("--name", metavar="NAME", help="Look only at runs of that name.")
@click.option(
    "--labelled",
    is_flag=True,
    help="Remove runs that people labelled too, and their labels with them. Without it, such runs stay.",
)
@click.option(
    "--model-answers",
    metavar="AGE",
    help="Remove answers of models that are older than this, such as 30d. No run needs them; a new one asks the model again.",
)
@click.option("--yes", is_flag=True, help="Remove them. Without it, they are only listed.")
def command(**options: Any) -> int:
    """Remove kept runs, and give back the space that nothing uses any more. Without --yes, only say what would be removed.

    A run that is still running is never removed; an abandoned one is. A run that people labelled stays, unless you add --labelled. What other runs took over from a run stays with them.

    Exit codes: 0 removed or listed, 2 wrong usage, or no such store or run, 3 the store could not be written.
    """
    from calipers.cli.actions.prune import prune

    return prune(**options)
