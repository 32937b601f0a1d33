"""Runs that are killed, and what is left of them: a real process, a real file, `kill -9`."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

KILLS = 50

SCRIPT = '''
"""Runs, kills and resumes, each in a process of its own; prints what became of them, a line of JSON each."""

import asyncio
import json
import os
import random
import signal
import sys
import time

from calipers import Case, Dataset
from calipers.run.evaluation import evaluate
from calipers.run.runner import Options
from calipers.stores import Pace, open_store
from calipers.stores.journal import keep_in

COUNT = 40
SECONDS = 0.004
WIDTH = 3
"""Characters of a line in the log of calls, so that its size tells how many there are."""


def note(folder, x):
    log = os.open(f"{folder}/calls", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(log, b"%*d\\n" % (WIDTH - 1, x))
    os.close(log)


def answer(x):
    note(os.environ["FOLDER"], x)
    if x % 13 == 5:
        raise ValueError(f"cannot do {x}")
    return {"double": 2 * x, "text": "x" * x}


async def waiting(x):
    await asyncio.sleep(SECONDS)
    return answer(x)


def blocking(x):
    time.sleep(SECONDS)
    return answer(x)


waiting.version = blocking.version = "1"


def even(output):
    return output["double"] % 4 == 0


def length(output):
    return len(output["text"]) / 10


def decided(results):
    return "long" if results["length"].value > 1 else "short"


def run(folder, task):
    os.environ["FOLDER"] = folder
    with open_store(f"{folder}/runs.db") as store:
        resume = "latest" if store.runs() else None
    asyncio.run(
        evaluate(
            [Case(name=f"case {x}", inputs=x) for x in range(COUNT)],
            task,
            evaluators=[even, length, decided],
            options=Options(max_concurrency=5, seed=1),
            dataset_name="crashing",
            keeping=keep_in(f"{folder}/runs.db", resume=resume, pace=Pace(every=0.01, batch=7)),
        )
    )


def in_child(work, *arguments):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work(*arguments)
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    return child


def comparable(report):
    data = report.to_dict()
    for name in ("started_at", "duration", "reuse", "blocked"):
        data.pop(name)
    for record in data["cases"] + data["failures"]:
        for name in ("task_duration", "total_duration", "error_stacktrace"):
            record.pop(name, None)
    return data


def calls(folder):
    try:
        with open(f"{folder}/calls") as log:
            return [int(line) for line in log]
    except FileNotFoundError:
        return []


def called(folder):
    try:
        return os.stat(f"{folder}/calls").st_size // WIDTH
    except FileNotFoundError:
        return 0


def stored(folder):
    with open_store(f"{folder}/runs.db") as store:
        runs = store.runs()
        assert len(runs) <= 1, runs
        return sorted(p for info in runs for some in store.done(info.id) for p in some)


def main(folder, kills):
    draw = random.Random(7)
    for task in (waiting, blocking):
        os.makedirs(f"{folder}/{task.__name__}")
        os.waitpid(in_child(run, f"{folder}/{task.__name__}", task), 0)
    for round in range(kills):
        task = (waiting, blocking)[round % 2]
        here = f"{folder}/{round}"
        os.makedirs(here)
        times = 2 if round % 3 == 0 else 1
        wrong = []
        kept = []
        for _ in range(times):
            before = called(here)
            child = in_child(run, here, task)
            # A moment counted in calls, not in seconds, so that a busy machine is killed in the middle as well.
            moment = before + draw.randrange(-2, COUNT - len(kept))
            for _ in range(30_000):
                if called(here) >= moment:
                    break
                time.sleep(0.002)
            time.sleep(draw.uniform(0.0, 0.02))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            wrong += [x for x in calls(here)[before:] if x in kept]
            kept = stored(here)
        before = called(here)
        _, status = os.waitpid(in_child(run, here, task), 0)
        wrong += [x for x in calls(here)[before:] if x in kept]
        with open_store(f"{folder}/{task.__name__}/runs.db") as store:
            undisturbed = comparable(store.report(store.run("latest").id))
        with open_store(f"{here}/runs.db") as store:
            info = store.run("latest")
            report = comparable(store.report(info.id))
        print(json.dumps({
            "round": round,
            "stored when killed": len(kept),
            "called again though stored": wrong,
            "never stored, never called": sorted(set(range(COUNT)) - set(calls(here))),
            "status": [status, info.status, info.attempts],
            "same report": report == undisturbed,
        }))


main(sys.argv[1], int(sys.argv[2]))
'''


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a killed process loses the same there, and no test waits for the disk."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="calipers-", dir=memory) as folder:
        yield Path(folder)


def test_fifty_runs_killed_at_any_moment_go_on_where_they_were_and_end_as_if_nothing_had_happened(
    quick_folder: Path,
):
    script = quick_folder / "crashing.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script, quick_folder, str(KILLS)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rounds) == KILLS, done.stderr
    kept = [one.pop("stored when killed") for one in rounds]
    assert rounds == [
        {
            "round": number,
            "called again though stored": [],
            "never stored, never called": [],
            "status": [0, "finished", 40],
            "same report": True,
        }
        for number in range(KILLS)
    ], done.stderr
    # The kills must have hit runs in the middle: else nothing was shown.
    assert sum(0 < count < 40 for count in kept) > KILLS // 4, kept
