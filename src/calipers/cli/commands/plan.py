"""`calipers plan`: how many cases and repeats a comparison needs."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_run_or_file
from calipers.cli.options import Share, confidence_option, dataset_option, store_option

EXAMPLES = """
# from a run that was made: what would show 3 points?
calipers plan latest --effect 0.03
# from two runs over the same cases, for a score
calipers plan latest --baseline main --evaluator helpfulness --effect 0.1
# nothing has run yet: about 80 % pass, and 5 points matter
calipers plan --rate 0.8 --effect 0.05
# a gate with a margin of 5 points, between versions that agree on nine cases in ten
calipers plan --rate 0.8 --margin 0.05 --flips 0.1
# what can the 200 cases that there are show?
calipers plan latest --cases 200
# what will a run of 500 cases cost, each attempted three times?
calipers plan latest --cost --cases 500 --repeat 3
"""


@click.command(
    cls=Command,
    examples=EXAMPLES,
    too_many="a second pilot is named by --baseline, as in plan NEW --baseline OLD",
)
@click.argument("pilot", metavar="[RUN|FILE]", required=False, shell_complete=complete_run_or_file)
@click.option(
    "--baseline",
    metavar="RUN|FILE",
    shell_complete=complete_run_or_file,
    help="A second pilot over the same cases, of what the first will be compared with.",
)
@dataset_option
@store_option
@click.option(
    "--evaluator", metavar="NAME", help="Of a pilot, whose results will be compared. Default: the pass rate."
)
@click.option(
    "--lower-is-better",
    is_flag=True,
    help="With a pilot: less of it is good, so an attempt of the pilot that crashed counts as 1, as it will in the comparison.",
)
@click.option(
    "--effect",
    metavar="NUMBER",
    type=float,
    help="The true difference worth finding: 0.03 is 3 points of a rate. With --rate, a loss is below 0: -0.03.",
)
@click.option(
    "--margin",
    metavar="NUMBER",
    type=float,
    help="Plan a gate with this margin, for an agent as good as its baseline, instead of a comparison.",
)
@click.option(
    "--cases",
    metavar="N",
    type=click.IntRange(min=2),
    help="The cases that there are. Default: those of the pilot.",
)
@click.option(
    "--repeat",
    metavar="N",
    type=click.IntRange(min=1),
    multiple=True,
    help="With a pilot that repeated cases, attempts at each case to plan for. Repeatable. Default: 1, 2, 3, 5 and 10.",
)
@click.option(
    "--rate", metavar="SHARE", type=Share(), help="Without a pilot: the pass rate that is expected."
)
@click.option(
    "--flips",
    metavar="SHARE",
    type=float,
    help="With --rate, the share of cases that only one of the two will pass. Default: as if they had nothing in common.",
)
@click.option(
    "--correlation",
    metavar="NUMBER",
    type=float,
    help="With one pilot, how alike the two are from case to case: from 0.3 to 0.7 between models, more between versions of "
    "one agent. Default: 0.5 if the pilot repeated cases, else 0.",
)
@click.option(
    "--power",
    metavar="SHARE",
    type=Share(),
    default=0.8,
    show_default=True,
    help="The chance to find the effect, or to pass the gate.",
)
@confidence_option("Of the interval that will judge it.")
@click.option(
    "--cost",
    is_flag=True,
    help="Only say what one run costs: of --cases, attempted --repeat times, as the attempts of the pilot did.",
)
@click.option("--json", is_flag=True, help="Print the plan as JSON.")
def command(**options: Any) -> int:
    """Say how many cases and repeats show a difference, and how small a difference the cases that there are can show.

    A pilot is a RUN that is kept or a report FILE; it tells how much results vary, how long they take and what they cost. Without one, --rate is a guess. A gate asks for more cases than a comparison: give its margin as --margin.

    Exit codes: 0 planned, 2 wrong usage, or no such run or file, 3 it could not be read.
    """
    from calipers.cli.actions.plan import make_plan

    return make_plan(**options)
