"""Attempts in the workers of Ray: the same results, whatever becomes of a worker, a machine or the run."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from ast import literal_eval
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import calling_tasks
import engine_tasks
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Budget, Case, Dataset, Retry, known
from calipers.engines import RayEngine, as_engine
from calipers.engines.ray_cluster import check_reachable, reread_token
from calipers.errors import EngineError, InvalidOptionError, MissingExtraError, TravelError
from calipers.stores import open_store
from calipers.testing import OpenAIServer, RateLimit, Reply, check_engine
from calipers.testing.engine_check import act, act_async, dataset_of, without_times

with_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
CODE = Path(engine_tasks.__file__).parent
NO_PROCESSOR = {"num_cpus": 0}
"""What workers need that are not to wait for those of other tests."""


@pytest.fixture(scope="module")
def cluster():
    """A cluster of one machine with two processors, and its token."""
    given = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": "0123456789abcdef" * 4,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_process_group_cleanup_enabled": "1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        reread_token()
        from ray.cluster_utils import Cluster

        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        head = {
            "ray_client_server_port": port,
            "num_cpus": 2,
            "include_dashboard": False,
            "resources": {"anywhere": 2},
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # Ray leaves the logs of its client server open
            cluster = Cluster(initialize_head=True, head_node_args=head)
        cluster.client = f"ray://127.0.0.1:{port}"
        yield cluster
        cluster.shutdown()
    reread_token()


@pytest.fixture(scope="module")
def engine(cluster):
    """Two workers, which stay from test to test, and have every processor."""
    with RayEngine(2, address=cluster.address, working_dir=str(CODE), patience=0.3) as engine:
        yield engine


def beside(cluster, workers=1, **more):
    """Workers of one test."""
    options = {"needs": NO_PROCESSOR, "patience": 0.3, **more}
    return RayEngine(workers, address=cluster.address, working_dir=str(CODE), **options)


# ---------------------------------------------------------------------- the same


@with_ray
def test_it_keeps_the_contract_of_engines(engine):
    check_engine(engine)


plain = st.none() | st.integers() | st.text(max_size=5) | st.lists(st.booleans(), max_size=2)
deeds = st.fixed_dictionaries(
    {},
    optional={
        "output": plain,
        "count": st.integers(-3, 3),
        "draw": st.just(True),
        "ask": st.text(max_size=5),
        "tell": st.just(True),
        "change": plain,
        "raise": st.sampled_from(["always", "after one try"]),
    },
)


@with_ray
@settings(max_examples=10)
@given(
    inputs=st.lists(deeds, max_size=6),
    task=st.sampled_from([act, act_async]),
    seed=st.integers(0, 2**32),
    repeat=st.integers(1, 2),
    retry=st.none() | st.just(Retry(attempts=2, backoff=0.001)),
)
def test_the_report_is_that_of_one_process(engine, inputs, task, **options):
    here, there = (
        without_times(dataset_of(*inputs).evaluate_sync(task, engine=each, progress=False, **options))
        for each in (None, engine)
    )
    assert here == there


# ---------------------------------------------------------------------- limits and budgets


@with_ray
@pytest.mark.parametrize("task", [calling_tasks.search, calling_tasks.search_async])
def test_a_limit_holds_in_all_workers_together(engine, task):
    dataset = Dataset(cases=[Case(inputs=(3, 0.02)) for _ in range(20)])
    end = time.monotonic() + 60
    while True:  # until both workers are there, which takes a while on a busy machine
        report = dataset.evaluate_sync(task, engine=engine, max_concurrency=10, progress=False)
        if len({case.output for case in report.cases}) == 2:
            break
        assert time.monotonic() < end, "one of two workers has made all attempts for a minute"
    times = [(case.attributes["began"], case.attributes["ended"]) for case in report.cases]
    assert max(sum(began <= start < ended for began, ended in times) for start, _ in times) <= 3
    (use,) = report.limits
    assert (use.name, use.answered, use.most_in_flight) == ("search", 20, 3)


@with_ray
def test_requests_of_all_workers_keep_to_the_limit_of_a_server_and_to_the_budget(engine):
    limit = RateLimit(20, seconds=0.5)
    with OpenAIServer(Reply(text="four", delay=0.02), limit=limit) as server:
        dataset = Dataset(cases=[Case(inputs=(server.url, 1 + number % 3)) for number in range(60)])
        report = dataset.evaluate_sync(
            calling_tasks.ask_often_async,
            engine=engine,
            max_concurrency="auto",
            budget=Budget(calls=50),
            progress=False,
        )
    assert not report.failures
    assert limit.refused <= limit.taken // 4
    (use,) = report.limits
    assert (use.answered, use.refused) == (limit.taken, limit.refused)
    assert limit.taken <= known(report.budget).agent.calls <= 50


# ---------------------------------------------------------------------- what travels


@with_ray
def test_a_task_travels_with_its_code_where_no_import_finds_it(engine):
    step = 3

    class Refused(Exception):
        pass

    def add(number):
        if number > 1:
            raise Refused(number)
        return number + step

    dataset = Dataset(cases=[Case(inputs=number) for number in range(3)])
    for task in (add, lambda number: add(number)):
        report = dataset.evaluate_sync(task, engine=engine, progress=False)
        assert [case.output for case in report.cases] == [3, 4]
        assert [failure.error_type for failure in report.failures] == ["Refused"]


SCRIPT = """
    import sys
    from dataclasses import dataclass
    from calipers import Case, Dataset
    from calipers.engines import RayEngine

    @dataclass
    class Question:
        text: str

    @dataclass
    class Answer:
        question: Question

    def agent(question):
        question.text += "!"
        return Answer(question)

    engine = RayEngine(1, address=sys.argv[1], needs={"num_cpus": 0})
    report = Dataset(cases=[Case(inputs=Question("why"))]).evaluate_sync(agent, engine=engine, progress=False)
    case = report.cases[0]
    print(type(case.output) is Answer, case.output, case.inputs == Question("why!"))
