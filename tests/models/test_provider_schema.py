"""A schema in the providers' forms means the same as the original."""

import jsonschema_rs
from hypothesis import given
from hypothesis import strategies as st

from calipers.models.answer_cache import cache_key
from calipers.models.provider_schema import closed_schema, strict_schema, without_nulls

LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "minimum": 0},
        {"type": "boolean", "default": True},
        {"type": ["string", "null"]},
        {"enum": ["a", "b", None]},
    ]
)


def objects(parts):
    return st.dictionaries(st.sampled_from("abc"), parts, min_size=1).flatmap(
        lambda found: st.lists(st.sampled_from(sorted(found)), unique=True).map(
            lambda required: {"type": "object", "properties": found, "required": required}
        )
    )


SCHEMAS = objects(
    st.recursive(
        LEAVES,
        lambda parts: objects(parts) | parts.map(lambda part: {"type": "array", "items": part}),
        max_leaves=6,
    )
)


def example(schema, draw):
    """Data that follows a strict schema."""
    if "anyOf" in schema:
        return example(draw(st.sampled_from(schema["anyOf"])), draw)
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kind = schema["type"][0] if isinstance(schema["type"], list) else schema["type"]
    if kind == "object":
        return {name: example(part, draw) for name, part in schema["properties"].items()}
    if kind == "array":
        return [example(schema["items"], draw) for _ in range(draw(st.integers(0, 2)))]
    return {"string": "x", "integer": 3, "boolean": True, "null": None}[kind]


@given(SCHEMAS, st.data())
def test_what_follows_the_strict_form_follows_the_original_without_its_nulls(schema, data):
    strict = strict_schema(schema)
    made = example(strict, data.draw)
    jsonschema_rs.validate(strict, made)
    jsonschema_rs.validate(schema, without_nulls(made, schema))


@given(SCHEMAS, st.data())
def test_what_follows_the_closed_form_follows_the_original(schema, data):
    made = without_nulls(example(strict_schema(schema), data.draw), schema)
    jsonschema_rs.validate(closed_schema(schema), made)


def test_schemas_that_have_no_strict_form_are_told():
    for schema in (
        {"type": "string"},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
    ):
        assert strict_schema(schema) is None
    within = {"$ref": "#/$defs/a"}
    found = strict_schema(
        {
            "type": "object",
            "properties": {"a": within},
            "required": ["a"],
            "$defs": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}},
        }
    )
    assert found["$defs"]["a"]["required"] == ["b"]


@given(
    st.lists(
        st.tuples(st.text(), st.text(), st.binary(), st.integers(0, 3)), min_size=2, max_size=2, unique=True
    )
)
def test_two_questions_have_two_keys(pair):
    first, second = (cache_key(name, where, request, repeat=again) for name, where, request, again in pair)
    assert first != second
