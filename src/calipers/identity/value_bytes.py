"""Values as bytes: equal content gives equal bytes, different content different ones, in every process.

`1`, `1.0`, `True` and `"1"` differ, and so do a tuple and a list. The order of a mapping's keys counts, though Python
calls such mappings equal: code that loops over one, or makes a prompt of it, sees the order. That of a set does not count.
Dataclasses, msgspec, attrs and pydantic models are their class's name and their fields, without the fields of a dataclass
that are not compared. Objects of the project's own classes are their attributes. Types such as `Literal["a"]` are what they
are made of. Anything else, such as a lock or an open connection, has no form, and what holds it has no identity.
"""

import dataclasses
import inspect
import logging
import re
import struct
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import WRAPPER_ASSIGNMENTS, cached_property
from http.cookiejar import CookieJar
from pathlib import PurePath
from types import GenericAlias, MemberDescriptorType, MethodType, UnionType
from typing import Any, ClassVar, ForwardRef, NewType, get_args, get_origin
from uuid import UUID

import msgspec

from calipers.data.evaluator import Evaluator
from calipers.data.jsonable import loaded_types
from calipers.data.redaction import masked_text

from .library_state import is_coordinating, settings_in
from .members import vars_of
from .origin import is_installed, is_library, module_of, wrapped_by
from .outside import is_parser_of_settings

_DEEPEST = 100
_MADE_BY_CLASS = 1 << 9
"""The flag of classes that are not part of the interpreter itself."""


class NoFormError(Exception):
    """A value that cannot be compared with others: it does not show what it holds."""


def written(
    value: Any, refer: Callable[[Any], str] | None = None, *, meet: Callable[[Any], None] | None = None
) -> bytes:
    """The bytes of a value.

    Args:
        value: anything.
        refer: gives the name of a function or class found inside the value; without it, those have no form.
        meet: is given such functions and classes instead, and the classes of objects; they are known by their names.

    Raises:
        NoFormError: some part of the value has no form; the message says which.
    """
    kind = type(value)
    # Most values are as simple as this, and every case of a run passes here.
    if kind is str and value.isascii():
        return b"s%d:%s" % (len(value), value.encode())
    if kind is int:
        return b"%#x;" % value
    if value is None or kind is bool or kind is float:
        return _scalar(value)
    out: list[bytes] = []
    try:
        _Writing(out, refer, meet).write(value)
    except NoFormError:
        raise
    except RecursionError:
        raise NoFormError("it is nested too deeply") from None
    except (
        Exception
    ) as error:  # properties and iterators of other people run here, and a run must survive them
        raise NoFormError(f"{_short(value)} cannot be read: {type(error).__name__}: {error}") from error
    return b"".join(out)


def _scalar(value: float | None) -> bytes:
    # Python refuses to write very large integers in decimal digits.
    return b"%#x;" % value if type(value) is int else b"%a;" % value


