"""`calipers compare`: what changed between runs, and whether it is noise."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_run_or_file
from calipers.cli.options import (
    Share,
    confidence_option,
    dataset_option,
    document_option,
    pair_by_option,
    slice_option,
    store_option,
)

EXAMPLES = """
# is the last run better than a saved one?
calipers compare baseline.json latest
# two kept runs, by the beginning of their ids; a page with plots for the pull request's artifacts
calipers compare 20261115-0912 20261116-0223 --out comparison.html
# one case side by side: inputs, both outputs, each evaluator's result and reason
calipers compare main latest --case refund-17
# three models with each other: their ranks, and every two of them
calipers compare model-a model-b model-c
# two prompts against the first only, on two evaluators
calipers compare prompt-a prompt-b prompt-c --against-first --evaluator Correct --evaluator Polite
# did these very cases get worse? each was attempted several times in both runs
calipers compare main latest --these-cases
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument(
    "runs", metavar="BASELINE CANDIDATE...", nargs=-1, required=True, shell_complete=complete_run_or_file
)
@store_option
@dataset_option
@click.option(
    "--case",
    metavar="NAME",
    help="Show this case side by side, and nothing else: inputs, expected and both outputs, what each evaluator said, and both "
    "traces step by step.",
)
@click.option(
    "--evaluator",
    metavar="NAME",
    multiple=True,
    help="Compare only the results of this name, and no pass rate. Repeatable.",
)
@confidence_option("Of the intervals; a p-value counts from 1 minus this downwards.")
@click.option(
    "--correction",
    metavar="HOW",
    type=click.Choice(["holm", "bh", "none"]),
    default="holm",
    show_default=True,
    help="How p-values are adjusted for being many: holm (no false alarm at all), bh (few false ones among the alarms) or "
    "none.",
)
@click.option(
    "--smallest",
    metavar="SHARE",
    type=Share(),
    default=0.03,
    show_default=True,
    help="The smallest difference worth seeing, of rates and of scores from 0 to 1: 0.03 is 3 points.",
)
@click.option(
    "--smallest-relative",
    metavar="SHARE",
    type=Share(),
    default=0.1,
    show_default=True,
    help="The same for other scores, times and metrics, as a share of the baseline.",
)
@click.option(
    "--lower-is-better",
    metavar="NAME",
    multiple=True,
    help="A score or metric of which less is good; times, costs and tokens are known. Repeatable.",
)
@pair_by_option
@click.option(
    "--these-cases",
    is_flag=True,
    help="Ask whether these cases changed, not whether cases like these would: only the noise between attempts at a case counts, so each "
    "has to be attempted at least twice in both runs.",
)
@click.option(
    "--against-first",
    is_flag=True,
    help="Of three or more runs, compare the others with the first only. Default: every two of them.",
)
@slice_option
@click.option(
    "--max-flips",
    metavar="N",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="How many flipped cases to list for each candidate; 0 for all.",
)
@document_option("comparison")
def command(**options: Any) -> int:
    """Compare runs or report files, case by case: the CANDIDATE with the BASELINE or, of three or more, every two of them.

    A run is named by its id, the beginning of its id, its name (the newest of that name; --dataset says of which dataset, if there are several), or latest; a file by its path. Cases are paired by their content. What is not the same case is named and left out; where no case is the same, the runs are compared as runs over different cases.

    Exit codes: 0 compared, whatever came of it (calipers gate decides), 2 wrong usage, or no such run or file, 3 it could not be read.
    """
    from calipers.cli.actions.compare import compare

    return compare(**options)
