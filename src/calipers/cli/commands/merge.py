"""`calipers merge`: one run of the shards of a run."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_files, complete_run_or_file
from calipers.cli.options import file_options, merging_options, redact_option, store_option

EXAMPLES = """
# the report files that the jobs of a CI service wrote
calipers merge shards/*.json --out html:report.html --fail-under 0.9
# the shards of a run that are kept in one store, by the name that the jobs gave them
calipers merge nightly-4711 --store postgresql://evals@db.example.org/evals
# with the report evaluators of the dataset
calipers merge shards/*.json --target eval_support.py
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("shards", metavar="RUN|FILE...", nargs=-1, required=True, shell_complete=complete_run_or_file)
@click.option(
    "--target",
    metavar="TARGET",
    shell_complete=complete_files,
    help="What was run, as for `calipers run`: its report evaluators look at the merged run.",
)
@click.option(
    "--param",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of the evaluation function that --target names. Repeatable.",
)
@file_options
@store_option
@redact_option
@click.option("--no-store", is_flag=True, help="Keep nothing.")
@merging_options
def command(**options: Any) -> int:
    """Make one run of all shards of a run (`calipers run --shard`): exactly the run that there would have been without shards.

    A shard is a report FILE (json or jsonl) or a RUN that is kept: by its id, or by its name, which stands for all shards of that name. The
    order does not matter. Shards of different runs, and a shard that is there twice, are refused with what is wrong; a
    shard that is missing leaves the run incomplete.

    Exit codes: 0 passed, 1 failed, 2 wrong usage, 3 something errored, or the run is incomplete, 4 nothing was judged,
    130 interrupted.
    """
    from calipers.cli.actions.merge import MergeOptions, MergeSession
    from calipers.cli.actions.run import run

    return run(MergeOptions(**options), MergeSession)
