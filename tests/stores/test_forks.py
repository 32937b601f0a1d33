"""Stores that are open when their process forks."""

import os
import sys
import threading
import traceback

import pytest

from calipers import Case, Dataset
from calipers.errors import StoreError
from calipers.stores import MemoryStore, SqliteStore, open_store

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

DATASET = Dataset(name="d", cases=[Case(name=str(n), inputs=n) for n in range(50)])


async def task(inputs):
    return str(inputs)


def run(store, name):
    report = DATASET.evaluate_sync(task, store=store, name=name, progress=False)
    assert report.incomplete is None, report.incomplete


def fork(work):
    """A child that does some work; its id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def has_ended_well(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_both_processes_go_on_with_an_open_store(store):
    run(store, "before")

    def runs_of_the_child():
        for number in range(3):
            run(store, f"child {number}")
        assert len(store.runs(name="child 2")) == 1

    child = fork(runs_of_the_child)
    for number in range(3):
        run(store, f"parent {number}")
    assert has_ended_well(child)
    names = {info.name for info in store.runs() if info.status == "finished" and info.attempts == 50}
    of_the_child = set() if isinstance(store, MemoryStore) else {f"child {number}" for number in range(3)}
    assert names == {"before"} | {f"parent {number}" for number in range(3)} | of_the_child


def test_a_child_does_not_wait_for_a_thread_that_it_does_not_have(store):
    inside, leave = threading.Event(), threading.Event()

    def read():
        with store._reading():
            inside.set()
            leave.wait(0.3)

    reader = threading.Thread(target=read)
    reader.start()
    inside.wait()
    child = fork(lambda: run(store, "child"))
    leave.set()
    reader.join()
    assert has_ended_well(child)
    run(store, "parent")


def test_what_a_child_writes_is_kept_when_the_parent_closes_the_store_first(tmp_path):
    store = SqliteStore(tmp_path / "runs.db")
    run(store, "before")
    told, tell = os.pipe()

    def writes_on():
        run(store, "first")
        os.read(told, 1)
        run(store, "second")

    child = fork(writes_on)
    store.close()
    os.write(tell, b".")
    assert has_ended_well(child)
    with open_store(tmp_path / "runs.db") as again:
        assert {info.name for info in again.runs()} == {"before", "first", "second"}
        assert again._writer.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_child_is_told_of_a_store_that_was_in_the_middle_of_something(sqlite_store):
    def uses_it():
        for _ in range(2):
            with pytest.raises(StoreError, match="open it again in this process"):
                sqlite_store.runs()
            sqlite_store.close()
        assert has_ended_well(fork(lambda: None))

    with sqlite_store._writing():
        child = fork(uses_it)
        assert has_ended_well(child)
    run(sqlite_store, "parent")


def test_a_store_that_is_closed_stays_closed(sqlite_store):
    sqlite_store.close()
    assert has_ended_well(fork(lambda: None))
    with pytest.raises(StoreError, match="closed"):
        sqlite_store.runs()
