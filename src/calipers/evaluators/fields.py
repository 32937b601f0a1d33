"""An object read as a mapping of its fields: dataclass, msgspec struct, attrs class, pydantic-like model.

What counts as a record is what declares its fields; an object that merely has a `__dict__` does not.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any


def as_mapping(value: Any) -> Mapping[Any, Any] | None:
    """The value's fields by name, the value itself if it is a mapping, or `None` if it is neither."""
    if isinstance(value, Mapping):
        return value
    names = _field_names(value)
    if names is None:
        return None
    # A field may be declared and yet never set, which is absence and not None.
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _field_names(value: Any) -> list[str] | None:
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    kind = type(value)
    if isinstance(names := getattr(kind, "__struct_fields__", None), tuple):
        return list(names)
    if isinstance(attributes := getattr(kind, "__attrs_attrs__", None), tuple):
        return [attribute.name for attribute in attributes]
    if isinstance(fields := getattr(kind, "model_fields", None), Mapping):
        extra = getattr(value, "model_extra", None)
        return [*fields, *(extra if isinstance(extra, Mapping) else ())]
    return None
