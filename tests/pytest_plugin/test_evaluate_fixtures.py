"""Evaluations in tests, ordinary and async ones."""

from calipers.testing import HttpAgentServer, Reply

ASYNC = """
import asyncio

async def agent(country):
    await asyncio.sleep(0)
    return CAPITALS[country]

@pytest.mark.asyncio
async def test_blocking(evaluate):
    assert_passed(evaluate(dataset, agent))

@pytest.mark.asyncio
async def test_on_loop(evaluate):
    loops = set()

    async def where(country):
        loops.add(asyncio.get_running_loop())
        return CAPITALS[country]

    assert_passed(await evaluate.on_loop(dataset, where))
    assert loops == {asyncio.get_running_loop()}
    assert_passed(await evaluate.on_loop(dataset, right))

@pytest.mark.asyncio
@pytest.mark.calipers(dataset)
async def test_case_on_loop(case, evaluate_case):
    assert_passed(await evaluate_case.on_loop(agent))
    assert_passed(evaluate_case(agent))

@pytest.mark.asyncio
@pytest.mark.calipers(dataset, task=agent)
async def test_task(case):
    await asyncio.sleep(0)
    assert case.inputs in CAPITALS

def test_sync(evaluate):
    assert_passed(evaluate(dataset, agent))
"""


def test_tests_evaluate_in_an_ordinary_and_in_an_async_test(folder):
    folder.write("test_it.py", ASYNC)
    settings = ["-o", "asyncio_default_fixture_loop_scope=function"]
    done = folder.pytest("-q", *settings, plugins=["calipers.pytest_plugin", "pytest_asyncio.plugin"])
    assert done.counts == {"passed": 9}, done.out
    assert "test_it.py::test_case_on_loop\nPassed 6 of 6 attempts at 3 cases" in done.section
    without = folder.pytest("-q", "-k", "test_sync", "-o", "markers=asyncio: not installed")
    assert without.counts == {"passed": 1, "deselected": 8}, without.out


def test_a_task_that_cannot_be_called_is_told_where_the_test_hands_it_over(folder):
    folder.write(
        "test_it.py",
        """
def task(one, two): ...

def test_blocking(evaluate):
    evaluate(dataset, task)

@pytest.mark.asyncio
async def test_on_loop(evaluate):
    await evaluate.on_loop(dataset, task)

@pytest.mark.calipers(dataset)
def test_case(evaluate_case):
    evaluate_case(task)

@pytest.mark.asyncio
@pytest.mark.calipers(dataset)
async def test_case_on_loop(evaluate_case):
    await evaluate_case.on_loop(task)
""",
    )
    settings = ["-o", "asyncio_default_fixture_loop_scope=function", "-k", "not case or Peru"]
    done = folder.pytest("-q", *settings, plugins=["calipers.pytest_plugin", "pytest_asyncio.plugin"])
    assert done.counts == {"failed": 4, "deselected": 4}, done.out
    assert done.out.count("\nE  ") == 4, "the message, once for each test"
    assert "src/calipers" not in done.out
    assert "During handling" not in done.out


def test_what_a_test_gets_is_a_report_or_the_record_of_an_attempt(folder):
    folder.write(
        "test_it.py",
        """
from calipers import Report, ReportCase, ReportCaseFailure
from calipers.errors import InvalidOptionError

@pytest.fixture(scope="module")
def report(evaluate):
    return evaluate(dataset, paris, repeat=2, name="paris", metadata={"commit": "1234"})

def test_report(report):
    assert isinstance(report, Report)
    assert (report.name, report.repeat, report.metadata, len(report.cases)) == ("paris", 2, {"commit": "1234"}, 6)

def test_the_same_report_again(report):
    assert report.pass_rate().n_units == 3

@pytest.mark.calipers(dataset, task_timeout=20)
def test_record(case, evaluate_case):
    record = evaluate_case(right)
    assert isinstance(record, ReportCase)
    assert (record.name, record.output) == (case.name, right(case.inputs))

    def broken(country):
        raise ValueError(country)

    assert isinstance(evaluate_case(broken, name="a broken one"), ReportCaseFailure)

@pytest.mark.calipers(dataset)
def test_mistake(case, evaluate_case, evaluate):
    for options in {"repeat": 2}, {"keep": "failed"}:
        with pytest.raises(InvalidOptionError, match=f"takes no {list(options)[0]}: for more attempts"):
            evaluate_case(right, **options)
    with pytest.raises(InvalidOptionError, match="keeps all of them"):
        evaluate(dataset, right, keep="failed")
    evaluate_case(right, max_concurrency=0)
""",
    )
    done = folder.pytest("-q")
    assert done.counts == {"passed": 5, "failed": 3}, done.out
    assert "evaluate_case = <evaluate_case(task) for 'Peru'>" in done.out
    assert "max_concurrency must be a whole number from 1, or None, got 0" in done.out
    assert "src/calipers" not in done.out, "the mistake is in the call"
    assert "test_it.py::test_report\nPassed 2 of 6 attempts at 3 cases" in done.section, "evaluated once"
    assert "test_it.py::test_record (right)\nPassed 3 of 3 cases" in done.section
    assert "test_it.py::test_record (a broken one)\n3 of 3 tasks failed" in done.section


