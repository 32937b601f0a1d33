"""Stores that grow: eight writers in one PostgreSQL, copies that are killed, pruning, values moved to a folder; and nothing lost.

Each part checks what it wrote, so that a number stands only for work that was done. It is a demonstration and no gate: it starts a
PostgreSQL of its own, and takes minutes.
"""

import argparse
import contextlib
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from calipers import Case, Dataset
from calipers.stores import copy_store, offload_values, open_store
from calipers.testing import TemporaryPostgres

CASES = 125_000
"""Of each writer."""
PEERS = 8
COPIED = 100_000
LARGE = 2_000
"""Values of 100 kB that are moved."""


def echo(number):
    return number * 2


def even(output):
    return output % 2 == 0


def share(output):
    return (output % 100) / 100


def word(output):
    return "small" if output < 1000 else "large"


def numbers(count, start=0):
    return (
        Case(name=str(start + n), inputs=start + n, expected_output=2 * (start + n)) for n in range(count)
    )


def story(number):
    return random.Random(number).randbytes(75_000).hex()


def write(url, writer, cases):
    """One writer: a run with cases and three results each."""
    dataset = Dataset(name="numbers", cases=numbers(cases, writer * cases), evaluators=[even, share, word])
    report = dataset.evaluate_sync(echo, store=url, name=f"writer {writer}", keep="failed", progress=False)
    if report.counts().attempts != cases or report.incomplete:
        raise SystemExit(f"writer {writer}: {report.counts()} {report.incomplete}")


def copy(source, target):
    with open_store(source, existing=True) as here, open_store(target) as there:
        for each in copy_store(here, there):
            if each.became not in {"copied", "there"}:
                raise SystemExit(f"not copied: {each}")


def again(*words):
    return subprocess.Popen(
        [sys.executable, __file__, *map(str, words)], env={**os.environ, "CALIPERS_CHILD": "1"}
    )


def told(what, seconds, count, more=""):
    print(f"{what:58} {seconds:8.1f} s {count / seconds:10,.0f} a second  {more}", flush=True)


def writers(url, cases):
    """All writers at once; every attempt is there once, as its writer made it."""
    begun = time.perf_counter()
    processes = [again("write", url, writer, cases) for writer in range(PEERS)]
    if any(process.wait() for process in processes):
        raise SystemExit("a writer failed")
    told(
        f"{PEERS} writers, {PEERS * cases:,} attempts with 3 results",
        time.perf_counter() - begun,
        PEERS * cases,
    )
    begun = time.perf_counter()
    with open_store(url, existing=True) as store:
        seen = 0
        for info in store.runs():
            writer = int(info.name.split()[1])
            if store.done(info.id) != [range(cases)] or info.attempts != cases or info.status != "finished":
                raise SystemExit(f"{info.name}: {store.done(info.id)} of {cases}")
            for attempt, cells in store.judged(info.id):
                number = writer * cases + attempt.position
                if attempt.output != f'{{"format":1,"output":{2 * number}}}' or len(cells) != 3:
                    raise SystemExit(
                        f"{info.name}, {attempt.position}: {attempt.output} with {len(cells)} results"
                    )
                seen += 1
        if seen != PEERS * cases or len(store.runs()) != PEERS:
            raise SystemExit(f"{seen} attempts in {len(store.runs())} runs")
        told(
            "each of them read back and compared",
            time.perf_counter() - begun,
            seen,
            f"{store.size() / seen:,.0f} bytes each",
        )


def pruned(url, cases):
    """The space of deleted runs is used again."""
    with open_store(url, existing=True) as store:
        before = store.size()
        for info in store.runs()[2:]:
            store.delete_run(info.id)
        begun = time.perf_counter()
        store.prune()
        took = time.perf_counter() - begun
        told(
            f"prune {PEERS - 2} of {PEERS} runs, with VACUUM",
            took,
            (PEERS - 2) * cases,
            f"{before:,} to {store.size():,} bytes",
        )


def copied(source, target, attempts):
    """A copy that is killed twice, and gone on with; compared attempt by attempt."""
    begun = time.perf_counter()
    for pause in (2.0, 4.0):
        process = again("copy", source, target)
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with open_store(target, existing=True) as there:
            if there.runs():
                raise SystemExit("half a run can be seen, or the copy was too quick to be killed")
    if again("copy", source, target).wait():
        raise SystemExit("the copy failed")
    took = time.perf_counter() - begun
    with open_store(source, existing=True) as here, open_store(target, existing=True) as there:
        sums = [checksum(here), checksum(there)]
    if sums[0] != sums[1]:
        raise SystemExit(f"the copy differs: {sums}")
    kinds = [url.partition(":")[0] if ":" in url else "sqlite" for url in (source, target)]
    told(f"{attempts:,} attempts {kinds[0]} to {kinds[1]}, killed twice", took, attempts)


def checksum(store):
    """Of all that a store says of its runs."""
    digest = hashlib.blake2b()
    for info in store.runs():
        digest.update(repr((info.id, info.name, info.attempts, info.ending)).encode())
        for attempt, cells in store.judged(info.id):
            digest.update(repr((attempt, sorted(map(repr, cells)))).encode())
    return digest.hexdigest()


def moved(folder, values):
    """Large values to a folder and read back."""
    with open_store(folder / "large.db") as store:
        dataset = Dataset(name="stories", cases=numbers(values), evaluators=[])
        dataset.evaluate_sync(story, store=store, keep="failed", progress=False)
        before, size = checksum(store), store.size()
        begun = time.perf_counter()
        found = offload_values(store, folder / "values")
        took = time.perf_counter() - begun
        store.prune()
        more = f"{size:,} to {store.size():,} bytes"
        if found.values != values:
            raise SystemExit(f"{found.values} of {values} were moved")
        told(f"move {values:,} values of 75 kB to a folder", took, values, more)
        begun = time.perf_counter()
        if checksum(store) != before:
            raise SystemExit("what was moved is not what was there")
        told("read them from there, compared with their hashes", time.perf_counter() - begun, values)


def main():
    if os.environ.get("CALIPERS_CHILD"):
        if sys.argv[1] == "write":
            write(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        else:
            copy(sys.argv[2], sys.argv[3])
        return
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--quick", action="store_true", help="a tenth of everything")
    given.add_argument("--only", choices=["writers", "copies", "values"], help="only this part")
    options = given.parse_args()
    part = 10 if options.quick else 1
    with contextlib.ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        url = opened.enter_context(TemporaryPostgres()).url
        if options.only in {None, "writers"}:
            writers(url, CASES // part)
            pruned(url, CASES // part)
        if options.only in {None, "copies"}:
            first, team, back = str(folder / "first.db"), f"{url}?schema=team", str(folder / "back.db")
            write(first, 0, COPIED)
            copied(first, team, COPIED)
            copied(team, back, COPIED)
        if options.only in {None, "values"}:
            moved(folder, LARGE // part)


if __name__ == "__main__":
    main()
