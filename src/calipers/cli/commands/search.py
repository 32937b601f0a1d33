"""`calipers search`: look for inputs and conversations on which a system fails."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_files, complete_out, complete_run
from calipers.cli.options import Seconds, budget_options, store_option

EXAMPLES = """
# two hundred trials by a bandit, of the task, space and evaluators of a file
calipers search target.py --strategy thompson --trials 200
# until three failures are found, at most five dollars and an hour
calipers search target.py --failures 3 --max-cost 5 --max-time 1h
# eight conversations at once, with another environment of the file
calipers search target.py:hardened --in-flight 8
# a strategy of your own, and the smallest failures as a dataset
calipers search target.py --strategy mine.py:strategy --save regressions.yaml
# failures in what users would say, ranked by how ordinary they are
calipers search target.py --realism turns.txt --realism-model local:smollm2
# go on with a search that was interrupted
calipers search target.py --resume
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("target", metavar="TARGET", shell_complete=complete_files)
@click.option(
    "--strategy",
    metavar="NAME|ADDRESS",
    help="The strategy: random, splitting, thompson, ucb, evolution, tree or cross-entropy; or one of your own, as file.py:name. Default: `strategy` of "
    "the file, else thompson.",
)
@click.option(
    "--budget",
    metavar="AMOUNT",
    multiple=True,
    help="End the search at this amount: 200 (trials), '$5', '500k tokens', '100 calls' (of models) or 30m. Repeatable.",
)
@click.option(
    "--realism",
    metavar="FILE",
    shell_complete=complete_files,
    help="Look for failures in what users would say, and rank them: a .txt file with turns of real users, one on each line, or a dataset file. Default: `realism` of "
    "the file.",
)
@click.option(
    "--realism-model",
    metavar="MODEL",
    help="The language model that tells how likely each turn is, such as local:smollm2. Default: none; the characters of the real turns tell.",
)
@click.option(
    "--realism-weight",
    metavar="SHARE",
    type=click.FloatRange(0, 1),
    help="How much it counts that a turn is ordinary, beside how near a failure came: from 0, which only ranks, to 1. Default: 0.7.",
)
@click.option(
    "--trials",
    metavar="N",
    type=click.IntRange(min=1),
    help="End the search after this many trials. Default: 100.",
)
@click.option(
    "--failures",
    metavar="N",
    type=click.IntRange(min=1),
    help="End the search when this many trials have failed.",
)
@budget_options
@click.option(
    "--in-flight",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    help="Trials under way at once. With more, the strategy chooses without knowing the last ones. Default: 1.",
)
@click.option(
    "--task-timeout",
    metavar="SECONDS",
    type=Seconds(),
    help="Time that a trial may take before it counts as failed.",
)
@click.option(
    "--seed",
    metavar="N",
    type=int,
    help="The seed of all chance in the search. Default: drawn, and shown.",
)
@click.option(
    "--save",
    metavar="FILE",
    shell_complete=complete_files,
    help="Write the smallest failing inputs of each kind to a dataset file.",
)
@click.option(
    "--out",
    metavar="FORMAT:PATH",
    multiple=True,
    shell_complete=complete_out,
    help="Write the report: json, jsonl, csv, markdown, junit, html, text or github. Repeatable.",
)
@click.option(
    "--include-cases",
    metavar="WHICH",
    type=click.Choice(["all", "failed", "none"]),
    default="none",
    help="Which trials to list in the terminal: all, failed or none. Default: none.",
)
@click.option("--quiet", "-q", is_flag=True, help="Show nothing but what is wrong.")
@store_option
@click.option("--no-store", is_flag=True, help="Keep no run.")
@click.option(
    "--resume",
    metavar="[RUN]",
    is_flag=False,
    flag_value="",
    shell_complete=complete_run,
    help="Go on with an interrupted search: the newest of this target, or the one you name.",
)
@click.option("--progress/--no-progress", default=True, help="Show a bar on a terminal while it runs.")
def command(**options: Any) -> int:
    """Look for inputs on which a system fails, choosing each by the outcomes of those before.

    TARGET is a Python file, or file.py:name or module:name. The file has the task or the `Environment` of conversations, under that name
    or as `task` or `environment`, and if need be `space`, `strategy`, `dataset`, `evaluators`, `objective` and `realism`.

    Exit codes: 0 nothing failed, 1 a failure was found, 2 wrong usage, 3 something errored, 4 nothing was tried, 130 interrupted.
    """
    from calipers.cli.actions.search import SearchOptions, search

    return search(SearchOptions(**options))
