"""Cases of a marker with `task=`, attempted together."""

import json
import re

import pytest

COUNTING = """
import threading

class Agent:
    '''Answers when as many calls as it waits for are in flight; otherwise it answers late, and wrong.'''

    def __init__(self, waits_for):
        self.barrier = threading.Barrier(waits_for)
        self.calls = []

    def __call__(self, country):
        self.calls.append(country)
        try:
            self.barrier.wait(timeout=5)
        except threading.BrokenBarrierError:
            return "alone"
        return CAPITALS[country]
"""
"""What shows that attempts run together, without a look at the clock."""


def test_the_cases_of_a_test_are_attempted_together_and_each_test_is_handed_its_own(folder):
    folder.write(
        "test_it.py",
        COUNTING
        + """
agent = Agent(3)
bodies = []

@pytest.mark.calipers(dataset, task=agent)
def test_it(case, tmp_path, monkeypatch):
    bodies.append(case.inputs)
    assert agent.calls and bodies == list(CAPITALS)[: len(bodies)]

def test_each_case_was_attempted_once():
    assert sorted(agent.calls) == sorted(CAPITALS)
""",
    )
    done = folder.pytest("-q", "--calipers-out=out.json")
    assert (done.code, done.counts) == (0, {"passed": 4}), done.out
    assert "test_it.py::test_it\nPassed 3 of 3 cases" in done.section
    names = [case["name"] for case in json.loads((folder.path / "out.json").read_text())["cases"]]
    assert names == [f"test_it.py::test_it[{country}]" for country in ("France", "Peru", "Chad")]


def test_a_dataset_under_faults_is_tested_under_them(folder):
    folder.write(
        "test_it.py",
        """
from calipers.agents import tool, with_faults

@tool
def look_up(country):
    return CAPITALS[country]

faulty = with_faults(dataset, "error")

@pytest.mark.calipers(faulty, task=lambda country: look_up(country))
def test_together():
    pass

@pytest.mark.calipers(faulty)
def test_alone(case, evaluate_case):
    assert_passed(evaluate_case(lambda country: look_up(country)))
""",
    )
    done = folder.pytest("-q")
    assert done.counts == {"passed": 6, "failed": 6}, done.out
    assert "test_alone[France [error]]" in done.out


CALLS = """
from pathlib import Path

def noted(country):
    with Path("calls").open("a") as file:
        file.write(f"{country}\\n")
    return "Paris"
"""


def calls(folder):
    """The cases that were attempted since the last look."""
    path = folder.path / "calls"
    found = path.read_text().split() if path.exists() else []
    path.unlink(missing_ok=True)
    return found


def test_only_cases_of_tests_that_run_are_attempted(folder):
    folder.write(
        "test_it.py",
        CALLS
        + """
@pytest.mark.calipers(dataset, task=noted)
@pytest.mark.skipif(False, reason="holds for none of them")
def test_it(): ...
""",
    )
    assert folder.pytest("-q", "-k", "France or Chad").counts == {"failed": 1, "passed": 1, "deselected": 1}
    assert sorted(calls(folder)) == ["Chad", "France"]
    again = folder.pytest("-q", "--lf")
    assert again.counts == {"failed": 1}, again.out
    assert calls(folder) == ["Chad"]
    folder.pytest("-q", "test_it.py::test_it[Peru]")
    assert calls(folder) == ["Peru"]
    folder.pytest("-q", "--collect-only")
    assert calls(folder) == []
    folder.write(
        "conftest.py",
        """
def pytest_collection_modifyitems(items):
    items.reverse()
    items[1].add_marker(pytest.mark.skip(reason="not now"))
    items[2].add_marker(pytest.mark.xfail(reason="not yet", run=False))
""",
    )
    skipped = folder.pytest("-q")
    assert skipped.counts == {"failed": 1, "skipped": 1, "xfailed": 1}, skipped.out
    assert calls(folder) == ["Chad"]


