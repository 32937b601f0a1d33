"""Every example runs as its reader would run it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SHORTER = {"voice_demo.py": ["--every", "4"]}
"""Options that leave out none of what an example shows, but repeat it less. How well speech is understood, the tests of
the recognizer and of the agent ask with all of it."""


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_the_example_runs_and_shows_something(path):
    command = (
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        if path.name.startswith("test_")
        else [sys.executable]
    )
    env = {**os.environ, "COLUMNS": "80"}
    command += [str(path), *SHORTER.get(path.name, [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["agent.py", "demo.py", "rollouts.py"])
def test_the_example_gives_the_same_numbers_every_time(name):
    def numbers():
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, timeout=120
        )
        return [line for line in done.stdout.splitlines() if "%" in line]

    assert numbers() == numbers() != []


def test_the_example_of_rollouts_shows_its_help_and_makes_no_folder(tmp_path):
    command = [sys.executable, str(EXAMPLES / "rollouts.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.stdout.startswith("usage: rollouts.py")
    assert list(tmp_path.iterdir()) == []
