import pytest

from calipers.stores import open_store
from calipers.views.formats import read_report

XDIST = ("calipers.pytest_plugin", "xdist.plugin")

TESTS = """
@pytest.mark.calipers(dataset, task=paris, repeat=2)
@pytest.mark.parametrize("model", ["small", "large"])
def test_marked(model): ...

def test_inline(evaluate):
    assert_rate(evaluate(dataset, right), at_least=1)

def test_ordinary():
    pass
"""


def test_workers_add_up_to_one_session(folder):
    folder.write("test_it.py", TESTS)
    alone = folder.pytest("-q", "--calipers-seed=3", "--calipers-out=alone.json")
    together = folder.pytest("-q", "--calipers-seed=3", "-n2", "--calipers-out=together.json", plugins=XDIST)
    assert alone.code == together.code == 1
    assert alone.counts == together.counts == {"failed": 4, "passed": 4}
    assert alone.section == together.section.replace("Wrote together.json", "Wrote alone.json")
    assert alone.section.count("Passed") == 3
    reports = [read_report(folder.path / name) for name in ("alone.json", "together.json")]
    assert [[record.name for record in report.cases] for report in reports] == [
        [
            *(
                f"test_it.py::test_marked[{model}-{country}] [{n}/2]"
                for model in ("small", "large")
                for country in ("France", "Peru", "Chad")
                for n in (1, 2)
            ),
            *(f"test_it.py::test_inline {country}" for country in ("France", "Peru", "Chad")),
        ]
    ] * 2
    assert reports[0].pass_rate() == reports[1].pass_rate()


def test_workers_share_a_drawn_seed_and_a_crash_loses_one_test(folder):
    folder.write(
        "test_it.py",
        """
import os
from calipers import current_attempt

dataset = Dataset(cases=[Case(name=f"c{n}", inputs=n) for n in range(6)], evaluators=[lambda output: True])

def agent(n):
    if n == 3:
        os._exit(3)
    return current_attempt().run_seed

@pytest.mark.calipers(dataset, task=agent, concurrent=False)
def test_it(): ...
""",
    )
    done = folder.pytest("-q", "-n2", "--calipers-out=out.json", plugins=XDIST)
    assert done.code == 1
    assert done.counts == {"failed": 1, "passed": 5}
    assert "INCOMPLETE: a worker crashed while it ran test_it.py::test_it[c3]" in done.section
    report = read_report(folder.path / "out.json")
    assert str(report.incomplete) == "a worker crashed while it ran test_it.py::test_it[c3]"
    assert len(report.cases) == 5
    assert {record.output for record in report.cases} == {report.seed}


def test_what_was_measured_before_an_interrupt_is_reported(folder):
    folder.write(
        "test_it.py",
        """
import os, signal, time

def agent(country):
    if country == "Peru":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    return right(country)

@pytest.mark.calipers(dataset, task=right)
def test_before(): ...

def test_whole(evaluate):
    ordered = Dataset(cases=[Case(name="first", inputs="France"), Case(name="second", inputs="Peru")],
                      evaluators=[lambda output: True])
    evaluate(ordered, agent, max_concurrency=1)

def test_after():
    raise AssertionError("Ctrl-C ends the session, not only an evaluation")
""",
    )
    done = folder.pytest("-q", "--calipers-out=out.json")
    assert done.code == 2
    assert done.counts == {"passed": 3}
    assert "KeyboardInterrupt" in done.out
    assert "INCOMPLETE: the tests ended early: interrupted" in done.section
    assert "test_it.py::test_before\nPassed 3 of 3 cases" in done.section
    report = read_report(folder.path / "out.json")
    assert str(report.incomplete).startswith(
        "the tests ended early: interrupted; test_it.py::test_whole: interrupted by"
    )
    assert len(report.cases) >= 3


DIRECT = """
import os, signal, time

def agent(country):
    if country == "Peru":
        os.kill(os.getpid(), signal.{signal})
        time.sleep(60)
    return right(country)

def measured():
    ordered = Dataset(cases=[Case(name="first", inputs="France"), Case(name="second", inputs="Peru")],
                      evaluators=[lambda output: True])
    return ordered.evaluate_sync(agent, max_concurrency=1, progress=False)

@pytest.fixture
def report():
    return measured()

def test_fails():
    assert len(measured().cases) == 2

def test_passes():
    assert len(measured().cases) < 2

def test_of_a_fixture(report):
    assert len(report.cases) < 2

@pytest.mark.calipers_sends_signals
def test_marked():
    assert len(measured().cases) < 2

def test_after(): ...
"""


@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("test", ["test_fails", "test_passes", "test_of_a_fixture"])
def test_an_interrupt_of_a_run_that_a_test_began_itself_ends_the_session(folder, test, sent):
    folder.write("test_it.py", DIRECT.replace("{signal}", sent))
    done = folder.pytest("-q", "-k", f"{test} or test_after")
    assert done.code == 2
    assert "KeyboardInterrupt" in done.out
    assert done.counts.keys() <= {"deselected"}


