"""Metrics as files: JSON, CSV, Parquet."""

import csv
import json
import math
import warnings
from decimal import Decimal

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError, InvalidOutputError
from calipers.rollouts import (
    ASTEvaluator,
    Evaluator,
    Graph,
    GraphMetrics,
    MeasuredRollouts,
    Node,
    write_csv,
    write_json,
    write_parquet,
)

METRICS = [
    GraphMetrics(
        overall={"n": 2, "won": True},
        per_turn=[{"turn": 1, "score": 0.5, "said": "=1+1"}, {"turn": 2, "score": None, "said": "é\n\x1b"}],
        seed=0,
    ),
    GraphMetrics(overall={"n": 1, "won": False}, per_turn=[{"turn": 1, "score": 1, "extra": [1]}], seed="s"),
]


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


# ---------------------------------------------------------------------- JSON


def read(path):
    return json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda name: pytest.fail(name))


def test_json_takes_what_metrics_are_made_of(tmp_path):
    path = tmp_path / "new" / "folder" / "metrics.json"
    data = {
        "numpy": [np.float32(0.5), np.int64(3), np.bool_(True), np.arange(2)],
        "text": "é \ud800",
        1: (1, 2),
        "set": {2, 1},
        "decimal": Decimal("0.1"),
        "metrics": METRICS[1],
        "large": 10**30,
    }
    Evaluator.write_json(data, path)
    assert read(path) == {
        "numpy": [0.5, 3, True, [0, 1]],
        "text": "é \\ud800",
        "1": [1, 2],
        "set": [1, 2],
        "decimal": "0.1",
        "metrics": {"seed": "s", "overall": METRICS[1].overall, "per_turn": METRICS[1].per_turn},
        "large": 10**30,
    }
    assert "é" in path.read_text(encoding="utf-8")


def test_json_is_written_by_a_class_an_instance_and_a_function_alike(tmp_path):
    paths = [tmp_path / name for name in "abc"]
    for write, path in zip((Evaluator.write_json, ASTEvaluator().write_json, write_json), paths, strict=True):
        write({"a": [1]}, str(path))
    assert {path.read_text() for path in paths} == {'{\n    "a": [\n        1\n    ]\n}\n'}


def test_a_number_that_is_not_finite_becomes_null_and_a_warning_says_where(tmp_path):
    data = {"summary": {"avg": math.nan}, "rows": [1.0, np.array([math.inf, 2.0])], "f": np.float32("nan")}
    with pytest.warns(
        RuntimeWarning, match=r"not finite were left out at summary.avg, rows\[1\]\[0\], f$"
    ) as caught:
        write_json(data, tmp_path / "m.json")
    assert caught[0].filename == __file__
    assert read(tmp_path / "m.json") == {"summary": {"avg": None}, "rows": [1.0, [None, 2.0]], "f": None}


def test_a_warning_names_a_few_places_and_counts_the_others(tmp_path):
    with pytest.warns(RuntimeWarning, match=r"\[0\], \[1\], \[2\], \[3\], \[4\] and 15 more"):
        write_json([math.nan] * 20, tmp_path / "m.json")


