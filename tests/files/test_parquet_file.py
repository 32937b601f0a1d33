import sys
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calipers import Case
from calipers.errors import DatasetFileError, MissingExtraError
from calipers.files import check_file, load_dataset


@pytest.fixture
def table(tmp_path):
    """Writes a Parquet file of columns, and gives its path."""

    def write(columns, **options):
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table(columns), path, **options)
        return path

    return write


def test_values_are_what_their_columns_say(table):
    when = datetime(2024, 1, 31, tzinfo=UTC)
    path = table(
        {
            "name": ["a", None],
            "inputs": pa.array([{"q": "why", "n": 1}, None]),
            "expected_output": pa.array([None, 2.5]),
            "metadata.when": pa.array([when, None]),
            "metadata.map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
            "tags": [["x", "y"], None],
        }
    )
    assert list(load_dataset(path).cases) == [
        Case(
            name="a", inputs={"q": "why", "n": 1}, metadata={"when": when, "map": {"k": 1}}, tags=["x", "y"]
        ),
        Case(inputs=None, expected_output=2.5),
    ]


def test_many_rows_come_in_order_whatever_their_groups(table):
    path = table({"inputs": list(range(5000))}, row_group_size=700)
    assert [case.inputs for case in load_dataset(path).cases] == list(range(5000))


def test_what_is_wrong_is_said_with_its_row(table, shown):
    path = table({"inputs": [1, -2, 3], "name": ["a", "a", "c"]})
    assert shown(check_file(path)) == ["a.parquet: row 2: name: row 1 has this name, too, got 'a'"]
    path = table({"inputs": [[1], [2, 3], [4]]})
    first, bad, third = load_dataset(path, types=(tuple[int],)).cases
    assert (first.inputs, third.inputs) == ((1,), (4,))
    (problem,) = shown(bad.problems)
    assert problem.startswith("a.parquet: row 2: inputs: tuple should have at most 1 item")


def test_the_schema_is_checked_at_once(table, problems_of):
    (found,) = problems_of(load_dataset, table({"question": [1]}))
    assert found.startswith("a.parquet: question: unknown column 'question'")
    assert [case.inputs for case in load_dataset(table({"q": [1]}), columns={"inputs": "q"}).cases] == [1]


def test_a_file_that_is_no_parquet_file_is_a_problem(write, problems_of):
    (found,) = problems_of(load_dataset, write("a.parquet", "inputs\n1\n"))
    assert found.startswith("a.parquet: not a Parquet file: ")


def test_without_the_extra_the_error_names_it(table, monkeypatch):
    path = table({"inputs": [1]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'calipers\[parquet\]'"):
        load_dataset(path)


@pytest.mark.parametrize("cell", ["2", True, 2.0])
def test_a_typed_column_is_not_coerced(table, cell):
    (problem,) = check_file(table({"inputs": [cell]}), types=(int,))
    assert (problem.row, problem.value) == (1, repr(cell))


def test_damage_costs_its_group_of_rows_and_is_named(table, shown):
    path = table({"inputs": [f"text {n}" * 20 for n in range(300)]}, row_group_size=100)
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).dictionary_page_offset
    content = bytearray(path.read_bytes())
    content[start + 40 : start + 240] = b"\xff" * 200
    path.write_bytes(content)
    (problem,) = shown(check_file(path))
    assert problem.startswith("a.parquet: row 101: the row cannot be read, nor can the rows to 200: ")
    cases = list(load_dataset(path).cases)
    assert [type(case) for case in cases] == [*[Case] * 100, DatasetFileError, *[Case] * 100]


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"inputs\n1\n", b"PAR1" + b"\xff" * 64 + b"\x10\0\0\0PAR1"]
)
def test_a_file_that_is_no_parquet_is_a_problem_of_its_own(write, shown, content):
    (problem,) = shown(check_file(write("a.parquet", content)))
    assert problem.startswith("a.parquet: not a Parquet file: ")
