"""Runs as files for other programs."""

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError, StoreError
from calipers.exchange import export_run
from calipers.exchange.run_export import EXPORT_FORMATS, ExportTarget, parse_export
from calipers.exchange.run_tables import TABLES
from calipers.stores import SqliteStore


@pytest.mark.parametrize("table", TABLES)
def test_csv_and_parquet_hold_the_same_table(store, run, tmp_path, table):
    export_run(store, run.id, to=tmp_path / "t.csv", table=table)
    export_run(store, run.id, to=tmp_path / "t.parquet", table=table)
    text = (tmp_path / "t.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    typed = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert [column.name for column in TABLES[table].columns] == list(rows[0]) == list(typed[0])
    assert len(rows) == len(typed)
    for plain_row, row in zip(rows, typed, strict=True):
        assert plain_row["position"] == str(row["position"])
        assert plain_row["passed"] == {True: "true", False: "false", None: ""}[row["passed"]]


def test_no_cell_of_a_csv_file_is_a_formula(store, run, tmp_path):
    for table in TABLES:
        text = export_run(store, run.id, to=tmp_path / "t.csv", table=table)
        with Path(text).open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert any(cell.startswith("'=HYPERLINK") for cell in cells)
        assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]
        assert not [cell for cell in cells if "\x1b" in cell or "\0" in cell]


def test_a_parquet_file_has_types_and_says_which_run_it_is_of(store, run, tmp_path):
    path = export_run(store, run.id, to=tmp_path / "t.parquet")
    schema = pq.read_schema(path)
    assert {
        name: str(schema.field(name).type) for name in ("position", "passed", "task_duration", "inputs")
    } == {
        "position": "int64",
        "passed": "bool",
        "task_duration": "double",
        "inputs": "string",
    }
    assert str(schema.field("metrics").type).startswith("map<string, double")
    assert schema.metadata[b"calipers_run"].decode() == run.id


def test_an_empty_run_is_a_table_without_rows(store, tmp_path):
    kept = store.add_report(Dataset(name="none", cases=[]).evaluate_sync(str, progress=False))
    for table in TABLES:
        found = pq.read_table(export_run(store, kept.id, to=tmp_path / "t.parquet", table=table))
        assert found.num_rows == 0
        assert found.num_columns == len(TABLES[table].columns)


def test_tables_of_several_runs_stack(store, run, traced, tmp_path):
    for number, kept in enumerate((run, traced)):
        export_run(store, kept.id, to=tmp_path / f"{number}.parquet")
    assert pq.ParquetDataset([tmp_path / "0.parquet", tmp_path / "1.parquet"]).read().num_rows == 9


@pytest.mark.parametrize("form", EXPORT_FORMATS)
def test_a_file_is_named_after_the_id_since_a_name_may_be_no_file_name(
    store, run, tmp_path, monkeypatch, form
):
    monkeypatch.chdir(tmp_path)
    assert export_run(store, "runs/are ../named", to=form) == f"{run.id}.{form}"
    assert [path.name for path in tmp_path.iterdir()] == [f"{run.id}.{form}"]


def test_the_dash_is_standard_output(store, run, capsysbinary, tmp_path):
    for form in EXPORT_FORMATS:
        assert export_run(store, run.id, to=f"{form}:-") == "-"
        printed = capsysbinary.readouterr().out
        path = export_run(store, run.id, to=f"{form}:{tmp_path / 'file'}")
        assert printed == Path(path).read_bytes()


def test_a_store_may_be_named_and_has_to_be_there(tmp_path):
    path = tmp_path / "runs.db"
    dataset = Dataset(name="d", cases=[Case(name="a", inputs=1)])
    with SqliteStore(path) as store:
        dataset.evaluate_sync(str, store=store, progress=False)
    export_run(path, to=tmp_path / "run.jsonl")
    assert (
        json.loads((tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()[1])["case"]["output"]
        == "1"
    )
    with pytest.raises(StoreError, match="no store"):
        export_run(tmp_path / "nothing.db", to="csv:-")
    assert not (tmp_path / "nothing.db").exists()
    with pytest.raises(InvalidOptionError, match="is the store of the run"):
        export_run(path, to=f"jsonl:{path}")
    with pytest.raises(StoreError, match="missing"):
        export_run(path, "missing", to="csv:-")


def test_a_file_that_is_there_stays_as_it_was_when_the_export_fails(store, run, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text("mine", encoding="utf-8")
    attempts = list(store.attempts(run.id))
    attempts[-1].output = "not JSON"
    store.append(run.id, attempts[-1:])
    for form in EXPORT_FORMATS:
        with pytest.raises(StoreError, match="damaged in the store"):
            export_run(store, run.id, to=f"{form}:{path}")
        assert path.read_text(encoding="utf-8") == "mine"
    assert [each.name for each in tmp_path.iterdir()] == ["run.jsonl"], "nor is anything left beside it"


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("parquet", ExportTarget("parquet", None)),
        ("csv:a.txt", ExportTarget("csv", "a.txt")),
        ("jsonl:-", ExportTarget("jsonl", "-")),
        ("a/B.PARQUET", ExportTarget("parquet", "a/B.PARQUET")),
        ("csv:C:\\a.csv", ExportTarget("csv", "C:\\a.csv")),
        ("C:\\a.csv", ExportTarget("csv", "C:\\a.csv")),
    ],
)
def test_where_a_run_goes(to, expected):
    assert parse_export(to) == expected


@pytest.mark.parametrize(
    ("to", "says"),
    [
        ("", "one of parquet, jsonl, csv, otlp, got ''"),
        ("-", "Write 'jsonl:-'"),
        ("csv:", "names no file: write 'csv:-'"),
        ("parqet:x", "did you mean 'parquet'"),
        ("json", "did you mean 'jsonl'"),
        ("report.html", "one of parquet, jsonl, csv, otlp, got 'report.html'"),
    ],
)
def test_what_is_no_format_is_told_what_is(to, says):
    with pytest.raises(InvalidOptionError, match=says):
        parse_export(to)


@pytest.mark.parametrize(
    ("to", "table", "says"),
    [
        ("jsonl:-", "results", "leave out the table"),
        ("csv:-", "cells", "one of attempts, results, got 'cells'"),
    ],
)
def test_a_table_has_to_be_one_and_a_format_has_to_have_tables(store, run, to, table, says):
    with pytest.raises(InvalidOptionError, match=says):
        export_run(store, run.id, to=to, table=table)
