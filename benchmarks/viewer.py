"""The viewer on a run of a million results: what a person waits for in a browser, and how much memory the server takes.

A store is built and looked at once, so that it is warm; PostgreSQL gets a copy. Then, in each round, `calipers view` starts anew, a new
Chromium opens its pages, and each step is timed inside the page: from the click or the key to the frame that shows what came of it.
"""

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from command import alone, sized
from measuring import Sample, Subject, in_fresh_process
from outcome import Outcome, Promise, ratio, rows

CASES = 333_334
"""Each with three results."""
MOST_ROUNDS = 3
READING = 30
"""Seconds that ten readers read."""
STEPS = ("scroll", "sort", "filter", "search")
PAINT, STEP, TRACE = 1.0, 0.2, 1.0
"""Seconds: to the first paint, of a step, and to a trace of 10,000 steps of 5 MB."""
MEMORY, BUNDLE, ROWS, LOADED = 300e6, 150e3, 200, 20_000
"""The most bytes of the server and of the page, rows of a table or a trace that are in the page, and steps of a trace that it loads at first; of the others it says that they are not there."""


def benchmark(options):
    cases = sized(CASES, options)
    found = Outcome(())
    with tempfile.TemporaryDirectory() as folder, ExitStack() as ended:
        for store, place in (("SQLite", _in_sqlite), ("PostgreSQL", _in_postgres)):
            url, why = place(folder, cases, ended)
            found += _measured(store, url, why, folder, cases, options)
    return found + _bundle()


def _in_sqlite(folder, cases, _):
    """Where the runs are, and why they are not, if so."""
    built = _asked("build", folder=folder, cases=cases)
    return str(Path(folder, "runs.db")), built if isinstance(built, str) else None


def _in_postgres(folder, _, ended):
    from calipers.testing import TemporaryPostgres

    why = TemporaryPostgres.missing()
    if why is not None:
        return "", why
    server = ended.enter_context(TemporaryPostgres())
    copied = _asked("copied", folder=folder, url=server.url)
    return server.url, copied if isinstance(copied, str) else None


def _asked(function, **arguments):
    module = "browsed" if function in {"warmed", "pages", "memory", "bundle"} else "viewed"
    print(f"  {function}", file=sys.stderr)
    return in_fresh_process(Subject(function, f"subjects.{module}:{function}", arguments))


def _measured(store, url, why, folder, cases, options):
    """All of one store. What could not be measured has the reason in its row, and its promise is not kept."""
    there = {"store": url, "folder": folder}
    if why is None and isinstance(warm := _asked("warmed", **there), str):
        why = warm
    values: dict[str, list[float]] = {}
    for _ in range(0 if why else min(options.rounds, MOST_ROUNDS)):
        one = _asked("pages", **there)
        if isinstance(one, str):
            why = one
            break
        for name, some in one.items():
            values.setdefault(name, []).extend(some)
    memory = why or _asked("memory", **there, seconds=READING)
    if isinstance(memory, float | int):
        values["ten readers"] = [memory]
    return _told(store, f"a run of {3 * cases:,} results in {store}", values, why or memory)


def _told(store, run, values, why):
    best = {name: min(some) for name, some in values.items()}

    def part(what, unit, *beginnings):
        samples = {
            name: Sample(Subject(name, ""), tuple(some))
            for name, some in values.items()
            if name.startswith(beginnings)
        }
        return rows(what, samples or {"the viewer": Sample(Subject("the viewer", ""), (), str(why))}, unit)

    def slowest(*beginnings):
        return max((value for name, value in best.items() if name.startswith(beginnings)), default=None)

    def promise(what, words, value, target):
        return Promise(what, words, ratio(value, target), 1.0, at_least=False)

    return Outcome(
        (
            *part(run, "s", "first", "all of", *STEPS),
            *part(f"long traces in {store}", "s", "a trace"),
            *part(f"eight tabs, {store}", "s", "eight tabs"),
            *part(f"in the browser, {store}", "", "rows", "steps loaded", "event streams"),
            *part(f"memory of the server, {store}", "B", "ten readers"),
        ),
        (
            promise(run, "first contentful paint / 1 s", slowest("first"), PAINT),
            *(promise(run, f"slowest {kind} / 200 ms", slowest(kind), STEP) for kind in STEPS),
            promise(run, f"rows in the browser / {ROWS}", slowest("rows"), ROWS),
            promise(
                f"a trace of 10,000 steps in {store}",
                "opened / 1 s",
                slowest("a trace of 10,000 steps, opened"),
                TRACE,
            ),
            promise(
                f"a trace of 300,000 steps in {store}",
                f"steps loaded at first / {LOADED:,}",
                slowest("steps loaded of 300,000"),
                LOADED,
            ),
            promise(f"eight tabs, {store}", "event streams / 1", slowest("event streams"), 1),
            promise(run, "memory of the server, ten readers / 300 MB", slowest("ten readers"), MEMORY),
        ),
    )


def _bundle():
    found = _asked("bundle")
    size = found if isinstance(found, int) else None
    sample = Sample(
        Subject("all files, compressed", ""), () if size is None else (size,), None if size else str(found)
    )
    return Outcome(
        rows("the page of the viewer", {sample.subject.label: sample}, "B"),
        (Promise("the page of the viewer", "compressed / 150 kB", ratio(size, BUNDLE), 1.0, at_least=False),),
    )


if __name__ == "__main__":
    alone(benchmark, __doc__)
