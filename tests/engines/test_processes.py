"""Attempts in other processes of this machine: the same results, whatever becomes of a process."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from textwrap import dedent

import engine_tasks
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Case, CaseLifecycle, Dataset, Retry
from calipers.engines import ProcessEngine
from calipers.errors import EngineError, InvalidOptionError, TravelError
from calipers.evaluators import EqualsExpected
from calipers.plugins import PluginBase, PluginManager
from calipers.stores import open_store
from calipers.testing import check_engine
from calipers.testing.engine_check import act, act_async, dataset_of, without_times

posix = pytest.mark.skipif(os.name != "posix", reason="processes are ended otherwise there")


def numbers(count, **more):
    return Dataset(
        name="numbers",
        cases=[Case(inputs=str(number), expected_output=number) for number in range(count)],
        evaluators=[EqualsExpected()],
        **more,
    )


def test_attempts_run_in_other_processes_in_the_order_of_the_dataset(engine):
    report = numbers(50).evaluate_sync(int, engine=engine, progress=False)
    assert [case.output for case in report.cases] == list(range(50))
    assert report.pass_rate().value == 1


def test_it_keeps_the_contract_of_engines(engine):
    check_engine(engine)


# ---------------------------------------------------------------------- a law

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
deeds = st.fixed_dictionaries(
    {},
    optional={
        "output": plain,
        "count": st.integers(-3, 3),
        "note": plain,
        "draw": st.just(True),
        "ask": st.text(max_size=5),
        "tell": st.just(True),
        "change": plain,
        "raise": st.sampled_from(["always", "after one try"]),
    },
)


@settings(max_examples=20)
@given(
    inputs=st.lists(deeds, max_size=6),
    task=st.sampled_from([act, act_async]),
    seed=st.integers(0, 2**32),
    repeat=st.integers(1, 2),
    retry=st.none() | st.just(Retry(attempts=2, backoff=0.001)),
    max_concurrency=st.none() | st.integers(1, 3),
)
def test_the_report_is_that_of_one_process(engine, inputs, task, **options):
    here, there = (
        without_times(dataset_of(*inputs).evaluate_sync(task, engine=each, progress=False, **options))
        for each in (None, engine)
    )
    assert here == there


# ---------------------------------------------------------------------- workers that end


@posix
def test_a_task_that_ends_its_process_fails_alone(engine):
    ways = ["exit", "kill", "fork, and be killed", "fork", "sys.exit"]
    cases = [Case(name=how, inputs=how) for way in ways for how in (way, f"not {way}")]
    report = Dataset(cases=cases).evaluate_sync(engine_tasks.end_process, engine=engine, progress=False)
    lost = {failure.name: failure.error_type for failure in report.failures}
    assert lost == {
        **dict.fromkeys(["exit", "kill", "fork, and be killed"], "WorkerLostError"),
        "sys.exit": "SystemExit",
    }
    assert [case.output for case in report.cases] == [
        "not exit",
        "not kill",
        "not fork, and be killed",
        "fork",
        "not fork",
        "not sys.exit",
    ]
    said = {failure.name: failure.error_message for failure in report.failures}
    assert "exit code 3" in said["exit"]
    assert "killed by SIGKILL" in said["kill"]
    assert "killed by SIGKILL" in said["fork, and be killed"]


@posix
@pytest.mark.parametrize(
    ("task", "nap"),
    # Async attempts are all begun at once, and none may end before the worker is killed.
    [(engine_tasks.pid_of_worker, 0.03), (engine_tasks.pid_of_worker_async, 1.0)],
)
def test_what_a_killed_worker_had_begun_is_made_by_another(engine, task, nap):
    victims = []

    def kill_first(record):
        if not victims:
            victims.append(record.output)
            os.kill(record.output, signal.SIGKILL)

    dataset = Dataset(cases=[Case(inputs=0.0 if number < 2 else nap) for number in range(60)])
    with open_store("memory:") as store:
        report = dataset.evaluate_sync(task, engine=engine, on_record=kill_first, store=store, progress=False)
        assert store.run("latest").attempts == 60
    assert len(report.cases) == 60
    made_by = [case.output for case in report.cases]
    assert 1 <= made_by.count(victims[0]) < 30
    assert len(set(made_by)) >= 2


def test_a_task_that_holds_its_event_loop_is_given_up(engine):
    dataset = Dataset(
        cases=[Case(name="stuck", inputs=3600, timeout=0.2), *[Case(inputs=0) for _ in range(5)]]
    )
    report = dataset.evaluate_sync(engine_tasks.hold_loop, engine=engine, progress=False)
    assert [(failure.name, failure.error_type) for failure in report.failures] == [
        ("stuck", "AttemptTimeoutError")
    ]
    assert len(report.cases) == 5


def test_a_task_that_held_an_event_loop_elsewhere_is_in_the_report(engine):
    report = Dataset(cases=[Case(inputs=0.15)]).evaluate_sync(
        engine_tasks.hold_loop, engine=engine, progress=False
    )
    assert report.blocked["(task)"].count == 1


# ---------------------------------------------------------------------- what cannot travel


def test_a_task_that_cannot_be_pickled_is_refused_before_the_run_with_the_part():
    lock = open

    def task(inputs):
        return lock

    with pytest.raises(TravelError, match=r"the task 'task' is <function .*task"):
        Dataset(cases=[Case(inputs=1)]).evaluate_sync(task, engine="processes", progress=False)


def test_inputs_that_cannot_be_pickled_fail_alone_with_the_part(engine):
    cases = [Case(inputs={"output": 1, "tools": [print, lambda: None]}), Case(inputs={"output": 2})]
    report = Dataset(cases=cases).evaluate_sync(act, engine=engine, progress=False)
    assert [case.output for case in report.cases] == [2]
    assert "inputs['tools'][1] is <function" in report.failures[0].error_message


def test_an_error_that_cannot_be_pickled_is_told_and_retried_like_any_other(engine):
    dataset = Dataset(cases=[Case(inputs="one")])
    report = dataset.evaluate_sync(
        engine_tasks.raise_odd,
        engine=engine,
        retry=Retry(attempts=2, on=lambda error: error.status_code == 503, backoff=0.001),
        progress=False,
    )
    (failure,) = report.failures
    assert (failure.error_type, failure.error_message) == ("Odd", "Odd: one and 2")
    assert "raise Odd(inputs, 2)" in failure.error_stacktrace
    assert (failure.infrastructure, failure.tries) == (True, 2)


def test_what_a_worker_cannot_import_is_refused_before_the_first_attempt(engine):
    made = type("Task", (), {"__module__": "engine_tasks", "__call__": lambda self, inputs: inputs})
    made.__qualname__ = "Gone"
    engine_tasks.Gone = made
    try:
        with pytest.raises(EngineError, match=r"cannot run the task 'Task': AttributeError.*Gone"):
            Dataset(cases=[Case(inputs=1)]).evaluate_sync(made(), engine=engine, progress=False)
    finally:
        del engine_tasks.Gone


# ---------------------------------------------------------------------- all else stays with the run


@pytest.mark.parametrize("task", [engine_tasks.pid_of_worker, engine_tasks.pid_of_worker_async])
def test_no_more_are_in_flight_than_the_run_allows(engine, task):
    dataset = Dataset(cases=[Case(inputs=0.03) for _ in range(12)])
    report = dataset.evaluate_sync(task, engine=engine, max_concurrency=3, progress=False)
    spans = [(case.attributes["began"], case.attributes["ended"]) for case in report.cases]
    assert not report.failures, report.failures[0]
    at_once = [sum(began <= moment < ended for began, ended in spans) for moment, _ in spans]
    assert max(at_once) <= 3
    if task is engine_tasks.pid_of_worker_async:
        assert max(at_once) >= 2


def test_reuse_early_stopping_hooks_and_progress_are_as_ever(engine):
    told = []

    class Hooks(CaseLifecycle):
        def setup(self):
            told.append("setup")

        def teardown(self, result):
            told.append(result.output)

    class Listener(PluginBase):
        name = "listener"

        def on_test_end(self, *, test_name, **_):
            told.append(test_name)

    @contextmanager
    def progress(counts):
        yield
        told.append((counts.total, counts.finished, counts.failed, counts.in_flight))

    plugins = PluginManager()
    plugins.load_plugins(classes=[Listener], entry_points=False, strict=True)
    with open_store("memory:") as store:
        numbers(2).evaluate_sync(
            int, engine=engine, lifecycle=Hooks, plugins=plugins, progress=progress, store=store
        )
        assert sorted(map(str, told)) == sorted(
            map(str, ["setup", "setup", 0, 1, "Case 1", "Case 2", (2, 2, 0, 0)])
        )
        numbers(2).evaluate_sync(int, store=store, progress=False)
        again = numbers(3).evaluate_sync(int, engine=engine, store=store, reuse=True, progress=False)
        assert (again.reuse.attempts_reused, again.reuse.attempts_made) == (2, 1)
    stopped = numbers(500).evaluate_sync(
        int, engine=engine, stop_when=lambda record: "enough", max_concurrency=1, progress=False
    )
    assert stopped.stopping.why == "enough"
    assert len(stopped.cases) < 500


def test_processes_stay_in_a_block_and_none_is_left_after_it():
    dataset = Dataset(cases=[Case(inputs=0.01) for _ in range(4)])

    def pids(engine):
        report = dataset.evaluate_sync(engine_tasks.pid_of_worker, engine=engine, progress=False)
        return {case.output for case in report.cases}

    with ProcessEngine(1) as engine:
        first = pids(engine)
        assert pids(engine) == first
        assert all(psutil.pid_exists(pid) for pid in first)
    alone = pids(ProcessEngine(1))
    assert not any(psutil.pid_exists(pid) for pid in first | alone)


def test_a_worker_that_begins_longer_than_a_run_takes_is_there_for_a_later_one():
    def workers():
        return {process.pid for process in multiprocessing.active_children()}

    before = workers()
    with ProcessEngine(2, setup=engine_tasks.begin_slowly) as engine:
        seen = []
        for _ in range(3):
            report = Dataset(cases=[Case(inputs=0.0)]).evaluate_sync(
                engine_tasks.pid_of_worker, engine=engine, progress=False
            )
            assert not report.failures
            seen.append(workers() - before)
    assert len(seen[0]) == 2
    assert seen == [seen[0]] * 3


@pytest.mark.parametrize("value", ["process", "processes:0", "processes:x", "", 3, ProcessEngine])
def test_what_is_no_engine_is_refused(value):
    with pytest.raises(InvalidOptionError, match="engine must be"):
        Dataset(cases=[Case(inputs="1")]).evaluate_sync(int, engine=value, progress=False)


# ---------------------------------------------------------------------- the process of the run


def test_a_script_without_a_guard_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from calipers import Case, Dataset\n"
        "Dataset(cases=[Case(inputs='1')]).evaluate_sync(int, engine='processes:1', progress=False)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "put what it does below `if __name__ == '__main__':`" in done.stderr


LOGGED = """
    from pathlib import Path
    from engine_tasks import log
    from calipers import Case, Dataset

    FILE = str(Path(__file__).with_name("log"))

    def eval_logged():
        cases = [Case(name=f"c{n}", inputs=(FILE, f"c{n}", 0.02)) for n in range(100)]
        return Dataset(name="logged", cases=cases, evaluators=[lambda output: True]), log
