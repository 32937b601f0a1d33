"""What tells a synthesizer from others, so that a cache does not serve the voice of another.

- A synthesizer with a method `cache_key()` says so itself, with plain data.
- Of a dataclass of plain data, the class and its compared fields count. A class that only inherits from a dataclass, or one with
  public attributes that are not fields, may differ in more than its fields, and is unknown.
- Any other object is known by its attributes, if they are plain data, and by its code: the class, what it inherits, and all
  that it names, as far as `calipers.identity` can follow it.

Plain data are `None`, booleans, finite numbers, texts, bytes, paths, enums, lists, mappings with texts as keys, and objects with
a configuration of their own.
"""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from enum import Enum
from functools import cache, cached_property
from pathlib import PurePath
from typing import Any

import msgspec

from calipers.identity import Unknown, task_identity
from calipers.identity.value_bytes import fields_of

_ENCODER = msgspec.json.Encoder(order="sorted")


def as_text(data: Any) -> str:
    """JSON data as text, the same for the same data."""
    try:
        return _ENCODER.encode(data).decode()
    except ValueError:  # half of a character that takes two
        return json.dumps(data, sort_keys=True)


class NotPlainError(Exception):
    """A value that is not plain data, so it cannot be compared with another."""


def identity(synthesizer: Any) -> str | None:
    """What tells a synthesizer from others; `None` if it cannot tell."""
    try:
        return known_identity(synthesizer)
    except NotPlainError:
        return None


def known_identity(synthesizer: Any, *, spoken_for: bool = False) -> str:
    """What tells a synthesizer from others: its class and its `cache_key()`, its fields, or its code and attributes.

    Fields that are not compared do not count: `client: Any = field(compare=False)`.

    Args:
        synthesizer: of any class.
        spoken_for: the user says what tells it from others, so its class is enough if it is unknown otherwise.
    """
    try:
        return as_text(canonical(synthesizer))
    except (NotPlainError, RecursionError) as error:
        if spoken_for:
            return class_name(type(synthesizer))
        if isinstance(error, RecursionError):
            raise NotPlainError(f"{synthesizer!r} holds itself") from None
        if _tells(synthesizer) or isinstance(synthesizer, type):
            raise
    attributes = fields_of(synthesizer)
    if attributes is None:
        raise NotPlainError(f"{synthesizer!r} does not show its attributes")
    held = {}
    for name, value in sorted(attributes.items()):
        try:
            held[name] = canonical(value)
        except (NotPlainError, RecursionError):
            raise NotPlainError(
                f"its attribute {name!r} is a {type(value).__name__}, and not plain data"
            ) from None
    code = _code_of(type(synthesizer))  # type: ignore[arg-type]  # mypy takes no class for hashable
    return as_text([class_name(type(synthesizer)), code, held])


def _tells(synthesizer: Any) -> bool:
    """Whether it says itself what its configuration is."""
    return callable(getattr(synthesizer, "cache_key", None)) or dataclasses.is_dataclass(synthesizer)


@cache
def _code_of(kind: type) -> str:
    """What the code of a class is known by; it does not change while the program runs."""
    found = task_identity(kind, role="class")
    if isinstance(found, Unknown):
        raise NotPlainError(f"its code cannot be known: {found.reason}")
    return found.key


def canonical(value: Any) -> Any:
    """The value as JSON data in which different values differ."""
    if value is None or type(value) in {bool, int, str}:
        return value
    if isinstance(value, type):
        raise NotPlainError(f"{value!r} is a class")
    if callable(own := getattr(value, "cache_key", None)):
        if (told := own()) is None:
            raise NotPlainError(f"{value!r} cannot tell its configuration")
        return [class_name(type(value)), canonical(told)]
    if isinstance(value, Enum):
        return [class_name(type(value)), value.name]
    if "__dataclass_fields__" in vars(type(value)):
        return [class_name(type(value)), _compared_fields(value)]
    match value:
        case float() if math.isfinite(value):
            return float(value)
        case int() | str():
            return value
        case bytes():
            return ["bytes", hashlib.sha256(value).hexdigest()]
        case PurePath():
            return ["path", str(value)]
        case list() | tuple():
            return ["list", [canonical(item) for item in value]]
        case Mapping() if all(isinstance(key, str) for key in value):
            return ["map", {key: canonical(item) for key, item in value.items()}]
    raise NotPlainError(f"{value!r} is a {type(value).__name__}")


def _compared_fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass by which it is compared with others."""
    fields = dataclasses.fields(value)
    known = {field.name for field in fields}
    known |= {name for name, member in vars(type(value)).items() if isinstance(member, cached_property)}
    public = {name for name in getattr(value, "__dict__", {}) if not name.startswith("_")}
    if more := sorted(public - known):
        raise NotPlainError(f"{value!r} has attributes that are not fields: {', '.join(more)}")
    return {field.name: canonical(getattr(value, field.name)) for field in fields if field.compare}


def class_name(kind: type) -> str:
    """The full name of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"