@pytest.mark.parametrize("end", ["-x", "--maxfail=2", "--sw"])
def test_where_failures_end_the_session_no_more_is_attempted_than_may_be_in_flight(folder, end):
    folder.write(
        "test_it.py",
        CALLS
        + """
many = Dataset(
    cases=[Case(name=f"case {n}", inputs=n, expected_output="no") for n in range(20)], evaluators=[EqualsExpected()]
)

@pytest.mark.calipers(many, task=noted, max_concurrency=4, repeat=2)
def test_it(): ...
""",
    )
    done = folder.pytest("-q", end, "--calipers-out=out.json")
    assert done.counts == {"failed": 2 if "2" in end else 1}, done.out
    assert sorted(calls(folder)) == ["0", "0", "1", "1"]
    report = json.loads((folder.path / "out.json").read_text())
    assert len(report["cases"]) == 4, "what was paid for is kept"
    assert "the tests ended early" in report["incomplete"]["reason"]


def test_a_fixture_of_a_single_test_keeps_its_case_apart_and_the_end_says_so(folder):
    folder.write(
        "test_it.py",
        CALLS
        + """
setting = []

@pytest.fixture
def region(case):
    setting.append(case.inputs)
    yield
    setting.remove(case.inputs)

def careful(country):
    assert setting == [country], "the attempt is made between the setup and the teardown of its own test"
    return CAPITALS[country]

@pytest.mark.calipers(dataset, task=careful)
def test_apart(region): ...

@pytest.mark.calipers(dataset, task=lambda country: f"{len(setting)} set")
@pytest.mark.parametrize("model", ["small"])
def test_together_on_request(region, case, model): ...

test_together_on_request.pytestmark[-1].kwargs["concurrent"] = True

class TestOld:
    def setup_method(self):
        setting.append("a method")

    def teardown_method(self):
        setting.clear()

    @pytest.mark.calipers(dataset, task=lambda country: CAPITALS[country] if setting else "")
    def test_it(self): ...
""",
    )
    done = folder.pytest("-q")
    assert done.counts == {"passed": 6, "failed": 3}, done.out
    assert done.out.partition("= calipers =")[0].count("'1 set'") == 6, (
        "all three in the first test's fixture"
    )
    said = "Its cases ran one after the other, since {} is made anew for each test; concurrent=True runs them together"
    lines = " ".join(done.section.split())
    assert said.format("the fixture region") in lines
    assert said.format("setup_method") in lines
    assert lines.count("one after the other") == 2


def test_a_marker_can_ask_for_one_case_at_a_time(folder):
    folder.write(
        "test_it.py",
        CALLS
        + """
@pytest.mark.calipers(dataset, task=noted, concurrent=False)
def test_it(case): ...

@pytest.mark.calipers(dataset, task=noted, max_concurrency=1)
def test_one_in_flight(case): ...
""",
    )
    assert folder.pytest("-q", "-x", "-k", "not flight").counts == {"passed": 1, "failed": 1, "deselected": 3}
    assert calls(folder) == ["France", "Peru"]
    done = folder.pytest("-q", "-x", "-k", "in_flight")
    assert calls(folder) == ["France", "Peru"]
    assert "one after the other" not in done.section


def test_what_an_attempt_prints_and_logs_is_shown_with_its_own_test_as_is_its_time(folder):
    folder.write(
        "test_it.py",
        """
import asyncio, logging, sys

async def loud(country):
    await asyncio.sleep(0.001)
    print("printed by", country)
    print("complained by", country, file=sys.stderr)
    await asyncio.to_thread(logging.getLogger("agent").warning, "logged by %s", country)
    return "no"

@pytest.mark.calipers(dataset, task=loud)
def test_it(case):
    print("body of", case.inputs)
""",
    )
    done = folder.pytest("-q", "-rN", "--junit-xml=out.xml", "--durations=0", "--durations-min=0.0005")
    assert done.counts == {"failed": 3}, done.out
    for country in ("France", "Peru", "Chad"):
        told = re.split(r"\n_{3,} test_it\[", done.out.partition("= calipers =")[0])
        (own,) = [part for part in told if part.startswith(country)]
        for said in ("printed by", "complained by", "logged by"):
            assert re.findall(rf"{said} (\w+)", own) == [country], own
    live = folder.pytest("-q", "-s", "-rN")
    assert live.out.index("printed by Chad") < live.out.index("FAILURES"), "nothing is held back"
    assert len(re.findall(r"s call +test_it.py::test_it", done.out)) == 3, (
        "each took the time of its own attempt"
    )


