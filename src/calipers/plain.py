"""Any object as plain JSON data, so that a report can be stored and read back without the code that made it.

Dataclasses, msgspec and pydantic models become objects, sets and tuples arrays, numpy arrays lists, bytes base64, times
ISO strings. A float that JSON cannot hold becomes its name ("NaN", "Infinity"). What has no plain form becomes its
`repr`. The result is stable: making plain data plain again changes nothing.
"""

import base64
import dataclasses
import math
import sys
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

import msgspec

_DEEPEST = 100
"""Nesting beyond this is shown by its repr: it is a cycle, or nothing a person would read."""


def plain(value: Any, depth: int = 0) -> Any:
    """The value as `None`, bool, int, float, str, list or dict with string keys."""
    kind = type(value)
    if value is None or kind is bool or kind is int:
        return value
    if kind is str:
        return value if value.isascii() else _text(value)
    if kind is float:
        return value if math.isfinite(value) else _not_finite(value)
    if depth >= _DEEPEST:
        return safe_repr(value)
    if kind is dict or isinstance(value, Mapping):
        return {_key(k): plain(v, depth + 1) for k, v in value.items()}
    if kind is list or isinstance(value, tuple | list):
        return [plain(item, depth + 1) for item in value]
    return _other(value, depth)


def _other(value: Any, depth: int) -> Any:
    if isinstance(value, Enum):
        return plain(value.value, depth + 1)
    if isinstance(value, str | int | float | bool):  # subclasses of the plain types
        base = next(t for t in (str, bool, int, float) if isinstance(value, t))
        return plain(base(value), depth + 1)
    if isinstance(value, AbstractSet):
        return _in_order([plain(item, depth + 1) for item in value])
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode("ascii")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal | UUID | PurePath):
        return str(value)
    return _fields(value, depth)


def _fields(value: Any, depth: int) -> Any:
    """Objects that are made of fields, and those that have none."""
    try:
        if isinstance(value, msgspec.Struct):
            return {name: plain(getattr(value, name), depth + 1) for name in value.__struct_fields__}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {f.name: plain(getattr(value, f.name), depth + 1) for f in dataclasses.fields(value)}
        if callable(dump := getattr(value, "model_dump", None)) and not isinstance(value, type):
            return plain(dump(), depth + 1)
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.generic | numpy.ndarray):
            return plain(value.tolist(), depth + 1)
        slots = getattr(type(value), "__slots__", None)
        if type(value).__module__.startswith("calipers") and slots:
            return {name: plain(getattr(value, name), depth + 1) for name in slots}
    except Exception:
        return safe_repr(value)
    return safe_repr(value)


def _key(key: Any) -> str:
    return _text(key) if isinstance(key, str) else safe_repr(key)


def _text(text: str) -> str:
    # A lone surrogate cannot be written as UTF-8; it is shown as an escape instead.
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _in_order(items: list[Any]) -> list[Any]:
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=repr)


def safe_repr(value: Any) -> str:
    """The repr of anything, even if its own raises."""
    try:
        return _text(repr(value))
    except Exception:
        return f"<{type(value).__name__} whose repr failed>"