"""


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_ends_early_leaves_no_process_and_can_be_resumed(tmp_path, number):
    (tmp_path / "eval_logged.py").write_text(dedent(LOGGED))
    log = tmp_path / "log"
    command = [sys.executable, "-m", "calipers", "run", "--engine", "processes:2", "--quiet"]
    options = {
        "cwd": tmp_path,
        "env": {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        "stderr": subprocess.PIPE,
        "text": True,
    }
    # A terminal sends Ctrl-C to all processes of the session.
    with subprocess.Popen(command, **options, start_new_session=True) as run:
        while not log.exists() or log.read_text().count("\n") < 30:
            time.sleep(0.01)
            assert run.poll() is None, run.stderr.read()
        os.killpg(run.pid, number) if number == signal.SIGINT else run.kill()
        _, said = run.communicate(timeout=30)
    assert run.returncode == (130 if number == signal.SIGINT else -number)
    assert "Traceback" not in said
    workers = {int(line.split()[1]) for line in log.read_text().splitlines()}
    _, left = psutil.wait_procs(
        [psutil.Process(pid) for pid in workers if psutil.pid_exists(pid)], timeout=10
    )
    assert not left
    with open_store(tmp_path / ".calipers" / "runs.db") as store:
        kept = store.run("latest").attempts
    assert 0 < kept < 100
    before = log.read_text().count("\n")
    subprocess.run([*command, "--resume"], **options, timeout=60, check=True)
    assert log.read_text().count("\n") - before == 100 - kept
    with open_store(tmp_path / ".calipers" / "runs.db") as store:
        report = store.report("latest")
    assert [case.output for case in report.cases] == [f"c{n}" for n in range(100)]
