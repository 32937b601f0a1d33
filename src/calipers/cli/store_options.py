"""The options by which commands name a store, and the runs in it."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from .completing import complete_run

_Function = TypeVar("_Function", bound=Callable[..., Any])


def store_option(function: _Function) -> _Function:
    """`--store`, for commands that read what is kept."""
    return click.option(
        "--store",
        metavar="URL",
        help="Where runs are kept: a file, sqlite:///PATH or postgresql://USER@HOST/DATABASE. Default: CALIPERS_STORE, else "
        "the project's file, else .calipers/runs.db.",
    )(function)


def dataset_option(function: _Function) -> _Function:
    """`--dataset`, for commands that draw conclusions from runs."""
    return click.option(
        "--dataset",
        metavar="NAME",
        help="Of which dataset the runs are, where runs of several have the same name, or were made at once.",
    )(function)


def redact_option(function: _Function) -> _Function:
    """`--redact`, for commands that keep something."""
    return click.option(
        "--redact",
        metavar="ADDRESS",
        multiple=True,
        help="A function, or a list of them, that takes out of each value what must not be kept, as module:name or "
        "file.py:name. Repeatable.",
    )(function)


def run_argument(function: _Function) -> _Function:
    """`RUN`, for commands about one run."""
    return click.argument("run", metavar="RUN", shell_complete=complete_run)(function)


def keeping_options(function: _Function) -> _Function:
    """Where a command keeps its runs, and what it takes from earlier ones."""
    for option in reversed(_KEEPING):
        function = option(function)
    return store_option(redact_option(function))


_KEEPING = (
    click.option("--no-store", is_flag=True, help="Keep nothing: neither resume nor reuse is possible then."),
    click.option(
        "--resume",
        metavar="[RUN]",
        is_flag=False,
        flag_value="",
        shell_complete=complete_run,
        help="Go on with a kept run: what it has is not done again. Without RUN: the newest one of the evaluation that did not "
        "finish; if there is none, a new one begins.",
    ),
    click.option(
        "--rerun-failed",
        is_flag=True,
        help="With --resume, make failed attempts and failed judgements again.",
    ),
    click.option(
        "--reuse",
        is_flag=True,
        help="Take over what earlier runs have for the same case, task and evaluator, and compute only what changed.",
    ),
)