def test_what_goes_wrong_before_the_first_attempt_is_told_by_every_test(folder):
    folder.write(
        "test_it.py",
        """
@pytest.mark.calipers(dataset, task=right, max_concurrency=0)
def test_it(): ...
""",
    )
    done = folder.pytest("-q")
    assert done.counts == {"failed": 3}
    assert (
        done.out.count("InvalidOptionError: max_concurrency must be a whole number from 1, or None, got 0")
        >= 3
    )
    folder.write(
        "test_it.py",
        """
@pytest.mark.calipers(dataset, task=right, progress=lambda *counts: 1 / 0)
def test_it(): ...
""",
    )
    failed = folder.pytest("-q", "-rN")
    assert failed.counts == {"failed": 3}, failed.out
    assert failed.out.count("ZeroDivisionError: division by zero") == 3, failed.out
    assert "nothing can have passed" not in failed.out


def test_workers_attempt_together_what_they_were_given_and_nothing_twice(folder):
    folder.write(
        "test_it.py",
        CALLS
        + """
many = Dataset(
    name="many",
    cases=[Case(name=f"case {n}", inputs=n, expected_output="Paris") for n in range(40)], evaluators=[EqualsExpected()]
)

@pytest.mark.calipers(many, task=noted)
def test_it(): ...
""",
    )
    for how in ("load", "loadfile", "worksteal"):
        done = folder.pytest(
            "-q",
            "-n2",
            f"--dist={how}",
            "--calipers-out=out.json",
            plugins=["calipers.pytest_plugin", "xdist"],
        )
        assert done.counts == {"passed": 40}, done.out
        assert sorted(calls(folder), key=int) == [str(n) for n in range(40)]
        assert "Passed 40 of 40 cases" in done.section
        names = [case["name"] for case in json.loads((folder.path / "out.json").read_text())["cases"]]
        assert names == [f"test_it.py::test_it[case {n}]" for n in range(40)], "in the order of the tests"


def test_an_interrupt_ends_the_run_and_what_was_measured_is_kept(folder):
    folder.write(
        "test_it.py",
        """
import asyncio, os, signal

async def slow(country):
    if country == "France":
        return "Paris"
    if country == "Peru":
        os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(3600)

@pytest.mark.calipers(dataset, task=slow)
def test_it(): ...

def test_after(): ...
""",
    )
    done = folder.pytest("-q", "--calipers-out=out.json")
    assert done.code == 2, done.out
    report = json.loads((folder.path / "out.json").read_text())
    assert [case["name"] for case in report["cases"]] == ["test_it.py::test_it[France]"]
    assert "interrupted" in report["incomplete"]["reason"]


# ---------------------------------------------------------------------- a task from a fixture

FIXTURES = """
import asyncio
import pytest_asyncio

class Agent:
    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.lock = asyncio.Lock()
        self.calls = []
        self.others = set()

    async def __call__(self, country):
        async with self.lock:
            self.calls.append(country)
            await asyncio.sleep(0)
        if asyncio.get_running_loop() is not self.loop:
            self.others.add(asyncio.get_running_loop())
        return CAPITALS[country] if self.calls.count(country) > 1 else "later"

made = []

@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def agent():
    made.append(Agent())
    yield made[-1]

@pytest.mark.calipers(dataset, task="agent", repeat=3, min_pass=2)
@pytest.mark.asyncio(loop_scope="session")
async def test_on_its_loop(agent, case):
    assert agent.calls.count(case.inputs) == 3
    assert not agent.others

@pytest.mark.calipers(dataset, task="plain", repeat=2, min_pass=2)
def test_on_the_loop_of_calipers(): ...

@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def plain():
    async def answer(country):
        return CAPITALS[country]

    return answer

def test_it_was_made_once():
    assert len(made) == 1 and len(made[0].calls) == 9
"""


