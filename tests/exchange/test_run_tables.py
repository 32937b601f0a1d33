"""What the rows of the tables say."""

import io
import json

import pyarrow.parquet as pq
import pytest

from calipers.data.record import ReportCase
from calipers.data.result import EvaluationResult, EvaluatorSpec
from calipers.exchange.run_tables import ATTEMPTS, RESULTS, Column, parquet_chunks
from calipers.report.report import Report


def rows_of(table, store, run):
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows(store, run)]


def test_every_attempt_has_a_row(store, run):
    rows = rows_of(ATTEMPTS, store, run)
    assert [row["position"] for row in rows] == list(range(8))
    assert {row["run"] for row in rows} == {run.id}
    first, failed = rows[0], next(row for row in rows if row["failed"])
    assert (first["name"], first["case"], first["repeat"], first["tries"]) == ("one [1/2]", "one", 1, 1)
    assert (first["passed"], first["output"], first["expected_output"]) == (False, "1", "1")
    assert (failed["case"], failed["passed"], failed["error_type"], failed["output"]) == (
        "../fails",
        False,
        "RuntimeError",
        None,
    )
    assert failed["expected_output"] is None
    stated = next(row for row in rows if row["case"] == "a/b\\c")
    assert stated["expected_output"] == "null", "an expectation of None is one"


def test_every_row_names_its_run_so_that_files_of_many_runs_stack(store, run):
    for table in (ATTEMPTS, RESULTS):
        for row in rows_of(table, store, run):
            assert (row["run_name"], row["dataset"], row["task"]) == (
                run.name,
                run.dataset_name,
                run.task_name,
            )
            assert json.loads(row["parameters"]) == {
                name: value for name, value in run.parameters.items() if name != "task"
            }
            assert row["run_metadata"] is None or json.loads(row["run_metadata"]) == run.metadata
    assert all((run.dataset_name, run.task_name, run.parameters, run.metadata))


def test_every_judgement_and_every_one_that_is_missing_has_a_row(store, run):
    rows = rows_of(RESULTS, store, run)
    of_case = {
        case: [row for row in rows if row["case"] == case and row["repeat"] == 1]
        for case in ("one", "a/b\\c", "../fails")
    }
    told = {(row["result"], row["kind"], row["value"]) for row in of_case["one"]}
    assert told == {
        ("right", "assertion", "true"),
        ("size", "score", "1"),
        ("tone/kind", "label", '"calm"'),
        ("why", "assertion", "true"),
        ("broken", "score", "0.5"),
        ("sometimes", "skipped", None),
        ("graded", "assertion", "false"),
    }
    assert [row["kind"] for row in of_case["../fails"]] == ["not_run"] * 4, "one compares with an expectation"
    (failure,) = [row for row in of_case["a/b\\c"] if row["kind"] == "failure"]
    assert (failure["evaluator"], failure["error_type"], failure["value"]) == ("broken", "ValueError", None)
    (graded,) = [row for row in of_case["one"] if row["result"] == "graded"]
    assert (graded["verdict"], graded["score"], graded["reason"]) == ("partial", 0.5, "half")
    assert json.loads(graded["metadata"])["at"] == [1]


def test_the_value_is_in_the_column_of_its_kind(store, run):
    for row in rows_of(RESULTS, store, run):
        told = {name for name in ("passed", "number", "label") if row[name] is not None}
        expected = {"assertion": {"passed"}, "score": {"number"}, "label": {"label"}}
        assert told == expected.get(row["kind"], set())


def test_tokens_and_calls_come_from_the_trace(store, traced):
    (row,) = rows_of(ATTEMPTS, store, traced)
    assert (row["input_tokens"], row["output_tokens"], row["tool_calls"]) == (7, 0, 1)
    assert json.loads(row["trace"])["turns"][0]["tool_call"]["name"] == "search"


@pytest.mark.parametrize("value", [3, 0.5, -(2**63)])
def test_a_value_stands_as_a_number_and_exactly(store, value):
    (row,) = rows_of(RESULTS, store, store.add_report(Report(name="r", cases=[case_with(value, 1)])))
    assert (row["number"], row["value"]) == (float(value), str(value))


@pytest.mark.parametrize(
    ("metric", "number"),
    [(3, 3.0), (10**400, None), (float("inf"), None), (float("nan"), None)],
    ids=["small", "huge", "infinite", "none"],
)
def test_a_metric_that_is_no_finite_float_is_null(store, metric, number):
    (row,) = rows_of(ATTEMPTS, store, store.add_report(Report(name="r", cases=[case_with(1, metric)])))
    assert row["metrics"] == [("m", number)]


def case_with(value, metric):
    result = EvaluationResult(name="big", value=value, evaluator="big", source=EvaluatorSpec("big"))
    return ReportCase(
        name="a",
        inputs=None,
        metadata=None,
        expected_output=None,
        output=None,
        metrics={"m": metric},
        attributes={},
        results=(result,),
        task_duration=0.0,
        total_duration=0.0,
    )


COLUMNS = (Column("n", "integer"), Column("text"))


def read(chunks):
    return pq.ParquetFile(io.BytesIO(b"".join(chunks)))


def test_many_rows_are_written_group_by_group():
    file = read(parquet_chunks(COLUMNS, ([n, "x"] for n in range(45_000)), {"a": "b"}))
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [
        20_000,
        20_000,
        5_000,
    ]
    assert file.read().column("n").to_pylist() == list(range(45_000))
    assert file.schema_arrow.metadata == {b"a": b"b"}


def test_large_rows_are_written_before_they_pile_up():
    large = "x" * (1 << 24)
    taken = []

    def rows():
        for n in range(5):
            taken.append(n)
            yield [n, large]

    chunks = parquet_chunks(COLUMNS, rows(), {})
    first = next(chunks)
    assert taken == [0, 1], "the third is not read before the first two are written"
    file = read([first, *chunks])
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [2, 2, 1]
