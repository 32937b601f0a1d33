"""Stores that are open when their process forks."""

import multiprocessing
import os
import subprocess
import sys
import threading
import traceback
from concurrent.futures import ProcessPoolExecutor

import pytest

from calipers import Case, Dataset
from calipers.errors import StoreError
from calipers.process.forks import no_more_forks, tell_of_forks
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


# ---------------------------------------------------------------------- in the middle of a run


def square(number):
    return number * number


def in_a_pool(inputs):
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        return pool.submit(square, inputs).result()


def in_a_process(inputs):
    process = multiprocessing.get_context("fork").Process(target=square, args=(inputs,))
    process.start()
    process.join()
    assert process.exitcode == 0
    return square(inputs)


def in_a_child(inputs):
    assert has_ended_well(fork(lambda: None))
    return square(inputs)


def in_a_child_of_a_child(inputs):
    assert has_ended_well(fork(lambda: has_ended_well(fork(lambda: None)) or os._exit(2)))
    return square(inputs)


def in_another_program(inputs):
    subprocess.run(["true"], preexec_fn=lambda: None, check=True)
    return square(inputs)


def in_a_child_that_returns(inputs):
    child = os.fork()
    if child:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 70
    return square(inputs)


WAYS = [
    in_a_pool,
    in_a_process,
    in_a_child,
    in_a_child_of_a_child,
    in_another_program,
    in_a_child_that_returns,
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_task_may_fork_again_and_again(store, way):
    # filelock, which other tests may have loaded, refuses two forks at once.
    forking = threading.Lock()

    def in_threads(inputs):
        with forking:
            return way(inputs)

    async def on_the_loop(inputs):
        return way(inputs)

    dataset = Dataset(
        name="d",
        cases=[Case(name=str(number), inputs=number, expected_output=square(number)) for number in range(2)],
        evaluators=[lambda output, expected_output: output == expected_output],
    )
    for task in (in_threads, on_the_loop):
        report = dataset.evaluate_sync(task, store=store, progress=False, max_concurrency=2)
        assert [failure.error_message for failure in report.failures] == []
        assert (report.incomplete, report.pass_rate().value) == (None, 1.0)
    assert [info.attempts for info in store.runs() if info.status == "finished"] == [2, 2]


def test_a_store_that_was_not_used_between_two_forks_can_be_used_after_them(store):
    for _ in range(3):
        assert has_ended_well(fork(lambda: run(store, "child")))
    run(store, "parent")


def test_a_block_that_reads_goes_on_after_a_fork_in_its_middle(store):
    run(store, "before")
    with store._reading() as db:
        child = fork(lambda: None)
        assert db.run("SELECT COUNT(*) FROM runs") == [(1,)]
    assert has_ended_well(child)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_fails_when_it_is_told_of_a_fork_keeps_no_other_from_being_told(sqlite_store):
    class Broken:
        def before_fork(self):
            raise RuntimeError("broken before")

        def after_fork(self, *, is_child):
            raise RuntimeError("broken after")

    broken = Broken()
    tell_of_forks(broken)
    try:
        assert has_ended_well(fork(lambda: run(sqlite_store, "child")))
        run(sqlite_store, "parent")
    finally:
        no_more_forks(broken)
