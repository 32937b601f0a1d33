"""Budgets on the command line: how they are written, and what several evaluations have of one."""

import json

import pytest

from calipers.cli.budget import read_budget
from calipers.data.budget import Budget
from calipers.errors import InvalidOptionError


@pytest.mark.parametrize(
    ("given", "budget"),
    [
        ({}, None),
        ({"cost": ["$5"]}, Budget(cost=5.0)),
        (
            {"cost": ["judges=0.5", "2"], "calls": ["agent=1,000"]},
            Budget(cost=2.0, judges=Budget(cost=0.5), agent=Budget(calls=1000)),
        ),
        (
            {"tokens": ["1.5M"], "calls": ["2k"], "seconds": 60.0},
            Budget(tokens=1_500_000, calls=2000, seconds=60.0),
        ),
    ],
)
def test_amounts_are_read_as_people_write_them(given, budget):
    assert read_budget(**given) == budget


@pytest.mark.parametrize(
    "given",
    [{"cost": ["5", "6"]}, {"cost": ["jury=5"]}, {"tokens": ["1.5"]}, {"calls": ["-1"]}, {"cost": ["nan"]}],
)
def test_what_is_no_amount_is_refused(given):
    with pytest.raises(InvalidOptionError, match="--max-"):
        read_budget(**given)


SPENDING = """
    from calipers import increment_eval_metric

    def spend(inputs):
        increment_eval_metric("cost", 0.5)
        return inputs

    def eval_first():
        return numbers(*range(1, 6)), spend

    def eval_second():
        return numbers(*range(1, 6)), spend

    def eval_third():
        return numbers(*range(1, 6)), spend
"""


def test_all_evaluations_of_a_command_have_one_budget(calipers, write_eval):
    write_eval(SPENDING)
    found = calipers("run", "--max-cost", "4", "--max-time", "1h30m", "--json")
    told = json.loads(found.stdout)
    assert found.exit_code == told["exit_code"] == 3
    first, second = (each["report"] for each in told["evaluations"])
    assert (first["attempts"], first["incomplete"]) == (5, None)
    assert (second["attempts"], second["incomplete"]["kind"]) == (3, "budget")
    assert told["problems"] == ["1 evaluation did not begin: the budget is used up"]


def test_a_run_is_resumed_with_more_and_told_so(calipers, write_eval):
    write_eval(SPENDING.partition("def eval_second")[0])
    ended = calipers("run", "eval_numbers.py", "--max-cost", "1")
    assert ended.exit_code == 3
    assert "Error: ended at its budget ($1.00 of $1.00) after 2 of 5 attempts" in ended.stderr
    assert "Go on with it: calipers run eval_numbers.py --max-cost 1 --resume" in ended.stderr
    assert "Raise its limits first: what the run has spent so far counts" in ended.stderr
    again = calipers("run", "eval_numbers.py", "--max-cost", "9", "--resume")
    assert again.exit_code == 0
    assert "Budget     $2.50 of $9.00" in again.stdout


def test_a_time_has_units(calipers, write_eval):
    write_eval("def eval_numbers():\n    return numbers(1), task\n")
    assert calipers("run", "--max-time", "90", "--quiet").exit_code == 0
    for wrong in ("soon", "1h 5", "0", "-3"):
        assert calipers("run", "--max-time", wrong).exit_code == 2
