"""A JSON Schema as providers take it. Answers are checked against the original.

OpenAI's strict schemas know neither optional properties nor objects with further ones: each property is required there, and an
optional one may be null. `without_nulls` takes such a null out of the answer again.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

_INSIDE = ("items", "contains", "not", "if", "then", "else")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "$defs", "definitions")
_NOT_STRICT = frozenset(
    {"oneOf", "allOf", "not", "if", "then", "else", "patternProperties", "prefixItems", "contains"}
)
"""Keywords that strict schemas do not know."""


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema in OpenAI's strict form; `None` if it has none."""
    return _strict_of(msgspec.json.encode(schema))


@lru_cache(maxsize=256)  # a judge asks a thousand times by one schema
def _strict_of(written: bytes) -> dict[str, Any] | None:
    schema = msgspec.json.decode(written)
    return _strict(schema) if schema.get("type") == "object" and _can_be_strict(schema) else None


def closed_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with objects that have no further properties, as Anthropic demands; one that says which is left as it is."""

    def close(found: dict[str, Any]) -> dict[str, Any]:
        return {**found, "additionalProperties": False} if _is_open(found) else found

    return _changed(schema, close)


def _is_open(schema: Mapping[str, Any]) -> bool:
    return "properties" in schema and "additionalProperties" not in schema


def _can_be_strict(schema: Mapping[str, Any]) -> bool:
    if _NOT_STRICT & schema.keys() or schema.get("additionalProperties") not in (None, False):
        return False
    if schema.get("type") == "object" and not schema.get("properties"):
        return False  # any object at all
    return all(map(_can_be_strict, _parts(schema)))


def _strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    def change(found: dict[str, Any]) -> dict[str, Any]:
        found.pop("default", None)
        if (properties := found.get("properties")) is None:
            return found
        required = found.get("required", ())
        found["properties"] = {
            name: part if name in required or _takes_null(part) else {"anyOf": [part, {"type": "null"}]}
            for name, part in properties.items()
        }
        return {**found, "required": list(properties), "additionalProperties": False}

    return _changed(schema, change)


def _changed(schema: Mapping[str, Any], change: Any) -> dict[str, Any]:
    """A schema with each of its parts changed, the inner ones first."""
    found = dict(schema)
    for key in _INSIDE:
        if isinstance(found.get(key), Mapping):
            found[key] = _changed(found[key], change)
    for key in _LISTS:
        if isinstance(found.get(key), list):
            found[key] = [
                _changed(part, change) if isinstance(part, Mapping) else part for part in found[key]
            ]
    for key in _NAMED:
        if isinstance(found.get(key), Mapping):
            found[key] = {
                name: _changed(part, change) if isinstance(part, Mapping) else part
                for name, part in found[key].items()
            }
    changed: dict[str, Any] = change(found)
    return changed


def _parts(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    inside = [schema[key] for key in _INSIDE if key in schema]
    inside += [part for key in _LISTS for part in schema.get(key, ())]
    inside += [part for key in _NAMED for part in schema.get(key, {}).values()]
    return [part for part in inside if isinstance(part, Mapping)]


def _takes_null(schema: Any) -> bool:
    """Whether null may stand there, as far as the schema itself says."""
    if not isinstance(schema, Mapping):
        return True
    kinds = schema.get("type")
    if kinds == "null" or (isinstance(kinds, list) and "null" in kinds) or None in schema.get("enum", ()):
        return True
    return any(_takes_null(part) for part in schema.get("anyOf", ()))


def without_nulls(data: Any, schema: Any) -> Any:
    """Data without the nulls of properties that are optional and cannot be null."""
    if not isinstance(schema, Mapping):
        return data
    if isinstance(data, list):
        return [without_nulls(each, schema.get("items")) for each in data]
    if not isinstance(data, dict):
        return data
    properties, required = schema.get("properties", {}), schema.get("required", ())
    return {
        name: without_nulls(value, properties.get(name))
        for name, value in data.items()
        if value is not None or name in required or name not in properties or _takes_null(properties[name])
    }