"""


@with_ray
def test_a_script_may_hold_everything_without_a_guard_and_be_outside_of_the_cluster(cluster, tmp_path):
    (tmp_path / "script.py").write_text(dedent(SCRIPT))
    command = [sys.executable, "-W", "error", "script.py", cluster.client]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stderr, done.stdout) == ("", "True Answer(question=Question(text='why!')) True\n")


class Client:
    """What holds a lock somewhere inside, as clients of models do."""

    def __init__(self):
        self.pool = {"gate": asyncio.Lock(), "closed": threading.Event()}

    def ask(self, inputs):
        return inputs


@with_ray
@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: (lambda lock: lambda inputs: lock)(threading.Lock()), r", whose variable lock is <unlocked"),
        (lambda: Client().ask, r"\.__self__\.pool\['closed'\]\._cond.* is <"),
    ],
)
def test_a_task_that_cannot_travel_is_refused_with_the_part(make, part):
    task = make()
    with pytest.raises(TravelError, match=part):
        Dataset(cases=[Case(inputs=1)]).evaluate_sync(task, engine="ray", progress=False)


@with_ray
def test_variables_reach_workers_and_no_report(cluster, monkeypatch, tmp_path):
    monkeypatch.setenv("KEY_OF_TEST", "hunter2-hunter2")
    engine = beside(cluster, variables=["KEY_OF_TEST"])
    with open_store(tmp_path / "runs.db") as store:
        report = Dataset(cases=[Case(inputs="KEY_OF_TEST")]).evaluate_sync(
            lambda name: len(os.environ[name]), engine=engine, store=store, progress=False
        )
    assert [case.output for case in report.cases] == [15]
    assert "hunter2" not in repr(engine)
    assert not any(b"hunter2" in file.read_bytes() for file in tmp_path.iterdir())
    monkeypatch.delenv("KEY_OF_TEST")
    with pytest.raises(InvalidOptionError, match="no variable 'KEY_OF_TEST'"):
        Dataset(cases=[Case(inputs=1)]).evaluate_sync(str, engine=engine, progress=False)


@with_ray
def test_a_worker_with_another_version_refuses():
    from calipers.engines.ray_worker import RayWorker, Start

    worker = RayWorker(Start("0.0.1", str(Path.cwd()), False, tuple(sys.path), 0.001, {}))
    refusal = worker.refusal
    assert "the run has 0.0.1: install the same version on each machine" in refusal


# ---------------------------------------------------------------------- workers and machines that are lost


@with_ray
def test_what_a_killed_worker_had_begun_is_made_by_another(engine):
    victims = []

    def kill_first(record):
        if not victims:
            victims.append(record.output)
            os.kill(record.output, signal.SIGKILL)

    dataset = Dataset(cases=[Case(inputs=0.0 if number < 2 else 0.03) for number in range(60)])
    with open_store("memory:") as store:
        report = dataset.evaluate_sync(
            engine_tasks.pid_of_worker, engine=engine, on_record=kill_first, store=store, progress=False
        )
        assert store.run("latest").attempts == 60
    assert len(report.cases) == 60
    made_by = [case.output for case in report.cases]
    assert 1 <= made_by.count(victims[0]) < 40
    assert len(set(made_by)) >= 2


@with_ray
def test_a_task_that_ends_its_process_fails_alone(cluster):
    cases = [Case(name=how, inputs=how) for how in ("kill", "not kill")]
    report = Dataset(cases=cases).evaluate_sync(
        engine_tasks.end_process, engine=beside(cluster), progress=False
    )
    failures = {failure.name: failure for failure in report.failures}
    assert {name: failure.error_type for name, failure in failures.items()} == {"kill": "WorkerLostError"}
    assert re.search(r"Ray worker \d+ ended .*\(process \d+ on [\d.]+: ", failures["kill"].error_message)
    assert [case.output for case in report.cases] == ["not kill"]


@with_ray
def test_a_task_that_holds_its_event_loop_is_given_up(engine):
    cases = [Case(name="stuck", inputs=3600, timeout=0.2), *[Case(inputs=0) for _ in range(5)]]
    report = Dataset(cases=cases).evaluate_sync(engine_tasks.hold_loop, engine=engine, progress=False)
    assert [(failure.name, failure.error_type) for failure in report.failures] == [
        ("stuck", "AttemptTimeoutError")
    ]
    assert len(report.cases) == 5


@with_ray
def test_what_a_lost_machine_had_begun_is_made_on_another(cluster):
    machine = cluster.add_node(num_cpus=0, resources={"anywhere": 2})
    places = []

    def lose_machine(record):
        places.append(record.output)
        if len(places) == 3:
            cluster.remove_node(machine, allow_graceful=False)

    dataset = Dataset(cases=[Case(inputs=0.05) for _ in range(40)])
    engine = beside(
        cluster, 3, needs={"num_cpus": 0, "resources": {"anywhere": 1}}
    )  # two have room on the first
    with open_store("memory:") as store:
        report = dataset.evaluate_sync(
            engine_tasks.pid_of_worker, engine=engine, on_record=lose_machine, store=store, progress=False
        )
        assert store.run("latest").attempts == 40
    assert len(report.cases) == 40


@with_ray
def test_a_run_for_which_there_is_no_room_says_so_and_gives_up_in_the_end(cluster):
    engine = beside(cluster, needs={"resources": {"moon": 1}}, start_timeout=0.5)
    with (
        pytest.warns(RuntimeWarning, match=r"the run waits for a worker: the cluster has .* of 2 CPU free"),
        pytest.raises(
            EngineError, match=r"no worker has begun in 0\.5 seconds: the cluster has .* of 2 CPU free"
        ),
    ):
        Dataset(cases=[Case(inputs=1)]).evaluate_sync(str, engine=engine, progress=False)


# ---------------------------------------------------------------------- the run itself

LOGGED = """
    from pathlib import Path
    from engine_tasks import log
    from calipers import Case, Dataset

    FILE = str(Path(__file__).with_name("log"))

    def eval_logged():
        cases = [Case(name=f"c{n}", inputs=(FILE, f"c{n}", 0.02)) for n in range(100)]
        return Dataset(name="logged", cases=cases, evaluators=[lambda output: True]), log
