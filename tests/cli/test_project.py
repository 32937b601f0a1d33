"""What commands make of the project's file."""

import pytest

from calipers.stores import open_store

EVAL = "def eval_numbers():\n    return numbers(1, 2), task\n"


@pytest.fixture
def ran(calipers, write_eval, write):
    """Run an evaluation under the settings; gives what came of it."""

    def run(settings, *options, **given):
        write("calipers.toml", settings)
        write_eval(given.pop("text", EVAL))
        return calipers("run", "--quiet", *options, **given)

    return run


def runs_in(path):
    with open_store(path, existing=True) as store:
        return store.runs()


def test_runs_are_kept_where_the_file_says_and_commands_below_it_find_them(
    ran, calipers, folder, monkeypatch
):
    assert ran("store = 'kept/all.db'").exit_code == 0
    assert len(runs_in(folder / "kept" / "all.db")) == 1
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    done = calipers("runs")
    assert done.exit_code == 0
    assert "numbers" in done.stdout
    assert done.stderr.splitlines()[-1] == f"Settings: {folder / 'calipers.toml'}"


def test_the_command_line_and_the_variable_come_before_the_file(ran, folder):
    assert ran("store = 'a.db'", "--store", "b.db").exit_code == 0
    assert ran("store = 'a.db'", env={"CALIPERS_STORE": "c.db"}).exit_code == 0
    assert not (folder / "a.db").exists()
    assert len(runs_in(folder / "b.db")) == len(runs_in(folder / "c.db")) == 1


def test_a_store_that_cannot_be_opened_is_told_with_the_file_that_names_it(calipers, write):
    write("calipers.toml", "store = 'nowhere.db'")
    done = calipers("runs")
    assert done.exit_code == 2
    assert "(calipers.toml names it)" in done.stderr


def test_no_store_keeps_nothing_whatever_the_file_says(ran, folder):
    assert ran("store = 'a.db'\nredact = ['secret']", "--no-store").exit_code == 0
    assert not (folder / "a.db").exists()


def test_fields_that_the_file_names_are_masked_before_a_run_is_kept(ran, folder):
    text = """
def eval_numbers():
    return Dataset(cases=[Case(name="one", inputs={"mail": "me@home", "n": 1})], evaluators=[lambda output: True]), dict
"""
    assert ran("redact = ['Mail']", text=text).exit_code == 0
    with open_store(folder / ".calipers" / "runs.db") as store:
        assert store.report(store.runs()[0].id).cases[0].inputs == {"mail": "[redacted]", "n": 1}


SLOW = """
import asyncio

async def slow(inputs):
    await asyncio.sleep(30)

def eval_numbers():
    return numbers(1), slow
"""


def test_time_outs_of_the_file_hold_unless_the_command_line_says_otherwise(ran):
    for settings, options, limit in (
        ("task_timeout = 0.01", (), "0.01"),
        ("task_timeout = 60", ("--task-timeout", "0.02"), "0.02"),
    ):
        assert ran(settings, "--store", f"{limit}.db", *options, text=SLOW).exit_code == 3
        with open_store(f"{limit}.db") as store:
            (failure,) = store.report(store.runs()[0].id).failures
            assert failure.error_type == "AttemptTimeoutError"
            assert limit in failure.error_message


COUNTING = """
import asyncio
flying, most = 0, 0

async def count(inputs):
    global flying, most
    flying += 1
    most = max(most, flying)
    for _ in range(5):
        await asyncio.sleep(0)
    flying -= 1
    return most

def few(output):
    return output <= {most}

def eval_numbers():
    return numbers(*range(1, 9), evaluators=[few]), count
"""


@pytest.mark.parametrize(
    ("options", "most", "code"),
    [((), 2, 0), (("--max-concurrency", "3"), 3, 0), (("--max-concurrency", "3"), 2, 1)],
)
def test_no_more_attempts_are_in_flight_than_the_file_says(ran, options, most, code):
    done = ran("max_concurrency = 2", *options, text=COUNTING.replace("{most}", str(most)))
    assert done.exit_code == code


def test_a_mistake_in_the_file_is_wrong_usage_with_its_place(ran):
    done = ran("\nmax_concurency = 3")
    assert done.exit_code == 2
    assert (
        "calipers.toml:2:1: max_concurency: unknown setting (did you mean 'max_concurrency'?)" in done.stderr
    )


def test_checking_says_which_file_holds(calipers, write):
    write("pyproject.toml", "[tool.calipers]\ntask_timeout = 3")
    write("cases.yaml", "cases: [{inputs: 1}]\nevaluators: [EqualsExpected]")
    done = calipers("check", "cases.yaml")
    assert done.stderr.splitlines()[-1] == "Settings: pyproject.toml"


def test_the_prices_of_the_file_are_those_of_the_run(ran, folder):
    text = """
from calipers.models import Completion, Usage
from calipers.models.accounting import account

def priced(number):
    account(Completion(finish="stop", usage=Usage(input=1000, output=100)), "openai:ours")
    return number

def eval_numbers():
    return numbers(1, 2), priced
"""
    settings = "store = 'a.db'\n[prices.ours]\ninput = 10.0\noutput = 20.0"
    assert ran(settings, text=text).exit_code == 0
    with open_store(folder / "a.db", existing=True) as store:
        report = store.report("latest")
    assert report.costs().agent.total == pytest.approx(2 * 0.012)
    assert report.prices[0] == "ours: input 10, output 20"
