"""Runs that are resumed with changed cases, evaluators or owners, and interrupted once more."""

import functools
import itertools
import os
import signal
import threading
import time

import pytest

from calipers import Case, Dataset
from calipers.errors import StoreError
from calipers.evaluators import Contains
from calipers.stores import MemoryStore
from calipers.stores.run_info import RunInfo


def task(inputs):
    return "x"


task.version = "1"


def fine(output):
    return True


def dataset(inputs, evaluators=(fine,), names=None):
    names = names or itertools.count()
    cases = [Case(name=str(name), inputs=value) for name, value in zip(names, inputs, strict=False)]
    return Dataset(name="d", cases=cases, evaluators=[*evaluators])


def press_ctrl_c_twice():
    """The first one ends the run, the second one everything."""
    for _ in range(2):
        signal.raise_signal(signal.SIGINT)


def run_until(stop, data, store, **options):
    """Run, and be interrupted when so many attempts are done."""
    done = itertools.count(1)

    def on_record(record):
        if next(done) == stop:
            press_ctrl_c_twice()

    given = {"store": store, "progress": False, "max_concurrency": 1, "on_record": on_record, **options}
    if stop is None:
        return data.evaluate_sync(task, **given)
    with pytest.raises(KeyboardInterrupt):
        data.evaluate_sync(task, **given)
    return None


def stored(store):
    info = store.run("latest")
    report = store.report(info.id)
    assert info.attempts == len(report.cases)
    return [(case.name, case.inputs) for case in report.cases]


def test_a_case_without_form_that_is_made_again_is_counted_once(memory_store):
    data = dataset([lambda: None] * 6)
    run_until(4, data, memory_store)
    for stop in (3, 5, None):
        run_until(stop, data, memory_store, resume="latest")
        names = [name for name, _ in stored(memory_store)]
        assert len(names) == len(set(names)), stop
    assert names == [*"012345"]


def test_a_resumed_run_keeps_its_name(memory_store):
    data = dataset("abc")
    run_until(2, data, memory_store, name="nightly")
    report = run_until(None, data, memory_store, resume="nightly")
    assert (report.name, memory_store.run("nightly").name) == ("nightly", "nightly")
    assert memory_store.report(report.reuse.run).name == "nightly"


@pytest.mark.parametrize("count", [4, 70], ids=["few", "more than are looked up at once"])
def test_an_edited_case_takes_the_place_of_the_old_one(memory_store, count):
    run_until(None, dataset(range(count)), memory_store)
    edited = dataset(range(1000, 1000 + count))
    run_until(2, edited, memory_store, resume="latest")
    found = dict(stored(memory_store))
    assert len(found) == memory_store.run("latest").attempts == count
    assert sum(inputs >= 1000 for inputs in found.values()) >= 2
    run_until(None, edited, memory_store, resume="latest")
    assert sorted(stored(memory_store)) == sorted((str(n), 1000 + n) for n in range(count))


def test_attempts_of_cases_that_moved_behind_many_new_ones_are_not_made_again(memory_store):
    run_until(None, dataset(range(5)), memory_store)
    moved = dataset([*range(1000, 1070), *range(5)])
    report = run_until(None, moved, memory_store, resume="latest")
    assert (report.reuse.attempts_reused, report.reuse.attempts_made) == (5, 70)
    assert sorted(stored(memory_store)) == sorted((case.name, case.inputs) for case in moved.cases)


def test_a_renamed_case_leaves_no_other_of_its_new_name(memory_store):
    run_until(None, dataset([0, 1, 2]), memory_store)
    run_until(1, dataset([0, 7, 8], names=["1", "a", "b"]), memory_store, resume="latest")
    assert sorted(stored(memory_store)) == [("1", 0), ("2", 2)]


# ---------------------------------------------------------------------- owners


class Gate:
    """A task that waits at one input until it is let through."""

    version = "1"
    __name__ = "gate"

    def __init__(self):
        self.reached = threading.Event()
        self.opened = threading.Event()

    def __call__(self, inputs):
        if inputs == "wait":
            self.reached.set()
            self.opened.wait(10)
        return inputs


