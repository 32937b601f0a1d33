import json
from pathlib import Path

import pytest

from calipers import Case
from calipers.errors import InvalidOptionError
from calipers.evaluators import Contains, EqualsExpected, MaxDuration, ROCEvaluator
from calipers.files import check_file, load_dataset
from calipers.files.dataset_document import MOST_YAML, format_of

YAML = """\
# yaml-language-server: $schema=./capitals_schema.json
name: capitals
cases:
  - name: france
    inputs: France
    expected_output: Paris
    evaluators:
      - Contains: ar
  - inputs: {country: Peru, year: 2024-01-31, leader: no}
    expected_output:
evaluators:
  - EqualsExpected
  - MaxDuration: PT2S
report_evaluators:
  - ROCEvaluator: confidence
"""
AS_JSON = {
    "$schema": "./capitals_schema.json",
    "name": "capitals",
    "cases": [
        {
            "name": "france",
            "inputs": "France",
            "expected_output": "Paris",
            "evaluators": [{"Contains": "ar"}],
        },
        {"inputs": {"country": "Peru", "year": "2024-01-31", "leader": "no"}, "expected_output": None},
    ],
    "evaluators": ["EqualsExpected", {"MaxDuration": "PT2S"}],
    "report_evaluators": [{"ROCEvaluator": "confidence"}],
}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("capitals.yaml", YAML),
        ("capitals.yml", "\ufeff" + YAML.replace("\n", "\r\n")),
        ("capitals.json", json.dumps(AS_JSON)),
        ("capitals.json", "\ufeff" + json.dumps(AS_JSON, indent="\t")),
        ("capitals.yaml", json.dumps(AS_JSON)),
    ],
    ids=["yaml", "yaml of windows", "json", "json with tabs", "json in yaml"],
)
def test_a_document_holds_a_whole_dataset(write, content, name):
    dataset = load_dataset(write(name, content))
    assert dataset.name == "capitals"
    france, peru = dataset.cases
    assert france == Case(
        name="france", inputs="France", expected_output="Paris", evaluators=[Contains("ar")]
    )
    assert peru.inputs == {"country": "Peru", "year": "2024-01-31", "leader": "no"}
    assert peru.has_expected_output
    assert peru.expected_output is None
    assert dataset.evaluators[0] == EqualsExpected()
    assert isinstance(dataset.evaluators[1], MaxDuration)
    assert dataset.report_evaluators == [ROCEvaluator("confidence")]


def test_a_document_may_leave_out_all_but_its_cases(write):
    dataset = load_dataset(write("unnamed.yaml", "cases: []"))
    assert (dataset.name, dataset.cases, dataset.evaluators, dataset.report_evaluators) == (
        "unnamed",
        [],
        [],
        [],
    )


BAD_YAML = """\
nam: x
cases:
  - inputs: 1
  - {name: a, inputs: 2}
  - name: a
    inputs: 3
    evaluators:
      - MaxDuration: abc
  - just text
evaluators: EqualsExpected
report_evaluators:
  - EqualsExpected
"""
BAD = {
    "nam": "x",
    "cases": [
        {"inputs": 1},
        {"name": "a", "inputs": 2},
        {"name": "a", "inputs": 3, "evaluators": [{"MaxDuration": "abc"}]},
        "just text",
    ],
    "evaluators": "EqualsExpected",
    "report_evaluators": ["EqualsExpected"],
}
PROBLEMS = [
    ("nam", "unknown key 'nam' (did you mean 'name'?)"),
    ("cases[2].name", "cases[1] has this name, too"),
    ("cases[2].evaluators[0].MaxDuration", "expected a valid number, or a valid duration"),
    ("cases[3]", "expected a case"),
    ("evaluators", "expected a list of evaluators"),
    ("report_evaluators[0]", "EqualsExpected judges single attempts: list it under evaluators"),
]


@pytest.mark.parametrize(
    ("name", "content", "places"),
    [
        ("a.yaml", BAD_YAML, [(1, 1), (5, 11), (8, 22), (9, 5), (10, 13), (12, 5)]),
        ("a.json", json.dumps(BAD), [(1, 2), (1, 76), (1, 125), (1, 135), (1, 163), (1, 203)]),
        ("a.json", json.dumps(BAD, indent="\t"), [(2, 2), (12, 12), (16, 21), (20, 3), (22, 16), (24, 3)]),
    ],
    ids=["yaml", "json", "json with tabs"],
)
def test_every_problem_is_found_at_once_in_the_order_of_the_lines(write, name, content, places):
    path = write(name, content)
    problems = check_file(path)
    assert [problem.path for problem in problems] == [path for path, _ in PROBLEMS]
    assert all(
        problem.message.startswith(start) for problem, (_, start) in zip(problems, PROBLEMS, strict=True)
    )
    assert [(problem.line, problem.column) for problem in problems] == places
    assert {problem.file for problem in problems} == {str(path)}


