"""The values that spans carry: when one matches another, and how they are stored.

Equality: `True` is not `1`; `1` is `1.0`; NaN equals NaN; a list equals a tuple. Instrumentations often store a structure
as JSON text, so a list or a mapping also matches text that parses to it.

Storing: JSON has no bytes, no NaN and, in many readers, no integers beyond 64 bits. Such a value is stored as a mapping
with one tag: `{"$bytes": base64}`, `{"$float": "nan"}`, `{"$int": hex}`. A mapping that itself has a key with a dollar
sign in front is stored under `{"$dict": ...}`, so nothing is mistaken for a tag. Tuples come back as lists.
"""

import base64
import json
import math
from collections.abc import Mapping
from typing import Any


def check_value(key: str, value: Any) -> None:
    """Nothing, when the value is of a kind that spans carry.

    Raises:
        TypeError: it is not.
    """
    _encode(value, key)


def matches_value(wanted: Any, found: Any) -> bool:
    """Whether an attribute that is present has the wanted value."""
    if isinstance(found, str) and isinstance(wanted, list | tuple | Mapping):
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            return False
    return _same(wanted, found)


def _same(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is found
    if isinstance(wanted, Mapping):
        return (
            isinstance(found, Mapping)
            and wanted.keys() == found.keys()
            and all(_same(value, found[key]) for key, value in wanted.items())
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(wanted) == len(found)
            and all(_same(one, other) for one, other in zip(wanted, found, strict=True))
        )
    if isinstance(wanted, float) and math.isnan(wanted):
        return isinstance(found, float) and math.isnan(found)
    return bool(wanted == found)


def to_json(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes as plain JSON data.

    Raises:
        TypeError: a value is of a type that spans do not carry.
    """
    return {key: _encode(value, key) for key, value in attributes.items()}


def from_json(data: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes as `to_json` was given them."""
    return {key: _decode(value) for key, value in data.items()}


def _encode(value: Any, key: str) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else {"$int": hex(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, list | tuple):
        return [_encode(item, key) for item in value]
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        plain = {name: _encode(item, key) for name, item in value.items()}
        return {"$dict": plain} if any(name.startswith("$") for name in plain) else plain
    raise TypeError(
        f"attribute {key!r} holds {value!r}, a {type(value).__name__}: span attributes are strings, numbers, booleans,"
        " bytes, None, and lists and mappings (with string keys) of these"
    )


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"$int": str(digits)}:
            return int(digits, 16)
        case {"$float": str(number)}:
            return float(number)
        case {"$bytes": str(text)}:
            return base64.b64decode(text)
        case {"$dict": dict(plain)}:
            return {name: _decode(item) for name, item in plain.items()}
        case _:
            return {name: _decode(item) for name, item in value.items()}