def test_assertions_about_reports_fail_where_the_test_makes_them(folder):
    folder.write(
        "test_it.py",
        """
def test_rate(evaluate):
    report = evaluate(dataset, paris)
    assert_rate(report, "EqualsExpected", at_least=0.9)

@pytest.mark.calipers(dataset)
def test_case(case, evaluate_case):
    assert_passed(evaluate_case(paris))
""",
    )
    done = folder.pytest("-q", "-k", "rate or Peru")
    assert done.counts == {"failed": 2, "deselected": 2}
    lines = done.out.splitlines()
    assert '>       assert_rate(report, "EqualsExpected", at_least=0.9)' in lines
    assert any(
        line.startswith("E       AssertionError: EqualsExpected: 33.3 % [6.1, 79.2]") for line in lines
    )
    assert ">       assert_passed(evaluate_case(paris))" in lines
    assert "E       AssertionError: Peru: did not pass EqualsExpected" in lines
    assert "E         expected  'Lima'" in lines
    assert "src/calipers" not in done.out


def test_a_client_of_a_module_works_in_every_test(folder):
    with HttpAgentServer(Reply(text="Paris")) as server:
        folder.write(
            "test_it.py",
            f"""
import httpx

client = httpx.AsyncClient()
paris = Dataset(
    cases=[Case(name=str(number), inputs=number, expected_output="Paris") for number in range(3)],
    evaluators=[EqualsExpected()],
)

async def agent(inputs):
    return (await client.post({server.url!r}, json=inputs)).json()["text"]

@pytest.mark.calipers(paris, task=agent, repeat=2)
def test_marker(case): ...

@pytest.mark.calipers(paris)
def test_case(case, evaluate_case):
    assert_passed(evaluate_case(agent))

@pytest.mark.parametrize("number", range(3))
def test_fixture(evaluate, number):
    assert_passed(evaluate(paris, agent))

@pytest.mark.asyncio
@pytest.mark.parametrize("number", range(3))
async def test_async(evaluate, number):
    assert_passed(evaluate(paris, agent))

def test_after_async(evaluate):
    assert_passed(evaluate(paris, agent))

@pytest.mark.asyncio
async def test_of_another_loop(evaluate):
    report = await evaluate.on_loop(paris, agent)
    assert {{failure.error_type for failure in report.failures}} == {{"OtherLoopError"}}
    assert_passed(report)
""",
        )
        settings = ["-o", "asyncio_default_fixture_loop_scope=function"]
        done = folder.pytest("-q", *settings, plugins=["calipers.pytest_plugin", "pytest_asyncio.plugin"])
    assert done.counts == {"passed": 13, "failed": 1}, done.out
    said = "in pytest, if a fixture made it, make the test async, on the fixture's loop"
    assert said in " ".join(done.out.split())


LEAVING = """
import asyncio

async def leaves(country):
    raise SystemExit(0)

def leaving_judge(output):
    raise SystemExit(0)

@pytest.mark.calipers(dataset, task=leaves, task_timeout=9)
def test_task(case): ...

def test_evaluator(evaluate):
    report = evaluate(Dataset(cases=dataset.cases, evaluators=[leaving_judge]), right, evaluator_timeout=9)
    assert len(report.cases) == 3
    assert_passed(report)
"""


def test_a_task_or_an_evaluator_that_exits_fails_its_test_and_not_the_session(folder):
    folder.write("test_it.py", LEAVING)
    done = folder.pytest("-q")
    assert done.counts == {"failed": 4}, done.out
