"""A space of structured inputs: values that a JSON Schema, or a pydantic type, allows.

The generator is our own and small, rather than hypothesis-jsonschema: a search draws from a seed that it chooses, redraws one part of a value,
and states a distribution; a property-based tester does none of that from outside. It knows `type`, `enum`, `const`, `anyOf`, `oneOf`, `allOf` of
objects, local `$ref`, the bounds of numbers, lengths of texts and arrays, tuples, sets and other properties of objects, `format` of dates and mail addresses, and says which keyword it does
not know rather than give what the schema forbids.

A share of the values (`edges`) lies at the edge of what is allowed: bounds, empty and long texts, odd characters. There agents break.
"""

import copy
import random
import string
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final

from calipers.data.argument_checks import check_number
from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidOptionError

from .proposal import Proposal

_UNKNOWN: Final = (
    "pattern", "not", "if", "patternProperties", "propertyNames", "contains", "dependentRequired",
    "dependentSchemas", "dependencies", "$dynamicRef", "minProperties",
)  # fmt: skip
"""Keywords that forbid values and that are not obeyed here."""
_WORDS = (
    "order",
    "blue",
    "three",
    "Lisbon",
    "urgent",
    "refund",
    "Anna",
    "tomorrow",
    "pending",
    "x1",
    "total",
    "note",
)
_ODD = ("", " ", "\n", "null", "0", "-1", "'; --", "<b>", "Grüße", "\N{ROCKET}", "\u202eabc", "A" * 200)
_DEEPEST: Final = 8
_DRAWS: Final = 30
"""How often an item is drawn that must not be like another."""
_MOST: Final = 4
"""Items of an array, and length of a word list, unless the schema wants more."""
_FORMATS: Final[Mapping[str, tuple[str, ...]]] = {
    "date": ("2024-02-29", "1999-12-31", "2030-01-01", "2025-06-15"),
    "date-time": ("2024-02-29T23:59:59Z", "1999-12-31T00:00:00Z", "2025-06-15T12:30:00+02:00"),
    "time": ("00:00:00Z", "23:59:59Z", "12:30:00Z"),
    "email": ("anna@example.org", "a@b.co", "first.last+tag@sub.example.com"),
    "uri": ("https://example.org/", "http://example.org/a?b=c#d"),
    "uuid": ("00000000-0000-0000-0000-000000000000", "123e4567-e89b-42d3-a456-426614174000"),
}


