import os
from dataclasses import dataclass
from typing import Any

import pytest

from calipers import Case, Dataset
from calipers.errors import DatasetFileError, InvalidOptionError
from calipers.evaluators import EqualsExpected, Evaluator, ROCEvaluator
from calipers.files import JSONColumn, check_file, load_dataset


@dataclass
class Question:
    text: str
    level: int = 0


@dataclass
class Polite(Evaluator):
    word: str = "please"

    def evaluate(self, ctx):
        return self.word in ctx.output


CONTENT = {
    "yaml": "cases:\n  - inputs: {text: a}\n    expected_output: 1.5\n",
    "json": '{"cases": [{"inputs": {"text": "a"}, "expected_output": 1.5}]}',
    "jsonl": '{"inputs": {"text": "a"}, "expected_output": 1.5}\n',
    "csv": "inputs.text,expected_output\na,1.5\n",
}


@pytest.mark.parametrize("form", CONTENT)
def test_the_brackets_of_dataset_say_what_values_must_be(write, form):
    path = write(f"a.{form}", CONTENT[form])
    dataset = Dataset[Question, float, Any].from_file(path)
    assert list(dataset.cases) == [Case(inputs=Question("a"), expected_output=1.5)]
    assert type(dataset) is Dataset
    expected = "1.5" if form == "csv" else 1.5
    assert list(Dataset.from_file(path).cases) == [Case(inputs={"text": "a"}, expected_output=expected)]
    assert list(load_dataset(path, types=(Question, float)).cases) == list(dataset.cases)


def test_values_that_do_not_fit_the_brackets_are_problems(write, problems_of):
    path = write("a.yaml", "cases:\n  - inputs: {text: a, level: high}\n  - inputs: {level: 1}\n")
    assert problems_of(Dataset[Question, Any, Any].from_file, path) == [
        "a.yaml:2:30: cases[0].inputs.level: expected a valid integer, got 'high'",
        "a.yaml:3:13: cases[1].inputs: 'text' is missing, got {'level': 1}",
    ]


class Mine(Dataset[Question, Any, Any]):
    """A dataset of one's own."""


def test_a_class_of_ones_own_is_what_comes_back(write):
    dataset = Mine.from_file(write("a.yaml", CONTENT["yaml"]))
    assert type(dataset) is Mine
    assert dataset.cases[0].inputs == Question("a")


def test_brackets_stay_what_they_are_to_everyone_else():
    alias = Dataset[str, int, Any]
    assert alias == Dataset[str, int, Any]
    assert alias is not Dataset[str, str, Any]
    assert alias(cases=[Case(inputs="a")]).__orig_class__ == alias


def test_evaluators_come_from_the_file_and_from_the_caller(write):
    path = write("a.yaml", "cases: []\nevaluators: [Polite]\nreport_evaluators: [ConfusionMatrixEvaluator]")
    own = [EqualsExpected()]
    dataset = Dataset.from_file(
        path, evaluator_types=[Polite], evaluators=own, report_evaluators=[ROCEvaluator("s")]
    )
    assert dataset.evaluators == [Polite(), *own]
    assert dataset.report_evaluators[1] == ROCEvaluator("s")
    assert load_dataset(write("a.csv", "inputs\n1\n"), evaluators=own).evaluators == own


def test_columns_and_format_are_passed_on(write):
    path = write("a.txt", 'q,payload\n1,"[1]"\n')
    dataset = Dataset.from_file(path, format="csv", columns={"inputs": JSONColumn("payload"), "name": "q"})
    assert list(dataset.cases) == [Case(name="1", inputs=[1])]
    assert check_file(path, format="csv", columns={"inputs": "q"}) == []


@pytest.mark.parametrize("form", ["jsonl", "yaml", "json"])
def test_columns_are_for_tables(write, form):
    with pytest.raises(InvalidOptionError, match="columns is for tables"):
        load_dataset(write(f"a.{form}", CONTENT[form]), columns={"inputs": "q"})


def test_a_check_gives_what_loading_raises(write):
    path = write("a.yaml", "cases: [{}]\nextra: 1")
    with pytest.raises(DatasetFileError) as caught:
        load_dataset(path)
    assert list(caught.value.problems) == check_file(path)
    assert len(check_file(path)) == 2
    assert str(caught.value).splitlines() == [
        f"2 problems in {path}:",
        *(f"  {p}" for p in caught.value.problems),
    ]


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_dataset(tmp_path / "gone.yaml")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.yaml", 'cases: [{inputs: true}, {inputs: "2"}, {inputs: 2.0}, {inputs: 2}]'),
        ("a.json", '{"cases": [{"inputs": true}, {"inputs": "2"}, {"inputs": 2.0}, {"inputs": 2}]}'),
        ("a.jsonl", '{"inputs": true}\n{"inputs": "2"}\n{"inputs": 2.0}\n{"inputs": 2}\n'),
    ],
)
def test_files_with_types_of_their_own_are_not_coerced(write, name, content):
    path = write(name, content)
    assert [problem.value for problem in check_file(path, types=(int,))] == ["True", "'2'", "2.0"]


def test_cells_of_text_are_converted_to_the_type(write):
    path = write("a.csv", "inputs,expected_output\n2,off\n3,1\n")
    assert check_file(path, types=(int, bool)) == []
    assert list(load_dataset(path, types=(int, bool)).cases) == [
        Case(inputs=2, expected_output=False),
        Case(inputs=3, expected_output=True),
    ]


def test_a_folder_or_a_pipe_is_called_what_it_is(tmp_path):
    (tmp_path / "a.yaml").mkdir()
    with pytest.raises(IsADirectoryError, match=r"this is a folder, not a dataset file: .*a\.yaml"):
        check_file(tmp_path / "a.yaml")
    os.mkfifo(tmp_path / "a.jsonl")
    with pytest.raises(InvalidOptionError, match=r"a\.jsonl' is a pipe, which can be read only once"):
        load_dataset(tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        (
            "a.yaml",
            b"cases:\n  - inputs: \xc3\xa9 \xe9",
            "a.yaml:2:15: the file is not UTF-8: it has the byte 0xe9 here; save the file as UTF-8",
        ),
        (
            "a.jsonl",
            b'{"inputs": "\xc3\xa9 \xe9"}\n',
            "a.jsonl:1:15: the line is not UTF-8: it has the byte 0xe9 here; save the file as UTF-8",
        ),
        (
            "a.csv",
            b"name,inputs\na,caf\xe9\n",
            "a.csv:2: inputs: the cell is not UTF-8: it has the byte 0xe9 after 'caf'; save the file as UTF-8",
        ),
        (
            "a.csv",
            b"inputs,\xe9\n1,2\n",
            "a.csv:1: the header is not UTF-8: it has the byte 0xe9 at its beginning; save the file as UTF-8",
        ),
    ],
)
def test_what_is_not_utf_8_is_named_with_its_byte_and_the_way_out(write, shown, name, content, problem):
    assert shown(check_file(write(name, content))) == [problem]


@pytest.mark.parametrize("form", [*CONTENT, "named"])
def test_a_dataset_has_the_name_that_its_reader_gives_it(write, form):
    content = "name: own\n" + CONTENT["yaml"] if form == "named" else CONTENT[form]
    path = write(f"a.{form}" if form != "named" else "a.yaml", content)
    assert Dataset.from_file(path).name == ("own" if form == "named" else "a")
    assert Dataset.from_file(path, name="test split").name == "test split"
    assert Dataset[Question, float, Any].from_file(path, name="typed").name == "typed"
    assert load_dataset(path, name="loaded").name == "loaded"
