import json
import os
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset
from calipers.errors import DatasetFileError, InvalidCaseError, InvalidOptionError
from calipers.evaluators import ConfusionMatrixEvaluator, Contains, EqualsExpected, Evaluator, MaxDuration
from calipers.files import load_dataset, save_dataset

TIMEOUTS = st.integers(1, 10**300) | st.floats(0, exclude_min=True, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text("a \n:#-'\"\\\x85\u2028\ufeff\r0.e😀")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=10,
)
EVALUATORS = st.lists(
    st.builds(Contains, JSON, case_sensitive=st.booleans())
    | st.builds(MaxDuration, st.floats(0.1, 100))
    | st.builds(EqualsExpected, evaluation_name=st.none() | TEXTS.filter(bool)),
    max_size=2,
)


@st.composite
def datasets(draw):
    """Whole datasets of plain data."""
    cases = []
    for name in draw(
        st.lists(st.none() | TEXTS.filter(bool), unique_by=lambda name: name or object(), max_size=4)
    ):
        fields = {"name": name, "inputs": draw(JSON), "evaluators": draw(EVALUATORS)}
        for field in ("expected_output", "metadata"):
            if draw(st.booleans()):
                fields[field] = draw(JSON)
        fields["cluster"] = draw(st.none() | TEXTS)
        fields["tags"] = draw(st.lists(TEXTS.filter(bool), max_size=2))
        fields["timeout"] = draw(st.none() | TIMEOUTS)
        cases.append(Case(**fields))
    return Dataset(name=draw(TEXTS), cases=cases, evaluators=draw(EVALUATORS))


def facts(dataset):
    """All that a dataset holds, down to the types."""
    return repr((list(dataset.cases), dataset.evaluators, dataset.report_evaluators))


# To make up such a dataset costs far more than to write it, so that each is written in every way.
@given(datasets())
def test_a_dataset_comes_back_as_it_was(tmp_path_factory, dataset):
    folder = tmp_path_factory.mktemp("sets")
    for form in ("yaml", "json"):
        dataset.to_file(folder / f"set.{form}", schema=False)
        again = Dataset.from_file(folder / f"set.{form}")
        assert facts(again) == facts(dataset), form
        assert again.name == dataset.name, form

    bare = Dataset(name=dataset.name, cases=dataset.cases)
    bare.to_file(folder / "lines.jsonl")
    assert facts(Dataset.from_file(folder / "lines.jsonl")) == facts(bare)

    pair = folder / "pair"
    pair.mkdir()
    dataset.to_file(pair / "set.yaml", schema=False, cases="cases.jsonl")
    assert sorted(file.name for file in pair.iterdir()) == ["cases.jsonl", "set.yaml"]
    assert facts(Dataset.from_file(pair / "set.yaml")) == facts(dataset)


SMALL = Dataset(
    name="small",
    cases=[Case(name="a", inputs="x", expected_output="z", evaluators=[Contains("z")]), Case(inputs=1)],
    evaluators=[EqualsExpected(), MaxDuration(2)],
    report_evaluators=[ConfusionMatrixEvaluator()],
)


def test_a_document_says_only_what_differs_from_the_defaults(tmp_path):
    SMALL.to_file(tmp_path / "small.yaml")
    assert (
        (tmp_path / "small.yaml").read_text()
        == """\
# yaml-language-server: $schema=./small_schema.json
name: small
cases:
  - name: a
    inputs: x
    expected_output: z
    evaluators:
      - Contains: z
  - inputs: 1
evaluators:
  - EqualsExpected
  - MaxDuration: 2
report_evaluators:
  - ConfusionMatrixEvaluator
"""
    )
    SMALL.to_file(tmp_path / "small.json")
    assert list(json.loads((tmp_path / "small.json").read_text())) == [
        "$schema",
        "name",
        "cases",
        "evaluators",
        "report_evaluators",
    ]


def test_a_dataset_without_a_name_is_called_after_its_file(tmp_path):
    Dataset(cases=[]).to_file(tmp_path / "empty.yaml", schema=False)
    assert (tmp_path / "empty.yaml").read_text() == "cases: []\n"
    assert Dataset.from_file(tmp_path / "empty.yaml").name == "empty"


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_a_file_of_cases_refuses_evaluators_and_names_the_way_out(tmp_path, form):
    with pytest.raises(
        InvalidOptionError, match=rf"holds only cases.*save a document with cases='small\.{form}'"
    ):
        SMALL.to_file(tmp_path / f"small.{form}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "a.jsonl", "cases": "b.jsonl"}, "cases='b.jsonl' needs a YAML or JSON document"),
        (
            {"path": "a.yaml", "cases": "b.yaml"},
            r"cases must name a \.jsonl, \.csv or \.parquet file, got 'b\.yaml'",
        ),
        ({"path": "a.yaml", "cases": "b"}, "does not tell its format"),
        ({"path": "a.txt"}, "does not tell its format"),
    ],
)
def test_arguments_that_make_no_sense_write_nothing(tmp_path, options, message):
    with pytest.raises(InvalidOptionError, match=message):
        save_dataset(SMALL, tmp_path / options.pop("path"), **options)
    assert list(tmp_path.iterdir()) == []


@dataclass
class Question:
    text: str