class _Writing:
    """One value on its way into bytes."""

    def __init__(
        self, out: list[bytes], refer: Callable[[Any], str] | None, meet: Callable[[Any], None] | None
    ) -> None:
        self.out = out
        self.refer = refer
        self.meet = meet
        self.above: list[int] = []
        self.inside = 0
        """How many objects of libraries are being written, one in the other."""

    def write(self, value: Any) -> None:
        kind = type(value)
        if kind is str:
            self._text(b"s", value)
        elif value is None or kind is bool or kind is int or kind is float:
            self.out.append(_scalar(value))
        else:
            if self.inside and self.refer is not None and id(value) in self.above:
                self.out.append(b"^")  # objects of libraries often know what holds them
                return
            if id(value) in self.above or len(self.above) > _DEEPEST:
                raise NoFormError(f"a {kind.__name__} contains itself, or is nested too deeply")
            self.above.append(id(value))
            if kind is dict:
                self._mapping(value)
            elif kind is list or kind is tuple:
                self._items(b"l" if kind is list else b"t", value)
            else:
                self._other(value, kind)
            self.above.pop()

    def _text(self, tag: bytes, text: str) -> None:
        raw = text.encode("utf-8", "surrogatepass")
        self.out.append(b"%s%d:%s" % (tag, len(raw), raw))

    def _items(self, tag: bytes, items: Any) -> None:
        self.out.append(b"%s%d:" % (tag, len(items)))
        for item in items:
            self.write(item)

    def _apart(self, value: Any) -> bytes:
        """The bytes of a value that is to be sorted among others."""
        mine, self.out = self.out, []
        self.write(value)
        apart, self.out = b"".join(self.out), mine
        return apart

    def _mapping(self, mapping: Mapping[Any, Any]) -> None:
        self.out.append(b"d%d:" % len(mapping))
        for key, item in mapping.items():
            self.write(key)
            self.write(item)

    def _other(self, value: Any, kind: type) -> None:
        if isinstance(value, type) or is_named_type(value) or _is_code(value):
            self._code(value)
            return
        self._text(b"o", f"{kind.__module__}.{kind.__qualname__}")
        library = is_library(kind)
        if self.refer is not None and (is_logger(value) or (self.inside and _is_opaque(value, kind))):
            return
        if self.refer is not None and not library:
            self._text(b"c", self.refer(kind))
        elif self.meet is not None and not library:
            self.meet(kind)
        if not self._known(value):
            self.inside += library
            self._fields(value, kind)
            self.inside -= library
        elif not library and not isinstance(value, Enum) and (more := held(value)):
            self.out.append(b"+")  # attributes beside what a list or text is by itself
            self._pairs(more, kind)

    def _code(self, value: Any) -> None:
        if self.inside and isinstance(value, MethodType) and is_library(type(value.__self__)):
            self._text(b"c", value.__qualname__)  # its object is one of those that are being written
        elif self.refer is not None:
            self._text(b"c", self.refer(value))
        elif self.meet is not None:
            self._text(b"c", f"{module_of(value)}.{getattr(value, '__qualname__', type(value).__qualname__)}")
            self.meet(value)
        else:
            raise NoFormError(f"{_short(value)} is code, not data")

    def _known(self, value: Any) -> bool:
        """Write a value of a kind that Python or numpy has; `False` if it is of another."""
        simple = _simple(value)
        if simple is not None:
            self._text(b"s", simple)
            if isinstance(value, Enum):
                self.write(value.value)
        elif isinstance(value, Mapping):
            if self.refer is not None and is_parser_of_settings(value):
                self.refer(type(value))
            self._mapping(value)
            if isinstance(value, defaultdict):
                self._factory(value.default_factory)
        elif isinstance(value, AbstractSet):
            self.out.append(b"".join(sorted(self._apart(item) for item in value)) + b";")
        elif isinstance(value, list | tuple):
            self._items(b"l", value)
        elif isinstance(value, deque):
            self._items(b"q", value)
            self.write(value.maxlen)
        elif isinstance(value, bytes | bytearray | memoryview):
            self.out.append(b"b%d:%s" % (len(bytes(value)), bytes(value)))
        elif (form := form_of_type(value)) is not None:
            self.write(form)
        elif isinstance(value, inspect.Signature):
            self.write([list(value.parameters.values()), value.return_annotation])
        elif isinstance(value, inspect.Parameter):
            self.write([value.name, value.kind, value.default, value.annotation])
        elif isinstance(value, weakref.ReferenceType):
            self.write(value())
        elif isinstance(value, BaseException):
            self.write([value.__reduce_ex__(2)[1:], value.__cause__])
        elif isinstance(value, loaded_types("numpy", "generic", "ndarray")):
            self._array(value)
        else:
            return False
        return True

    def _factory(self, factory: Any) -> None:
        if isinstance(factory, type) and is_library(factory):
            self._text(b"s", f"{factory.__module__}.{factory.__qualname__}")
        else:
            self.write(factory)

    def _array(self, value: Any) -> None:
        if (mask := getattr(value, "mask", None)) is not None:  # what a masked array hides is no content
            self.write(mask.tolist())
            value = value.filled(0) if hasattr(value, "filled") else value
        self._text(b"s", f"{value.dtype!r} {value.shape}")
        if value.dtype.hasobject:
            self.write(value.tolist())
        else:
            self.write(value.tobytes())

    def _fields(self, value: Any, kind: type) -> None:
        fields = fields_of(value)
        if (
            fields is None
            and self.refer is not None
            and is_installed(kind)
            and _tells_what_it_holds(value, kind)
        ):
            fields = settings_in(held(value), kind)
            self._text(b"c", self.refer(kind))
        if fields is None:
            raise NoFormError(f"{_short(value)} is a {kind.__name__}, and what it holds cannot be read")
        if isinstance(value, Evaluator) and (version := value.get_evaluator_version()) is not None:
            # As of an evaluator by itself: of a judge, it says which model is asked.
            fields = {**fields, "get_evaluator_version()": version}
        self._pairs(fields, kind)

    def _pairs(self, fields: Mapping[str, Any], kind: type) -> None:
        for name in sorted(fields):
            self._text(b"f", name)
            try:
                self.write(fields[name])
            except NoFormError as error:
                raise NoFormError(f"{kind.__name__}.{name}: {error}") from None
        self.out.append(b";")


