"""`calipers table`: several runs in one table, for a paper or a README."""

from collections.abc import Sequence

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_run_or_file
from calipers.cli.exits import PASSED
from calipers.cli.message import note
from calipers.cli.options import confidence_option, dataset_option, store_option

EXAMPLES = """
# three models side by side
calipers table model-a model-b model-c
# the same for a paper: a tabular to \\input
calipers table model-a model-b model-c --to table.tex
# every number and each end of its interval, for a program; with pass@3 and the tokens
calipers table model-a model-b --k 3 --metric tokens --to csv:numbers.csv
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, shell_complete=complete_run_or_file)
@store_option
@dataset_option
@click.option(
    "--k",
    metavar="N",
    type=click.IntRange(min=1),
    help="Show pass@N and pass^N. Default: N is how often all runs repeat their cases.",
)
@click.option(
    "--metric",
    metavar="NAME",
    multiple=True,
    help="Show the mean of this metric. Repeatable. Default: those whose name says that they are a cost.",
)
@confidence_option("Of the intervals.")
@click.option(
    "--to",
    metavar="FORMAT[:PATH]",
    multiple=True,
    help="What to write: markdown, latex or csv; a path that ends in .md, .tex or .csv may stand alone. Without a path, to "
    "standard output. Repeatable. Default: markdown.",
)
def command(
    *,
    runs: Sequence[str],
    store: str | None,
    dataset: str | None,
    k: int | None,
    metric: Sequence[str],
    confidence: float,
    to: Sequence[str],
) -> int:
    """Put several runs or report files into one table: cases, pass rate with its interval, pass@k, cost and time of each.

    A run is named by its id, the beginning of its id, its name (the newest of that name; --dataset says of which dataset, if there are several), or latest; a file by its path. An interval is of one run by itself: calipers compare says which runs differ.

    Exit codes: 0 written, 2 wrong usage, or no such run or file, 3 it could not be read or written.
    """
    from calipers.cli.reports import check_targets, named_reports
    from calipers.views.github import commands_off
    from calipers.views.run_table import distinct_names, run_table, table_target, write_table

    targets = [table_target(each) for each in to or ("markdown",)]
    check_targets("--to", [target.path for target in targets], runs)
    found = named_reports(runs, store, dataset=dataset)
    table = run_table(
        [each.report for each in found],
        labels=distinct_names([each.report.name for each in found], [each.label for each in found]),
        k=k,
        metrics=metric or None,
        confidence=confidence,
    )
    for target in targets:
        with commands_off():  # in a GitHub log, the name of a run must not become a command
            write_table(table, f"{target.format}:{target.path}")
        if target.path != "-":
            note(f"Wrote {target.path}")
    return PASSED