def test_the_types_of_the_brackets_are_those_of_the_file(tmp_path):
    dataset = Dataset[Question, tuple[int, int], Any](
        cases=[Case(inputs=Question("a"), expected_output=(1, 2))]
    )
    dataset.to_file(tmp_path / "a.yaml")
    assert Dataset[Question, tuple[int, int], Any].from_file(tmp_path / "a.yaml").cases == dataset.cases
    Dataset[Question, tuple[int, int], Any].from_file(tmp_path / "a.yaml").to_file(tmp_path / "b.json")
    untyped = Dataset(cases=dataset.cases)
    untyped.to_file(tmp_path / "c.yaml", types=(Question, tuple[int, int]), schema=False)
    with pytest.raises(DatasetFileError) as caught:
        untyped.to_file(tmp_path / "d.yaml")
    assert [problem.path for problem in caught.value.problems] == [
        "cases[0].inputs",
        "cases[0].expected_output",
    ]
    assert not (tmp_path / "d.yaml").exists()


@pytest.mark.parametrize("form", ["yaml", "json", "jsonl"])
def test_what_a_file_cannot_hold_is_listed_and_nothing_is_written(tmp_path, form):
    path = tmp_path / f"a.{form}"
    path.write_text("as it was")
    dataset = Dataset(
        cases=[Case(inputs=1), Case(inputs=(1,)), Case(inputs=1, evaluators=[lambda output: True])]
    )
    with pytest.raises(DatasetFileError) as caught:
        dataset.to_file(path)
    assert [problem.path for problem in caught.value.problems] == [
        "cases[1].inputs",
        "cases[2].evaluators[0]",
    ]
    assert "<lambda>" in str(caught.value)
    assert path.read_text() == "as it was"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_infinity_is_for_yaml(tmp_path):
    dataset = Dataset(cases=[Case(inputs=float("inf"))])
    dataset.to_file(tmp_path / "a.yaml")
    assert Dataset.from_file(tmp_path / "a.yaml").cases == dataset.cases
    with pytest.raises(DatasetFileError, match="JSON has no such number"):
        dataset.to_file(tmp_path / "a.json")


def test_two_types_of_one_name_cannot_be_told_apart(tmp_path):
    @dataclass
    class Contains(Evaluator):
        def evaluate(self, ctx):
            return True

    dataset = Dataset(
        cases=[Case(inputs=1, evaluators=[Contains()])], evaluators=[SMALL.cases[0].evaluators[0]]
    )
    with pytest.raises(DatasetFileError, match="two types of evaluators are called 'Contains'"):
        dataset.to_file(tmp_path / "a.yaml")


def test_cases_of_an_iterator_are_not_used_up(tmp_path):
    with pytest.raises(InvalidCaseError, match="make them a list"):
        Dataset(cases=iter(SMALL.cases)).to_file(tmp_path / "a.yaml")


def test_a_lazy_file_can_be_written_over_itself_and_in_another_format(tmp_path):
    Dataset(cases=SMALL.cases).to_file(tmp_path / "a.jsonl")
    before = (tmp_path / "a.jsonl").read_bytes()
    lazy = Dataset.from_file(tmp_path / "a.jsonl")
    lazy.to_file(tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == before
    lazy.to_file(tmp_path / "b.yaml")
    assert load_dataset(tmp_path / "b.yaml").cases == SMALL.cases


def test_a_bad_line_of_a_lazy_file_is_not_lost_on_the_way(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"inputs": 1}\n{"input": 2}\n')
    with pytest.raises(DatasetFileError, match=r"cases\[1\].*a\.jsonl:2:"):
        Dataset.from_file(tmp_path / "a.jsonl").to_file(tmp_path / "b.yaml")


# ---------------------------------------------------------------------- the schema beside it


def test_the_schema_is_written_beside_the_document_and_only_when_it_changed(tmp_path):
    SMALL.to_file(tmp_path / "a.yaml")
    schema = tmp_path / "a_schema.json"
    assert json.loads(schema.read_text())["title"] == "Dataset"
    os.utime(schema, (1, 1))
    os.utime(tmp_path / "a.yaml", (1, 1))
    SMALL.to_file(tmp_path / "a.yaml")
    assert schema.stat().st_mtime == (tmp_path / "a.yaml").stat().st_mtime == 1
    Dataset[int, Any, Any](cases=[]).to_file(tmp_path / "a.yaml")
    assert schema.stat().st_mtime > 1


@pytest.mark.parametrize(
    ("schema", "reference", "place"),
    [
        (True, "./set_schema.json", "data/set_schema.json"),
        ("data/my schema.json", "./my%20schema.json", "data/my schema.json"),
        ("schemas/s.json", "../schemas/s.json", "schemas/s.json"),
    ],
)
def test_the_document_refers_to_its_schema_by_the_way_there(tmp_path, schema, reference, place):
    (tmp_path / "data").mkdir()
    where = schema if schema is True else tmp_path / schema
    SMALL.to_file(tmp_path / "data" / "set.yaml", schema=where)
    SMALL.to_file(tmp_path / "data" / "set.json", schema=where)
    assert (
        (tmp_path / "data" / "set.yaml")
        .read_text()
        .startswith(f"# yaml-language-server: $schema={reference}\n")
    )
    assert json.loads((tmp_path / "data" / "set.json").read_text())["$schema"] == reference
    assert (tmp_path / place).exists()


def test_no_schema_is_written_unless_it_is_wanted(tmp_path):
    SMALL.to_file(tmp_path / "a.yaml", schema=False)
    SMALL.to_file(tmp_path / "b.json", schema=False)
    Dataset(cases=SMALL.cases).to_file(tmp_path / "c.jsonl")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.yaml", "b.json", "c.jsonl"]
    assert "schema" not in (tmp_path / "a.yaml").read_text() + (tmp_path / "b.json").read_text()
