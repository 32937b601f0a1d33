"""Starts pytest as often as it is asked to, from a process that has loaded pytest once.

Loading pytest takes longer than most of what is tested here. This program reads an order per line, as JSON: arguments,
folder, environment and the files for what is printed. Each is carried out by a fork, which ends as any program does;
the answer is its exit code. What every run that measures loads of Calipers is loaded before the fork, but for the plugin itself,
which pytest must be the first to load; what a run loads, and when, is asked of a fresh process (`fresh=True`).
"""

import asyncio  # noqa: F401
import gc
import json
import os
import runpy
import signal
import sys

import msgspec  # noqa: F401
import numpy  # noqa: F401, ICN001
import pytest
import regex  # noqa: F401
import rich.console  # noqa: F401
from _pytest.config import get_config

import calipers.comparison.columns
import calipers.evaluators.equality
import calipers.report.summary
import calipers.run.evaluation
import calipers.scoring.scoring
import calipers.views.terminal  # noqa: F401

SECONDS = 120
"""A run that takes longer is ended."""


def run(arguments: list[str], folder: str, environment: dict[str, str], out: str, err: str) -> None:
    """Become what `python -m pytest` is in that folder, which ends by `SystemExit`."""
    signal.alarm(SECONDS)
    for stream, path, flags in ((0, os.devnull, os.O_RDONLY), (1, out, os.O_WRONLY), (2, err, os.O_WRONLY)):
        os.dup2(os.open(path, flags), stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = [pytest.__file__, *arguments]
    sys.path[0] = folder
    runpy.run_module("pytest", run_name="__main__", alter_sys=True)


def main() -> None:
    """Carry out orders until there are no more of them."""
    get_config()  # Loads pytest's own plugins.
    gc.freeze()
    while order := sys.stdin.readline():
        child = os.fork()
        if not child:
            run(**json.loads(order))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