"""


@with_ray
def test_a_run_that_ends_early_leaves_no_worker_and_can_be_resumed(cluster, tmp_path):
    """It is interrupted, resumed and killed, and resumed once more. The file is loaded by its path, and travels."""
    evals = tmp_path / "evals"
    evals.mkdir()
    (evals / "eval_logged.py").write_text(dedent(LOGGED).replace("__file__", repr(str(tmp_path / "x"))))
    (evals / "engine_tasks.py").write_bytes((CODE / "engine_tasks.py").read_bytes())
    log = tmp_path / "log"
    command = [sys.executable, "-m", "calipers", "run", "evals", "--quiet"]
    there = [*command, "--engine", f"{cluster.address}?workers=2"]
    known = 0
    for number, more in ((signal.SIGINT, []), (signal.SIGKILL, ["--resume"])):
        before = len(logged(log))
        with begun([*there, *more], tmp_path) as run:
            while len(logged(log)) < before + 20:
                time.sleep(0.01)
                assert run.poll() is None, run.stderr.read()
            os.killpg(run.pid, number) if number == signal.SIGINT else run.kill()
            _, said = run.communicate(timeout=30)
        assert run.returncode == (130 if number == signal.SIGINT else -number)
        assert "Traceback" not in said
        workers = {int(line.split()[1]) for line in logged(log)}
        _, left = psutil.wait_procs(
            [psutil.Process(pid) for pid in workers if psutil.pid_exists(pid)], timeout=10
        )
        assert not left
        with open_store(tmp_path / ".calipers" / "runs.db") as store:
            was_known, known = known, store.run("latest").attempts
        assert was_known < known < 100
    before = len(logged(log))
    with begun([*command, "--resume"], tmp_path) as run:
        assert run.communicate(timeout=60)[1] == ""
    assert len(logged(log)) - before == 100 - known
    with open_store(tmp_path / ".calipers" / "runs.db") as store:
        report = store.report("latest")
    assert [case.output for case in report.cases] == [f"c{n}" for n in range(100)]


def logged(log):
    """The lines of attempts that have begun."""
    return log.read_text().splitlines() if log.exists() else []


def begun(command, folder):
    """A run in a session of its own: a terminal sends Ctrl-C to all processes of the session."""
    options = {
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.PIPE,
        "text": True,
        "start_new_session": True,
    }
    return subprocess.Popen(command, cwd=folder, **options)


LOCAL = """
    import os, psutil
    from calipers import Case, Dataset

    def agent(inputs):
        script = psutil.Process(inputs)
        family = [script, *script.children(recursive=True)]
        open_ports = [port for each in family for port in each.net_connections() if port.status == psutil.CONN_LISTEN]
        return {
            "addresses": sorted({port.laddr.ip for port in open_ports}),
            "pids": [each.pid for each in family[1:]],
            "token": len(os.environ["RAY_AUTH_TOKEN"]),
            "folder": os.getcwd(),
            "telemetry": os.environ["RAY_USAGE_STATS_ENABLED"],
        }

    report = Dataset(cases=[Case(inputs=os.getpid())]).evaluate_sync(agent, engine="ray:1", progress=False)
    print({**report.cases[0].output, "left": [name for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN") if name in os.environ]})
"""


@with_ray
def test_a_cluster_of_ones_own_listens_to_no_one_else_and_ends_with_the_run(tmp_path):
    (tmp_path / "script.py").write_text(dedent(LOCAL))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment["HOME"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-W", "error", "script.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.stderr == ""
    told = literal_eval(done.stdout)
    assert set(told["addresses"]) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert told["addresses"]
    assert (told["token"], told["folder"], told["telemetry"], told["left"]) == (64, str(tmp_path), "0", [])
    assert not (tmp_path / ".ray").exists(), "the token is in no file"
    assert len(told["pids"]) > 3
    assert not any(psutil.pid_exists(pid) for pid in told["pids"])


# ---------------------------------------------------------------------- names and addresses


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ray", "RayEngine()"),
        ("ray:8", "RayEngine(8)"),
        ("ray://head:10001", "RayEngine(address='ray://head:10001')"),
        ("ray://head:10001?workers=4&env=A,B", "RayEngine(4, address='ray://head:10001')"),
        ("10.0.0.5:6379", "RayEngine(address='10.0.0.5:6379')"),
        ("head:6379?env=A&env=B", "RayEngine(address='head:6379')"),
    ],
)
def test_a_name_or_an_address_stands_for_an_engine(name, said):
    engine = as_engine(name)
    assert repr(engine) == said
    assert tuple(engine.variables) == (("A", "B") if "env=" in name else ())


@pytest.mark.parametrize(
    "value",
    [
        "ray:0",
        "ray:x",
        "rey",
        "ray://",
        "ray://head",
        "head:80",
        "head:6379/x",
        "head:6379?worker=2",
        "http://head:6379",
    ],
)
def test_what_is_no_address_is_refused(value):
    with pytest.raises(InvalidOptionError, match="engine must be"):
        as_engine(value)


def test_an_address_where_nothing_listens_is_said_at_once():
    with pytest.raises(EngineError, match=r"no Ray cluster at '127\.0\.0\.1:1234': .*refused"):
        check_reachable("127.0.0.1:1234")


@with_ray
def test_a_process_has_one_connection(engine):
    dataset = Dataset(cases=[Case(inputs="1")])
    dataset.evaluate_sync(int, engine=engine, progress=False)
    with pytest.raises(
        EngineError, match=r"Ray knows one connection for each process: end the other run first"
    ):
        dataset.evaluate_sync(int, engine="ray", progress=False)


def test_without_ray_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'calipers\[ray\]'"):
        Dataset(cases=[Case(inputs=1)]).evaluate_sync(str, engine="ray", progress=False)
