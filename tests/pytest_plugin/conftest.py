"""A folder with tests of its own, which a pytest of its own runs."""

import atexit
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PLUGIN = "calipers.pytest_plugin"
HEAD = """
import pytest
from calipers import Case, Dataset
from calipers.evaluators import EqualsExpected
from calipers.testing import assert_mean, assert_passed, assert_rate

CAPITALS = {"France": "Paris", "Peru": "Lima", "Chad": "N'Djamena"}
dataset = Dataset(
    name="capitals",
    cases=[Case(name=name, inputs=name, expected_output=capital) for name, capital in CAPITALS.items()],
    evaluators=[EqualsExpected()],
)


def right(country):
    return CAPITALS[country]


def paris(country):
    return "Paris"
"""
"""What the tests in such a folder begin with."""


class Outcome(NamedTuple):
    """What came of running pytest."""

    code: int
    out: str
    err: str

    @property
    def counts(self) -> dict[str, int]:
        """How many tests passed, failed and so on, by the last line."""
        last = self.out.strip().splitlines()[-1]
        return {
            word.rstrip("s"): int(count)
            for count, word in re.findall(r"(\d+) (\w+)", last.partition(" in ")[0])
        }

    @property
    def section(self) -> str:
        """What the plugin wrote at the end; empty if it wrote nothing."""
        found = re.search(
            r"^=+ calipers =+\n(.*?)(?=^=+ |^!+ |^\d+ \w+[^\n]* in \d|\Z)", self.out, re.MULTILINE | re.DOTALL
        )
        return found[1] if found else ""


class Folder:
    """A folder with tests."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("pytest.ini", "[pytest]\n")

    def write(self, name: str, text: str) -> None:
        """Write a file; tests begin with `HEAD`."""
        (self.path / name).write_text(HEAD + text if name.endswith(".py") else text, encoding="utf-8")

    def pytest(
        self, *arguments: str, plugins: Sequence[str] = (PLUGIN,), fresh: bool = False, **environment: str
    ) -> Outcome:
        """Run pytest here, with these plugins and no others; `fresh`: in which nothing is loaded. A warning is an error."""
        dropped = ("PYTEST_", "GITHUB_")
        env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        env |= {
            "COLUMNS": "100",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **environment,
        }
        named = [word for plugin in plugins for word in ("-p", plugin)]
        command = ["-W", "error", "--strict-markers", *named, *arguments]
        # What Python itself reads from its environment, it reads when it starts.
        if fresh or any(name.startswith("PYTHON") for name in environment) or not hasattr(os, "fork"):
            return self._start(command, env)
        return self._fork(command, env)

    def _start(self, command: Sequence[str], env: Mapping[str, str]) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *command],
            cwd=self.path,
            env=env,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def _fork(self, command: Sequence[str], env: Mapping[str, str]) -> Outcome:
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder) / "out", Path(folder) / "err"
            out.touch()
            err.touch()
            order = {
                "arguments": command,
                "folder": str(self.path),
                "environment": env,
                "out": str(out),
                "err": str(err),
            }
            starter = _warm()
            print(json.dumps(order), file=starter.stdin, flush=True)
            code = int(starter.stdout.readline())
            return Outcome(code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))


@cache
def _warm() -> subprocess.Popen[str]:
    """The process that starts pytest, for as long as this one lives."""
    starter = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("warm_start.py")],
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )

    atexit.register(starter.communicate)
    return starter


@pytest.fixture
def folder(tmp_path):
    """An empty folder for tests."""
    return Folder(tmp_path)
