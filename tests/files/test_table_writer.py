from dataclasses import dataclass
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset
from calipers.errors import DatasetFileError
from calipers.evaluators import EqualsExpected
from calipers.files import load_dataset, save_dataset

TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text('a,"\r\n =')
FULL = TEXTS.filter(bool)
TIMEOUTS = st.integers(1, 2**50) | st.floats(0, exclude_min=True, allow_infinity=False)


@dataclass
class Question:
    text: str
    level: int | None = None


@st.composite
def rows(draw, inputs, others):
    """Cases that fit into a table."""
    found = []
    for name in draw(st.lists(st.none() | FULL, unique_by=lambda name: name or object(), max_size=5)):
        fields = {"name": name, "inputs": draw(inputs)}
        for field in ("expected_output", "metadata"):
            if draw(st.booleans()):
                fields[field] = draw(others)
        if draw(st.booleans()):
            fields["cluster"] = draw(FULL)
        fields["tags"] = draw(st.lists(st.text("abc", min_size=1), max_size=2))
        fields["timeout"] = draw(st.none() | TIMEOUTS)
        found.append(Case(**fields))
    return found


def come_back(cases, folder, form, types=None):
    path = folder / f"cases.{form}"
    save_dataset(Dataset(cases=cases), path, types=types)
    assert list(load_dataset(path, types=types).cases) == cases
    return path


@given(
    rows(TEXTS, FULL) | rows(st.dictionaries(FULL, FULL, min_size=1), st.dictionaries(FULL, FULL, min_size=1))
)
def test_text_and_dicts_of_text_come_back_from_csv(tmp_path_factory, cases):
    if cases:
        come_back(cases, tmp_path_factory.mktemp("csv"), "csv")


NUMBERS = st.integers(-(2**63), 2**63 - 1)
STRUCTS = st.fixed_dictionaries({"a": NUMBERS, "b": st.lists(TEXTS)})


@given(
    st.sampled_from([TEXTS, NUMBERS, st.booleans(), STRUCTS, st.lists(NUMBERS)]).flatmap(
        lambda kind: rows(kind, kind)
    )
)
def test_columns_of_one_type_come_back_from_parquet(tmp_path_factory, cases):
    if cases:
        come_back(cases, tmp_path_factory.mktemp("parquet"), "parquet")


def test_a_table_has_the_columns_that_some_case_needs(tmp_path):
    cases = [Case(inputs="a"), Case(inputs="b", metadata={"level": "1"}, tags=["x", "y"], timeout=2.5)]
    assert come_back(cases, tmp_path, "csv").read_text() == (
        "inputs,metadata.level,tags,timeout\na,,,\nb,1,x y,2.5\n"
    )


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_declared_type_brings_back_what_a_cell_alone_cannot(tmp_path, form):
    cases = [
        Case(inputs=Question("a, b"), expected_output=1.5, metadata=date(2024, 1, 31)),
        Case(inputs=Question("c", 3), expected_output=2.0),
    ]
    come_back(cases, tmp_path, form, types=(Question, float, date))


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("case", "problem"),
    [
        (Case(inputs="a", expected_output=None), "cases[0].expected_output: "),
        (
            Case(inputs="a", evaluators=[EqualsExpected()]),
            "cases[0].evaluators: a table cannot hold evaluators",
        ),
        (Case(inputs="a", metadata={}), "cases[0].metadata: "),
        (Case(inputs="a", metadata={1: "x"}), "cases[0].metadata: "),
        (Case(inputs=("a",)), ""),
        (Case(inputs="\ud800"), ""),
        (Case(inputs={}), ""),
    ],
)
def test_what_no_table_can_hold_is_refused_and_nothing_is_written(tmp_path, form, case, problem):
    path = tmp_path / f"cases.{form}"
    with pytest.raises(DatasetFileError) as caught:
        save_dataset(Dataset(cases=[case]), path)
    assert problem in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        (Case(inputs=5), "cases[0].inputs: a CSV cell holds text: state the type"),
        (
            Case(inputs="a", expected_output=""),
            "cases[0].expected_output: a table cannot expect this; JSON Lines holds it",
        ),
        (Case(inputs="a", metadata={"k": ""}), "cases[0].metadata: in a table it would come back as None"),
        (Case(inputs="a", metadata={"k": ["x"]}), "a CSV cell holds text"),
        (
            Case(inputs="a", tags=["two words"]),
            "cases[0].tags: in a table it would come back as ('two', 'words')",
        ),
        (Case(inputs="a", cluster=""), "cases[0].cluster: in a table it would come back as None"),
    ],
)
def test_what_csv_cannot_hold_is_refused(tmp_path, case, problem):
    with pytest.raises(DatasetFileError) as caught:
        save_dataset(Dataset(cases=[case]), tmp_path / "cases.csv")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("cases", "problem"),
    [
        ([Case(inputs=1), Case(inputs="a")], "inputs: Parquet has no type for this column"),
        ([Case(inputs=1), Case(inputs=2.5)], "cases[0].inputs: in a table it would come back as 1.0"),
        ([Case(inputs=2**70)], "inputs: Parquet has no type for this column"),
        ([Case(inputs={"a": {"x": 1}}), Case(inputs={"a": {"y": 1}})], "would come back as"),
        ([Case(inputs={"a": None})], "cases[0].inputs: "),
        ([Case(inputs={"a": {}})], "Parquet cannot hold it"),
        (
            [Case(inputs="a"), Case(inputs={"a": 1})],
            "cases[0].inputs: one column cannot hold this beside dicts",
        ),
    ],
)
def test_what_parquet_cannot_hold_is_refused(tmp_path, cases, problem):
    with pytest.raises(DatasetFileError) as caught:
        save_dataset(Dataset(cases=cases), tmp_path / "cases.parquet")
    assert problem in str(caught.value)
    assert list(tmp_path.iterdir()) == []


class Again:
    """An iterable that is no list, and so may hold what is no case."""

    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)


def test_every_case_that_does_not_fit_is_named(tmp_path):
    cases = [Case(inputs="a"), Case(inputs=1), Case(inputs="b", expected_output=2), "no case"]
    with pytest.raises(DatasetFileError) as caught:
        save_dataset(Dataset(cases=Again(cases)), tmp_path / "cases.csv")
    assert [problem.path for problem in caught.value.problems] == [
        "cases[3]",
        "cases[1].inputs",
        "cases[2].expected_output",
    ]
