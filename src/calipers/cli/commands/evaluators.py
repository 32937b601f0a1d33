"""`calipers evaluators`: which evaluators there are, and what they take."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_evaluator

EXAMPLES = """
# all of them
calipers evaluators
# one, with its parameters
calipers evaluators Contains
# for machines
calipers evaluators --json
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("name", required=False, shell_complete=complete_evaluator)
@click.option("--json", is_flag=True, help="Print everything as JSON.")
def command(**options: Any) -> int:
    """List the evaluators that Calipers and installed plugins provide, or describe the one called NAME.

    Their names can be used in dataset files; those of installed plugins among them.
    """
    from calipers.cli.actions.evaluators import show_evaluators

    return show_evaluators(**options)
