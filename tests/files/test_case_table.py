from dataclasses import dataclass
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset
from calipers.errors import DatasetFileError, InvalidOptionError
from calipers.evaluators import EqualsExpected
from calipers.files import load_dataset, save_dataset
from calipers.files.case_data import CaseReader
from calipers.files.case_table import JSONColumn, RowReader
from calipers.files.catalog import Catalog
from calipers.files.problem import Problems
from calipers.files.value_type import case_types


def read(table, columns=None, types=None, *, text=True):
    """The cases of a table, whose first row is the header, and the problems."""
    problems = Problems("a")
    header, *rows = table
    reader = RowReader(header, columns, CaseReader(case_types(types), Catalog()), problems, text=text)
    cases = [] if problems.found else [reader.read(row, problems) for row in rows]
    return cases, [str(problem) for problem in problems.found]


def test_columns_are_found_by_their_names():
    table = [
        ["tags", "name", "inputs", "expected_output", "cluster", "metadata", "timeout"],
        ["a b", "n", "i", "e", "c", "m", "2.5"],
        ["", "", "", "", "", "", ""],
    ]
    assert read(table) == (
        [
            Case(
                name="n",
                inputs="i",
                expected_output="e",
                cluster="c",
                metadata="m",
                tags=["a", "b"],
                timeout=2.5,
            ),
            Case(inputs=""),
        ],
        [],
    )


def test_columns_with_a_dot_make_one_value_of_what_is_there():
    table = [
        ["inputs.q", "inputs.context", "metadata.level", "metadata.a.b", "expected_output.x"],
        ["why", "", "1", "2", ""],
        ["", "", "", "", "y"],
    ]
    first, second = read(table)[0]
    assert first == Case(inputs={"q": "why"}, metadata={"level": "1", "a.b": "2"})
    assert second == Case(inputs={}, expected_output={"x": "y"})


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (
            ["input"],
            "a: input: unknown column 'input' (did you mean 'inputs'?). columns={...} says what other",
        ),
        (["inputs", "zzz"], "a: zzz: unknown column 'zzz'; known are name, inputs"),
        (["inputs", "evaluators"], "a: evaluators: unknown column 'evaluators'"),
        (
            ["inputs", "metadata", "metadata.x"],
            "a: metadata: there is a column 'metadata' and one that begins with",
        ),
        (["inputs", "name", "name"], "a: name: two columns have this name"),
        (
            ["name"],
            "a: no column holds the inputs; there are 'name': columns={'inputs': ...} says which it is",
        ),
        ([], "a: no column holds the inputs; there are none"),
    ],
)
def test_a_header_that_does_not_fit_is_a_problem(header, problem):
    _, problems = read([header])
    assert problems[0].startswith(problem)


def test_told_what_is_what_only_those_columns_are_read():
    table = [
        ["id", "question", "context", "answer", "name", "payload"],
        ["1", "why", "so", "x", "Ann", '{"a": [1]}'],
    ]
    assert read(table, {"inputs": "question", "name": "id"})[0] == [Case(name="1", inputs="why")]
    assert read(table, {"inputs": ["question", "context"], "expected_output": "answer"})[0] == [
        Case(inputs={"question": "why", "context": "so"}, expected_output="x")
    ]
    assert read(table, {"inputs": JSONColumn("payload")})[0] == [Case(inputs={"a": [1]})]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"inputs": "questoin"}, "a: there is no column 'questoin' (did you mean 'question'?)"),
        ({"inputs": ["question", "zzz"]}, "a: there is no column 'zzz'; there are 'question', 'answer'"),
        ({"expected_output": "answer"}, "a: no column holds the inputs"),
        ({}, "a: no column holds the inputs"),
    ],
)
def test_a_column_that_is_not_there_is_a_problem(columns, problem):
    assert read([["question", "answer"]], columns)[1][0].startswith(problem)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"input": "question"}, r"got 'input' \(did you mean 'inputs'\?\)"),
        ({"inputs": []}, "a field comes from a column, a JSONColumn or several columns, got 'inputs': "),
        ({"inputs": 5}, "a field comes from"),
        ({"inputs": "question", "name": ["question"]}, "a field comes from"),
    ],
)
def test_columns_that_make_no_sense_are_an_error(columns, message):
    with pytest.raises(InvalidOptionError, match=message):
        read([["question"]], columns)


def test_text_is_taken_for_what_the_types_need():
    table = [["inputs", "expected_output", "metadata.level"], ["5", "[1, 2]", "3"], ["x", "[]", ""]]
    (first, _), problems = read(table, types=(int, list[int], dict[str, int]))
    assert first == Case(inputs=5, expected_output=[1, 2], metadata={"level": 3})
    assert problems == ["a: inputs: expected a valid integer, unable to parse string as an integer, got 'x'"]


def test_typed_cells_are_taken_as_they_are_and_null_says_nothing():
    header = ["name", "inputs", "expected_output", "metadata.a", "tags", "timeout"]
    table = [header, ["n", 5, 0, 1.5, ["t"], 3], [None] * 6]
    assert read(table, text=False)[0] == [
        Case(name="n", inputs=5, expected_output=0, metadata={"a": 1.5}, tags=["t"], timeout=3),
        Case(inputs=None),
    ]


@pytest.mark.parametrize(
    ("header", "row", "problem"),
    [
        (["inputs", "name"], [1, 5], "a: name: expected text, got 5"),
        (["inputs", "name"], [1, ""], "a: name: expected text, got ''"),
        (["inputs", "cluster"], [1, []], "a: cluster: expected text, got []"),
        (["inputs", "tags"], [1, [2]], "a: tags: expected a list of texts, got [2]"),
        (["inputs", "timeout"], [1, True], "a: timeout: expected a positive number of seconds, got True"),
        (["inputs", "timeout"], [1, []], "a: timeout: expected a positive number of seconds, got []"),
        (
            ["inputs", "timeout"],
            [1, float("nan")],
            "a: timeout: expected a positive number of seconds, got nan",
        ),
    ],
)
def test_a_typed_cell_that_does_not_fit_is_a_problem(header, row, problem):
    assert read([header, row], text=False)[1] == [problem]


@pytest.mark.parametrize(
    ("cell", "timeout"),
    [
        ("5", 5),
        ("5.0", 5.0),
        (" 2.5 ", 2.5),
        ("1e3", 1000.0),
        *((bad, None) for bad in ("0", "-1", "5 s", "nan", "inf", "1e999", "5" * 400, "never")),
    ],
)
def test_a_text_is_a_timeout_if_it_is_a_positive_number(cell, timeout):
    cases, problems = read([["inputs", "timeout"], ["a", cell]])
    if timeout is None:
        assert problems[0].startswith("a: timeout: expected a positive number of seconds, got ")
    else:
        assert cases == [Case(inputs="a", timeout=timeout)]
        assert type(cases[0].timeout) is type(timeout)


@pytest.mark.parametrize("text", [True, False])
def test_json_in_a_cell_is_strict(text):
    _, problems = read([["j"], ['{"a": 1, "a": 2}'], ["nope"]], {"inputs": JSONColumn("j")}, text=text)
    assert [problem.partition(", got")[0] for problem in problems] == [
        "a: j: the key is there twice",
        "a: j: not JSON: expecting value",
    ]


def test_json_must_be_text_to_be_read():
    assert read([["j"], [5]], {"inputs": JSONColumn("j")}, text=False)[1] == [
        "a: j: expected JSON as text, got 5"
    ]


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