def fields_of(value: Any) -> dict[str, Any] | None:
    """What an object was made of, by name, without what a library has changed by itself; `None` if it does not tell."""
    found = _told_by(value)
    return None if found is None else settings_in(found, type(value))


def _told_by(value: Any) -> dict[str, Any] | None:
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return _declared(value, {field.name: field.compare for field in dataclasses.fields(kind)})
    if isinstance(value, msgspec.Struct):
        return _declared(value, dict.fromkeys(value.__struct_fields__, True))
    if isinstance(getattr(kind, "model_fields", None), dict):
        fields = {name: getattr(value, name) for name in kind.model_fields}
        return {**fields, **(value.model_extra or {}), **(getattr(value, "__pydantic_private__", None) or {})}
    if attributes := getattr(kind, "__attrs_attrs__", None):
        return _declared(value, {attribute.name: bool(attribute.eq) for attribute in attributes})
    if callable(own := getattr(kind, "plain_data", None)):
        return {"": own(value)}
    if (said := _said_to_pydantic(value)) is not None:
        return said
    if is_library(kind) and not kind.__module__.startswith("calipers."):
        return None
    return held(value) if _tells_what_it_holds(value, kind) else None


def _tells_what_it_holds(value: Any, kind: type) -> bool:
    return not _holds_more(kind) and (bool(_slots(kind)) or hasattr(value, "__dict__"))


def is_logger(value: Any) -> bool:
    """Whether it only logs, so that no result depends on it."""
    return isinstance(value, logging.Logger)


def _is_opaque(value: Any, kind: type) -> bool:
    """Whether something inside an object of a library is known by its class: what coordinates, and what is connected.

    A client holds a pool of connections and a jar of cookies, which change with every call and are no settings of the
    client.
    """
    if is_coordinating(kind) or issubclass(kind, CookieJar):
        return True
    if issubclass(kind, Mapping) and any(isinstance(part, CookieJar) for part in vars_of(value).values()):
        return True
    return is_installed(kind) and any(hasattr(kind, name) for name in ("close", "aclose"))


def _declared(value: Any, fields: Mapping[str, bool]) -> dict[str, Any]:
    """The fields that are compared, and what else was set."""
    found = {
        name: getattr(value, name) for name, compared in fields.items() if compared and hasattr(value, name)
    }
    return found | {name: other for name, other in held(value).items() if name not in fields}


