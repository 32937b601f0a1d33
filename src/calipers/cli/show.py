"""`calipers show`: a saved report in the terminal, or as another file."""

from typing import Any

import click

from .command import Command
from .completing import complete_files, complete_out

EXAMPLES = """
# what came of a run
calipers show report.json
# everything about one case
calipers show report.json --case refund-17
# a page to read in a browser, from the lines of a run that was killed
calipers show report.jsonl --to html:report.html
# as the view of a plugin draws it
calipers show report.json --to tally:- --plugin tally
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("report", metavar="REPORT", shell_complete=complete_files)
@click.option("--case", metavar="NAME", multiple=True, help="Show all that is known of one case. Repeatable.")
@click.option(
    "--to",
    metavar="FORMAT:PATH",
    multiple=True,
    shell_complete=complete_out,
    help="Write the report in another format instead of showing it: json, jsonl, csv, html, junit, markdown, text, github "
    "or the name of a plugin with a view. The path - is standard output. Repeatable.",
)
@click.option(
    "--plugin",
    metavar="NAME",
    multiple=True,
    help="A plugin whose view --to may name: an installed one by its name ('*' for all), or a folder of them, such as "
    "./plugins. Repeatable.",
)
@click.option(
    "--include-cases",
    metavar="WHICH",
    type=click.Choice(["all", "failed", "none"]),
    default="failed",
    show_default=True,
    help="Which attempts to list: all, failed or none.",
)
@click.option(
    "--max-cases",
    metavar="N",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="How many attempts to list; 0 for all.",
)
@click.option("--tracebacks", is_flag=True, help="Show where in the code a task or an evaluator failed.")
def command(**options: Any) -> int:
    """Show a report that was saved as JSON or JSON Lines, or convert it.

    A file of lines that has no end, since the run was killed, is shown as far as it goes and marked as incomplete.

    Exit codes: 0 shown or written, 2 wrong usage, 3 the report could not be read. Whether the run passed is not asked.
    """
    from .showing import show

    return show(**options)
