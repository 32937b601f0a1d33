import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case
from calipers.files import check_file, load_dataset
from calipers.files.csv_file import write_csv

CELLS = st.text(st.characters(exclude_categories=["Cs"])) | st.text('a,"\r\n ')


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1))
def test_every_cell_comes_back(rows):
    text = io.StringIO(newline="")
    write_csv(text, ["a", "b"], rows)
    assert list(csv.reader(io.StringIO(text.getvalue(), newline=""), strict=True)) == [
        ["a", "b"],
        *map(list, rows),
    ]


def test_an_empty_cell_in_the_only_column_is_a_row():
    text = io.StringIO(newline="")
    write_csv(text, ["inputs"], [[""], ["x"]])
    assert text.getvalue() == 'inputs\n""\nx\n'


def test_rows_are_cases_and_blank_lines_are_none(write):
    path = write("a.csv", '\ufeffname,inputs\r\na,"two\r\nlines"\r\n\r\nb,"say ""hi"""\r\n')
    assert list(load_dataset(path).cases) == [
        Case(name="a", inputs="two\r\nlines"),
        Case(name="b", inputs='say "hi"'),
    ]


def test_a_long_cell_is_no_problem(write):
    assert len(next(iter(load_dataset(write("a.csv", "inputs\n" + "x" * 200_000)).cases)).inputs) == 200_000


def test_what_is_wrong_with_a_row_is_said_with_its_first_line(write, shown):
    path = write(
        "a.csv",
        b'inputs,expected_output,name\n1,"a\nb",x\n2\n"x"y,1,z\n3,4,5,6\n\xff,1,\n4,oops,\n5,6,\n',
    )
    found = list(load_dataset(path, types=(str, int)).cases)
    assert [isinstance(each, Case) for each in found] == [False] * 6 + [True]
    assert shown(check_file(path, types=(str, int))) == [
        "a.csv:2: expected_output: expected a valid integer, unable to parse string as an integer, got 'a\\nb'",
        "a.csv:4: the row has 1 cell, and the header has 3 cells",
        "a.csv:5: not CSV: ',' expected after '\"'",
        "a.csv:6: the row has 4 cells, and the header has 3 cells",
        "a.csv:7: inputs: the cell is not UTF-8: it has the byte 0xff at its beginning; save the file as UTF-8",
        "a.csv:8: expected_output: expected a valid integer, unable to parse string as an integer, got 'oops'",
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "a.csv:1: the file has no header: its first line names the columns"),
        (b"\n", "a.csv:1: the file has no header"),
        (b'"inputs"x\n', "a.csv:1: not CSV: "),
        (b"inputs\xff\n", "a.csv:1: the header is not UTF-8"),
        (b"question\n1\n", "a.csv:1: question: unknown column 'question'"),
    ],
)
def test_the_header_is_checked_at_once(write, problems_of, content, problem):
    (found,) = problems_of(load_dataset, write("a.csv", content))
    assert found.startswith(problem)


def test_an_unclosed_quote_is_a_problem_and_not_a_silent_end(write, shown):
    path = write("a.csv", 'inputs\n1\n"2\n3\n')
    assert shown(check_file(path)) == ["a.csv:3: not CSV: unexpected end of data"]


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_columns_that_are_not_separated_by_commas_are_called_so(write, problems_of, mark):
    path = write("a.csv", f"name{mark}inputs\na{mark}1\n")
    header = repr(f"name{mark}inputs")
    assert problems_of(load_dataset, path) == [
        f"a.csv:1: the columns seem to be separated by {mark!r}: separate them by commas, got {header}"
    ]
    (case,) = load_dataset(path, columns={"inputs": f"name{mark}inputs"}).cases
    assert case.inputs == f"a{mark}1"
