import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from calipers.files import yaml_file
from calipers.files.problem import ABSENT, Problems
from calipers.files.yaml_file import MOST_COPIED, dump_yaml, parse_yaml


def parse(text):
    problems = Problems("a.yaml")
    return parse_yaml(text, problems), [str(problem) for problem in problems.found]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("~", None),
        ("", None),
        ("NULL", None),
        ("nUll", "nUll"),
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("Off", "Off"),
        ("y", "y"),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("01234", "01234"),
        ("0123.5", "0123.5"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2024-01-31", "2024-01-31"),
        ("2024-01-31T10:00:00Z", "2024-01-31T10:00:00Z"),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1.5E-3", -0.0015),
        ("-.inf", -math.inf),
        (".INF", math.inf),
        ("nan", "nan"),
        ("inf", "inf"),
        ("1e", "1e"),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("!!int '5'", 5),
        ("!!float 5", 5.0),
        ("=", "="),
        ("{}", {}),
        ("[1, two]", [1, "two"]),
        ("{2: one, true: yes, null: none, 1.5: x}", {2: "one", True: "yes", None: "none", 1.5: "x"}),
        ('"\\u00e9 \\x41"', "é A"),
    ],
)
def test_a_scalar_means_what_yaml_1_2_says_and_a_leading_zero_is_text(text, value):
    data, problems = parse(f"a: {text}")
    assert problems == []
    assert data == {"a": value}
    assert type(data["a"]) is type(value)


def test_nan_is_read_only_where_it_is_meant():
    data, _ = parse("a: .nan")
    assert math.isnan(data["a"])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a.yaml:1:1: the file is empty"),
        ("# only a comment\n", "a.yaml:1:1: the file is empty"),
        ("a: 1\nb: 2\na: 3", "a.yaml:3:1: a: the key is there twice"),
        ("a: {b: 1, b: 2}", "a.yaml:1:11: a.b: the key is there twice"),
        (
            "a: 1\nb: !!python/object:os.system x",
            "a.yaml:2:4: b: the tag !!python/object:os.system is not for plain data",
        ),
        ("a: !mine [1]", "a.yaml:1:4: a: the tag !mine is not for plain data"),
        ("a: !!binary aGk=", "a.yaml:1:4: a: the tag !!binary is not for plain data"),
        ("a: !!set {b}", "a.yaml:1:4: a: the tag !!set is not for plain data"),
        ("a: !!int x", "a.yaml:1:4: a: invalid literal for int()"),
        ("a: !!bool maybe", "a.yaml:1:4: a: the text 'maybe' does not fit its tag !!bool"),
        ("a: 1e999", "a.yaml:1:4: a: 1e999 is too large for a float: write .inf for infinity"),
        ("? [1, 2]\n: x", "a.yaml:1:3: a key must be text or a number, not a collection"),
        ("1: one\ntrue: two", "a.yaml:2:1: [True]: the key is there twice"),
        ("!mine a: 1", "a.yaml:1:1: the tag !mine is not for plain data"),
        ("a: &x [*x]", "a.yaml:1:4: a[0]: the value contains itself"),
        ("a: &x {b: *x}", "a.yaml:1:4: a.b: the value contains itself"),
        ("a: &x {<<: *x}", "a.yaml:1:4: a: the value contains itself"),
        ("a: {<<: 5}", "a.yaml:1:9: a: a merge key needs a mapping, or a list of mappings"),
        ("a: *b", "a.yaml:1:4: not YAML: found undefined alias"),
        ("a: [1", "a.yaml:"),
        ("a: 1\n\tb: 2", "a.yaml:2:"),
        ("a: 1\n---\nb: 2", "a.yaml:2:1: a second document begins here: a file holds one"),
        (
            "a: \x07",
            "a.yaml:1:4: YAML does not allow the character '\\x07': write it as an escape, in double quotes",
        ),
        ("é: 1\nb: é\x00", "a.yaml:2:5: YAML does not allow the character '\\x00'"),
        ("[" * 300 + "]" * 300, "a.yaml:1:200: not YAML: nested more than 200 levels deep"),
        ("[" * 200_000, "a.yaml:1:200: not YAML: nested more than 200 levels deep"),
        ("a: " + "9" * 5000, "a.yaml:1:4: a: Exceeds the limit"),
    ],
)
def test_what_is_wrong_is_a_problem_with_its_place(text, problem):
    data, problems = parse(text)
    assert (data is ABSENT) == ("is there twice" not in problem)
    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_a_tab_is_named_with_the_way_out():
    assert "indent with spaces" in parse("a:\n\t- 1")[1][0]


def test_every_problem_of_a_document_is_reported():
    _, problems = parse("a: !x 1\nb: [1, !y 2]\nb: 3")
    assert [problem.partition(" ")[0] for problem in problems] == [
        "a.yaml:1:4:",
        "a.yaml:2:8:",
        "a.yaml:3:1:",
    ]


