"""Any object as plain JSON data, so that a report can be stored and read back without the code that made it.

Dataclasses, msgspec, pydantic and attrs models become objects, sets and tuples arrays, numpy arrays lists, bytes base64,
times ISO strings. An object with a method `plain_data` says itself what to keep of it, as a sound does. A float that JSON
cannot hold becomes its name ("NaN", "Infinity"), an integer of thousands of bits its hexadecimal form. What has no plain
form, and whatever raises when it is read, becomes its `repr`; what contains itself is cut where it does. The result is
stable: making plain data plain again changes nothing.
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

from calipers.process.interrupt import is_interrupt

_DEEPEST = 100
"""Nesting beyond this is shown by its repr: nothing a person would read."""
_LARGEST_INT = 1 << 2000
"""Python itself refuses to print integers of more than a few thousand digits, and so does its JSON."""
_WIDE = 1 << 63
_DEEPEST_READ = 90
"""What is nested deeper is not given back by every reader of JSON."""


def plain(value: Any) -> Any:
    """The value as `None`, bool, int, float, str, list or dict with string keys."""
    return _plain(value, [])


def _plain(value: Any, above: list[int]) -> Any:
    """The value inside the objects whose ids are `above`."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else _text(value)
    if value is None or kind is bool:
        return value
    if kind is float:
        return value if math.isfinite(value) else _not_finite(value)
    if kind is int:
        return value if -_LARGEST_INT < value < _LARGEST_INT else hex(value)
    if id(value) in above:
        return f"<the {kind.__name__} that contains this>"
    if len(above) >= _DEEPEST:
        return safe_repr(value)
    above.append(id(value))
    try:
        if kind is list or kind is tuple:
            return [_plain(item, above) for item in value]
        return _mapping(value, above) if kind is dict else _other(value, above)
    except BaseException as error:
        if is_interrupt(error):
            raise
        return safe_repr(value)
    finally:
        above.pop()


def _mapping(value: Any, above: list[int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, item in value.items():
        text = key if type(key) is str and key.isascii() else _key(key, above)
        if text in found:  # 1 and "1" are two keys, and neither may go missing
            text = f"{text} ({type(key).__name__})"
        kind = type(item)
        if (kind is str and item.isascii()) or (kind is int and -_WIDE < item < _WIDE):
            found[text] = item  # what most are
        else:
            found[text] = _plain(item, above)
    return found


def _key(key: Any, above: list[int]) -> str:
    found = key if isinstance(key, tuple) else _plain(key, above)
    return found if isinstance(found, str) else safe_repr(found)


def _other(value: Any, above: list[int]) -> Any:
    if isinstance(value, Enum):
        return _plain(value.value, above)
    if isinstance(
        value, str
    ):  # subclasses of the plain types, by what they hold rather than by what they say
        return _text(value)
    if isinstance(value, int):
        return _plain(int.__int__(value), above)
    if isinstance(value, float):
        return _plain(float.__float__(value), above)
    if isinstance(value, Mapping):
        return _mapping(value, above)
    if isinstance(value, list | tuple):
        return [_plain(item, above) for item in value]
    if isinstance(value, AbstractSet):
        return _in_order([_plain(item, above) for item in value])
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode("ascii")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal | UUID | PurePath):
        return _text(str(value))
    if isinstance(value, loaded_types("numpy", "generic", "ndarray")):
        return _from_numpy(value, above)
    return _fields(value, above)


def _from_numpy(value: Any, above: list[int]) -> Any:
    if isinstance(value, loaded_types("numpy", "datetime64", "timedelta64")):
        return str(value)
    if isinstance(
        value, loaded_types("numpy", "floating")
    ):  # extended precision has no Python type of its own
        return _plain(float(value), above)
    return _plain(value.tolist(), above)


def loaded_types(module: str, *names: str) -> tuple[type[Any], ...]:
    """Types of a module, if it is loaded: otherwise no object can be of them.

    Another thread may be loading it at this very moment. The module is in place then, and its types are not yet: those
    that are missing are left out, since no object can be of them.
    """
    found = sys.modules.get(module)
    types = (getattr(found, name, None) for name in names)
    return tuple(each for each in types if isinstance(each, type))


def _fields(value: Any, above: list[int]) -> Any:
    """Objects that are made of fields, and those that have none."""
    names: Any = None
    kind = type(value)
    if callable(own := getattr(kind, "plain_data", None)):
        return _plain(own(value), above)
    if isinstance(value, msgspec.Struct):
        names = value.__struct_fields__
    elif isinstance(value, type):
        return safe_repr(value)
    elif dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    elif callable(dump := getattr(value, "model_dump", None)):
        return _plain(dump(), above)
    elif attributes := getattr(kind, "__attrs_attrs__", None):
        names = [attribute.name for attribute in attributes]
    else:
        ours = [base for base in reversed(kind.__mro__) if base.__module__.startswith("calipers.")]
        names = [name for base in ours for name in base.__dict__.get("__slots__", ())]
    if not names:
        return safe_repr(value)
    return {name: _plain(getattr(value, name), above) for name in names if hasattr(value, name)}


def _text(text: str) -> str:
    # A lone surrogate cannot be written as UTF-8; it is shown as an escape instead.
    return str.__str__(text).encode("utf-8", "backslashreplace").decode("utf-8")


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
    except BaseException as error:
        if is_interrupt(error):
            raise
        return f"<{type(value).__name__} whose repr failed>"


def are_plain(*values: Any, depth: int = 0) -> bool:
    """Whether JSON gives each of the values back as it is; deeper nesting does not count."""
    for value in values:
        kind = type(value)
        # What most values are is decided here: every attempt of a run passes.
        if value is None or kind is bool or (kind is int and -_WIDE < value < _WIDE):
            continue
        if not (kind is str and value.isascii()) and not _is_plain(value, kind, depth):
            return False
    return True


def _is_plain(value: Any, kind: type, depth: int) -> bool:
    if kind is float:
        return math.isfinite(value)
    if kind is str or kind is int:
        return bool(plain(value) == value)
    if depth >= _DEEPEST_READ:
        return False
    if kind is list:
        return are_plain(*value, depth=depth + 1)
    if kind is dict:
        return all(type(key) is str for key in value) and are_plain(*value, *value.values(), depth=depth + 1)
    return False