@pytest.fixture
def stalled(memory_store):
    """A run in a thread that stands still, and what it came to in the end."""
    gate, ends = Gate(), []

    def work():
        try:
            data = dataset(["first", "wait", "last"])
            report = data.evaluate_sync(gate, store=memory_store, progress=False, max_concurrency=1)
            ends.append(report.incomplete)
        except StoreError as error:
            ends.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    gate.reached.wait(10)

    def go_on():
        gate.opened.set()
        thread.join(10)
        return ends[0]

    yield go_on
    go_on()


def test_a_run_that_another_thread_writes_is_not_taken_over(memory_store, stalled):
    with pytest.raises(StoreError, match="is being written by another thread of this process"):
        dataset(["first"]).evaluate_sync(Gate(), store=memory_store, resume="latest", progress=False)
    assert stalled() is None
    assert [name for name, _ in stored(memory_store)] == ["0", "1", "2"]


def test_an_owner_that_was_taken_for_dead_does_not_write_beside_its_successor(memory_store, stalled):
    run = memory_store.run("latest").id
    with memory_store._writing() as session:
        session.run("UPDATE runs SET heartbeat = NULL WHERE id = ?", (run,))
    others = dataset(["first", "b", "c", "d"])
    others.evaluate_sync(Gate(), store=memory_store, resume=run, progress=False)
    assert "was taken over by another process" in str(stalled())
    assert stored(memory_store) == [("0", "first"), ("1", "b"), ("2", "c"), ("3", "d")]
    assert memory_store.run(run).status == "finished"


# ---------------------------------------------------------------------- evaluators


def columns(store):
    """What the stored run says, by the arguments of who said it."""
    report = store.report(store.run("latest").id)
    return [
        [(result.name, result.value, result.source.arguments) for result in case.results]
        for case in report.cases
    ]


def contains(text):
    return ("Contains", text == "x", {"value": text})


@pytest.mark.parametrize("own", [False, True], ids=["shared", "beside one of the case"])
def test_results_of_an_evaluator_and_of_its_successor_never_stand_in_one_column(memory_store, own):
    def data(text):
        evaluators = [always_one] if own else []
        cases = [Case(name=str(n), inputs=n, evaluators=evaluators) for n in range(4)]
        return Dataset(name="d", cases=cases, evaluators=[Contains(text)])

    def seen():
        return [[one for one in found if one[0] == "Contains"] for found in columns(memory_store)]

    run_until(None, data("x"), memory_store)
    run_until(2, data("y"), memory_store, resume="latest")
    new, not_judged = [contains("y")], []
    assert seen() == [new, new, not_judged, not_judged]
    totals = memory_store.totals(memory_store.run("latest").id)
    assert totals.summaries["Contains"].count == 2
    # Back to the first: what it said of the attempts that the other one never saw counts again.
    report = run_until(None, data("x"), memory_store, resume="latest")
    assert seen() == [[contains("x")]] * 4
    assert report.reuse.attempts_made == 0


def always_one(output):
    return 1


def test_an_evaluator_that_cannot_be_known_does_not_share_a_column_with_its_namesake(memory_store):
    def judge(value):
        names = {}
        exec("def judge(output):\n    return value", {"value": value}, names)  # it has no source to compare
        return names["judge"]

    run_until(None, dataset(range(3), [judge("old")]), memory_store)
    run_until(1, dataset(range(3), [judge("new")]), memory_store, resume="latest")
    assert [[value for _, value, _ in found] for found in columns(memory_store)] == [["new"], [], []]
    run_until(None, dataset(range(3), [judge("new")]), memory_store, resume="latest")
    assert [[value for _, value, _ in found] for found in columns(memory_store)] == [["new"]] * 3


class Refusing(MemoryStore):
    """A store that cannot replace evaluators, until it is mended."""

    mended = False

    def add_evaluators(self, run, evaluators, **options):
        if options.get("instead") and not self.mended:
            raise StoreError("the disk is gone")
        return super().add_evaluators(run, evaluators, **options)