def test_an_alias_is_a_copy_and_a_merge_key_fills_what_is_not_said():
    data, problems = parse(
        "base: &base {x: 1, y: [2]}\nother: &other {y: 3, z: 4}\na: *base\nb: {<<: *base, x: 9}\nc: {<<: [*base, *other]}\n'<<': text"
    )
    assert problems == []
    assert data["a"] == data["base"]
    assert data["a"]["y"] is not data["base"]["y"]
    assert data["b"] == {"x": 9, "y": [2]}
    assert data["c"] == {"x": 1, "y": [2], "z": 4}
    assert data["<<"] == "text"


def test_aliases_of_aliases_are_stopped_before_they_fill_the_memory():
    text = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True):
        text += f"{after}: &{after} [{', '.join([f'*{before}'] * 10)}]\n"
    data, problems = parse(text)
    assert data is ABSENT
    assert [problem.rpartition(": ")[2] for problem in problems] == [
        f"the aliases of the document add more than {MOST_COPIED} values"
    ]


def test_places_lead_through_merged_and_aliased_mappings():
    problems = Problems("a.yaml")
    parse_yaml("base: &base\n  x: 1\na:\n  <<: *base\n  y: 2\nb: *base", problems)
    assert problems.locate(("a", "x"), False) == (2, 6)
    assert problems.locate(("a", "y"), True) == (5, 3)
    assert problems.locate(("b", "x"), True) == (2, 3)
    assert problems.locate(("a", "missing", 3), False) == (4, 3)


def test_columns_count_characters_and_not_bytes():
    problems = Problems("a.yaml")
    parse_yaml("é: {😀: x}", problems)
    assert problems.locate(("é", "😀"), False) == (1, 8)


def test_the_slow_parser_of_a_python_without_libyaml_reads_the_same():
    # The class body names its base once, so the other base is made here in the same way.
    slow = type("Slow", (yaml.SafeLoader,), dict(vars(yaml_file._Loader)))
    text = "a: [1, no, 2024-01-31, 0o17]\nb: {c: ~, d: .5}\n"
    assert yaml.compose(text, Loader=slow) is not None
    fast, slowly = (yaml.compose(text, Loader=loader) for loader in (yaml_file._Loader, slow))
    assert [str(node) for node in fast.value[0]] == [str(node) for node in slowly.value[0]]


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text(
    "ab \n\t:#-|>'\"\\{}[],&*!%@`?~.0123456789eE+_x=<\x00\x7f\x85\u2028\ufeff\r😀é"
)
KEYS = TEXTS | st.integers() | st.booleans() | st.none() | st.text("a", min_size=400, max_size=1100)
DATA = st.recursive(
    SCALARS | st.just(math.inf) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
    max_leaves=20,
)


@given(DATA)
def test_whatever_is_written_comes_back(value):
    problems = Problems("a.yaml")
    text = dump_yaml({"a": value})
    assert repr(parse_yaml(text, problems)) == repr({"a": value}), text
    assert problems.found == []


@given(DATA)
def test_readers_of_yaml_1_1_understand_the_same(value):
    assert repr(yaml.safe_load(dump_yaml({"a": value}))) == repr({"a": value})


def test_a_float_with_an_exponent_is_a_float_to_readers_of_yaml_1_1_too():
    assert yaml.safe_load(dump_yaml({"a": [1e22, 1.5e-7, 1e16]})) == {"a": [1e22, 1.5e-7, 1e16]}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain text, with [signs] {and} 'quotes'", "a: plain text, with [signs] {and} 'quotes'"),
        ("What is 5 # 3?", 'a: "What is 5 # 3?"'),
        ("no", 'a: "no"'),
        ("2024-01-31", 'a: "2024-01-31"'),
        ("12", 'a: "12"'),
        ("", 'a: ""'),
        ("key: value", 'a: "key: value"'),
        ("Café 😀", "a: Café 😀"),
        ("one\ntwo\n", "a: |\n  one\n  two"),
        ("one\n\ntwo", "a: |-\n  one\n\n  two"),
        ("one\ntwo\n\n", "a: |+\n  one\n  two\n"),
        (" one\ntwo", 'a: " one\\ntwo"'),
        ("a\x85b", 'a: "a\\u0085b"'),
        ({}, "a: {}"),
        ([], "a: []"),
        ([{"b": 1, "c": [2, []]}, [3]], "a:\n  - b: 1\n    c:\n      - 2\n      - []\n  - - 3"),
        (["one\ntwo"], "a:\n  - |-\n    one\n    two"),
        (None, "a: null"),
        (-0.0, "a: -0.0"),
    ],
)
def test_text_is_written_for_readers(value, text):
    assert dump_yaml({"a": value}) == text + "\n"
