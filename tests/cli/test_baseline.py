"""`calipers baseline`: what a run did is accepted, and another one is checked against it."""

import json

import pytest

AGENTS = """
    from calipers import Case, Dataset
    from calipers.agents import tool
    from calipers.evaluators import Contains

    @tool
    def find(order):
        return {"total": 40}

    @tool
    def refund(amount):
        return "ok"

    @tool
    def escalate():
        return "ok"

    def good(order):
        refund(amount=find(order=order)["total"])
        return f"refunded {order}"

    def drifting(order):
        find(order=order)
        if order == 2:
            escalate()
        return good(order)

    def wrong(order):
        return good(order) if order == 1 else "sorry"

    def plain(order):
        return f"refunded {order}"

    def dataset():
        cases = [Case(name=f"refund {order}", inputs=order) for order in (1, 2)]
        return Dataset(name="refunds", cases=cases, evaluators=[Contains("refunded")])

    def eval_good():
        return dataset(), good

    def eval_drifting():
        return dataset(), drifting

    def eval_wrong():
        return dataset(), wrong

    def eval_plain():
        return dataset(), plain
"""


def make_runs(calipers, write):
    write("evals.py", AGENTS)
    calipers("run", "evals.py", "--fail-under", "0", "--quiet")


@pytest.fixture
def runs(once, calipers, write):
    once(make_runs, calipers, write)


def test_an_accepted_run_follows_and_a_drifting_one_is_told_in_words(calipers, runs, folder):
    done = calipers("baseline", "accept", "good")
    assert (done.exit_code, done.stdout) == (0, "Accepted 2 cases: 2 new\n")
    again = calipers("baseline", "check", "good")
    assert again.exit_code == 0
    assert again.stdout.startswith("2 of 2 cases follow an accepted trace: 100.0 % [34.2, 100.0]")
    drift = calipers("baseline", "check", "drifting")
    assert drift.exit_code == 1
    assert drift.stdout.splitlines()[2:] == [
        "Drifted: 2 cases",
        "  refund 1: calls find twice instead of once, before refund",
        "  refund 2: new tool escalate, before refund; calls find twice instead of once,",
        "  before refund",
    ]


def test_accepting_twice_leaves_the_file_as_it_is_and_a_second_run_can_be_added(calipers, runs, folder):
    calipers("baseline", "accept", "good")
    before = (folder / "baseline.yaml").read_bytes()
    assert calipers("baseline", "accept", "good").stdout == "Accepted 2 cases: 2 as before\n"
    assert (folder / "baseline.yaml").read_bytes() == before
    one = calipers("baseline", "accept", "drifting", "--add", "--case", "refund 1")
    assert one.stdout == "Accepted 1 case: 1 changed; 1 other kept\n"
    found = json.loads(calipers("baseline", "check", "drifting", "--out", "json:-").stdout)
    assert {case["case"]: case["state"] for case in found["cases"]} == {
        "refund 1": "follows",
        "refund 2": "drifted",
    }


def test_what_did_not_pass_is_listed_and_not_accepted(calipers, runs, folder):
    done = calipers("baseline", "accept", "wrong", "--out", "sub/accepted.json")
    assert done.exit_code == 1
    assert "Not accepted: 1 attempt\n  refund 2, attempt 1: it did not pass\n" in done.stdout
    checked = calipers("baseline", "check", "wrong", "--baseline", "sub/accepted.json", "--out", "drift.md")
    assert checked.exit_code == 0
    assert "Not accepted yet: 1 case\n  refund 2" in checked.stdout
    assert "Not accepted yet: 1 case" in (folder / "drift.md").read_text(encoding="utf-8")
    nothing = calipers("baseline", "accept", "wrong", "--case", "refund 2", "--out", "none.yaml")
    assert (nothing.exit_code, (folder / "none.yaml").exists()) == (4, False)
    assert calipers("baseline", "accept", "wrong", "--all-attempts", "--out", "all.yaml").exit_code == 0


def test_what_is_not_known_and_nothing_at_all_have_exit_codes_of_their_own(calipers, runs, write):
    calipers("baseline", "accept", "good")
    write("empty.yaml", "calipers_baseline: 1\ncases: []\n")
    unknown = calipers("baseline", "check", "plain")
    assert unknown.exit_code == 5
    assert "refund 1: it has no trace" in unknown.stdout
    empty = calipers("baseline", "check", "good", "--baseline", "empty.yaml", "--quiet")
    assert (empty.exit_code, empty.stdout) == (4, "")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["check", "good"], 2, "file not found: baseline.yaml"),
        (
            ["check", "good", "--baseline", "broken.yaml"],
            3,
            "broken.yaml:1:20: calipers_baseline: this release reads",
        ),
        (
            ["accept", "good", "--out", "broken.yaml"],
            3,
            "broken.yaml:1:20: calipers_baseline: this release reads",
        ),
        (["accept", "good", "--out", "baseline.txt"], 2, "a baseline is a YAML or JSON file"),
        (
            ["accept", "good", "--case", "refund 3"],
            2,
            "no case of this run is called 'refund 3'; did you mean",
        ),
        (["accept", "nope"], 2, "no run 'nope'"),
    ],
)
def test_what_is_wrong_is_told_with_the_way_out_and_nothing_is_written(
    calipers, runs, write, folder, words, code, said
):
    broken = write("broken.yaml", "calipers_baseline: 99\n").read_bytes()
    done = calipers("baseline", *words)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr
    assert (folder / "broken.yaml").read_bytes() == broken
    assert not (folder / "baseline.yaml").exists()