def test_a_run_that_could_not_be_resumed_may_be_at_once():
    with Refusing() as store:
        run_until(2, dataset(range(4)), store)
        with pytest.raises(StoreError, match="the disk is gone"):
            run_until(None, dataset(range(4)), store, resume="latest")
        assert store.run("latest").status == "interrupted"
        store.mended = True
        assert len(run_until(None, dataset(range(4)), store, resume="latest").cases) == 4


# ---------------------------------------------------------------------- another task


def agent(inputs, model):
    return f"{model}: {inputs}"


agent.version = "1"


class Bot:
    """A task whose class declares a version for all its objects."""

    version = "1"
    __name__ = "bot"

    def __init__(self, model):
        self.model = model

    def __call__(self, inputs):
        return agent(inputs, self.model)


@pytest.mark.parametrize(
    "made", [lambda model: functools.partial(agent, model=model), Bot], ids=["partial", "object"]
)
def test_a_task_of_the_same_version_that_is_bound_to_something_else_is_another_one(memory_store, made):
    data = dataset("q")
    data.evaluate_sync(made("small"), store=memory_store, progress=False)
    with pytest.raises(StoreError, match="the task changed \\(field model changed"):
        data.evaluate_sync(made("large"), store=memory_store, progress=False, resume="latest")
    again = data.evaluate_sync(made("small"), store=memory_store, progress=False, resume="latest")
    assert again.reuse.attempts_made == 0
    assert again.reuse.notes == []


def test_what_a_run_of_an_earlier_release_was_bound_to_could_not_be_checked(memory_store):
    data = dataset("q")
    data.evaluate_sync(functools.partial(agent, model="small"), store=memory_store, progress=False, seed=1)
    info = memory_store.run("latest")
    told = memory_store.begin_run(
        RunInfo(
            name=info.name,
            dataset_name="d",
            task_name=info.task_name,
            task_version="1",
            seed=1,
            evaluators=info.evaluators,
        )
    )
    judged = list(memory_store.judged(info.id))
    memory_store.append(
        told.id, [attempt for attempt, _ in judged], [cell for _, cells in judged for cell in cells]
    )
    memory_store.finish_run(told.id)
    memory_store.delete_run(info.id)
    large = functools.partial(agent, model="large")
    report = data.evaluate_sync(large, store=memory_store, progress=False, resume="latest")
    assert "no more than its version was kept" in report.reuse.notes[0]
    later = data.evaluate_sync(large, store=memory_store, progress=False, reuse=True)
    assert [case.output for case in later.cases] == ["large: q"]


def test_what_an_unknown_task_made_is_not_taken_for_the_work_of_the_one_it_was_resumed_with(memory_store):
    scope = {}
    exec("def task(inputs):\n    return 'old'", scope)  # without source, it cannot be known
    data = dataset("ab")
    data.evaluate_sync(scope["task"], store=memory_store, progress=False)
    resumed = data.evaluate_sync(task, store=memory_store, progress=False, resume="latest")
    assert [case.output for case in resumed.cases] == ["old", "old"]
    assert "could not be checked" in resumed.reuse.notes[0]
    renamed = dataset("ab", names="xy")  # so that what is stored is written anew
    renamed.evaluate_sync(task, store=memory_store, progress=False, resume="latest")
    later = data.evaluate_sync(task, store=memory_store, progress=False, reuse=True)
    assert [case.output for case in later.cases] == ["x", "x"]
    assert later.reuse.attempts_reused == 0


def reading(inputs):
    return os.environ.get("CALIPERS_TEST_MODEL")


def test_a_run_whose_task_reads_another_environment_variable_is_not_resumed_and_the_variable_is_named(
    monkeypatch,
):
    with MemoryStore() as store:
        run = functools.partial(dataset("ab").evaluate_sync, reading, store=store, progress=False)
        monkeypatch.setenv("CALIPERS_TEST_MODEL", "small")
        first = run().reuse.run
        monkeypatch.setenv("CALIPERS_TEST_MODEL", "large")
        with pytest.raises(StoreError) as refused:
            run(resume=first)
        assert str(refused.value) == (
            f"run {first!r} cannot be resumed, since this is another run: the task changed (environment variable "
            "CALIPERS_TEST_MODEL changed). Set CALIPERS_TEST_MODEL as it was, or begin a new run, with reuse=True to take "
            "over what still holds"
        )
        monkeypatch.setenv("CALIPERS_TEST_MODEL", "small")
        assert run(resume=first).reuse.attempts_made == 0


