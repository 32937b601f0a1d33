import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.agents import JsonSchemaEvaluator, Trace
from calipers.errors import InvalidOptionError

WEATHER = {
    "type": "object",
    "required": ["city", "temperature"],
    "properties": {
        "city": {"type": "string"},
        "temperature": {"type": "number"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "days": {"type": "array", "items": {"type": "integer"}},
    },
}


@pytest.mark.parametrize(
    ("data", "verdict", "score", "errors"),
    [
        ({"city": "Rome", "temperature": 12}, "pass", 1.0, 0),
        ({"city": "Rome", "temperature": "12"}, "partial", 0.75, 1),
        ({"city": "Rome"}, "partial", 0.75, 1),
        ({}, "partial", 0.5, 2),
        ({"city": 1, "temperature": "x", "unit": "kelvin", "days": ["x"]}, "fail", 0.0, 4),
        ({"city": "Rome", "temperature": 1, "days": ["x", "y", 3]}, "partial", 0.75, 2),
        ([], "fail", 0.0, 1),
        ("Rome", "fail", 0.0, 1),
        (None, "fail", 0.0, 1),
    ],
)
def test_the_score_is_the_share_of_properties_that_are_right(judge, data, verdict, score, errors):
    result = judge(JsonSchemaEvaluator(WEATHER), output_text=json.dumps(data))
    assert (result.evaluator_name, result.verdict, result.score) == ("json-schema", verdict, score)
    assert result.metadata["error_count"] == errors


@pytest.mark.parametrize(
    ("schema", "data", "score"),
    [
        ({"minProperties": 2, "properties": {"a": {}, "b": {}}}, {"a": 1}, 2 / 3),
        ({"additionalProperties": False, "properties": {"a": {}}}, {"a": 1, "x": 1, "y": 2}, 1 / 3),
        ({"required": ["a", "b"]}, {"a": 1}, 1 / 2),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, 0.0),
        ({"items": {"type": "integer"}}, [1, 2, "x", 4], 3 / 4),
        ({"minItems": 3}, [1, 2], 2 / 3),
        ({"type": "array"}, {"a": 1}, 0.0),
        ({"const": 5}, 6, 0.0),
        ({"patternProperties": {"^n": {"type": "integer"}}, "properties": {"a": {}}}, {"n1": "x"}, 1 / 2),
        ({"$ref": "#/$defs/p", "$defs": {"p": WEATHER}}, {"city": "Rome"}, 3 / 4),
        ({"$ref": "#/$defs/p", "$defs": {"p": {"$ref": "#/$defs/q"}, "q": WEATHER}}, {"city": "Rome"}, 3 / 4),
    ],
)
def test_what_is_wrong_with_the_whole_counts_as_a_part_of_it(judge, schema, data, score):
    assert judge(JsonSchemaEvaluator(schema), output_text=json.dumps(data)).score == pytest.approx(score)


@given(
    st.dictionaries(
        st.sampled_from("abcdef"), st.integers(0, 3) | st.text(max_size=2) | st.none(), max_size=6
    )
)
def test_violations_never_pass_and_compliance_always_does(judge, data):
    schema = {
        "required": ["a", "b"],
        "properties": {"a": {"type": "integer"}, "b": {"enum": [1, ""]}},
        "maxProperties": 3,
        "not": {"required": ["f"]},
    }
    result = judge(JsonSchemaEvaluator(schema), Trace(output_text=json.dumps(data)))
    right = (
        isinstance(data.get("a"), int) and data.get("b", 0) in (1, "") and len(data) <= 3 and "f" not in data
    )
    assert (result.verdict == "pass") is right is (result.score == 1.0)


@pytest.mark.parametrize("text", ["", "{", "Rome", "{'city': 1}", "NaN", '{"a": 1} {"b": 2}', "[" * 100_000])
def test_what_is_no_json_fails_and_the_reason_says_where(judge, text):
    result = judge(JsonSchemaEvaluator(WEATHER), output_text=text)
    assert (result.verdict, result.score) == ("fail", 0.0)
    assert "JSON" in result.reason


def test_the_reason_counts_the_violations_and_shows_the_first(judge):
    result = judge(JsonSchemaEvaluator(WEATHER), output_text='{"city": 1, "temperature": "x"}')
    assert (
        result.reason
        == '2 violations: $.city: 1 is not of type "string"; $.temperature: "x" is not of type "number"'
    )
    assert result.metadata["first_error"] == '$.city: 1 is not of type "string"'


def test_a_code_block_is_read_only_where_it_is_allowed(judge):
    text = 'Here it is:\n```json\n{"city": "Rome", "temperature": 1}\n```\n'
    refused = judge(JsonSchemaEvaluator(WEATHER), output_text=text)
    assert refused.verdict == "fail"
    assert "allow_fence=True" in refused.reason
    fenced = JsonSchemaEvaluator(WEATHER, allow_fence=True)
    assert judge(fenced, output_text=text).verdict == "pass"
    assert judge(fenced, output_text='{"city": "Rome", "temperature": 1}').verdict == "pass"
    assert judge(fenced, output_text=text + text).verdict == "fail"


def test_whether_formats_count_is_an_option(judge):
    schema = {"type": "string", "format": "email"}
    assert judge(JsonSchemaEvaluator(schema), output_text='"me"').verdict == "fail"
    assert judge(JsonSchemaEvaluator(schema, check_formats=False), output_text='"me"').verdict == "pass"


def test_text_that_no_schema_can_read_fails_and_is_no_error(judge):
    assert judge(JsonSchemaEvaluator({"type": "string"}), output_text='"\\ud800"').verdict == "fail"


@pytest.mark.parametrize("schema", [{}, None, [], "object", True])
def test_a_schema_that_accepts_everything_or_is_none_is_refused(schema):
    with pytest.raises(InvalidOptionError, match="JsonSchemaEvaluator needs a schema as a non-empty dict"):
        JsonSchemaEvaluator(schema)


@pytest.mark.parametrize("schema", [{"type": "nonsense"}, {"$ref": "https://example.com/schema.json"}])
def test_a_schema_that_cannot_be_used_is_refused_before_anything_is_run(schema):
    with pytest.raises(InvalidOptionError, match="not valid"):
        JsonSchemaEvaluator(schema)


def test_it_is_copied_and_pickled_after_it_has_judged(judge):
    evaluator = JsonSchemaEvaluator(WEATHER)
    judge(evaluator, output_text="{}")
    for again in (copy.deepcopy(evaluator), pickle.loads(pickle.dumps(evaluator))):
        assert again == evaluator
        assert judge(again, output_text="{}").score == 0.5
