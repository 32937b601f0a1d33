import pickle

import pytest

from calipers.errors import DatasetFileError
from calipers.files.problem import Problem, Problems, problems_text, shorten, show_path


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem(file="a.yaml", message="wrong"), "a.yaml: wrong"),
        (Problem(file="a.yaml", message="wrong", line=3, column=7), "a.yaml:3:7: wrong"),
        (Problem(file="a.csv", message="wrong", line=3, path="name"), "a.csv:3: name: wrong"),
        (Problem(file="a.parquet", message="wrong", row=3, path="name"), "a.parquet: row 3: name: wrong"),
        (
            Problem(
                file="a.yaml", message="expected text", line=3, column=7, path="cases[0].name", value="5"
            ),
            "a.yaml:3:7: cases[0].name: expected text, got 5",
        ),
    ],
)
def test_a_problem_is_one_line_with_its_place_first(problem, text):
    assert str(problem) == text


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        ((), ""),
        (("cases", 3, "inputs"), "cases[3].inputs"),
        (("cases", 0, "inputs", "the question"), "cases[0].inputs['the question']"),
        (("metadata.level",), "metadata.level"),
        ((0,), "[0]"),
        (("",), "['']"),
        (("k" * 500,), f"['{'k' * 79}…]"),
        (("\x1b[31m",), "['\\x1b[31m']"),
    ],
)
def test_a_path_is_written_as_python_would(steps, path):
    assert show_path(steps) == path


def test_a_value_is_shown_on_one_line_and_cut():
    assert shorten("a\nb") == "'a\\nb'"
    assert shorten(list(range(1000))).endswith("…")
    assert len(shorten("x" * 10_000_000)) == 81
    assert shorten("\u202e") == "'\\u202e'"

    class Hostile:
        def __repr__(self):
            return "a\nb\x1b[0m"

    assert shorten(Hostile()) == "a b\\x1b[0m"


def test_a_message_cannot_break_its_line_or_command_a_terminal():
    problems = Problems("a.yaml")
    problems.add((), "first\nsecond \x1b[31m")
    assert problems.found[0].message == "first second \\x1b[31m"


def test_problems_are_found_where_the_locator_says():
    problems = Problems("a.yaml")
    problems.locate = lambda steps, of_key: (len(steps), 1 if of_key else 2)
    problems.add(("cases", 0), "one")
    problems.add(("cases",), "two", None, of_key=True)
    assert [str(problem) for problem in problems.found] == [
        "a.yaml:2:2: cases[0]: one",
        "a.yaml:1:1: cases: two, got null",
    ]


def test_an_error_lists_every_problem_and_survives_pickling():
    problems = [Problem(file="a.yaml", message=f"problem {n}", line=n) for n in range(1, 6)]
    error = pickle.loads(pickle.dumps(DatasetFileError(problems_text(problems), problems)))
    assert error.problems == tuple(problems)
    assert str(error).splitlines() == ["5 problems in a.yaml:", *(f"  {problem}" for problem in problems)]
    assert problems_text(problems[:1]) == "a.yaml:1: problem 1"


def test_a_null_in_a_file_is_called_null_and_none_in_python_none():
    for problems, value in (
        (Problems("a", line=1), "null"),
        (Problems("a", row=1), "null"),
        (Problems("a"), "None"),
    ):
        problems.add(("x",), "expected text", None)
        assert problems.found[0].value == value
