"""Every example runs as its reader would run it."""

import csv
import json
import os
import random
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from calipers.stores import open_store

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SHORTER = {"voice_demo.py": ["--every", "8"]}
"""Options that leave out none of what an example shows, but repeat it less. How well speech is understood, the tests of
the recognizer and of the agent ask with all of it."""


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_the_example_runs_and_shows_something(path):
    command = (
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        if path.name.startswith("test_")
        else [sys.executable]
    )
    # Plugins of other packages take longer to load than the example takes to run.
    env = {**os.environ, "COLUMNS": "80", "PYTEST_ADDOPTS": "-p no:langsmith_plugin -p no:anyio"}
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


# ---------------------------------------------------------------------- the pytest project

PROJECT = EXAMPLES / "pytest_project"
PLUGINS = (
    "calipers.pytest_plugin",
    "pytest_asyncio.plugin",
    "anyio.pytest_plugin",
    "xdist.plugin",
    "pytest_cov.plugin",
)
ATTEMPTS = 24 + 8 + 24 + 40
"""Those of all its tests but the last one, which makes as many as it takes."""


def project(*arguments, **options):
    """Begin the tests of the project, with its own plugins and no others."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    env |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1", **options.pop("env", {})}
    named = [word for plugin in PLUGINS for word in ("-p", plugin)]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *named,
        "--calipers-seed=1",
        *arguments,
    ]
    return subprocess.Popen(
        command, cwd=PROJECT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )


def test_the_pytest_project_passes_alone_in_workers_and_under_coverage(tmp_path):
    data = {"env": {"COVERAGE_FILE": str(tmp_path / "coverage")}}
    for arguments in (["--cov=agent"], ["-n2", "--cov=agent"]):
        out = tmp_path / f"{len(arguments)}.json"
        running = project(*arguments, f"--calipers-out={out}", **data)
        text, _ = running.communicate(timeout=240)
        assert running.returncode == 0, text
        assert "\n19 passed in " in text
        assert "Passed 24 of 24 attempts at 8 cases" in text
        assert "agent.py      29      2    93%" in text, text
    alone, together = (json.loads((tmp_path / f"{n}.json").read_text()) for n in (1, 2))
    assert [case["name"] for case in alone["cases"]] == [case["name"] for case in together["cases"]]
    assert [case["output"] for case in alone["cases"]] == [case["output"] for case in together["cases"]]


@pytest.mark.skipif(sys.platform == "win32", reason="a FIFO, and Ctrl-C for a group of processes")
def test_an_interrupt_of_the_pytest_project_leaves_nothing_running_and_loses_nothing(tmp_path):
    draw = random.Random(15)
    for number, workers in enumerate([[]] * 2 + [["-n2"]]):
        answers, out = tmp_path / f"{number}.fifo", tmp_path / f"{number}.json"
        os.mkfifo(answers)
        log = os.open(answers, os.O_RDWR)
        told = {"AGENT_LOG": str(answers), "AGENT_SECONDS": "0.02"}
        running = project(*workers, f"--calipers-out={out}", env=told, start_new_session=True)
        heard = lines(log, draw.randrange(1, ATTEMPTS))
        os.killpg(running.pid, signal.SIGINT)
        text, _ = running.communicate(timeout=120)
        assert running.returncode == pytest.ExitCode.INTERRUPTED, text
        with pytest.raises(ProcessLookupError):
            os.killpg(running.pid, 0)
        heard += lines(log)
        report = json.loads(out.read_text(encoding="utf-8"))
        assert len(report["cases"]) == heard, text
        assert "the tests ended early" in report["incomplete"]["reason"]
        os.close(log)


def lines(log, count=None):
    """How many lines are read of a pipe: so many, or those that are there."""
    found = 0
    while (count is None or found < count) and select.select([log], [], [], 120 if count else 0)[0]:
        found += os.read(log, 65536).count(b"\n")
    return found


# ---------------------------------------------------------------------- the paper's script

PAPER = EXAMPLES / "paper" / "paper.py"
QUESTIONS = 20
ANSWERS = QUESTIONS * 5 * 3
"""Of three models, each asked five times."""


def paper(folder, **options):
    """Begin the paper's script."""
    command = [sys.executable, str(PAPER), "--folder", str(folder), "--questions", str(QUESTIONS)]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **options.pop("env", {})}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=env, text=True, **pipes, **options)


def table_of(folder):
    """The numbers of the paper's table, without times and ids."""
    with (folder / "table.csv").open(encoding="utf-8", newline="") as file:
        return [
            {name: value for name, value in row.items() if name != "run" and not name.startswith("time_")}
            for row in csv.DictReader(file)
        ]


def kept_answers(folder):
    """How many answers the store holds."""
    if not (folder / "runs.db").exists():
        return 0
    with open_store(folder / "runs.db") as store:
        return sum(run.attempts - run.failures for run in store.runs())


@pytest.mark.skipif(sys.platform == "win32", reason="a FIFO, and Ctrl-C for a group of processes")
def test_the_papers_script_can_be_interrupted_at_any_moment_and_asks_nothing_twice(tmp_path):
    whole = paper(tmp_path / "whole")
    text, problems = whole.communicate(timeout=120)
    assert (whole.returncode, problems) == (0, "")
    assert "rank " in text
    broken, draw = tmp_path / "broken", random.Random(15)
    os.mkfifo(tmp_path / "answers")
    log = os.open(tmp_path / "answers", os.O_RDWR)
    heard = 0
    for _ in range(4):
        running = paper(broken, env={"ANSWERS": str(tmp_path / "answers")}, start_new_session=True)
        heard += lines(log, draw.randrange(1, ANSWERS // 4))
        os.killpg(running.pid, signal.SIGINT)
        _, problems = running.communicate(timeout=120)
        assert running.returncode == 130, problems
        assert "Traceback" not in problems
        with pytest.raises(ProcessLookupError):
            os.killpg(running.pid, 0)
        heard += lines(log)
        assert kept_answers(broken) == heard, problems
    running = paper(broken, env={"ANSWERS": str(tmp_path / "answers")})
    _, problems = running.communicate(timeout=120)
    assert (running.returncode, problems) == (0, "")
    heard += lines(log)
    os.close(log)
    assert heard == kept_answers(broken) == ANSWERS, "each answer was paid for once"
    assert table_of(broken) == table_of(tmp_path / "whole")
