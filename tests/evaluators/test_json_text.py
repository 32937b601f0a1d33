import copy
import json
import math
import pickle
import socket
import sys
from collections import UserDict
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError, MissingExtraError
from calipers.evaluators import EvaluationReason, IsJSON, MatchesJSONSchema

JSON_DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('ab"é\n'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner),
    max_leaves=6,
)
FRAGMENTS = st.lists(
    st.sampled_from(
        ["{", "}", "[", "]", ",", ":", '"a"', "1", "-", "0", ".5", "e3", "null", "true", "NaN", " ", "x"]
    )
).map("".join)

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "ages": {"type": "array", "items": {"type": "integer"}}},
    "required": ["name"],
}


def strictly_loads(text):
    def refuse(name):
        raise ValueError(name)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


@given(JSON_DATA.map(json.dumps) | FRAGMENTS)
def test_json_is_what_a_strict_parser_reads(judge, text):
    assert judge(IsJSON(), text).value == strictly_loads(text)
    assert judge(IsJSON(), text.encode()).value == strictly_loads(text)


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("{}", True),
        (" 1 ", True),
        ('"text"', True),
        ("text", False),
        ("", False),
        ("NaN", False),
        ("[Infinity]", False),
        ("[-Infinity]", False),
        ("{'a': 1}", False),
        ("[1,]", False),
        ("01", False),
        ('{"a": 1, "a": 2}', True),
        ("9" * 5000, True),
        ("1e999", True),
        ("\ufeff{}", False),
        ('Here: {"a": 1}', False),
        ("[" * 100_000, False),
        (b'"\xff"', False),
        (b'{"a": 1}', True),
        ({"a": 1}, False),
        (None, False),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_is_json(judge, text, passes):
    result = judge(IsJSON(), text)
    assert result.value is passes
    assert (result.reason is None) is passes


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            '{"a": 1,\n "b" 2}',
            "not JSON: Expecting ':' delimiter at line 2 column 6, near '{\"a\": 1,\\n \"b\" 2}'",
        ),
        ("  ", "not JSON: the text is empty"),
        ("[NaN]", "not JSON: NaN is not a JSON value"),
        ({"a": 1}, "expected JSON as text, got {'a': 1} (dict)"),
        (b"\xff", "not JSON: the bytes are not UTF-8 at position 0"),
    ],
)
def test_the_reason_says_where_it_stops_being_json(judge, text, reason):
    assert judge(IsJSON(), text) == EvaluationReason(value=False, reason=reason)


def test_a_markdown_block_is_pointed_out(judge):
    result = judge(IsJSON(), "```json\n{}\n```")
    assert result.value is False
    assert result.reason.endswith("the text is a Markdown code block")


@dataclass
class Person:
    name: str
    ages: tuple = ()


class Struct(msgspec.Struct):
    name: str


class ModelLike:
    model_fields = {"name": None}  # noqa: RUF012 - as pydantic has it

    def __init__(self, name):
        self.name = name


class Name(str):
    __slots__ = ()


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("output", "passes"),
    [
        ('{"name": "Ada"}', True),
        (b'{"name": "Ada"}', True),
        ('{"name": 1}', False),
        ("{}", False),
        ("Ada", False),
        ({"name": "Ada"}, True),
        ({"name": "Ada", "ages": (1, 2)}, True),
        ({"name": "Ada", "ages": [1, "x"]}, False),
        ({"name": "Ada", "ages": np.array([1, 2])}, True),
        ({"name": "Ada", "ages": [np.int64(1)]}, True),
        ({"name": "Ada", "ages": [True]}, False),
        ({"name": Name("Ada")}, True),
        ({"name": Colour.RED}, True),
        ({"name": date(2020, 1, 2)}, True),
        (UserDict(name="Ada"), True),
        (Person("Ada", (1,)), True),
        (Person("Ada", ("x",)), False),
        (Struct("Ada"), True),
        (ModelLike("Ada"), True),
        (ModelLike(5), False),
        (None, False),
        ([], False),
    ],
)
def test_text_is_parsed_and_everything_else_is_taken_as_data(judge, output, passes):
    result = judge(MatchesJSONSchema(PERSON), output)
    assert result.value is passes
    assert (result.reason is None) is passes


