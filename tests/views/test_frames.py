"""The rows of a report, and the tables that are made of them."""

import sys
from importlib import import_module

import pytest

from calipers import Case, Dataset
from calipers.data.attempt import increment_eval_metric
from calipers.data.evaluator import Evaluator
from calipers.data.evaluator_output import EvaluationReason
from calipers.errors import InvalidOptionError, MissingExtraError


class Judge(Evaluator):
    def evaluate(self, ctx):
        return {
            "right": EvaluationReason(value=ctx.output == ctx.expected_output, reason=f"got {ctx.output}"),
            "length": len(str(ctx.output)),
            "name": "a label that is called like a column",
        }


def task(inputs):
    if inputs == "lost":
        raise ValueError("no such place")
    increment_eval_metric("calls", 2)
    return {"France": "Paris"}.get(inputs, {"unknown": inputs})


@pytest.fixture(scope="module")
def report():
    cases = [
        Case(name="c1", inputs="France", expected_output="Paris", tags=["eu"], metadata={"level": 1}),
        Case(name="c2", inputs="Peru", expected_output="Lima"),
        Case(name="c3", inputs="lost", expected_output="nowhere"),
    ]
    return Dataset(name="capitals", cases=cases, evaluators=[Judge()]).evaluate_sync(
        task, progress=False, seed=1
    )


def test_a_row_holds_the_attempt_as_the_report_does(report):
    first, second, third = report.to_rows()
    assert list(first) == list(second) == list(third)
    assert {
        name: first[name] for name in ("run", "dataset", "name", "case", "passed", "right", "right.reason")
    } == {
        "run": "task",
        "dataset": "capitals",
        "name": "c1",
        "case": "c1",
        "passed": True,
        "right": True,
        "right.reason": "got Paris",
    }
    assert first["name_2"] == "a label that is called like a column"
    assert (first["length"], first["metrics.calls"], first["tags"], first["tries"]) == (5, 2, ["eu"], 1)
    assert (first["inputs"], first["output"], first["metadata"]) == ("France", "Paris", {"level": 1})
    assert second["output"] == {"unknown": "Peru"}
    assert third["passed"] is False
    assert third["task_failure"] == "ValueError: no such place"
    assert (third["right"], third["output"], third["metrics.calls"]) == (None, None, None)


def test_a_table_has_a_type_for_each_column_and_json_where_there_are_several(report):
    table = report.to_arrow()
    types = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert types["passed"] == types["right"] == "bool"
    assert types["length"] == types["tries"] == types["metrics.calls"] == "int64"
    assert types["task_duration"] == "double"
    assert types["output"] == types["inputs"] == types["cluster"] == "string"
    assert table.column("output").to_pylist() == ['"Paris"', '{"unknown":"Peru"}', None]
    assert table.column("tags").to_pylist() == ['["eu"]', "[]", "[]"]
    assert table.column("right").to_pylist() == [True, False, None]


def test_pandas_computes_with_the_columns(report):
    frame = report.to_pandas()
    assert frame["passed"].mean() == pytest.approx(1 / 3)
    assert (str(frame["right"].dtype), str(frame["length"].dtype)) == ("boolean", "Int64")
    assert frame["right"].sum() == 1
    assert frame["task_duration"].max() > 0


def test_polars_computes_with_the_columns(report):
    frame = report.to_polars()
    assert frame["right"].to_list() == [True, False, None]
    assert frame["length"].sum() == 5 + len(str({"unknown": "Peru"}))


def test_a_report_without_attempts_makes_an_empty_table(report):
    import msgspec

    empty = msgspec.structs.replace(report, cases=[], failures=[])
    assert empty.to_rows() == []
    assert (empty.to_arrow().num_rows, len(empty.to_pandas()), len(empty.to_polars())) == (0, 0, 0)


@pytest.mark.parametrize(
    ("outputs", "column"),
    [
        ([1, 2], [1, 2]),
        ([1, 2.5], [1.0, 2.5]),
        ([1 << 70, 2], [str(1 << 70), "2"]),
        ([10**400, 2.5], [str(10**400), "2.5"]),
        ([True, 2], ["true", "2"]),
        ([None, None], [None, None]),
    ],
)
def test_a_number_is_exact_or_text(outputs, column):
    dataset = Dataset(cases=[Case(inputs=output) for output in outputs])
    table = dataset.evaluate_sync(lambda inputs: inputs, progress=False).to_arrow()
    assert table.column("output").to_pylist() == column


def test_rows_of_some_attempts_only_are_refused():
    def wrong(output):
        return False

    some = Dataset(cases=[Case(inputs=n) for n in range(2000)], evaluators=[wrong])
    report = some.evaluate_sync(lambda inputs: inputs, progress=False, keep="failed")
    with pytest.raises(InvalidOptionError, match="keep='all'"):
        report.to_rows()


@pytest.mark.parametrize(
    ("method", "module", "extra"),
    [
        ("to_arrow", "pyarrow", "parquet"),
        ("to_pandas", "pandas", "pandas"),
        ("to_polars", "polars", "polars"),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(report, monkeypatch, method, module, extra):
    import_module(module)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"{method}\(\) needs .* 'calipers\[{extra}\]'"):
        getattr(report, method)()
