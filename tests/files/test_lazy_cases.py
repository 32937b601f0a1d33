"""What the lazy formats have in common, shown by one of each."""

import gc

import pytest

from calipers import Case, Dataset
from calipers.errors import DatasetFileError
from calipers.files import check_file, load_dataset, save_dataset

GOOD = [Case(name=f"case {n}", inputs=str(n), expected_output=str(n)) for n in range(3)]
FORMATS = ["jsonl", "csv", "parquet"]


@pytest.fixture(params=FORMATS)
def path(request, tmp_path):
    path = tmp_path / f"cases.{request.param}"
    save_dataset(Dataset(cases=GOOD), path)
    return path


def test_a_file_can_be_read_again_and_again(path):
    dataset = load_dataset(path, evaluators=[lambda output, expected_output: output == expected_output])
    assert dataset.name == "cases"
    assert not isinstance(dataset.cases, list)
    assert list(dataset.cases) == list(dataset.cases) == GOOD
    assert repr(path.name)[1:-1] in repr(dataset.cases)
    for _ in range(2):
        report = dataset.evaluate_sync(lambda inputs: inputs, progress=False)
        assert [case.name for case in report.cases] == ["case 0", "case 1", "case 2"]
        assert report.pass_rate().value == 1


def test_what_was_added_to_the_file_is_there_the_next_time(path):
    dataset = load_dataset(path)
    save_dataset(Dataset(cases=[*GOOD, Case(inputs="more")]), path)
    assert len(list(dataset.cases)) == 4


def test_a_file_that_is_left_halfway_is_closed(path):
    for _ in load_dataset(path).cases:
        break
    gc.collect()  # an unclosed file would warn, and a warning is an error here


def test_a_file_that_is_not_there_is_missed_at_once(path):
    path.unlink()
    with pytest.raises(FileNotFoundError):
        load_dataset(path)
    with pytest.raises(FileNotFoundError):
        check_file(path)


def test_a_good_file_has_no_problems(path):
    assert check_file(path) == []


def test_names_that_two_cases_have_are_found_with_both_places(write, shown):
    path = write("a.jsonl", '{"inputs": 1, "name": "x"}\n\n{"inputs": 1}\n{"inputs": 2, "name": "x"}\n')
    assert shown(check_file(path)) == ["a.jsonl:4: name: line 1 has this name, too, got 'x'"]
    path = write("a.csv", "name,inputs\nx,1\nx,2\n")
    assert shown(check_file(path)) == ["a.csv:3: name: line 2 has this name, too, got 'x'"]


def test_a_bad_line_costs_itself_alone_and_is_named_in_the_report(write):
    path = write("a.jsonl", '{"inputs": "1"}\n{"inputs": \n{"inputs": "3", "inptus": 4}\n{"inputs": "4"}\n')
    cases = list(load_dataset(path).cases)
    assert [type(case) for case in cases] == [Case, DatasetFileError, DatasetFileError, Case]
    report = load_dataset(path, evaluators=[lambda output: True]).evaluate_sync(int, progress=False)
    assert [case.name for case in report.cases] == ["Case 1", "Case 4"]
    assert [failure.name for failure in report.failures] == ["Case 2", "Case 3"]
    assert "a.jsonl:2:12: not JSON" in report.failures[0].error_message
    assert "a.jsonl:3:17: inptus: unknown key" in report.failures[1].error_message
    assert report.incomplete is None
    assert report.pass_rate().value == 0.5


def test_a_name_is_noticed_again_though_the_first_line_is_wrong(write, shown):
    path = write(
        "a.jsonl", '{"name": "x"}\n{"inputs": 2, "name": "x"}\n{"name": "x", "name": "x", "inputs": 3}\n'
    )
    assert shown(check_file(path))[1:] == [
        "a.jsonl:2: name: line 1 has this name, too, got 'x'",
        "a.jsonl:3:15: name: the key is there twice",
        "a.jsonl:3: name: line 1 has this name, too, got 'x'",
    ]
    path = write("a.csv", "name,inputs\nx,one\nx,2\n")
    assert shown(check_file(path, types=(int,)))[1:] == ["a.csv:3: name: line 2 has this name, too, got 'x'"]


def test_a_name_that_was_there_before_is_named_with_its_line_in_a_run(write):
    path = write("a.jsonl", '{"inputs": "1", "name": "x"}\n{"inputs": "2", "name": "x"}\n{"inputs": "3"}\n')
    report = load_dataset(path, evaluators=[lambda output: True]).evaluate_sync(int, progress=False)
    assert len(report.cases) == 2
    (failure,) = report.failures
    assert "a.jsonl:2: name: line 1 has this name, too, got 'x'" in failure.error_message


def test_what_is_wrong_with_rows_is_found_though_the_header_is_wrong(write, shown):
    path = write("a.csv", "name,inputs,topic\nx,1,2\nx,one,3\n")
    assert [problem.partition(" ")[0] for problem in shown(check_file(path, types=(int,)))] == [
        "a.csv:1:",
        "a.csv:3:",
        "a.csv:3:",
    ]


@pytest.mark.parametrize("columns", [{"inputs": "text"}, {"inputs": ["a", "text"]}])
def test_rows_are_not_read_where_the_column_of_inputs_is_not_there(write, columns):
    (problem,) = check_file(write("a.csv", "a,b\n1\n"), columns=columns)
    assert problem.message.startswith("there is no column 'text'")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.jsonl", "\n", "a.jsonl: there are no cases"),
        ("a.csv", "inputs,name\n", "a.csv: there are no cases"),
        ("a.yaml", "name: x\ncases: []", "a.yaml:2:8: cases: there are no cases"),
        ("a.json", '{"cases": []}', "a.json:1:11: cases: there are no cases"),
    ],
)
def test_a_file_without_cases_can_be_loaded_but_is_not_in_order(write, shown, name, content, problem):
    path = write(name, content)
    assert shown(check_file(path)) == [problem]
    assert list(load_dataset(path).cases) == []
