"""`calipers score`: judge a kept run again."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_files
from calipers.cli.options import (
    allow_module_option,
    judging_options,
    model_cache_option,
    redact_option,
    run_argument,
    store_option,
    types_options,
)

EXAMPLES = """
# with an evaluator of your own
calipers score latest --evaluators judges.py:polite
# with those of a dataset file
calipers score 20261116-0223 --evaluators cases.yaml
# with built-in ones, as a dataset file writes them
calipers score latest --evaluators EqualsExpected --evaluators 'Contains: Paris'
# with a better version of an evaluator that the run has
calipers score latest --evaluators judges.py:polite --replace
# without an evaluator that was a mistake
calipers score latest --drop polite_2
# in CI: at least 90 % have to be polite
calipers score latest --evaluators judges.py:polite --fail-under polite=0.9
"""


@click.command(cls=Command, examples=EXAMPLES)
@run_argument
@click.option(
    "--evaluators",
    metavar="WHICH",
    multiple=True,
    shell_complete=complete_files,
    help="What judges: an evaluator, a list of them or a dataset as module:name or file.py:name; a dataset file; or a built-in "
    "evaluator as such a file writes it, such as 'Contains: Paris'. Repeatable.",
)
@click.option(
    "--replace",
    is_flag=True,
    help="Replace an evaluator of the run that has the same name. Default: keep both, the new one as NAME_2.",
)
@click.option(
    "--drop",
    metavar="NAME",
    multiple=True,
    help="Leave this evaluator of the run out of its report. Repeatable.",
)
@allow_module_option
@types_options
@click.option(
    "--output-type",
    metavar="ADDRESS",
    help="What the task returned, as module:Name or file.py:Name, to make it again from what is kept. Default: plain data.",
)
@click.option(
    "--processes",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    help="Processes that judge side by side, for many attempts and evaluators that keep a processor busy. Default: 1.",
)
@store_option
@redact_option
@model_cache_option
@judging_options
def command(**options: Any) -> int:
    """Judge the attempts of a kept RUN with further evaluators, without calling the task.

    The results are added to the run, beside those it has. An evaluator that has judged an attempt already is not asked
    again, unless it failed, so that a command that was interrupted can be repeated; one whose name is taken by another
    gets _2, _3 and so on, or with --replace its place.

    Exit codes: 0 passed, 1 failed, 2 wrong usage, 3 something errored, or the run is incomplete, 4 nothing was judged,
    130 interrupted.
    """
    from calipers.cli.actions.run import run
    from calipers.cli.actions.score import ScoreOptions, ScoreSession

    return run(ScoreOptions(**options), ScoreSession)
