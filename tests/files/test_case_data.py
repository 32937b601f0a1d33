import pytest

from calipers import Case
from calipers.errors import DatasetFileError
from calipers.evaluators import Contains
from calipers.files.case_data import CaseReader, write_case
from calipers.files.catalog import Catalog
from calipers.files.problem import Problems
from calipers.files.value_type import case_types


def read(data, types=None):
    problems = Problems("a")
    case = CaseReader(case_types(types), Catalog()).read(data, ("cases", 0), problems)
    return case, [str(problem) for problem in problems.found]


def write(case, types=None, **options):
    problems = Problems("a")
    data = write_case(case, case_types(types), ("cases", 0), problems, **options)
    return data, [str(problem) for problem in problems.found]


@pytest.mark.parametrize(
    ("data", "case"),
    [
        ({"inputs": None}, Case(inputs=None)),
        ({"inputs": 1, "expected_output": None}, Case(inputs=1, expected_output=None)),
        (
            {"inputs": 1, "name": "n", "cluster": "c", "tags": ["t"], "timeout": 2.5},
            Case(inputs=1, name="n", cluster="c", tags=["t"], timeout=2.5),
        ),
        (
            {"inputs": 1, "metadata": {"a": 1}, "evaluators": [{"Contains": "x"}]},
            Case(inputs=1, metadata={"a": 1}, evaluators=[Contains("x")]),
        ),
    ],
)
def test_a_case_is_read_and_written_with_nothing_that_says_nothing(data, case):
    assert read(data) == (case, [])
    assert read(data)[0].has_expected_output is ("expected_output" in data)
    assert write(case) == (data, [])


def test_null_says_nothing_for_every_key_but_inputs_and_expected_output():
    nulls = dict.fromkeys(("inputs", "name", "metadata", "cluster", "timeout"))
    assert read(nulls) == (Case(inputs=None), [])


@pytest.mark.parametrize(
    ("data", "problems"),
    [
        ("x", ["a: cases[0]: expected a case, with name, inputs"]),
        ({}, ["a: cases[0]: the case has no inputs, got {}"]),
        (
            {"input": 1},
            ["a: cases[0].input: unknown key 'input' (did you mean 'inputs'?)", "a: cases[0]: the case has"],
        ),
        (
            {"inputs": 1, "zzz": 2},
            ["a: cases[0].zzz: unknown key 'zzz'; known are name, inputs, expected_output"],
        ),
        ({"inputs": 1, 5: 2}, ["a: cases[0][5]: unknown key 5"]),
        ({"inputs": 1, "name": 5}, ["a: cases[0].name: expected text, got 5"]),
        ({"inputs": 1, "name": ""}, ["a: cases[0].name: a name cannot be empty: leave it out"]),
        ({"inputs": 1, "cluster": []}, ["a: cases[0].cluster: expected text, got []"]),
        *(
            (
                {"inputs": 1, "timeout": bad},
                [f"a: cases[0].timeout: expected a positive number of seconds, got {bad!r}"],
            )
            for bad in (0, -1, True, "5", [], float("nan"), float("inf"))
        ),
        ({"inputs": 1, "tags": "t"}, ["a: cases[0].tags: expected a list of texts, got 't'"]),
        ({"inputs": 1, "tags": [1]}, ["a: cases[0].tags: expected a list of texts, got [1]"]),
        (
            {"inputs": 1, "evaluators": None},
            ["a: cases[0].evaluators: expected a list of evaluators, got None"],
        ),
        (
            {"inputs": 1, "evaluators": ["X", "Y"]},
            ["a: cases[0].evaluators[0]: no", "a: cases[0].evaluators[1]: no"],
        ),
    ],
)
def test_everything_that_is_wrong_with_a_case_is_said(data, problems):
    case, found = read(data)
    assert case is None
    assert len(found) == len(problems)
    assert all(text.startswith(start) for text, start in zip(found, problems, strict=True)), found


def test_values_are_validated_and_null_may_be_expected_of_any_type():
    types = (int, str, dict[str, int])
    good = {"inputs": 1, "expected_output": None, "metadata": {"a": 1}}
    assert read(good, types) == (Case(inputs=1, expected_output=None, metadata={"a": 1}), [])
    _, problems = read({"inputs": "x", "expected_output": 1, "metadata": {"a": "b"}}, types)
    assert [problem.split(": ")[1] for problem in problems] == [
        "cases[0].inputs",
        "cases[0].expected_output",
        "cases[0].metadata.a",
    ]


@pytest.mark.parametrize(
    ("case", "types", "problem"),
    [
        (Case(inputs=(1, 2)), None, "a: cases[0].inputs: a tuple would come back as a list"),
        (Case(inputs=1, expected_output={1: 2}), None, "a: cases[0].expected_output: a key would come back"),
        (Case(inputs=1, metadata=object()), None, "a: cases[0].metadata: a value of type object"),
        (
            Case(inputs=1, evaluators=[lambda output: True]),
            None,
            "a: cases[0].evaluators[0]: a file cannot hold",
        ),
        (Case(inputs=1, name="\ud800"), None, "a: cases[0].name: text with half of a surrogate pair"),
        (Case(inputs=1, tags=["\ud800"]), None, "a: cases[0].tags[0]: text with half of a surrogate pair"),
        (Case(inputs="x"), (int,), "a: cases[0].inputs: expected a valid integer"),
        (Case(inputs=True), (int,), "a: cases[0].inputs: written as 1 it would come back as 1, got True"),
        (
            Case(inputs=[1]),
            (tuple[int, ...],),
            "a: cases[0].inputs: written as [1] it would come back as (1,)",
        ),
        ("x", None, "a: cases[0]: 'x' is not a Case"),
        (DatasetFileError("line 3 is wrong"), None, "a: cases[0]: line 3 is wrong"),
    ],
)
def test_what_would_not_come_back_is_refused(case, types, problem):
    _, problems = write(case, types)
    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_a_declared_type_brings_back_what_plain_data_cannot():
    case = Case(inputs=(1, "a"), expected_output={2}, metadata=b"x")
    types = (tuple[int, str], set[int], bytes)
    data, problems = write(case, types)
    assert problems == []
    assert data == {"inputs": [1, "a"], "expected_output": [2], "metadata": "x"}
    assert read(data, types) == (case, [])