LOG = []
MODEL = "small"


@pytest.fixture
def log(monkeypatch):
    monkeypatch.setitem(globals(), "LOG", [])
    return LOG


def logging(inputs):
    LOG.append((MODEL, inputs))
    if inputs == "c" and len(LOG) == 3:
        signal.raise_signal(signal.SIGINT)
    return inputs


async def logging_async(inputs):
    return logging(inputs)


def interrupted(store, the_task=logging_async):
    report = dataset("abcd").evaluate_sync(the_task, store=store, progress=False, max_concurrency=1)
    assert report.incomplete is not None
    return report


@pytest.mark.usefixtures("log")
def test_a_run_whose_task_appends_to_a_global_goes_on_in_the_same_process(memory_store):
    first = interrupted(memory_store)
    done = len(first.cases)
    assert done >= 2
    resumed = dataset("abcd").evaluate_sync(logging_async, store=memory_store, progress=False, resume=True)
    assert (resumed.reuse.run, resumed.reuse.attempts_reused) == (first.reuse.run, done)
    assert [case.output for case in resumed.cases] == [*"abcd"]
    (note,) = resumed.reuse.notes
    assert note.startswith("the task changed while the run went on, and counts as the same (global ")
    # It may be resumed once more, and all its attempts are known by what the task was at the beginning.
    again = dataset("abcde").evaluate_sync(
        logging_async, store=memory_store, progress=False, resume=first.reuse.run
    )
    assert (again.reuse.attempts_reused, again.reuse.attempts_made) == (4, 1)
    LOG.clear()
    later = dataset("abcde").evaluate_sync(logging_async, store=memory_store, progress=False, reuse=True)
    assert (later.reuse.attempts_reused, later.reuse.attempts_made) == (5, 0)


@pytest.mark.usefixtures("log")
def test_a_global_that_was_changed_since_the_run_stopped_makes_another_task(memory_store, monkeypatch):
    interrupted(memory_store)
    resume = functools.partial(
        dataset("abcd").evaluate_sync, logging_async, store=memory_store, progress=False, resume=True
    )
    LOG.append("mine")
    with pytest.raises(
        StoreError, match=r"Set \S+\.LOG as it was when the run began \(a fresh process or kernel"
    ):
        resume()
    LOG.pop()
    monkeypatch.setitem(globals(), "MODEL", "large")
    with pytest.raises(StoreError, match=r"Set \S+\.LOG and \S+\.MODEL as it was"):
        resume()
    monkeypatch.setitem(globals(), "MODEL", "small")
    assert resume().reuse.attempts_reused >= 2


@pytest.mark.usefixtures("log")
def test_a_new_run_says_which_global_makes_it_call_the_task_again(memory_store):
    first = interrupted(memory_store)
    again = dataset("abcd").evaluate_sync(logging_async, store=memory_store, progress=False, reuse=True)
    assert again.reuse.attempts_made == 4
    assert again.reuse.notes == [
        f"the task is another one than in run {first.reuse.run}, and is called again (global {__name__}.LOG changed)"
    ]


def logging_late(inputs):
    if len(LOG) == 2:
        time.sleep(1)
    LOG.append(inputs)
    return inputs


@pytest.mark.usefixtures("log")
def test_a_call_that_ends_after_its_run_may_append_to_the_same_global(memory_store):
    def press():
        while len(LOG) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    before = threading.active_count()
    threading.Thread(target=press).start()
    done = len(interrupted(memory_store, logging_late).cases)
    until = time.monotonic() + 60
    while (len(LOG) < 3 or threading.active_count() > before) and time.monotonic() < until:
        time.sleep(0.01)
    assert [*"abc"] == LOG
    resumed = dataset("abcd").evaluate_sync(logging_late, store=memory_store, progress=False, resume=True)
    assert resumed.reuse.attempts_reused == done == 2
    assert "counts as the same" in resumed.reuse.notes[0]
