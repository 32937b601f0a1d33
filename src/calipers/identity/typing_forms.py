"""Types that are no classes, as what they are made of: `Literal["a"]`, `Annotated[str, limit]`, `Union[A, None]`.

Code reads them at run time: `get_args(Literal[...])` is a list of labels, and a validator is built from `Annotated`. So
they count by their origin and their arguments. A type variable stands for no type yet, and is its name.
"""

from types import GenericAlias, UnionType
from typing import Any, ClassVar, ForwardRef, NewType, get_args, get_origin

_HOMES = frozenset({"typing", "typing_extensions"})
_VARIABLES = frozenset({"TypeVar", "ParamSpec", "TypeVarTuple"})
_SPECIAL = type(ClassVar)
"""What `Literal`, `Union` and the like are by themselves."""


def is_type_variable(value: Any) -> bool:
    """Whether it is a `TypeVar` or the like."""
    return type(value).__module__ in _HOMES and type(value).__name__ in _VARIABLES


def is_named_type(value: Any) -> bool:
    """Whether it is a type that is known by its name, and may therefore contain itself."""
    kind = type(value)
    return isinstance(value, ForwardRef) or (kind.__module__ in _HOMES and kind.__name__ == "TypeAliasType")


def form_of_type(value: Any) -> Any:
    """What such a type is made of, as values; `None` if it is none, or one that does not tell."""
    if isinstance(value, GenericAlias | UnionType):
        return [get_origin(value), get_args(value)]
    if type(value).__module__ not in _HOMES:
        return None
    if is_type_variable(value):
        return value.__name__
    if isinstance(value, NewType):
        return [value.__name__, value.__supertype__]
    if (origin := get_origin(value)) is not None:
        return [origin, get_args(value)]
    return repr(value) if isinstance(value, _SPECIAL) else None
