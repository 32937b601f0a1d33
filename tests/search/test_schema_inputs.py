import random
from typing import Literal

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from calipers.errors import InvalidOptionError
from calipers.search import SchemaInputs


class Line(BaseModel):
    item: str = Field(min_length=1, max_length=20)
    count: int = Field(ge=1, le=99)


class Order(BaseModel):
    customer: str
    kind: Literal["new", "change", "cancel"]
    lines: list[Line] = Field(min_length=1, max_length=3)
    discount: float | None = Field(default=None, ge=0, lt=1)
    parent: "Order | None" = None


SCHEMAS = {
    "a pydantic model": Order,
    "a pydantic type": TypeAdapter(dict[str, list[Line]]),
    "bounds": {"type": "integer", "minimum": 3, "exclusiveMaximum": 20, "multipleOf": 4},
    "above a bound": {"type": "number", "exclusiveMinimum": 0.5},
    "below a bound": {"type": "number", "maximum": -3},
    "texts": {"type": "string", "minLength": 3, "maxLength": 5},
    "one of several": {"oneOf": [{"type": "null"}, {"enum": [1, "a"]}, {"const": [1]}]},
    "several types": {"type": ["boolean", "string"]},
    "no type": {"properties": {"a": {"items": {"minimum": 0}}}, "required": ["a"]},
    "both": {"allOf": [{"$ref": "#/$defs/a"}, {"properties": {"b": True}, "required": ["b"]}],
             "$defs": {"a": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}},
    "dates": {"type": "string", "format": "date"},
    "a tuple": TypeAdapter(tuple[int, Line, bool]),
    "a beginning, and more": {"prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}, "minItems": 3},
    "a set": TypeAdapter(set[Literal["a", "b", "c", "d", "e"]]),
    "other properties": {"type": "object", "properties": {"urgent": {"type": "null"}}, "maxProperties": 3,
                         "additionalProperties": {"type": "integer", "minimum": 5}},
}  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@given(seed=st.integers())
def test_what_is_drawn_and_redrawn_is_allowed(schema, seed):
    if isinstance(schema, TypeAdapter):
        plain = schema.json_schema()
    else:
        plain = schema if isinstance(schema, dict) else schema.model_json_schema()
    validator = jsonschema_rs.validator_for(plain)
    space, rng = SchemaInputs(schema), random.Random(seed)
    proposal = space.sample(rng)
    for _ in range(3):
        validator.validate(proposal.inputs)
        proposal = space.redraw(proposal, rng)


def test_a_redraw_changes_a_part_and_leaves_the_value_it_came_from():
    space, rng = SchemaInputs(Order), random.Random(1)
    before = space.sample(rng)
    copied = repr(before.inputs)
    changes = [space.redraw(before, rng).inputs for _ in range(60)]
    assert repr(before.inputs) == copied
    assert any(sum(each.get(key) != before.inputs.get(key) for key in before.inputs) == 1 for each in changes)


@pytest.mark.parametrize(
    ("schema", "several"),
    [(TypeAdapter(dict[str, int]), 20), (TypeAdapter(set[int]), 20), (TypeAdapter(tuple[int, str]), 20)],
)
def test_values_differ_from_draw_to_draw(schema, several):
    space = SchemaInputs(schema)
    drawn = [space.sample(random.Random(seed)) for seed in range(40)]
    assert len({repr(each.inputs) for each in drawn}) >= several
    redrawn = {repr(space.redraw(drawn[0], random.Random(seed)).inputs) for seed in range(40)}
    assert len(redrawn) >= several / 2


def test_values_at_the_edge_of_what_is_allowed_come_often():
    space, rng = SchemaInputs({"type": "integer", "minimum": 0, "maximum": 10_000}), random.Random(0)
    drawn = [space.sample(rng).inputs for _ in range(400)]
    assert drawn.count(10_000) > 10
    assert len(set(drawn)) > 200


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (7, "must be a JSON Schema"),
        ({"type": "string", "pattern": "a+"}, "does not know 'pattern'"),
        ({"$ref": "other.json"}, "has nothing at 'other.json'"),
        ({"$ref": "#/$defs/a"}, "has nothing at"),
        ({"type": "text"}, "a type 'text'"),
        ({"type": "object", "required": ["a"]}, "requires 'a'"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "no number is allowed"),
        ({"type": "array", "items": False, "minItems": 1}, "allows nothing"),
        ({"items": {"const": 1}, "uniqueItems": True, "minItems": 2}, "no other item"),
        ({"type": "object", "additionalProperties": {"not": {}}}, "does not know 'not'"),
    ],
)
def test_what_cannot_be_drawn_from_is_refused_at_once(schema, message):
    with pytest.raises(InvalidOptionError, match=message):
        SchemaInputs(schema)
