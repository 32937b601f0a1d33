"""Stores that grow: eight writers in one PostgreSQL, copies that are killed, pruning, values moved to a folder; and nothing lost.

Each part compares what is there with what was written, so that a number stands only for work that was done; the promise is that no
part found a difference. It starts a PostgreSQL of its own, and takes minutes.
"""

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
from command import alone, sized
from outcome import Outcome, Promise, Row

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


def row(what, seconds, count, more=""):
    return Row("stores that grow", what, seconds, seconds, 1, "s", f"{count / seconds:,.0f} a second{more}")


def writers(url, cases):
    """All writers at once; every attempt is there once, as its writer made it."""
    attempts = PEERS * cases
    begun = time.perf_counter()
    processes = [again("write", url, writer, cases) for writer in range(PEERS)]
    if any(process.wait() for process in processes):
        raise SystemExit("a writer failed")
    yield row(f"{PEERS} writers, {attempts:,} attempts, PostgreSQL", time.perf_counter() - begun, attempts)
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
        if seen != attempts or len(store.runs()) != PEERS:
            raise SystemExit(f"{seen} attempts in {len(store.runs())} runs")
        more = f", {store.size() / seen:,.0f} bytes each"
        yield row("each of them read back and compared", time.perf_counter() - begun, seen, more)


def pruned(url, cases):
    """The space of deleted runs is used again."""
    with open_store(url, existing=True) as store:
        before = store.size()
        for info in store.runs()[2:]:
            store.delete_run(info.id)
        begun = time.perf_counter()
        store.prune()
        took = time.perf_counter() - begun
        more = f", {before:,} to {store.size():,} bytes"
        yield row(f"{PEERS - 2} of {PEERS} runs pruned, with VACUUM", took, (PEERS - 2) * cases, more)


def copied(source, target, attempts):
    """A copy that is killed, and gone on with; compared attempt by attempt."""
    with open_store(source, existing=True) as here:
        whole = checksum(here)
    kills = 0
    begun = time.perf_counter()
    for pause in (2.0, 4.0):
        process = again("copy", source, target)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(pause)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
        with open_store(target) as there:
            if there.runs() and checksum(there) != whole:
                raise SystemExit("half a run can be seen")
    if again("copy", source, target).wait():
        raise SystemExit("the copy failed")
    took = time.perf_counter() - begun
    with open_store(target, existing=True) as there:
        if checksum(there) != whole:
            raise SystemExit("the copy differs")
    kinds = [url.partition(":")[0] if ":" in url else "sqlite" for url in (source, target)]
    subject = f"{attempts:,} attempts from {kinds[0]} to {kinds[1]}"
    yield row(subject, took, attempts, f", killed {kills} times on the way")


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
        more = f", {size:,} to {store.size():,} bytes"
        if found.values != values:
            raise SystemExit(f"{found.values} of {values} were moved")
        yield row(f"{values:,} values of 75 kB moved to a folder", took, values, more)
        begun = time.perf_counter()
        if checksum(store) != before:
            raise SystemExit("what was moved is not what was there")
        yield row("read from there and compared with their hashes", time.perf_counter() - begun, values)


def parts(folder, url, options):
    """The rows of all parts, one after the other."""
    cases, copies = sized(CASES, options), sized(COPIED, options)
    yield from writers(url, cases)
    yield from pruned(url, cases)
    first, team, back = str(folder / "first.db"), f"{url}?schema=team", str(folder / "back.db")
    write(first, 0, copies)
    yield from copied(first, team, copies)
    yield from copied(team, back, copies)
    yield from moved(folder, sized(LARGE, options))


def benchmark(options):
    rows, differences = [], None
    why = TemporaryPostgres.missing()
    if why is None:
        with contextlib.ExitStack() as opened:
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
            url = opened.enter_context(TemporaryPostgres()).url
            try:
                for each in parts(folder, url, options):
                    print(f"  {each.subject}: {each.best:.1f} s", file=sys.stderr)
                    rows.append(each)
                differences = 0
            except SystemExit as error:
                differences, why = 1, str(error)
    if why is not None:
        print(f"    {why}", file=sys.stderr)
        rows.append(Row("stores that grow", "the next part", None, None, 0, "s", why))
    return Outcome(
        tuple(rows),
        (
            Promise(
                "stores that grow", "parts that differ from what was written", differences, 0, at_least=False
            ),
        ),
    )


if __name__ == "__main__":
    if os.environ.get("CALIPERS_CHILD"):
        if sys.argv[1] == "write":
            write(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        else:
            copy(sys.argv[2], sys.argv[3])
    else:
        alone(benchmark, __doc__)
