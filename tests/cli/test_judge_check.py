"""`calipers judge check`: a judge's passport, on the command line."""

import json
from pathlib import Path
from random import Random

import pytest

from calipers.data.human_label import HumanLabel
from calipers.stores import open_store
from calipers.stores.standings import read_passports

EVAL = """
    import re

    from calipers import Case, Dataset
    from calipers.judges import LLMJudge
    from calipers.testing import ScriptedJudge

    def say(ask):
        found = re.search(r"answer (\\d+)", ask.messages[-1]["content"])
        return {"reason": "so", "pass": bool(found) and int(found.group(1)) % 4 > 0}

    helpful = LLMJudge("It helps.", model=ScriptedJudge(say), evaluation_name="helpful")

    def task(number):
        return f"answer {number}"

    def eval_help():
        cases = [Case(name=f"q{number}", inputs=number) for number in range(40)]
        return Dataset(name="help", cases=cases, evaluators=[helpful]), task
"""
GATE = """
    evaluators:
      helpful: {at_least: 0.1, passport: {kappa: 0.1, max_age_days: 90}}
"""


@pytest.fixture
def labelled(calipers, write):
    """A run and a file of labels of it."""
    write("eval_help.py", EVAL)
    lines = "\n".join(f"q{number},{number % 2 > 0}" for number in range(40))
    Path("labels.csv").write_text(f"case,human\n{lines}\n", encoding="utf-8")
    calipers("run", "eval_help.py", "--quiet", "--fail-under", "0")


def check(calipers, *options):
    return calipers("judge", "check", "eval_help.py:helpful", "--repeats", "1", "--no-injections", *options)


def test_a_judge_is_measured_shown_and_gated(calipers, labelled, write):
    write("gate.yaml", GATE)
    assert "none" in calipers("show", "latest", "--include-cases", "none").stdout
    before = calipers("gate", "latest", "--policy", "gate.yaml")
    assert before.exit_code == 5
    assert "calipers judge check" in " ".join(before.stdout.split())
    done = check(calipers, "--run", "latest", "--labels", "labels.csv")
    assert done.exit_code == 0
    assert "Passport of helpful, which asks scripted:model" in done.stdout
    assert "people pass" in done.stdout
    assert "kept in" in done.stderr
    assert "kappa 0.50" in calipers("show", "latest", "--include-cases", "none").stdout
    assert calipers("gate", "latest", "--policy", "gate.yaml").exit_code == 0


def test_a_changed_prompt_has_no_passport(calipers, labelled, write):
    check(calipers, "--run", "latest", "--labels", "labels.csv")
    write("eval_kind.py", EVAL.replace("It helps.", "It is kind."))
    calipers("run", "eval_kind.py", "--quiet", "--fail-under", "0")
    assert "of another judge" in calipers("show", "latest", "--include-cases", "none").stdout


def test_labels_in_the_store_answer_the_question_of_the_judges_name(calipers, labelled):
    with open_store(".calipers/runs.db") as store:
        run = store.run("latest").id
        store.add_labels(
            [
                HumanLabel(
                    run=run,
                    position=number,
                    case=f"q{number}",
                    question="helpful",
                    person="ann",
                    value=number % 5 > 0 and number % 4 > 0,
                    at="2026-11-01T00:00:00+00:00",
                )
                for number in Random(1).sample(range(40), 20)
            ]
        )
    found = json.loads(check(calipers, "--run", "latest", "--json", "--no-store").stdout)
    assert found["labels"] == 20
    assert found["measured"]["sensitivity"]["value"] == 1.0
    with open_store(".calipers/runs.db") as store:
        assert read_passports(store) == []
    shown = calipers("show", "latest", "--include-cases", "none", "--to", "markdown:-").stdout
    assert "helpful, corrected by 20 labels" in shown.replace("`", "").replace("**", "")
    written = calipers("show", "latest", "--to", "html:report.html", "--to", "json:report.json")
    assert written.exit_code == 0
    assert "corrected by 20 labels" in Path("report.html").read_text(encoding="utf-8")
    saved = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert [each["labels"] for each in saved["analyses"]] == [20]


def test_a_file_may_hold_the_answers_themselves(calipers, labelled):
    lines = [
        json.dumps({"case": f"c{number}", "output": f"answer {number}", "human": number % 2 > 0})
        for number in range(12)
    ]
    Path("answers.jsonl").write_text("\n".join(lines), encoding="utf-8")
    done = check(calipers, "--labels", "answers.jsonl", "--json", "--no-store")
    assert json.loads(done.stdout)["labels"] == 12


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ((), 2, "give --run"),
        (("--labels", "nope.csv"), 2, "nope.csv"),
        (("--run", "latest"), 4, "calipers label latest --question helpful"),
        (("--run", "latest", "--question", "fine?"), 4, "'fine?'"),
        (("--run", "latest", "--labels", "labels.csv", "--question", "fine?"), 2, "give one"),
        (("--labels", "labels.csv"), 2, "give --run"),
    ],
)
def test_what_is_missing_is_said(calipers, labelled, options, code, message):
    done = check(calipers, *options)
    assert done.exit_code == code
    assert message in " ".join(done.stderr.split())