def test_an_agent_from_an_async_fixture_of_the_session_is_repeated(folder):
    folder.write("test_it.py", FIXTURES)
    settings = ["-o", "asyncio_default_fixture_loop_scope=function"]
    done = folder.pytest("-q", *settings, plugins=["calipers.pytest_plugin", "pytest_asyncio.plugin"])
    assert done.counts == {"passed": 7}, done.out
    assert "Passed 6 of 9 attempts at 3 cases" in done.section
    assert "Passed 6 of 6 attempts at 3 cases" in done.section


def test_a_fixture_that_is_the_task_may_have_parameters_a_class_and_another_scope(folder):
    folder.write(
        "test_it.py",
        """
@pytest.fixture(params=["small", "large"], scope="module")
def model(request):
    return request.param

@pytest.fixture
def agent(model):
    return right if model == "large" else paris

@pytest.mark.calipers(dataset, task="agent")
class TestModels:
    def test_it(self): ...

@pytest.mark.calipers(dataset, task="nothing")
def test_missing(): ...

@pytest.fixture(scope="session")
def number():
    return 3

@pytest.mark.calipers(dataset, task="number")
def test_no_task(): ...
""",
    )
    done = folder.pytest("-q")
    assert done.counts == {"passed": 4, "failed": 5, "error": 3}, done.out
    assert "test_it.py::TestModels::test_it[large]\nPassed 3 of 3 cases" in done.section
    assert "test_it.py::TestModels::test_it[small]\nPassed 1 of 3 cases" in done.section
    assert "fixture 'nothing' not found" in done.out
    assert (
        "the fixture 'number' is to be the task: a function of a case's inputs, or an object with" in done.out
    )


def test_awaiting_under_trio_is_refused_in_words(folder):
    folder.write(
        "test_it.py",
        """
@pytest.fixture(scope="module")
def anyio_backend():
    return "trio"

@pytest.fixture(scope="session")
def agent():
    return right

@pytest.mark.anyio
async def test_report(evaluate):
    await evaluate.on_loop(dataset, right)

@pytest.mark.anyio
@pytest.mark.calipers(dataset)
async def test_case(evaluate_case):
    await evaluate_case.on_loop(right)

@pytest.mark.anyio
@pytest.mark.calipers(dataset, task="agent")
async def test_named(): ...

@pytest.mark.anyio
async def test_blocking(evaluate):
    assert_passed(evaluate(dataset, right))
""",
    )
    done = folder.pytest("-q", plugins=["calipers.pytest_plugin", "anyio.pytest_plugin"])
    assert done.counts == {"passed": 1, "failed": 7}, done.out
    for what in ("evaluate.on_loop", "evaluate_case.on_loop", "a marker whose task= names a fixture"):
        assert f"{what} runs on the event loop of asyncio, and this code runs on another one" in done.out
    assert "src/calipers" not in done.out


def test_one_outage_shows_its_traceback_once_however_many_cases_it_fails(folder):
    folder.write(
        "test_it.py",
        """
def down(country):
    raise ConnectionError("the model is down")

@pytest.mark.calipers(dataset, task=down)
def test_down(): ...
""",
    )
    done = folder.pytest("-q", "-p", "no:cacheprovider")
    assert done.counts == {"failed": 3}
    assert done.out.count('raise ConnectionError("the model is down")') == 1
    assert done.out.count("(same traceback as in an earlier failure)") == 2
