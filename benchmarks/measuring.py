"""Many measurements of several subjects, each in a fresh process, taken in turn.

Taking turns (us, peer, us, peer, …) spreads whatever else the machine does over all subjects alike. Of several rounds
the best is the one least disturbed, so ratios are made of bests; the median is shown beside it.

As a program this module is the fresh process: it takes one measurement and prints it.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TIMEOUT = 900
"""Seconds after which a measurement is given up."""
QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "LOGFIRE_SEND_TO_LOGFIRE": "false",
    "DO_NOT_TRACK": "1",
}
"""Nothing that is measured may send anything anywhere."""


@dataclass(frozen=True)
class Subject:
    """One thing to measure: a function of a module here, in a fresh process."""

    label: str
    """What tables call it; unique in a benchmark."""
    function: str
    """`module:function`; it returns a number of seconds or bytes."""
    arguments: dict[str, Any] = field(default_factory=dict)
    python: str = sys.executable
    """The interpreter to run it in."""
    rounds: int | None = None
    """Measure only in so many rounds, if it is slow."""
    note: str = ""
    """What a reader has to know about the number."""


@dataclass(frozen=True)
class Sample:
    """The measurements of one subject."""

    subject: Subject
    values: tuple[float, ...]
    missing: str | None = None
    """Why there are none."""

    @property
    def best(self) -> float | None:
        """The least; `None` if it was not measured."""
        return min(self.values) if self.values else None

    @property
    def median(self) -> float | None:
        """The middle one; `None` if it was not measured."""
        return statistics.median(self.values) if self.values else None


def measure(subjects, *, rounds):
    """Measure the subjects in turn, `rounds` times; by label."""
    values: dict[str, list[float]] = {subject.label: [] for subject in subjects}
    missing: dict[str, str] = {}
    for turn in range(rounds):
        for subject in subjects:
            if subject.label in missing or (subject.rounds is not None and turn >= subject.rounds):
                continue
            print(f"  round {turn + 1} of {rounds}: {subject.label}", file=sys.stderr)
            value = in_fresh_process(subject)
            if isinstance(value, str):
                missing[subject.label] = value
                print(f"    {value}", file=sys.stderr)
            else:
                values[subject.label].append(value)
    return {
        subject.label: Sample(subject, tuple(values[subject.label]), missing.get(subject.label))
        for subject in subjects
    }


def in_fresh_process(subject, timeout=TIMEOUT):
    """What the subject's function returns, or, as text, the reason why there is none; it is given up after so many seconds."""
    command = [subject.python, str(HERE / "measuring.py"), subject.function, json.dumps(subject.arguments)]
    # Some peers write logs and settings into the current directory.
    with tempfile.TemporaryDirectory() as directory:
        try:
            done = subprocess.run(
                command,
                cwd=directory,
                env={**os.environ, **QUIET, "PYTHONHASHSEED": "0"},
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"took longer than {timeout} s"
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return f"failed: {last:.200}"
    return json.loads(done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    module, function = sys.argv[1].split(":")
    try:
        found = getattr(import_module(module), function)(**json.loads(sys.argv[2]))
    except ModuleNotFoundError as absent:
        found = f"{absent.name} is not installed"
    print()
    print(json.dumps(found))
