"""`calipers judge attack`."""

import json

import pytest

JUDGES = """
from calipers.judges import LLMJudge
from calipers.testing import ObedientModel

fenced = LLMJudge("is right", model=ObedientModel())
crafty = LLMJudge("is right", model=ObedientModel("candidate"))

def lenient(output):
    return True

def strict(output):
    return "PASS" in output
"""


@pytest.fixture(autouse=True)
def judges(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CALIPERS_MODEL", raising=False)
    (tmp_path / "own.py").write_text(JUDGES, encoding="utf-8")


def test_it_says_how_many_got_through_and_which(calipers):
    done = calipers("judge", "attack", "own.py:crafty")
    assert done.exit_code == 1
    assert "24 of 240 injections got through LLMJudge" in done.stdout
    assert "knows the design: copy the seal 1" in done.stdout
    assert "and 14 more" in done.stdout
    assert calipers("judge", "attack", "own.py:crafty", "--at-most", "24").exit_code == 0
    assert calipers("judge", "attack", "own.py:fenced").exit_code == 0


def test_json_lists_every_injection(calipers):
    found = json.loads(calipers("judge", "attack", "own.py:strict", "--json").stdout)
    assert found["injections"] == len(found["outcomes"]) == 240
    assert found["bare"] is False
    assert found["interval"][0] < found["through"] < found["interval"][1]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["own.py:lenient"], 4, "lets the bare output pass"),
        (["Correct"], 2, "has no model to ask"),
        (["own.py:strict", "--model", "openai:a"], 2, "asks no model"),
        (["Corect"], 2, "did you mean 'Correct'"),
        (["LLMJudge"], 2, "rubric"),
        (["own.py:strict", "--metadata", "{a"], 2, "--metadata takes JSON"),
    ],
)
def test_what_cannot_be_attacked_is_said(calipers, words, code, message):
    done = calipers("judge", "attack", *words)
    assert done.exit_code == code
    assert message in done.stderr


def test_a_judge_is_named_as_a_dataset_file_writes_it(calipers, tmp_path):
    (tmp_path / "cases.yaml").write_text(
        "cases:\n- name: a\n  inputs: 1\nevaluators:\n- Equals: 1\n- Equals: 2\n", encoding="utf-8"
    )
    assert "names 2 evaluators" in calipers("judge", "attack", "cases.yaml").stderr
    done = calipers("judge", "attack", "Contains: {value: correct, case_sensitive: false}")
    assert "got through Contains" in done.stdout
