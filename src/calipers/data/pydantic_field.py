"""Calipers' data as fields of pydantic models.

A model may hold a result, a record, a trace or a report. It accepts the object itself, or the plain data that dumping the
model made of it. Where the field names types, as `EvaluationResult[bool]` and `ReportCase[Question, Answer]` do, they are
validated; an object is then copied with the validated values. What lives in memory only, such as the object an evaluator
returned, is not dumped. Nothing here imports pydantic unless pydantic asks.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final, get_args, get_type_hints

import msgspec

from calipers.data.jsonable import plain

_NOT_STORED: Final = frozenset({"original", "error"})
"""Fields that live in memory only."""


class ModelField:
    """Lets a msgspec struct or a dataclass be the type of a field of a pydantic model."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """How pydantic reads and writes it."""
        from pydantic_core import core_schema

        has_types = bool(get_args(source))
        fields = {
            name: core_schema.typed_dict_field(handler.generate_schema(hint), required=required)
            for name, (hint, required) in _hints(cls, source).items()
        }

        def read(value: Any, shape: Any) -> Any:
            if not isinstance(value, cls):
                return cls(**shape(value))
            if not has_types:
                return value
            in_memory = {name: getattr(value, name) for name in _NOT_STORED if hasattr(value, name)}
            return cls(**shape({name: getattr(value, name) for name in fields}), **in_memory)

        return core_schema.no_info_wrap_validator_function(
            read,
            core_schema.typed_dict_schema(fields, extra_behavior="forbid"),
            serialization=core_schema.plain_serializer_function_ser_schema(field_data),
        )


def field_data(value: Any) -> Any:
    """An object of ours as plain data, without what has its default and what is not stored."""
    if isinstance(value, ModelField):
        return {
            name: field_data(given)
            for name, default in _defaults(type(value)).items()
            if (given := getattr(value, name)) is not default and (default is _REQUIRED or given != default)
        }
    if isinstance(value, list | tuple):
        return [field_data(item) for item in value]
    return plain(value)


def written_as(kind: type, read: Any, write: Any) -> Any:
    """The pydantic schema of a type that writes itself as plain data, and reads that back."""
    from pydantic_core import core_schema

    def check(value: Any, shape: Any) -> Any:
        return value if isinstance(value, kind) else read(shape(value))

    return core_schema.no_info_wrap_validator_function(
        check,
        core_schema.dict_schema(core_schema.str_schema()),
        serialization=core_schema.plain_serializer_function_ser_schema(write),
    )


def _hints(cls: type, source: Any) -> dict[str, tuple[Any, bool]]:
    """The type of each stored field, with the types that the source names filled in, and whether it must be given."""
    named = dict(zip(getattr(cls, "__parameters__", ()), get_args(source), strict=False))
    hints = get_type_hints(cls)
    return {
        name: (_filled(hints[name], named), default is _REQUIRED) for name, default in _defaults(cls).items()
    }


def _filled(hint: Any, named: Mapping[Any, Any]) -> Any:
    """A type with its variables replaced; a variable without a type means what it defaults to."""
    if hint in named:
        return named[hint]
    free = getattr(hint, "__parameters__", ())
    if not free:
        default = getattr(hint, "__default__", None)
        return hint if default is None else default
    return hint[tuple(named.get(each, each.__default__) for each in free)]


_REQUIRED: Final[Any] = object()
"""Instead of a default: the field must be given."""


def _defaults(cls: type) -> dict[str, Any]:
    """The stored fields of a struct or a dataclass, with their defaults."""
    if issubclass(cls, msgspec.Struct):
        return {
            each.name: _default(each.default, each.default_factory, msgspec.NODEFAULT)
            for each in msgspec.structs.fields(cls)
            if each.name not in _NOT_STORED
        }
    return {
        each.name: _default(each.default, each.default_factory, dataclasses.MISSING)
        for each in dataclasses.fields(cls)  # type: ignore[arg-type]  # every ModelField is one or the other
        if each.name not in _NOT_STORED
    }


def _default(value: Any, factory: Any, none: Any) -> Any:
    if value is not none:
        return value
    return _REQUIRED if factory is none else factory()
