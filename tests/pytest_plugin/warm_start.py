"""Starts pytest as often as it is asked to, from a process that has loaded pytest once.

Loading pytest takes longer than most of what is tested here. This program reads an order per line, as JSON: arguments,
folder, environment and the files for what is printed. Each is carried out by a fork, which ends as any program does;
the answer is its exit code. What every run that measures loads of Calipers is loaded before the fork, but for the plugin itself,
which pytest must be the first to load; what a run loads, and when, is asked of a fresh process (`fresh=True`).
"""

import gc
import json
import os
import runpy
import signal
import sys
from importlib import import_module

import pytest
from _pytest.config import get_config

LOADED = (
    *("asyncio", "faulthandler", "pdb", "readline", "sqlite3", "tomllib", "zoneinfo"),
    *(
        "anyio._backends._asyncio",
        "anyio._backends._trio",
        "execnet",
        "msgspec",
        "numpy",
        "regex",
        "rich.console",
    ),
    "calipers.comparison.columns",
    "calipers.evaluators.equality",
    "calipers.files.project",
    "calipers.gate.gate",
    "calipers.models.prices",
    "calipers.plugins.manager",
    "calipers.report.summary",
    "calipers.run.evaluation",
    "calipers.scoring.scoring",
    "calipers.stores.journal",
    "calipers.stores.sqlite",
    "calipers.views.gate.terminal",
    "calipers.views.github",
    "calipers.views.json_file",
    "calipers.views.terminal",
    "calipers.voice.cache",
    "calipers.voice.evaluators",
    "calipers.voice.perturbations",
    "calipers.voice.pipeline",
)
"""Most of what a run needs, and what takes longest to load."""

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
    for name in LOADED:
        import_module(name)
    gc.freeze()
    while order := sys.stdin.readline():
        child = os.fork()
        if not child:
            run(**json.loads(order))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
