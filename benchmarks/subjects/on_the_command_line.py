"""Calipers as a program: its process is measured from outside."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TASK = "async def echo(inputs):\n    return inputs\n"
HEADER = "cases: cases.jsonl\nevaluators:\n  - EqualsExpected\n"


def prepared(folder, lines):
    """A dataset document, the file it points to, and a task."""
    Path(folder, "task.py").write_text(TASK)
    Path(folder, "dataset.yaml").write_text(HEADER)
    with Path(folder, "cases.jsonl").open("w") as file:
        file.writelines(f'{{"inputs": {number}, "expected_output": {number}}}\n' for number in range(lines))
    return [sys.executable, "-m", "calipers", "run", "dataset.yaml", "--task", "task.py:echo", "--quiet"]


def run(lines):
    """Run the file through the command line; (seconds, peak bytes) of its process."""
    with tempfile.TemporaryDirectory() as folder:
        command = prepared(folder, lines)
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"calipers run ended with {process.returncode}")
        return seconds, usage.ru_maxrss * 1024


def peak_memory(lines):
    return run(lines)[1]


def seconds(lines):
    return run(lines)[0]


def start(words):
    """Seconds that a Python process of these words takes from start to end."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began
