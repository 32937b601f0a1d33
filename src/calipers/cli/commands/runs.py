"""`calipers runs`: which runs are kept."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.options import store_option

EXAMPLES = """
# the newest runs
calipers runs
# runs of one evaluation that did not finish
calipers runs --name support --status interrupted
# those that a filter of the viewer finds
calipers runs --filter 'dataset:support rate<0.9 time>2026-11-01'
# all of them, for a program
calipers runs --limit 0 --json
# those of the team
calipers runs --store postgresql://evals@db.example.org/evals
"""


@click.command(cls=Command, examples=EXAMPLES)
@store_option
@click.option("--name", metavar="NAME", help="Only runs of that name.")
@click.option("--dataset", metavar="NAME", help="Only runs of the dataset of that name.")
@click.option(
    "--status",
    metavar="STATUS",
    type=click.Choice(["running", "finished", "interrupted", "failed", "abandoned"]),
    help="Only runs that are running, finished, interrupted, failed or abandoned.",
)
@click.option(
    "--filter",
    metavar="TERMS",
    multiple=True,
    help="Only runs that meet all terms, such as 'dataset:support rate<0.9 cost>1 gate:fail nightly'. Repeatable: all have to be met.",
)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="How many to list, the newest first; 0 for all.",
)
@click.option("--json", is_flag=True, help="Print a list as JSON.")
def command(**options: Any) -> int:
    """List the runs that are kept, the newest first: what was run, what became of it, and how much passed.

    An interrupted run was ended early on purpose, a failed one ended by an error, and the process of an abandoned one was killed.
    All of them can be resumed.

    Exit codes: 0 listed, even if there are none, 2 wrong usage, or no such store, 3 the store could not be read.
    """
    from calipers.cli.actions.runs import show_runs

    return show_runs(**options)
