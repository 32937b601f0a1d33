"""`calipers show`: a report or a kept run in the terminal, or as a file."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.completers import FORMATS, complete_out, complete_run_or_file
from calipers.cli.options import filter_option, listing_options, no_plugins_option, slice_option, store_option

EXAMPLES = """
# what came of the last run
calipers show latest
# everything about one case of a run, by its id or the beginning of it
calipers show 20261116-0223 --case refund-17
# what the agent did in one case, as a waterfall of turns, model calls and tools
calipers show latest --trace refund-17
# a report that was written to a file
calipers show report.json
# a page to read in a browser, from the lines of a run that was killed
calipers show report.jsonl --to html:report.html
# what people would say of all cases, by their labels of some
calipers show latest --labels helpful=labels.csv
# the same, by what they answered to a question of `calipers label`
calipers show latest --labels 'helpful=Is it helpful?'
# the attempts that meet a filter
calipers show latest --filter 'status:failed tag:refund cost>0.01'
# as the view of a plugin draws it
calipers show report.json --to tally:-
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("report", metavar="RUN|FILE", shell_complete=complete_run_or_file)
@store_option
@click.option("--case", metavar="NAME", multiple=True, help="Show all that is known of one case. Repeatable.")
@click.option(
    "--trace",
    metavar="NAME",
    multiple=True,
    help="Show what the agent did in one case as a waterfall: turns, model calls and tools with time, tokens and cost. Repeatable.",
)
@click.option(
    "--max-steps",
    metavar="N",
    type=click.IntRange(min=0),
    default=60,
    show_default=True,
    help="With --trace: how many steps to show, the first and the last ones; 0 for all.",
)
@filter_option("List the")
@click.option(
    "--to",
    metavar="FORMAT:PATH",
    multiple=True,
    shell_complete=complete_out,
    help=f"Write the report in another format instead of showing it: {', '.join(FORMATS)} "
    "or the name of a plugin with a view. The path - is standard output. Repeatable.",
)
@click.option(
    "--plugin",
    metavar="NAME",
    multiple=True,
    help="A plugin whose view --to may name: a folder of them, such as ./plugins, or an installed one by its name, which must "
    "be there. Repeatable. Default: all that are installed.",
)
@no_plugins_option
@listing_options
@slice_option
@click.option(
    "--labels",
    metavar="JUDGE=LABELS",
    multiple=True,
    help="Correct the result of a judge by people's labels of some cases: a CSV or JSON Lines file, a question that they answered "
    "with `calipers label` (question:NAME if a column has the name, too), or the name of a column. Repeatable.",
)
def command(**options: Any) -> int:
    """Show a RUN that is kept, or a report that was saved to a FILE as JSON or JSON Lines; or convert it.

    A run is named by its id, the beginning of its id, its name (the newest of that name, if all are of one dataset), or latest. A file of lines that has no end, since the run was killed, is shown as far as it goes and marked as incomplete.

    Exit codes: 0 shown or written, 2 wrong usage, or no such run, 3 it could not be read. Whether the run passed is not asked.
    """
    from calipers.cli.actions.show import show

    return show(**options)