def test_a_file_that_cannot_be_written_leaves_the_old_one_alone(tmp_path):
    path = tmp_path / "m.json"
    write_json({"old": 1}, path)
    loop = deep = []
    loop.append(loop)
    for _ in range(3000):
        deep = [deep]
    for data in (loop, deep):
        with pytest.raises(
            InvalidOutputError, match=r"m\.json was not written: the data contains itself, or nests"
        ):
            write_json(data, path)
    assert read(path) == {"old": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


# ---------------------------------------------------------------------- tables


def test_a_table_has_a_row_for_every_turn(tmp_path):
    write_csv(METRICS, tmp_path / "turns.csv")
    assert rows_of(tmp_path / "turns.csv") == [
        ["rollout", "seed", "turn", "score", "said", "extra"],
        ["1", "0", "1", "0.5", "'=1+1", ""],
        ["1", "0", "2", "", "é\n\\x1b", ""],
        ["2", "s", "1", "1", "", "[1]"],
    ]


@pytest.mark.parametrize("rows", ["turns", "rollouts"])
def test_a_metric_does_not_take_the_place_of_the_seed_or_the_number(tmp_path, rows):
    own = {"seed": "mine", "rollout": 7, "seed_2": 1}
    write_csv([GraphMetrics(own, [own], seed=3)], tmp_path / "t.csv", rows=rows)
    assert rows_of(tmp_path / "t.csv") == [
        ["rollout", "seed", "seed_3", "rollout_2", "seed_2"],
        ["1", "3", "mine", "7", "1"],
    ]


def test_a_table_may_have_a_row_for_every_rollout(tmp_path):
    write_csv(METRICS, tmp_path / "rollouts.csv", rows="rollouts")
    assert rows_of(tmp_path / "rollouts.csv") == [
        ["rollout", "seed", "n", "won"],
        ["1", "0", "2", "true"],
        ["2", "s", "1", "false"],
    ]


def test_parquet_has_the_same_rows_with_typed_columns(tmp_path):
    write_parquet(METRICS, tmp_path / "turns.parquet")
    table = pq.read_table(tmp_path / "turns.parquet")
    assert {name: str(kind) for name, kind in zip(table.column_names, table.schema.types, strict=True)} == {
        "rollout": "int64", "seed": "string", "turn": "int64", "score": "double", "said": "string", "extra": "string",
    }  # fmt: skip
    assert table.column("score").to_pylist() == [0.5, None, 1.0]
    assert table.column("said").to_pylist() == ["=1+1", "é\n\x1b", None]
    assert table.column("seed").to_pylist() == ["0", "0", '"s"']
    assert table.column("extra").to_pylist() == [None, None, "[1]"]


def test_a_number_too_large_for_parquet_stands_as_text(tmp_path):
    write_parquet([GraphMetrics({"n": 10**30}, [])], tmp_path / "r.parquet", rows="rollouts")
    assert pq.read_table(tmp_path / "r.parquet").column("n").to_pylist() == [str(10**30)]


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_what_is_not_finite_is_an_empty_cell_and_a_warning(tmp_path, write):
    with pytest.warns(RuntimeWarning, match="not finite were left out at rollout 1, row 1.score"):
        write([GraphMetrics({}, [{"turn": 1, "score": math.nan}])], tmp_path / "t")


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_rollouts_without_turns_make_a_table_without_rows(tmp_path, write):
    write([GraphMetrics({}, [])], tmp_path / "t")
    write(MeasuredRollouts(), tmp_path / "t")


def test_the_tables_of_a_run_are_made_of_what_it_returned_or_of_its_metrics(tmp_path):
    class Env:
        moderator = staticmethod(lambda text: 0.25)

        def eval_rollout(self, seed):
            return Graph("", [Node("", "a", "r", float(seed), [])])

    evaluator = ASTEvaluator(Env())
    returned = evaluator.evaluate(2, progress=False)
    evaluator.write_csv(returned, tmp_path / "a.csv")
    evaluator.write_csv(evaluator.metrics, tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    header, *rows = rows_of(tmp_path / "a.csv")
    assert header[:5] == ["rollout", "seed", "turn", "reward", "adversarial_toxicity"]
    assert [row[3] for row in rows] == ["0.0", "1.0"]
    evaluator.write_parquet(returned, tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").column("reward").to_pylist() == [0.0, 1.0]


@pytest.mark.parametrize(
    "data",
    [{"total": 1}, {"details": 3}, [1], [{"overall": {}}], [{"overall": {}, "per_turn": [1]}], None, "text"],
    ids=str,
)
def test_data_without_rollouts_makes_no_table_and_the_error_says_what_does(tmp_path, data):
    with pytest.raises(InvalidOptionError, match=r"pass evaluator.metrics"):
        write_csv(data, tmp_path / "t.csv")
    assert not list(tmp_path.iterdir())


def test_rows_are_turns_or_rollouts(tmp_path):
    with pytest.raises(InvalidOptionError, match="rows must be one of turns, rollouts, got 'cases'"):
        write_csv(METRICS, tmp_path / "t.csv", rows="cases")


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.floats())


@given(st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), max_size=4))
def test_any_metrics_can_be_written_in_every_format(tmp_path_factory, turns):
    folder = tmp_path_factory.mktemp("files")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        metrics = [GraphMetrics({}, turns)]
        write_json(metrics, folder / "m.json")
        write_csv(metrics, folder / "m.csv")
        write_parquet(metrics, folder / "m.parquet")
    assert len(read(folder / "m.json")[0]["per_turn"]) == len(turns)
    assert len(rows_of(folder / "m.csv")) == len(turns) + 1
    assert pq.read_table(folder / "m.parquet").num_rows == len(turns)
