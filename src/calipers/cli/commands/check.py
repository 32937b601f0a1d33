"""`calipers check`: all that is wrong with dataset files and voice files, without running anything."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_files
from calipers.cli.options import file_options

EXAMPLES = """
# one file
calipers check cases.yaml
# all of them, with an evaluator of your own that they name
calipers check data/*.yaml --evaluator-type evaluators.py:Polite
# a voice file, with the agent that it names as app:assistant
calipers check home.yaml --allow-module app
# a table whose columns have other names
calipers check questions.csv --column inputs=question --column expected_output=answer
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, shell_complete=complete_files)
@file_options
@click.option("--json", is_flag=True, help="Print the problems as JSON.")
def command(**options: Any) -> int:
    """Check dataset files: YAML, JSON, JSON Lines, CSV or Parquet; and voice files, which have prompts instead of cases.

    Every problem is a line: file, line and column, what was expected and what was found. Nothing is run, and nothing is
    imported but what the options name.

    Exit codes: 0 no problems, 1 problems found, 2 wrong usage, 3 a file could not be read.
    """
    from calipers.cli.actions.check import check

    return check(**options)
