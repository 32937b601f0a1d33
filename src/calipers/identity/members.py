"""What a class holds: the functions behind its members, and values that are no functions."""

import types
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from typing import Any

from .origin import home_of, is_library, wrapped_by

_BEHIND = ("__func__", "fget", "fset", "fdel", "func", "dispatcher")
"""Where methods of classes, properties and the like keep the function that they were made of."""
_DESCRIPTORS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    classmethod,
    staticmethod,
    property,
    cached_property,
)
_INTERNAL = frozenset({"_abc_impl", "_is_protocol", "_is_runtime_protocol"})
"""What Python itself notes in classes."""
_DEEPEST = 100


def functions_of(member: Any) -> list[types.FunctionType]:
    """The functions that a member of a class is made of."""
    found: list[types.FunctionType] = []
    waiting: list[Any] = [member]
    for _ in range(_DEEPEST):
        if not waiting:
            break
        one = waiting.pop()
        if isinstance(one, types.FunctionType) and one not in found:
            found.append(one)
        if isinstance(one, type):
            continue
        behind = [_of(one, name) for name in _BEHIND] if not isinstance(one, types.FunctionType) else []
        waiting += [part for part in (*behind, wrapped_by(one)) if part is not None]
    return found


def is_generated(name: str, function: types.FunctionType) -> bool:
    """Whether a method was made by a decorator such as `dataclass`, of nothing but the fields of the class."""
    special = name.startswith("__") and name.endswith("__")
    return special and (
        function.__code__.co_filename.startswith("<") or home_of(function) in {"dataclasses", "reprlib"}
    )


def is_list_of_names(kind: type) -> bool:
    """Whether a class is what `namedtuple` makes: it has no source, and no methods of its own."""
    return (
        kind.__bases__ == (tuple,)
        and hasattr(kind, "_fields")
        and isinstance(kind.__new__, types.FunctionType)
        and home_of(kind.__new__).startswith("namedtuple_")
        and not any(
            isinstance(member, types.FunctionType) and home_of(member) == kind.__module__
            for member in vars(kind).values()
        )
    )


def attributes_of(kind: type, body: set[str]) -> Iterator[tuple[str, Any, bool]]:
    """The values that a class holds, and whether each is set in its body, whose names are given."""
    if issubclass(kind, Enum):
        yield "members", {name: member.value for name, member in kind.__members__.items()}, True
        return
    for name, value in vars(kind).items():
        if (name.startswith("__") and name.endswith("__")) or name in _INTERNAL:
            continue
        of_library = hasattr(type(value), "__set_name__") and is_library(type(value))
        if not isinstance(value, _DESCRIPTORS) and not of_library:
            yield name, value, name in body


def _of(thing: Any, name: str) -> Any:
    # Asked of the class, for an object may answer to every name.
    return getattr(thing, name, None) if hasattr(type(thing), name) else vars_of(thing).get(name)


def vars_of(thing: Any) -> dict[str, Any]:
    """What an object keeps in its `__dict__`; nothing if it has none."""
    found = getattr(thing, "__dict__", None)
    return found if isinstance(found, dict) else {}
