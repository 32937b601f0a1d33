"""`calipers run`: evaluations, their reports, and whether they passed."""

from typing import Any

import click

from calipers.cli.app import Command
from calipers.cli.completers import complete_files, complete_run_or_file
from calipers.cli.options import file_options, running_options

EXAMPLES = """
# everything in this folder
calipers run
# one file, only cases about refunds, the first ten of them
calipers run eval_support.py --filter refund --limit 10
# cases in a file, each tried five times
calipers run cases.yaml --task app:answer --repeat 5
# in CI: at least 90 % passed, with a report for people and one for machines
calipers run --fail-under 0.9 --out html:report.html --out junit:report.xml
# with the evaluators and hooks of plugins in a folder, beside those of installed plugins
calipers run cases.yaml --task app:answer --plugin ./plugins
# go on with a run that was interrupted
calipers run eval_support.py --resume
# after an edit: compute only what changed
calipers run eval_support.py --reuse
# stop as soon as it is known whether the run is good enough
calipers run eval_support.py --stop-when-decided gate.yaml --baseline main
# at most five dollars, one of them for the judges, and at most an hour
calipers run eval_support.py --max-cost 5 --max-cost judges=1 --max-time 1h
# in the third of eight jobs of a CI service; calipers merge puts them together
calipers run --shard 3/8 --out shard-3.json
# what becomes of the agent when its tools go wrong
calipers run cases.yaml --task app:agent --faults all
# write what the agent asks of models and tools to a file, and run again from that file, offline
calipers run cases.yaml --task app:answer --record-tape run.tape
calipers run cases.yaml --task app:answer --replay-tape run.tape
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
@click.option(
    "--stop-when-decided",
    metavar="POLICY",
    shell_complete=complete_files,
    help="End a run as soon as the policy of a gate is met, or cannot be, and exit with the code of `calipers gate`. The cases "
    "come in a random order.",
)
@click.option(
    "--baseline",
    metavar="RUN|FILE",
    shell_complete=complete_run_or_file,
    help="The run that the policy of --stop-when-decided compares with.",
)
@click.option(
    "--faults",
    metavar="FAULTS",
    multiple=True,
    help="Attempt each case once more under each of these faults of the agent's tools: all, or a list such as "
    "error,latency:0.5@0.3,search=stale. Each is [TOOL=]KIND[:SECONDS][@RATE].",
)
@click.option(
    "--harm",
    metavar="ASSERTION",
    multiple=True,
    help="With --faults: an assertion that says what must not happen. Where it does not hold, the fault did harm. Repeatable.",
)
@click.option(
    "--record-tape",
    metavar="FILE",
    shell_complete=complete_files,
    help="Write what the task asks of models and tools, and what comes back, to a tape. {name} in it is the evaluation's name.",
)
@click.option(
    "--unredacted-tape",
    is_flag=True,
    help="Let --record-tape write what --redact, or the project, hides in the store.",
)
@click.option(
    "--replay-tape",
    metavar="FILE",
    shell_complete=complete_files,
    help="Answer what the task asks of models and tools from a tape, offline. {name} in it is the evaluation's name.",
)
@click.option(
    "--fork-at",
    metavar="STEP",
    type=click.IntRange(min=1),
    help="With --replay-tape, go on live from this exchange of each attempt on, counted from 1.",
)
@click.option(
    "--fork-model", metavar="MODEL", help="With --fork-at, the name of the model to ask from there on."
)
@click.option("--fork-prompt", metavar="TEXT", help="With --fork-at, the system prompt from there on.")
@click.option(
    "--fork-result",
    metavar="JSON",
    help="With --fork-at, what the tool returns that is called there.",
)
@click.option(
    "--shard",
    metavar="NUMBER/OF",
    help="Run one of several parts of the cases, such as 3/8 for the third of eight, with the seed 0 unless --seed is given. "
    "`calipers merge` makes one run of all parts.",
)
@file_options
@running_options()
def command(**options: Any) -> int:
    """Run evaluations, show what came of them, and say by the exit code whether they passed.

    A TARGET is a Python file, a folder with files eval_*.py (default: the current one), module:function, or a dataset
    file together with --task. In a file, every function named eval_* is an evaluation: it returns a dataset and a
    task, or a finished report.

    Exit codes: 0 passed, 1 failed, 2 wrong usage, 3 something errored, 4 nothing ran, 5 a gate could not decide, 130 interrupted.
    """
    from calipers.cli.actions.run import RunOptions, run

    return run(RunOptions(**options))