def _said_to_pydantic(value: Any) -> dict[str, Any] | None:
    """What a field or a constraint of a pydantic model says, as it stands in annotations; `None` of anything else."""
    if isinstance(value, loaded_types("pydantic.fields", "FieldInfo")):
        # Private slots are pydantic's own notes.
        names = (name for name in type(value).__slots__ if not name.startswith("_"))
        return {name: getattr(value, name, None) for name in names}
    if isinstance(value, loaded_types("pydantic._internal._fields", "PydanticMetadata")):
        return dict(vars(value))
    return {} if isinstance(value, loaded_types("pydantic_core", "PydanticUndefinedType")) else None


def held(value: Any) -> dict[str, Any]:
    """The attributes of an object, without those that a property keeps for later, or that tell what it wraps."""
    kind = type(value)
    found = {name: getattr(value, name) for name in _slots(kind) if hasattr(value, name)}
    found |= getattr(value, "__dict__", {})
    if "__wrapped__" in found:
        found = {name: part for name, part in found.items() if name not in WRAPPER_ASSIGNMENTS}
    return {
        name: part
        for name, part in found.items()
        if not isinstance(getattr(kind, name, None), cached_property)
    }


def _slots(kind: type) -> list[str]:
    """The names of slots, with the name of the class in front of private ones."""
    return [
        name
        for base in kind.__mro__
        if base.__flags__ & _MADE_BY_CLASS
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType)
    ]


def _holds_more(kind: type) -> bool:
    """Whether objects have room for something beside attributes and slots: a base class that is written in C."""
    room = kind.__basicsize__ - struct.calcsize("P") * len(_slots(kind))
    return room > _Plain.__basicsize__ or kind.__itemsize__ != 0


class _Plain:
    """A class that holds nothing but attributes."""


def _simple(value: Any) -> str | None:
    """The text of an object that is one value; `None` if it is not."""
    match value:
        case Enum():
            return value.name
        case int():
            return hex(int.__int__(value))
        case float():
            return float.__repr__(value)
        case complex():
            return repr(value)
        case str():
            return str.__str__(value)
        case datetime() | date() | time():
            return f"{value.isoformat()} {getattr(value, 'tzinfo', None)!r}"
        case timedelta() | range() | slice() | Fraction() | Decimal() | tzinfo():
            return repr(value)
        case UUID() | PurePath():
            return str(value)
        case re.Pattern():
            return f"{value.flags} {value.pattern!r}"
    return None if value is not ... and value is not NotImplemented else repr(value)


def _is_code(value: Any) -> bool:
    """Whether this is a function, a method, a partial or the like."""
    return callable(value) and (
        hasattr(value, "__code__")
        or hasattr(value, "__func__")
        or wrapped_by(value) is not None
        or (hasattr(value, "func") and hasattr(value, "keywords"))
        or type(value).__name__
        in {"builtin_function_or_method", "method_descriptor", "wrapper_descriptor", "method-wrapper"}
    )


def _short(value: Any) -> str:
    try:
        text = masked_text(repr(value))
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= 80 else text[:80] + "…"


_HOMES = frozenset({"typing", "typing_extensions"})
_VARIABLES = frozenset({"TypeVar", "ParamSpec", "TypeVarTuple"})
_SPECIAL = type(ClassVar)
"""What `Literal`, `Union` and the like are by themselves."""


# ---------------------------------------------------------------------- types
#
# Code reads types at run time: `get_args(Literal[...])` is a list of labels, and a validator is built from `Annotated`. So
# those that are no classes count by their origin and their arguments. A type variable is its name.


def is_type_variable(value: Any) -> bool:
    """Whether it is a `TypeVar` or the like."""
    return type(value).__module__ in _HOMES and type(value).__name__ in _VARIABLES


def is_named_type(value: Any) -> bool:
    """Whether it is a type that is known by its name, and may therefore contain itself."""
    kind = type(value)
    return isinstance(value, ForwardRef) or (kind.__module__ in _HOMES and kind.__name__ == "TypeAliasType")


def form_of_type(value: Any) -> Any:
    """What such a type is made of, as values; `None` if it is not such a type, or does not say."""
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
