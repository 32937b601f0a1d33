"""`calipers shrink`: reduce a failure to the smallest that still fails."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_case, complete_files
from calipers.cli.options import Seconds, Share, budget_options, run_argument, store_option

EXAMPLES = """
# a failure that a search found, into a dataset of regressions
calipers shrink latest 'trial 6' --save regressions.yaml
# a failed case of a run
calipers shrink latest refund-17 --target eval_support.py
# only if it fails in more than half of its tries; the goal stays as it is
calipers shrink latest 'trial 6' --rate 0.5 --keep-field goal
"""


@click.command(cls=Command, examples=EXAMPLES)
@run_argument
@click.argument("case", metavar="CASE", shell_complete=complete_case)
@click.option(
    "--target",
    metavar="TARGET",
    shell_complete=complete_files,
    help="What was run, as for `calipers run` or `calipers search`. Default: what was searched, if RUN is a search.",
)
@click.option(
    "--rate",
    metavar="SHARE",
    type=Share(),
    default=0.3,
    help="The share of tries in which inputs must fail, if the system does not always answer the same way. Default: 0.3.",
)
@click.option(
    "--keep-field",
    metavar="FIELD",
    multiple=True,
    help="Leave this field of the inputs as it is. Repeatable.",
)
@click.option(
    "--trials",
    metavar="N",
    type=click.IntRange(min=1),
    default=2000,
    help="End after this many trials. Default: 2000.",
)
@budget_options
@click.option(
    "--task-timeout",
    metavar="SECONDS",
    type=Seconds(),
    help="Time that a trial may take before it counts as failed.",
)
@click.option("--seed", metavar="N", type=int, help="The seed of all chance. Default: drawn, and shown.")
@click.option(
    "--save",
    metavar="FILE",
    shell_complete=complete_files,
    help="Add the smallest failure to a dataset file; the file is created if there is none.",
)
@click.option("--quiet", "-q", is_flag=True, help="Show nothing but what is wrong.")
@store_option
@click.option("--progress/--no-progress", default=True, help="Show a bar on a terminal while it runs.")
def command(**options: Any) -> int:
    """Reduce the inputs of a failed CASE of a kept RUN to the smallest that still fail.

    Turns, fields, sentences and words are taken away, and numbers go towards 0, as long as the case still fails in the same way. A conversation
    is reduced to what was said in it. The trials are a kept run of their own.

    Exit codes: 0 reduced, 1 the case does not fail often enough, 2 wrong usage, or no such store, run or case, 3 something errored, or it was not done, 130 interrupted.
    """
    from calipers.cli.actions.shrink import ShrinkOptions, shrink_case

    return shrink_case(ShrinkOptions(**options))