@dataclass(frozen=True)
class SchemaInputs:
    """Values that a schema allows."""

    schema: Any
    """A JSON Schema as a mapping, a pydantic model, or a `TypeAdapter` of pydantic; anything with `model_json_schema()` or `json_schema()`."""
    _: KW_ONLY
    edges: float = 0.2
    """The share of simple values that lie at the edge of what is allowed."""
    _root: Mapping[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_number("edges", self.edges, at_least=0, at_most=1)
        made = getattr(self.schema, "model_json_schema", None) or getattr(self.schema, "json_schema", None)
        root = made() if callable(made) else self.schema
        if not isinstance(root, Mapping):
            raise InvalidOptionError(
                f"schema must be a JSON Schema, a pydantic model or a TypeAdapter, got {safe_repr(self.schema):.200}"
            )
        object.__setattr__(self, "_root", root)
        self.sample(random.Random(0))  # noqa: S311 - what it cannot draw from is refused here

    @property
    def keeps_distribution(self) -> bool:
        """Whether a chain of redraws has the same distribution as samples: no, since a redraw keeps the shape of the value."""
        return False

    def sample(self, rng: random.Random) -> Proposal:
        """A value."""
        return Proposal(self._drawn(self._root, rng, 0))

    def redraw(self, proposal: Proposal, rng: random.Random) -> Proposal:
        """The value with one part drawn anew."""
        places = list(self._places(self._root, proposal.inputs))
        path, schema = rng.choice(places)
        if not path:
            return self.sample(rng)
        changed = copy.deepcopy(proposal.inputs)
        holder = changed
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = self._drawn(schema, rng, len(path))
        return Proposal(changed)

    def _places(self, schema: Any, value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """The parts of a value with their schemas, itself included."""
        schema = self._resolved(schema)
        yield (), schema
        if isinstance(value, Mapping):
            known, other = schema.get("properties", {}), schema.get("additionalProperties")
            for key, item in value.items():
                if isinstance(part := known.get(key, other), Mapping):
                    yield from (((key, *path), each) for path, each in self._places(part, item))
        elif isinstance(value, list) and not schema.get("uniqueItems"):  # one alone might become like another
            for place, item in enumerate(value):
                told = place < len(schema.get("prefixItems", ())) or "items" in schema
                if told and isinstance(part := _item_schema(schema, place), Mapping):
                    yield from (((place, *path), each) for path, each in self._places(part, item))

    def _resolved(self, schema: Any) -> Mapping[str, Any]:
        """A schema without `$ref` and `allOf`.

        Raises:
            InvalidOptionError: it has a keyword that is not known here.
        """
        if schema is True:
            return {}
        if not isinstance(schema, Mapping):
            raise InvalidOptionError(f"a part of the schema allows nothing: {safe_repr(schema):.200}")
        if (reference := schema.get("$ref")) is not None:
            found: Any = self._root
            for step in str(reference).removeprefix("#").strip("/").split("/"):
                found = found.get(step) if isinstance(found, Mapping) else None
            if found is None or not str(reference).startswith("#"):
                raise InvalidOptionError(
                    f"the schema has nothing at {reference!r}: only its own parts can be referred to"
                )
            return self._resolved({**found, **{key: each for key, each in schema.items() if key != "$ref"}})
        if unknown := [keyword for keyword in _UNKNOWN if keyword in schema]:
            raise InvalidOptionError(
                f"the generator does not know {unknown[0]!r} of {safe_repr(dict(schema)):.200}: leave it out, or use a space of your own"
            )
        merged = dict(schema)
        for part in merged.pop("allOf", ()):
            found = self._resolved(part)
            merged = {
                **merged,
                **found,
                "properties": {**merged.get("properties", {}), **found.get("properties", {})},
                "required": [*merged.get("required", ()), *found.get("required", ())],
            }
        return merged

    def _drawn(self, given: Any, rng: random.Random, depth: int) -> Any:
        schema = self._resolved(given)
        for keyword in ("anyOf", "oneOf"):
            if options := schema.get(keyword):
                rest = {key: each for key, each in schema.items() if key != keyword}
                simple = [option for option in options if _is_simple(option)]
                return self._drawn(
                    {
                        **rest,
                        **self._resolved(rng.choice(simple if depth > _DEEPEST and simple else options)),
                    },
                    rng,
                    depth,
                )
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return rng.choice(list(schema["enum"]))
        kind = schema.get("type", _kind_of(schema))
        if isinstance(kind, list):
            kind = rng.choice(kind)
        match kind:
            case "object":
                return self._object(schema, rng, depth)
            case "array":
                return self._array(schema, rng, depth)
            case "integer" | "number":
                return self._number(schema, rng, whole=kind == "integer")
            case "string":
                return self._text(schema, rng)
            case "boolean":
                return rng.random() < 0.5
            case "null":
                return None
        raise InvalidOptionError(f"the schema has a type {kind!r} that JSON does not have")

    def _object(self, schema: Mapping[str, Any], rng: random.Random, depth: int) -> dict[str, Any]:
        required = set(schema.get("required", ()))
        keep = 0.0 if depth > _DEEPEST else 0.5
        properties = schema.get("properties", {})
        if missing := required - set(properties):
            raise InvalidOptionError(f"the schema requires {min(missing)!r}, but does not describe it")
        made = {
            name: self._drawn(each, rng, depth + 1)
            for name, each in properties.items()
            if name in required or rng.random() < keep
        }
        other = schema.get("additionalProperties")
        if isinstance(other, Mapping) and depth <= _DEEPEST:
            self._resolved(other)
            room = schema.get("maxProperties", len(made) + _MOST) - len(made)
            names = [word for word in _WORDS if word not in properties]
            for name in rng.sample(names, min(max(room, 0), rng.randint(0, _MOST))):
                made[name] = self._drawn(other, rng, depth + 1)
        return made

    def _array(self, schema: Mapping[str, Any], rng: random.Random, depth: int) -> list[Any]:
        first = len(schema.get("prefixItems", ()))
        least = schema.get("minItems", 0)
        most = min(schema.get("maxItems", max(least, first, _MOST)), max(least, first) + _MOST)
        if schema.get("items") is False or (first and "items" not in schema):
            most = min(most, first)
        size = least if depth > _DEEPEST else rng.randint(least, max(most, least))
        if rng.random() < self.edges and depth <= _DEEPEST:
            size = rng.choice([least, max(most, least)])
        made: list[Any] = []
        for place in range(size):
            for _ in range(_DRAWS if schema.get("uniqueItems") else 1):
                drawn = self._drawn(_item_schema(schema, place), rng, depth + 1)
                if not schema.get("uniqueItems") or drawn not in made:
                    made.append(drawn)
                    break
        if len(made) < least:
            raise InvalidOptionError(f"{_DRAWS} draws gave no other item for {safe_repr(dict(schema)):.200}")
        return made

    def _number(self, schema: Mapping[str, Any], rng: random.Random, *, whole: bool) -> int | float:
        step = schema.get("multipleOf")
        least = schema.get("minimum", schema.get("exclusiveMinimum"))
        most = schema.get("maximum", schema.get("exclusiveMaximum"))
        low = least if least is not None else (most - 1000 if most is not None else -1000)
        high = most if most is not None else low + 2000
        unit = step or (1 if whole else (high - low) / 1000 or 1)
        first = -(-low // unit)
        last = high // unit
        first += "exclusiveMinimum" in schema and first * unit <= schema["exclusiveMinimum"]
        last -= "exclusiveMaximum" in schema and last * unit >= schema["exclusiveMaximum"]
        if first > last:
            raise InvalidOptionError(f"no number is allowed by {safe_repr(dict(schema)):.200}")
        near = [place for place in (first, last, 0, 1, -1) if first <= place <= last]
        place = rng.choice(near) if rng.random() < self.edges else rng.randint(int(first), int(last))
        return int(place * unit) if whole else float(place * unit)

    def _text(self, schema: Mapping[str, Any], rng: random.Random) -> str:
        if (form := str(schema.get("format"))) in _FORMATS:
            return rng.choice(_FORMATS[form])
        least, most = schema.get("minLength", 0), schema.get("maxLength")
        text = (
            rng.choice(_ODD)
            if rng.random() < self.edges
            else " ".join(rng.choices(_WORDS, k=rng.randint(1, _MOST)))
        )
        if len(text) < least:
            text += "".join(rng.choices(string.ascii_lowercase, k=least - len(text)))
        return text if most is None else text[:most]


def _item_schema(schema: Mapping[str, Any], place: int) -> Any:
    """The schema of an item of an array."""
    first = schema.get("prefixItems", ())
    return first[place] if place < len(first) else schema.get("items", {"type": "string"})


def _kind_of(schema: Mapping[str, Any]) -> str:
    """The type of a schema that does not say one."""
    if "properties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    return "number" if "minimum" in schema or "maximum" in schema else "string"


def _is_simple(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") in {
        "string",
        "number",
        "integer",
        "boolean",
        "null",
    }
