"""Runs that are kept in a store."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import workload
from calipers import Evaluator
from calipers.stores import open_store, score_again
from clock import seconds_of
from subjects.with_calipers import check, dataset, evaluate

STREAMED = """
import asyncio, sys
from calipers import Dataset
from calipers.stores import open_store

async def echo(inputs):
    return inputs

async def main():
    dataset = Dataset.from_file("dataset.yaml")
    await dataset.evaluate(echo, store="runs.db", keep="failed", progress=False)

asyncio.run(main())
with open_store("runs.db") as store:
    report = store.report(store.run("latest").id, keep="failed")
    assert report.counts().attempts == int(sys.argv[1]), report.counts()
    assert report.pass_rate().value == 1
"""
HEADER = "cases: cases.jsonl\nevaluators:\n  - EqualsExpected\n"
SHOWN = """
import sys
from calipers.stores import open_store

with open_store("runs.db") as store:
    store.report(store.run("latest").id, keep="failed").print()
"""


def overhead(count):
    """Seconds per trivial case with three evaluators, into a file."""
    with tempfile.TemporaryDirectory() as folder:
        evaluate(dataset(200), workload.double, store=Path(folder, "first.db"))
        given = dataset(count)
        return (
            seconds_of(lambda: evaluate(given, workload.double, store=Path(folder, "runs.db")), check) / count
        )


def peak_memory(lines):
    """The most memory of a process that runs a file of cases into a store and reports from there."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "dataset.yaml").write_text(HEADER)
        with Path(folder, "cases.jsonl").open("w") as file:
            file.writelines(
                f'{{"inputs": {number}, "expected_output": {number}}}\n' for number in range(lines)
            )
        process = subprocess.Popen([sys.executable, "-c", STREAMED, str(lines)], cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"the run ended with {process.returncode}")
        return usage.ru_maxrss * 1024


class Even(Evaluator):
    """A new evaluator, for attempts that are stored already."""

    def evaluate(self, ctx):
        return ctx.output % 2 == 0


def scored_again(count, processes=1):
    """Seconds per stored attempt that one new evaluator judges, and that is counted; the report is none of it."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder, "runs.db")) as store:
        evaluate(dataset(count), workload.double, store=store)

        def judged(report):
            assert report.totals.summaries["Even"].count == count

        return (
            seconds_of(
                lambda: score_again(store, evaluators=[Even()], keep="none", processes=processes), judged
            )
            / count
        )


def opened(count):
    """Seconds from the start of a process to the end of the printed summary of a run of three results per case."""
    with tempfile.TemporaryDirectory() as folder:
        with open_store(Path(folder, "runs.db")) as store:
            evaluate(dataset(count), workload.double, store=store, keep="failed")
            store.totals(store.run("latest").id)  # the first time
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", SHOWN], check=True, cwd=folder, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began
