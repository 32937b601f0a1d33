import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from calipers.files.problem import Problems
from calipers.files.yaml_reader import parse_yaml
from calipers.files.yaml_writer import dump_yaml

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
