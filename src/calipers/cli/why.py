"""`calipers why`: why a result was computed or taken over."""

from typing import Any

import click

from .command import Command
from .completing import complete_case, complete_stored_evaluator
from .store_options import run_argument, store_option

EXAMPLES = """
# why was this case judged anew?
calipers why latest refund-17 Polite
# one of several attempts at it
calipers why 20261116-0223 'refund-17 [2/5]' Polite
"""


@click.command(cls=Command, examples=EXAMPLES)
@run_argument
@click.argument("case", metavar="CASE", shell_complete=complete_case)
@click.argument("evaluator", metavar="EVALUATOR", shell_complete=complete_stored_evaluator)
@store_option
def command(**options: Any) -> int:
    """Say why a kept RUN computed what an EVALUATOR said of a CASE, or from which run it took it over.

    A run takes something over only where it was asked to, by --resume or --reuse. It says what has changed since: the
    source of a function, a parameter, the inputs of the case.

    Exit codes: 0 said, 2 wrong usage, or no such store, run, case or evaluator, 3 the store could not be read.
    """
    from .explaining import explain

    return explain(**options)
