"""`calipers run`: the options. What it does is in `running.py`, which loads when it is called."""

from typing import Any

import click

from .command import Command, Seconds, file_options
from .completing import complete_evaluator, complete_files, complete_out

EXAMPLES = """
# everything in this folder
calipers run
# one file, only cases about refunds, the first ten of them
calipers run eval_support.py --filter refund --limit 10
# cases in a file, each tried five times
calipers run cases.yaml --task app:answer --repeat 5
# in CI: at least 90 % passed, with a report for people and one for machines
calipers run --fail-under 0.9 --out html:report.html --out junit:report.xml
# with the evaluators and hooks of an installed plugin
calipers run cases.yaml --task app:answer --plugin citations
# a score of your own, and a parameter of the evaluation
calipers run eval_tone.py --param model=small --fail-under politeness=0.8
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("targets", metavar="[TARGET]...", nargs=-1, shell_complete=complete_files)
@click.option(
    "--task",
    metavar="ADDRESS",
    help="The thing under test, as module:function, file.py:function, or plugin:NAME for the adapter of a plugin. A dataset "
    "file needs it; for any other target it replaces the task.",
)
@click.option(
    "--param",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of the evaluation functions, converted by its annotation. Repeatable.",
)
@file_options
@click.option(
    "--filter",
    metavar="TEXT",
    multiple=True,
    help="Only cases whose name contains the text, or matches it as a pattern such as 'refund-*'. Repeatable: any of "
    "them.",
)
@click.option("--tag", metavar="TAG", multiple=True, help="Only cases with the tag. Repeatable: any of them.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), help="At most the first N cases of each dataset."
)
@click.option("--name", metavar="NAME", help="What to call the run. Default: the task's name.")
@click.option("--repeat", metavar="N", type=click.IntRange(min=1), help="Attempt each case N times.")
@click.option(
    "--max-concurrency",
    metavar="N",
    type=click.IntRange(min=1),
    help="Attempts in flight at once. Default: 100, or 32 for a task that is not async.",
)
@click.option(
    "--task-timeout",
    metavar="SECONDS",
    type=Seconds(),
    help="Time that a task may take before it counts as failed.",
)
@click.option(
    "--evaluator-timeout",
    metavar="SECONDS",
    type=Seconds(),
    help="Time that an evaluator may take before it counts as failed.",
)
@click.option(
    "--retry", metavar="N", type=click.IntRange(min=0), help="Call a task that failed up to N times more."
)
@click.option("--seed", metavar="N", type=int, help="From which all randomness of the run follows.")
@click.option(
    "--fail-under",
    metavar="[NAME=]NUMBER",
    multiple=True,
    shell_complete=complete_evaluator,
    help="Exit with 1 if the pass rate, or the result of one evaluator, is lower: 0.9, 90% or NAME=0.8. Repeatable. "
    "Without it, every case has to pass.",
)
@click.option(
    "--allow-errors",
    is_flag=True,
    help="Do not exit with 3 for tasks and evaluators that did not finish: they count as not passed, and no more.",
)
@click.option(
    "--out",
    metavar="FORMAT:PATH",
    multiple=True,
    shell_complete=complete_out,
    help="Write the report: json, jsonl, csv, html, junit, markdown, text, github or the name of a plugin with a "
    "view. The path - is standard output; "
    "{name} in it stands for the evaluation. Repeatable.",
)
@click.option(
    "--include-cases",
    metavar="WHICH",
    type=click.Choice(["all", "failed", "none"]),
    default="failed",
    show_default=True,
    help="Which attempts to list in the terminal: all, failed or none.",
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
@click.option("--quiet", "-q", is_flag=True, help="Show nothing but what is wrong.")
@click.option("--json", is_flag=True, help="Print a summary as JSON, and nothing else, to standard output.")
@click.option("--progress/--no-progress", default=True, help="Show a bar on a terminal while it runs.")
def command(**options: Any) -> int:
    """Run evaluations, show what came of them, and say by the exit code whether they passed.

    A TARGET is a Python file, a folder with files eval_*.py (default: the current one), module:function, or a dataset
    file together with --task. In a file, every function named eval_* is an evaluation: it returns a dataset and a
    task, or a finished report.

    Exit codes: 0 passed, 1 failed, 2 wrong usage, 3 something errored, 4 nothing ran, 130 interrupted.
    """
    from .running import RunOptions, run

    return run(RunOptions(**options))
