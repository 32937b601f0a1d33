import json

import pytest

from calipers import Case, Dataset
from calipers.views.formats import write_report


@pytest.fixture
def pilots(folder):
    for name, factor in (("first", 3), ("second", 4)):
        cases = [Case(name=f"n{each}", inputs=each) for each in range(50)]
        dataset = Dataset(name="numbers", cases=cases, evaluators=[lambda output: output > 0])
        report = dataset.evaluate_sync(lambda inputs, factor=factor: inputs % factor, progress=False, seed=1)
        write_report(report, f"{name}.json")


def test_a_plan_is_printed_for_people_and_for_programs(calipers, pilots):
    shown = calipers("plan", "first.json", "--effect", "0.05")
    assert shown.exit_code == 0
    assert "To see a difference of 5 points:" in shown.stdout
    found = json.loads(
        calipers("plan", "first.json", "--baseline", "second.json", "--effect", "0.05", "--json").stdout
    )
    assert found["source"] == "two pilots over the same 50 cases"
    guessed = json.loads(calipers("plan", "--rate", "0.8", "--effect", "0.05", "--json").stdout)
    assert guessed["rows"][0]["cases"] > 500
    gate = json.loads(calipers("plan", "--rate", "0.8", "--margin", "0.05", "--json").stdout)
    assert gate["margin"] == 0.05
    assert gate["rows"][0]["cases"] > guessed["rows"][0]["cases"]
    reach = calipers("plan", "first.json", "--cases", "1000", "--json")
    assert json.loads(reach.stdout)["reaches"][0]["cases"] == 1000


def test_crashes_of_a_pilot_count_against_what_should_be_low(calipers, write_eval):
    write_eval('def eval_numbers():\n    return numbers(1, -1, -2, -3, "boom", "boom "), task\n')
    calipers("run", "--fail-under", "0", "--quiet")
    plan = ("plan", "latest", "--evaluator", "positive", "--effect", "0.1", "--json")
    high, low = (json.loads(calipers(*plan, *more).stdout) for more in ((), ("--lower-is-better",)))
    assert low["rows"][0]["cases"] > high["rows"][0]["cases"]


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        ([], 2, "a pilot"),
        (["first.json", "--rate", "0.5"], 2, "not both"),
        (["--rate", "0.5"], 2, "--effect"),
        (["--rate", "0.5", "--effect", "0.1", "--repeat", "2"], 2, "need a pilot"),
        (["--rate", "0.5", "--effect", "0.1", "--lower-is-better"], 2, "need a pilot"),
        (["first.json", "--flips", "0.1"], 2, "--flips"),
        (["first.json", "--effect", "0.1", "--margin", "0.1"], 2, "not both"),
        (["first.json", "--effect", "nan"], 2, "effect"),
        (["first.json", "--effect", "5"], 2, "effect 5 is 500 points: results lie between 0 and 1"),
        (
            ["first.json", "--effect", "0.05", "--power", "80"],
            2,
            "'--power': 80 does not lie between 0 and 1: write 0.8",
        ),
        (
            ["first.json", "--effect", "0.05", "--correlation", "1"],
            2,
            "correlation 1 says that the two differ by the same",
        ),
        (["first.json", "second.json"], 2, "(second.json): a second pilot is named by --baseline"),
        (
            ["--rate", "0.98", "--effect", "0.05"],
            2,
            "make 1.03, and no rate is above 1: plan for a loss: effect -0.05",
        ),
        (["first.json", "--evaluator", "gone"], 2, "'gone'"),
        (["gone.json"], 2, "file not found"),
    ],
)
def test_what_cannot_be_planned_is_told(calipers, pilots, args, code, words):
    done = calipers("plan", *args)
    assert done.exit_code == code
    assert words in done.stderr