@pytest.mark.parametrize(
    "output",
    [math.nan, {"a": math.inf}, [b"bytes"], object(), {(1, 2): 3}, [Decimal("NaN")], '"\\ud800"'],
)
def test_what_json_cannot_hold_complies_with_nothing(judge, output):
    accepts_all = MatchesJSONSchema({"description": "anything"})
    assert judge(accepts_all, output).value is False
    assert judge(accepts_all, output).reason


def test_a_value_that_contains_itself_complies_with_nothing(judge):
    output = []
    output.append(output)
    assert judge(MatchesJSONSchema({"type": "array"}), output).value is False


def test_the_reason_counts_the_violations_and_shows_the_first_with_their_paths(judge):
    output = {"ages": ["x", 1, "y", "z"]}
    assert judge(MatchesJSONSchema(PERSON), output).reason == (
        '4 violations: $: "name" is a required property; $.ages[0]: "x" is not of type "integer"; '
        '$.ages[2]: "y" is not of type "integer"; and 1 more'
    )
    assert (
        judge(MatchesJSONSchema(PERSON), {"name": 1}).reason
        == '1 violation: $.name: 1 is not of type "string"'
    )


def test_a_violation_by_a_large_value_stays_readable(judge):
    assert len(judge(MatchesJSONSchema({"type": "string"}), list(range(10_000))).reason) < 300


@given(JSON_DATA)
def test_data_and_its_text_are_judged_alike(judge, data):
    evaluator = MatchesJSONSchema({"type": ["object", "array", "integer"], "maxItems": 2})
    if not isinstance(data, str):  # a text is always read as JSON
        assert judge(evaluator, data) == judge(evaluator, json.dumps(data))


@pytest.mark.parametrize(("check_formats", "passes"), [(True, False), (False, True)])
def test_formats_are_conditions_unless_told_otherwise(judge, check_formats, passes):
    evaluator = MatchesJSONSchema({"format": "email"}, check_formats=check_formats)
    assert judge(evaluator, '"not an address"').value is passes


def test_references_within_the_schema_work(judge):
    evaluator = MatchesJSONSchema({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}})
    assert judge(evaluator, "1").value is True
    assert judge(evaluator, '"x"').value is False


@pytest.mark.parametrize("keyword", ["$ref", "$schema"])
def test_nothing_is_fetched_from_the_network(judge, keyword):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        with pytest.raises(InvalidOptionError):
            judge(MatchesJSONSchema({keyword: url}), {})
        with pytest.raises(BlockingIOError):
            server.accept()


def test_nothing_is_read_from_files(judge, tmp_path):
    file = tmp_path / "schema.json"
    file.write_text('{"type": "object"}')
    with pytest.raises(InvalidOptionError, match="nothing is fetched"):
        judge(MatchesJSONSchema({"$ref": file.as_uri()}), {})


def test_an_invalid_schema_is_refused_before_anything_is_run():
    with pytest.raises(InvalidOptionError, match="is not valid"):
        MatchesJSONSchema({"type": "nonsense"})


@pytest.mark.parametrize("value", [None, 1, "yes"])
def test_whether_formats_count_is_yes_or_no(value):
    with pytest.raises(InvalidOptionError, match="check_formats must be True or False"):
        MatchesJSONSchema({"type": "string"}, check_formats=value)


@pytest.mark.parametrize("schema", [{}, True, None, "{}", []])
def test_a_schema_says_something(schema):
    with pytest.raises(InvalidOptionError, match="non-empty dict"):
        MatchesJSONSchema(schema)


def test_it_is_pickled_copied_and_compared_without_what_it_compiled(judge):
    evaluator = MatchesJSONSchema({"type": "integer"}, check_formats=False)
    judge(evaluator, "1")
    for twin in (pickle.loads(pickle.dumps(evaluator)), copy.deepcopy(evaluator)):
        assert twin == evaluator
        assert judge(twin, "1").value is True
    assert evaluator.as_spec().arguments == {"schema": {"type": "integer"}, "check_formats": False}


def test_a_missing_dependency_is_named(judge, monkeypatch):
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    with pytest.raises(MissingExtraError, match=r"calipers\[schema\]"):
        judge(MatchesJSONSchema({"type": "integer"}), 1)