def test_a_name_that_two_cases_have_is_a_problem(write, problems_of):
    path = write("a.yaml", "cases:\n  - {inputs: 1, name: x}\n  - {inputs: 2}\n  - {inputs: 3, name: x}\n")
    assert problems_of(load_dataset, path) == [
        "a.yaml:4:23: cases[2].name: cases[0] has this name, too, got 'x'"
    ]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.yaml", "", "a.yaml:1:1: the file is empty"),
        ("a.json", "", "a.json:1:1: not JSON: the text is empty"),
        (
            "a.yaml",
            "[1]",
            "a.yaml:1:1: expected a dataset, with name, cases, evaluators, report_evaluators, got [1]",
        ),
        ("a.json", "5", "a.json:1:1: expected a dataset"),
        ("a.yaml", "name: x", "a.yaml:1:1: the document has no cases"),
        ("a.yaml", "cases:", "a.yaml:1:7: cases: expected a list of cases, or the name of a .jsonl, .csv or"),
        ("a.yaml", "cases: {a: 1}", "a.yaml:1:8: cases: expected a list of cases"),
        ("a.yaml", "name: 5\ncases: []", "a.yaml:1:7: name: expected text, got 5"),
        ("a.yaml", b"cases:\n- \xff", "a.yaml:2:3: the file is not UTF-8"),
        ("a.yaml", "cases: []\n".encode("utf-16"), "a.yaml:1:1: the file is not UTF-8"),
        (
            "a.yaml",
            "cases: other.yaml",
            "a.yaml:1:8: cases: expected the name of a .jsonl, .csv or .parquet file",
        ),
        ("a.yaml", "cases: other.txt", "a.yaml:1:8: cases: the file of cases cannot be read: the name of"),
        ("a.yaml", "cases: gone.jsonl", "a.yaml:1:8: cases: the file of cases cannot be read: [Errno 2]"),
        ("a.yaml", "cases: bad.csv", "bad.csv:1: question: unknown column 'question'"),
        ("a.yaml", "cases: []\ncases: []", "a.yaml:2:1: cases: the key is there twice"),
    ],
)
def test_a_document_that_is_none_says_why(write, problems_of, name, content, problem):
    write("bad.csv", "question\n1\n")
    (found,) = problems_of(load_dataset, write(name, content))
    assert found.startswith(problem)


def test_cases_may_stay_in_a_file_beside_the_document(write, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    write(
        "data/cases.jsonl",
        '{"inputs": "a", "expected_output": "a"}\n{"inputs": "b", "expected_output": "c"}\n',
    )
    path = write("data/set.yaml", "name: set\ncases: cases.jsonl\nevaluators: [EqualsExpected]")
    monkeypatch.chdir(tmp_path)
    dataset = load_dataset(path)
    assert not isinstance(dataset.cases, list)
    for _ in range(2):
        report = dataset.evaluate_sync(lambda inputs: inputs, progress=False)
        assert [case.assertions["EqualsExpected"].value for case in report.cases] == [True, False]


def test_checking_a_document_checks_the_file_of_its_cases(write, shown):
    write("cases.csv", "inputs,name\n1,x\n2\n3,x\n")
    path = write("set.json", '{"cases": "cases.csv"}')
    assert shown(check_file(path)) == [
        "cases.csv:3: the row has 1 cell, and the header has 2 cells",
        "cases.csv:4: name: line 2 has this name, too, got 'x'",
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.yaml", "cases:\n - {inputs: 1, inputs: 2, x: 3}\n - 5\n", "the key is there twice"),
        (
            "a.json",
            '{"cases":\n [{"inputs": 1, "inputs": 2, "x": 3},\n 5]}',
            "the key is there twice",
        ),
    ],
)
def test_a_key_that_stands_twice_hides_nothing_else(write, name, content, message):
    found = [(problem.path, problem.message) for problem in check_file(write(name, content))]
    assert found[0] == ("cases[0].inputs", message)
    assert [path for path, _ in found[1:]] == ["cases[0].x", "cases[1]"]


def test_a_name_is_noticed_again_though_the_first_case_is_wrong(write, shown):
    path = write("a.yaml", "cases:\n- {name: a}\n- {name: a, inputs: 1}\n")
    assert shown(check_file(path))[1:] == ["a.yaml:3:10: cases[1].name: cases[0] has this name, too, got 'a'"]


def test_what_is_wrong_with_the_file_of_cases_is_found_with_what_is_wrong_with_the_document(write, shown):
    write("b.csv", "inputs,topic\n1,2\n3\n")
    path = write("a.yaml", "nam: x\ncases: b.csv\n")
    assert [problem.partition(": ")[0] for problem in shown(check_file(path))] == [
        "a.yaml:1:1",
        "b.csv:1",
        "b.csv:3",
    ]


def test_yaml_that_would_take_gigabytes_of_memory_is_refused_with_the_way_out(tmp_path):
    path = tmp_path / "big.yaml"
    with path.open("wb") as file:
        file.truncate(MOST_YAML + 1)  # as long as that, and no room taken on the disk
    (problem,) = check_file(path)
    assert problem.message.startswith("the file has 16.0 MB of YAML, and the limit is 16 MB")
    assert "'cases: cases.jsonl'" in problem.message
    small = path.with_name("small.yaml")
    small.write_text("cases:\n- inputs: 1\n")
    assert check_file(small) == []


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.yaml", "yaml"),
        ("a.YML", "yaml"),
        ("a.b.json", "json"),
        ("a.jsonl", "jsonl"),
        ("a.csv", "csv"),
        ("a.parquet", "parquet"),
    ],
)
def test_the_suffix_tells_the_format(name, form):
    assert format_of(Path(name)) == form
    assert format_of(Path("data.txt"), form) == form


def test_what_names_no_format_is_an_error_with_the_way_out():
    with pytest.raises(
        InvalidOptionError, match=r"'data\.txt' does not tell its format: end it with \.yaml, .*format="
    ):
        format_of(Path("data.txt"))
    with pytest.raises(InvalidOptionError, match=r"format must be one of yaml, json, .* got 'xml'"):
        format_of(Path("a.yaml"), "xml")
