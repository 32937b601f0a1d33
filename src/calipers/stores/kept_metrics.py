"""The metrics of a rollout in the notes of a cell: as JSON data that can be read back as what it was.

A later run combines them with those it computes itself, so they must be what `compute_metrics` returned: NaN a number and
not its name, a tuple a tuple, the key 1 no text. What JSON has no word for stands as an object with one key that begins with
a dollar sign. Everything else is as `calipers.data.jsonable` makes it.
"""

import types
from collections.abc import Mapping
from math import isfinite
from numbers import Integral, Real
from typing import Any, Final

from calipers.data.jsonable import plain

_NUMBER: Final = "$number"
_TUPLE: Final = "$tuple"
_ITEMS: Final = "$items"


def kept_metrics(original: Any) -> Any:
    """What to keep of what a rollout metric returned: its fields; other data than that is not kept as metrics."""
    fields = plain(original)
    if not isinstance(fields, dict):
        return fields
    try:
        return {name: _kept(_field(original, name)) for name in fields}
    except Exception:  # what contains itself, or does not bear to be read: then as plain data
        return fields


def read_metrics(data: Any) -> types.SimpleNamespace | None:
    """The metrics that were kept, as an object with their fields; `None` if there are none."""
    if not isinstance(data, dict):
        return None
    return types.SimpleNamespace(**{name: _read(value) for name, value in data.items()})


def _field(original: Any, name: str) -> Any:
    return original[name] if isinstance(original, Mapping) else getattr(original, name)


def _kept(value: Any) -> Any:
    if isinstance(value, str | bool | None):
        return plain(value)
    if isinstance(value, Real) and not isinstance(value, Integral):
        number = float(value)
        return number if isfinite(number) else {_NUMBER: repr(number)}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {plain(key): _kept(item) for key, item in value.items()}
        return {_ITEMS: [[_kept(key), _kept(item)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {_TUPLE: [_kept(item) for item in value]}
    if isinstance(value, list):
        return [_kept(item) for item in value]
    if callable(listed := getattr(value, "tolist", None)) and not isinstance(value, type):
        return _kept(listed())
    return plain(value)


def _read(data: Any) -> Any:
    if isinstance(data, list):
        return [_read(item) for item in data]
    if not isinstance(data, dict):
        return data
    if _NUMBER in data:
        return float(data[_NUMBER])
    if _TUPLE in data:
        return tuple(_read(item) for item in data[_TUPLE])
    if _ITEMS in data:
        return {_read(key): _read(item) for key, item in data[_ITEMS]}
    return {key: _read(item) for key, item in data.items()}
