import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.files.json_reader import JSONPlaces, parse_json
from calipers.files.problem import ABSENT, Problems

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=15,
)


def parse(text, **place):
    problems = Problems("a.json", **place)
    return parse_json(text, problems), [str(problem) for problem in problems.found]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        # Where and how Python says it differs a little from version to version.
        ("[1,\n 2", "a.json:2:3: not JSON"),
        ("", "a.json:1:1: not JSON"),
        ('{"a": 1, "b": {"c": 2,\n "c": 3}}', "a.json:2:2: b.c: the key is there twice"),
        ('{"a": [1, NaN]}', "a.json:1:11: a[1]: NaN is not a JSON number"),
        ('{"a": -Infinity}', "a.json:1:7: a: -Infinity is not a JSON number"),
        ("[1e999]", "a.json:1:2: [0]: 1e999 is not a JSON number"),
        ("[" * 100_000, "a.json: nested too deeply to be read"),
    ],
)
def test_what_is_no_strict_json_is_a_problem_with_its_place(text, problem):
    data, problems = parse(text)
    assert (data is ABSENT) == ("twice" not in problem and "not a JSON number" not in problem)
    assert [found.partition(" not JSON")[0] for found in problems] == [problem.partition(" not JSON")[0]]


def test_an_integer_that_python_does_not_convert_is_a_problem():
    many = "9" * 5000
    data, problems = parse(f'{{"a": "{many}",\n "b": -{many}}}')
    assert data is ABSENT
    assert problems == ["a.json:2:7: an integer of 5000 digits is too long to be read"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2,]", "there is a comma, and nothing after it but ']'"),
        ('{"a": 1, }', "there is a comma, and nothing after it but '}'"),
        ("[1, 2", "it ends too early"),
        (" \n", "the text is empty"),
        ("[1] [2]", "it ends here, and more follows"),
    ],
)
def test_common_slips_are_said_plainly(text, message):
    (problem,) = parse(text)[1]
    assert problem.partition(" not JSON: ")[2] == message


def test_every_fault_is_reported():
    _, problems = parse('{"a": NaN, "a": 1,\n"b": [1e400, {"c": 0, "c": 0}]}')
    assert problems == [
        "a.json:1:12: a: the key is there twice",
        "a.json:1:17: a: NaN is not a JSON number",
        "a.json:2:7: b[0]: 1e400 is not a JSON number",
        "a.json:2:23: b[1].c: the key is there twice",
    ]


def test_a_line_of_a_longer_file_is_counted_from_there():
    assert parse("[1,", line=7)[1] == ["a.json:7:4: not JSON: it ends too early"]
    assert parse("[NaN]", line=7)[1] == ["a.json:7:2: [0]: NaN is not a JSON number"]


@given(JSON)
def test_json_means_what_python_says(value):
    assert parse(json.dumps(value)) == (value, [])


def walk(value, steps=()):
    yield steps, value
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for step, inner in members:
        yield from walk(inner, (*steps, step))


@given(JSON, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_every_value_is_found_where_it_is(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    places = JSONPlaces(text)
    lines = text.split("\n")
    for steps, inner in walk(value):
        line, column = places.locate(steps, False)
        rest = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
        assert json.JSONDecoder().raw_decode(rest)[0] == inner
        if steps and isinstance(steps[-1], str):
            line, column = places.locate(steps, True)
            assert json.JSONDecoder().raw_decode(lines[line - 1], column - 1)[0] == steps[-1]


def test_a_step_that_is_not_there_leads_to_the_last_that_is():
    places = JSONPlaces('{"a": {"b": 1}}')
    assert places.locate(("a", "x", "y"), False) == (1, 7)
    assert places.locate(("a", "b", 0), False) == (1, 13)
