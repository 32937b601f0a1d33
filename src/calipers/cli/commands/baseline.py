"""`calipers baseline`: accepted traces in a file, and what a run does otherwise. The options; what the commands do loads when they are called."""

from typing import Any, Final

import click

from calipers.cli.app import Command, debug_option
from calipers.cli.completers import complete_files, complete_run_or_file
from calipers.cli.options import confidence_option, dataset_option, store_option

FILE: Final = "baseline.yaml"
"""The file of accepted traces, unless another one is named."""

ACCEPT_EXAMPLES = """
# what the agent did in the last run is how it should be
calipers baseline accept latest
# only of these cases; what is accepted of others stays
calipers baseline accept latest --case refund-17 --case refund-18
# another way that is right, too
calipers baseline accept latest --case refund-17 --add
"""

CHECK_EXAMPLES = """
# does the agent still do what was accepted?
calipers baseline check latest
# in CI, with a summary for the pull request
calipers baseline check latest --baseline tests/support.yaml --out markdown:drift.md
"""

EXAMPLES = """
# keep what the agent did in the last run, for review
calipers baseline accept latest
# what does it do otherwise now?
calipers baseline check latest
"""


class BaselineGroup(click.Group):
    """A group whose help ends with examples, like that of a command."""

    format_epilog = Command.format_epilog
    examples = EXAMPLES


@click.group(cls=BaselineGroup)
def command() -> None:
    """Keep the traces of a run that are accepted, and notice drift."""


command.params.append(debug_option())

_run_argument = click.argument("run", metavar="RUN|FILE", shell_complete=complete_run_or_file)


@command.command(
    cls=Command, examples=ACCEPT_EXAMPLES, short_help="Accept what a run did, in a file to be reviewed."
)
@_run_argument
@click.option(
    "--out",
    metavar="FILE",
    default=FILE,
    show_default=True,
    shell_complete=complete_files,
    help="Where the accepted traces go: a YAML or JSON file. Cases that the run does not have stay in it.",
)
@click.option(
    "--case", metavar="NAME", multiple=True, help="Accept only this case. Repeatable. Default: all."
)
@click.option(
    "--add",
    is_flag=True,
    help="Keep what was accepted of these cases before, too. Default: what the run did replaces it.",
)
@click.option("--no-output", is_flag=True, help="Accept the calls alone: outputs may differ.")
@click.option("--answers", is_flag=True, help="Accept what models answered before the output, too.")
@click.option(
    "--all-attempts",
    is_flag=True,
    help="Accept attempts that did not pass, too, and those of which nothing was asserted. What a failed task did is never accepted.",
)
@store_option
@dataset_option
def accept(**options: Any) -> int:
    """Accept what the agent did in a RUN that is kept, or in a report FILE: its calls with their arguments, and its outputs.

    The file is for people to review, in a pull request as any other. Attempts that did not pass are left out and listed.

    Exit codes: 0 accepted, 1 of some cases nothing was accepted, 2 wrong usage, or no such run or file, 3 something could not be read or
    written, 4 nothing was accepted.
    """
    from calipers.cli.actions.baseline import accept as accept_it

    return accept_it(**options)


@command.command(
    cls=Command, examples=CHECK_EXAMPLES, short_help="Say what a run does otherwise than accepted."
)
@_run_argument
@click.option(
    "--baseline",
    metavar="FILE",
    default=FILE,
    show_default=True,
    shell_complete=complete_files,
    help="The file of accepted traces.",
)
@confidence_option("Of the interval of the share of cases that follow.")
@store_option
@dataset_option
@click.option(
    "--out",
    metavar="FORMAT:PATH",
    multiple=True,
    shell_complete=complete_files,
    help="Write it to a file, too: markdown, json or text; the suffix tells. With the path - it goes to standard output instead. "
    "Repeatable.",
)
@click.option("--quiet", "-q", is_flag=True, help="Show nothing: the exit code tells.")
def check(**options: Any) -> int:
    """Say what a RUN that is kept, or a report FILE, does otherwise than what was accepted.

    An attempt follows if it does what some accepted trace of its case says. Cases that nothing was accepted of, and accepted cases that the
    run does not have, are named and change no exit code.

    Exit codes: 0 all that could be checked follows, 1 some cases drifted, 2 wrong usage, or no such run or file, 3 something could not be
    read or written, 4 no case has an accepted trace, 5 of some cases it is not known, and no other drifted.
    """
    from calipers.cli.actions.baseline import check as check_it

    return check_it(**options)