def test_a_test_that_sends_signals_itself_may_say_so(folder):
    folder.write("test_it.py", DIRECT.replace("{signal}", "SIGINT"))
    done = folder.pytest("-q", "-k", "test_marked or test_after")
    assert (done.code, done.counts["passed"]) == (0, 2)


@pytest.mark.parametrize(
    ("options", "plugins", "who"),
    [
        ((), ("calipers.pytest_plugin",), "os.getpid()"),
        (("-n1",), XDIST, "os.getppid()"),
        (("-n1",), XDIST, "os.getpid()"),
    ],
    ids=["alone", "with a worker", "to a worker"],
)
def test_what_was_measured_before_a_sigterm_in_an_ordinary_test_is_written_and_stored(
    folder, options, plugins, who
):
    folder.write(
        "test_it.py",
        f"""
import os, signal, time

@pytest.mark.calipers(dataset, task=right)
def test_before(): ...

def test_ordinary():
    os.kill({who}, signal.SIGTERM)
    time.sleep(60)

def test_after():
    raise AssertionError("SIGTERM ends the session")
""",
    )
    done = folder.pytest(
        "-q", *options, "--calipers-out=out.json", "--calipers-store=runs.db", plugins=plugins
    )
    assert done.code == 2
    report = read_report(folder.path / "out.json")
    assert len(report.cases) == 3
    assert report.incomplete is not None
    with open_store(folder.path / "runs.db") as store:
        assert len(store.report("latest").cases) == 3


@pytest.mark.parametrize("call", ["evaluate", "await evaluate.on_loop"])
@pytest.mark.parametrize(
    ("mark", "plugin"),
    [("asyncio", "pytest_asyncio.plugin"), ("anyio", "anyio.pytest_plugin")],
    ids=["pytest-asyncio", "anyio"],
)
def test_an_interrupt_ends_an_evaluation_in_an_async_test_and_the_session(folder, mark, plugin, call):
    folder.write(
        "test_it.py",
        f"""
import asyncio, os, signal

async def agent(country):
    if country == "Peru":
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)
    return right(country)

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.{mark}
async def test_whole(evaluate):
    {call}(dataset, agent, max_concurrency=1, store="runs.db")

def test_after():
    raise AssertionError("Ctrl-C ends the session, not only an evaluation")
""",
    )
    settings = ["-o", "asyncio_default_fixture_loop_scope=function"] if mark == "asyncio" else []
    done = folder.pytest("-q", *settings, plugins=["calipers.pytest_plugin", plugin])
    assert done.code == 2, done.out
    assert "INCOMPLETE: the tests ended early: interrupted" in done.section
    with open_store(folder.path / "runs.db") as store:
        run = store.run("latest")
        assert (run.status, run.attempts) == ("interrupted", 1)


@pytest.mark.parametrize(
    "test",
    [
        "def test_it(evaluate):\n    evaluate(dataset, right, store=pressed)",
        "@pytest.mark.anyio\nasync def test_it(evaluate):\n    await evaluate.on_loop(dataset, right, store=pressed)",
        "@pytest.mark.calipers(dataset)\ndef test_it(case, evaluate_case):\n    evaluate_case(right, store=pressed)",
        "@pytest.mark.calipers(dataset, task=right, store=pressed)\ndef test_it(): ...",
    ],
    ids=["evaluate", "on_loop", "evaluate_case", "marker"],
)
def test_an_interrupt_between_a_run_and_the_session_loses_nothing(folder, test):
    folder.write(
        "test_it.py",
        f"""
import os, signal
from calipers.stores import MemoryStore

class Pressed(MemoryStore):
    def finish_run(self, *arguments, **options):
        os.kill(os.getpid(), signal.SIGINT)
        return super().finish_run(*arguments, **options)

pressed = Pressed()

@pytest.fixture
def anyio_backend():
    return "asyncio"

{test}

def test_after():
    raise AssertionError("Ctrl-C ends the session")
""",
    )
    done = folder.pytest(
        "-q", "--calipers-out=out.json", plugins=["calipers.pytest_plugin", "anyio.pytest_plugin"]
    )
    assert done.code == 2, done.out
    report = read_report(folder.path / "out.json")
    assert len(report.cases) == (1 if "evaluate_case" in test else 3)
    assert "the tests ended early: interrupted" in str(report.incomplete)


def test_a_worker_is_told_apart_from_the_session_it_works_for(folder):
    """Workers get the options too, and must neither write files nor sections."""
    folder.write("test_it.py", TESTS)
    done = folder.pytest("-n1", "-p", "no:terminal", "--calipers-out=github:-", plugins=XDIST)
    assert done.code == 1
    assert done.out.count("::error") == 8
    assert "calipers ==" not in done.out
