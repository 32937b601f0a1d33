"""The options of commands that run something: which cases, how, what is good enough, and what to keep, show and write."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from .command import Seconds, slice_option
from .completing import complete_evaluator, complete_out
from .store_options import keeping_options

_Function = TypeVar("_Function", bound=Callable[..., Any])


_WHICH = (
    click.option(
        "--filter",
        metavar="TEXT",
        multiple=True,
        help="Only cases whose name contains the text, or matches it as a pattern such as 'refund-*'. Repeatable: any of "
        "them.",
    ),
    click.option(
        "--tag", metavar="TAG", multiple=True, help="Only cases with the tag. Repeatable: any of them."
    ),
    slice_option,
    click.option(
        "--limit",
        metavar="N",
        type=click.IntRange(min=1),
        help="At most the first N cases of each dataset.",
    ),
    click.option(
        "--name", metavar="NAME", help="What to call the run of each dataset. Default: the task's name."
    ),
)
"""Which cases, and what to call the run."""

_AT_ONCE = (
    click.option(
        "--max-concurrency",
        metavar="N",
        type=click.IntRange(min=1),
        help="Attempts in flight at once. Default: 100, or 32 for a task that is not async.",
    ),
)
_TASK = (
    click.option(
        "--task-timeout",
        metavar="SECONDS",
        type=Seconds(),
        help="Time that a task may take before it counts as failed.",
    ),
)
_JUDGE = (
    click.option(
        "--evaluator-timeout",
        metavar="SECONDS",
        type=Seconds(),
        help="Time that an evaluator may take before it counts as failed.",
    ),
    click.option(
        "--retry-evaluators",
        metavar="N",
        type=click.IntRange(min=0),
        help="Ask an evaluator that raised an exception up to N times more.",
    ),
)
_CHANCE = (
    click.option(
        "--retry",
        metavar="N",
        type=click.IntRange(min=0),
        help="Call a task that failed up to N times more.",
    ),
    click.option("--seed", metavar="N", type=int, help="From which all randomness of the run follows."),
)
_TOLD = (
    click.option(
        "--keep-secrets",
        is_flag=True,
        help="Leave in traces, spans, attributes, reasons, analyses and metadata what looks like a key or a password.",
    ),
)
_HOW = (*_AT_ONCE, *_TASK, *_JUDGE, *_CHANCE, *_TOLD)
"""How to run them."""

_GOOD_ENOUGH = (
    click.option(
        "--fail-under",
        metavar="[NAME=]NUMBER",
        multiple=True,
        shell_complete=complete_evaluator,
        help="Exit with 1 if the pass rate, or the result of one evaluator, is lower: 0.9, 90% or NAME=0.8. Repeatable. "
        "Without it, every case has to pass.",
    ),
    click.option(
        "--allow-errors",
        is_flag=True,
        help="Do not exit with 3 for tasks and evaluators that did not finish: they count as not passed, and no more.",
    ),
)
"""What the exit code goes by."""

_SHOWN = (
    click.option(
        "--out",
        metavar="FORMAT:PATH",
        multiple=True,
        shell_complete=complete_out,
        help="Write the report: json, jsonl, csv, html, junit, markdown, text, github or the name of a plugin with a "
        "view. The path - is standard output; "
        "{name} in it stands for the evaluation. Repeatable.",
    ),
    click.option(
        "--include-cases",
        metavar="WHICH",
        type=click.Choice(["all", "failed", "none"]),
        default="failed",
        show_default=True,
        help="Which attempts to list in the terminal: all, failed or none.",
    ),
    click.option(
        "--max-cases",
        metavar="N",
        type=click.IntRange(min=0),
        default=20,
        show_default=True,
        help="How many attempts to list; 0 for all.",
    ),
    click.option("--tracebacks", is_flag=True, help="Show where in the code a task or an evaluator failed."),
    click.option("--quiet", "-q", is_flag=True, help="Show nothing but what is wrong."),
    click.option(
        "--json", is_flag=True, help="Print a summary as JSON, and nothing else, to standard output."
    ),
    click.option("--progress/--no-progress", default=True, help="Show a bar on a terminal while it runs."),
)
"""What to show and write."""


def running_options(*, repeat: tuple[str, ...] = ("--repeat",)) -> Callable[[_Function], _Function]:
    """All of them, in the order of the help; `repeat` is how the number of attempts may be called."""
    number = click.option(
        *repeat, "repeat", metavar="N", type=click.IntRange(min=1), help="Attempt each case N times."
    )

    def decorate(function: _Function) -> _Function:
        function = keeping_options(_with(function, _SHOWN))
        return _with(function, (*_WHICH, number, *_HOW, *_GOOD_ENOUGH))

    return decorate


def judging_options(function: _Function) -> _Function:
    """Those of them that concern evaluators and what comes of them, for attempts that are made already."""
    return _with(function, (*_AT_ONCE, *_JUDGE, *_GOOD_ENOUGH, *_SHOWN))


def _with(function: _Function, options: Sequence[Callable[[_Function], _Function]]) -> _Function:
    for option in reversed(options):
        function = option(function)
    return function
