"""Cases that are added to a file: what was there stays."""

import sys
import threading

import pytest

from calipers import Case, Dataset
from calipers.errors import DatasetFileError, InvalidOptionError
from calipers.files import load_dataset, save_dataset
from calipers.files.added_cases import add_cases, named_requests, only_adder

OLD = [Case(name="a", inputs="one", metadata={"k": "v"}), Case(inputs="two")]
NEW = [Case(name="c", inputs="three", expected_output="3"), Case(name="d", inputs="four")]


@pytest.mark.parametrize("suffix", ["yaml", "json", "jsonl", "csv", "parquet"])
def test_new_cases_come_after_those_that_were_there(tmp_path, suffix):
    path = tmp_path / f"cases.{suffix}"
    save_dataset(Dataset(cases=OLD), path, schema=False)
    assert [(case.name, case.inputs) for case in named_requests(path)] == [("a", "one"), (None, "two")]
    add_cases(path, NEW)
    assert list(load_dataset(path).cases) == [*OLD, *NEW]


def test_a_document_keeps_its_evaluators_though_they_are_not_known_and_its_first_comments(tmp_path):
    path = tmp_path / "cases.yaml"
    path.write_text(
        "# mine\nname: theirs\ncases:\n  - turns: [hi, {user: and?}]\nevaluators:\n  - TheirOwn: {limit: 3}\n"
    )
    add_cases(path, NEW[:1])
    assert path.read_text() == (
        "# mine\nname: theirs\ncases:\n  - turns:\n      - hi\n      - user: and?\n  - name: c\n    inputs: three\n"
        '    expected_output: "3"\nevaluators:\n  - TheirOwn:\n      limit: 3\n'
    )
    assert [case.inputs for case in named_requests(path)] == [["hi", "and?"], "three"]


def test_lines_keep_their_bytes(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b'{ "inputs" : "one" }')
    add_cases(path, [Case(inputs="two")])
    assert path.read_bytes() == b'{ "inputs" : "one" }\n{"inputs":"two"}\n'


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_one_that_adds_waits_for_another_and_sees_what_it_added(tmp_path):
    path = tmp_path / "cases.jsonl"
    save_dataset(Dataset(cases=OLD), path)
    waits, seen = threading.Event(), []

    def add():
        with only_adder(path, waits.set):
            seen.extend(case.name for case in named_requests(path))

    second = threading.Thread(target=add)
    with only_adder(path, pytest.fail):
        second.start()
        assert waits.wait(10)
        add_cases(path, NEW)
    second.join(10)
    assert seen == ["a", None, "c", "d"]


@pytest.mark.parametrize(
    ("name", "text", "error", "says"),
    [
        ("c.yaml", "cases: cases.jsonl\n", InvalidOptionError, "are in 'cases.jsonl': add to that file"),
        ("c.yaml", "prompts: []\n", InvalidOptionError, "no dataset with a list of cases"),
        ("c.json", "{", DatasetFileError, "not JSON|JSON"),
        ("c.jsonl", '{"inputs": 1}\n{"input": 2}\n', DatasetFileError, "case 2 of .* is no case"),
        ("c.jsonl", "[1]\n", DatasetFileError, "case 1 of .* is no case"),
    ],
)
def test_what_is_no_list_of_cases_is_refused(tmp_path, name, text, error, says):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(error, match=says):
        list(named_requests(path))
    assert path.read_text() == text


def test_yaml_that_could_not_be_read_again_is_not_written(tmp_path):
    cases = [Case(inputs="x" * 1000) for _ in range(17_000)]
    with pytest.raises(
        InvalidOptionError, match=r"MB of YAML could not be read again, .* write a JSON Lines file"
    ):
        save_dataset(Dataset(cases=cases), tmp_path / "c.yaml", schema=False)
    assert not list(tmp_path.iterdir())
