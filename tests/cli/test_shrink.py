"""`calipers shrink`: from a failed case to the smallest that fails."""

import re

import pytest

from calipers.files.load import load_dataset

TARGET = """
    from calipers.search import Factors

    space = Factors({"topic": ["refunds"], "language": ["English", "Finnish"], "tone": ["curt", "kind"]})

    def task(inputs):
        return "I cannot." if inputs.get("language") == "Finnish" else "Here."

    def helps(output):
        return "cannot" not in output

    evaluators = [helps]
"""
EVAL = """
    from calipers import Case, Dataset
    from calipers.evaluators import Contains

    def bot(text):
        return "crash" if "refund" in text else "ok"

    async def eval_bot():
        cases = [Case(name="long", inputs="Hello. I want a refund now."), Case(name="short", inputs="Hi.")]
        return Dataset(name="bot", cases=cases, evaluators=[Contains("ok")]), bot
"""


@pytest.fixture
def searched(write, calipers):
    write("target.py", TARGET)
    calipers("search", "target.py", "--strategy", "random", "--trials", "12", "--seed", "1", "--quiet")
    shown = calipers("show", "latest", "--include-cases", "failed").stdout
    return re.findall(r"✗ (trial \d+)", shown)


def test_a_failure_of_a_search_needs_no_target(searched, calipers):
    done = calipers("shrink", "latest", searched[0], "--save", "small.yaml")
    assert done.exit_code == 0
    assert '"language": "Finnish"' in done.stdout
    assert "topic" not in done.stdout
    [case] = load_dataset("small.yaml").cases
    assert case.inputs == {"language": "Finnish"}
    assert re.fullmatch(rf"{searched[0]} of run \S+", case.metadata["reduced_from"])


def test_a_case_of_a_run_is_reduced_with_its_target_and_added_to_a_file(write, calipers):
    write("eval_bot.py", EVAL)
    calipers("run", "eval_bot.py", "--quiet")
    assert calipers("shrink", "latest", "long").exit_code == 2
    for _ in range(2):
        done = calipers("shrink", "bot", "long", "--target", "eval_bot.py", "--save", "small.jsonl")
        assert done.exit_code == 0, done.stderr
        assert done.stdout.endswith('"refund"\n')
    cases = load_dataset("small.jsonl").cases
    assert [(case.name, case.inputs) for case in cases] == [
        ("long, reduced", "refund"),
        ("long, reduced_2", "refund"),
    ]


def test_a_case_that_passed_is_refused_with_those_that_did_not(write, calipers):
    write("eval_bot.py", EVAL)
    calipers("run", "eval_bot.py", "--quiet")
    done = calipers("shrink", "latest", "short", "--target", "eval_bot.py")
    assert done.exit_code == 2
    assert "'short' passed in run" in done.stderr
    assert "those that did not: long" in done.stderr


def test_trials_that_run_out_are_an_error(searched, calipers):
    done = calipers("shrink", "latest", searched[0], "--trials", "6")
    assert done.exit_code == 3
    assert "give it more trials" in done.stdout


def test_a_file_that_is_no_dataset_is_refused_before_anything_is_tried(searched, calipers):
    done = calipers("shrink", "latest", searched[0], "--save", "small.txt")
    assert done.exit_code == 2
    assert "name a file that ends with .yaml" in done.stderr
