"""What a tool gave, as a tape has it, and the same again in a replay.

A value that JSON can hold is given back as it was. Of any other, the plain data are kept, and the names of the types of what in
it JSON cannot hold, each with its place as a JSON Pointer: a replay makes it again where the type is loaded by then and the
value was made from its fields alone (dataclasses, msgspec, pydantic, tuples, sets, times, paths). Whether that works is tried
while it is recorded; what cannot be made again is said so on the tape. Nothing is imported because a tape names it.

An error is made again by its class and its arguments, a group of errors by its errors. Where the class is not loaded, one of the
same name stands for it.
"""

import functools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from calipers.data.jsonable import are_plain, loaded_types, plain
from calipers.data.redaction import masked
from calipers.errors import TapeError

from .event_log import error_text

_PLACE = re.compile(r" at 0x[0-9a-fA-F]+")
"""Where an object is in memory, in its repr."""


def steady(value: Any, secrets: Sequence[str] = ()) -> Any:
    """A value as plain data that are the same in each process, without these secrets and what looks like one."""
    told = plain(masked(value, secrets))
    return told if are_plain(value) else _without_places(told)


def _without_places(told: Any) -> Any:
    if isinstance(told, str):
        return _PLACE.sub("", told)
    if isinstance(told, dict):
        return {name: _without_places(item) for name, item in told.items()}
    return [_without_places(item) for item in told] if isinstance(told, list) else told


def kept(value: Any, secrets: Sequence[str] = ()) -> dict[str, Any]:
    """A value as a tape has it, without these secrets and what looks like one."""
    told = plain(masked(value, secrets))
    if are_plain(value):
        return {"value": told}
    types: dict[str, str] = {}
    lost: list[str] = []
    for place, part, data in _parts(value, told, ""):
        types[place] = _name(type(part))
        if not _comes_back(part, data):
            lost.append(place)
    return {"value": told, "types": types} | ({"lost": lost} if lost else {})


def _parts(value: Any, told: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    """What JSON cannot hold in a value, with its place and its plain data."""
    if are_plain(value):
        return
    kind = type(value)
    if kind is dict and isinstance(told, dict) and list(value) == list(told):
        for name, item in value.items():
            yield from _parts(item, told[name], _below(place, name))
    elif kind in (list, tuple) and isinstance(told, list) and len(value) == len(told):
        for number, item in enumerate(value):
            yield from _parts(item, told[number], _below(place, number))
        if kind is tuple:
            yield place, (), []
    else:
        yield place, value, told


def _below(place: str, name: str | int) -> str:
    return f"{place}/{str(name).replace('~', '~0').replace('/', '~1')}"


def _comes_back(value: Any, told: Any) -> bool:
    """Whether a value can be made of its plain data, and of those that the tape has of it."""
    try:
        _made(type(value), told)
        again = _made(type(value), plain(value))
        return type(again) is type(value) and bool(again == value or (again != again and value != value))  # noqa: PLR0124 - NaN
    except Exception:  # what a type or a comparison raises says that it does not work
        return False


def given_back(answered: Mapping[str, Any]) -> Any:
    """The value that a tape has, made anew each time: the agent may change it.

    Raises:
        TapeError: it cannot be made again.
    """
    types: dict[str, str] = answered.get("types", {})
    for place in answered.get("lost", ()):
        why = "is not loaded here" if _loaded(types[place]) is None else "cannot be made of plain data"
        raise TapeError(f"{_returned(types[place], place)}, which {why}: have it return what JSON can hold")
    return _again(answered["value"], types, "")


def _again(told: Any, types: Mapping[str, str], place: str) -> Any:
    if isinstance(told, dict):
        told = {name: _again(item, types, _below(place, name)) for name, item in told.items()}
    elif isinstance(told, list):
        told = [_again(item, types, _below(place, number)) for number, item in enumerate(told)]
    name = types.get(place)
    if name is None:
        return told
    kind = _loaded(name)
    if kind is None:
        raise TapeError(f"{_returned(name, place)}, which is not loaded here: import its module first")
    try:
        return _made(kind, told)
    except Exception as error:
        raise TapeError(f"{_returned(name, place)}, which cannot be made again: {error}") from error


def _returned(name: str, place: str) -> str:
    return f"it returned a {name}" + (f" at {place}" if place else "")


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def kept_error(error: Exception, secrets: Sequence[str] = (), *, text: str | None = None) -> dict[str, Any]:
    """An error as a tape has it, without these secrets and what looks like one; with this text in place of its own."""
    args = list(
        error.__reduce__()[1] if isinstance(error, OSError) else error.args
    )  # an OSError hides the file's name
    errors: dict[str, Any] = {}
    if text is not None:
        args = [text]
    elif isinstance(error, ExceptionGroup):
        args = [error.message]
        errors = {"errors": [kept_error(each, secrets)["error"] for each in error.exceptions]}
    args = args if are_plain(args) else [str(error)]
    return {
        "error": {
            "type": _name(type(error)),
            "args": masked(args, secrets),
            "text": masked(error_text(error) if text is None else f"{type(error).__name__}: {text}", secrets),
            **errors,
        }
    }


def raised_again(told: Mapping[str, Any]) -> Exception:
    """The error that a tape has.

    Raises:
        TapeError: its class cannot be made again.
    """
    name, args = told["type"], list(told["args"])
    kind: Any = _loaded(name)
    if kind is None or not issubclass(kind, Exception):
        kind = _stand_in(name)
    if "errors" in told:
        if not issubclass(kind, ExceptionGroup):
            kind = ExceptionGroup
        args.append([raised_again(each) for each in told["errors"]])
    try:
        error: Exception = kind(*args)
        if masked(error_text(error)) == told["text"]:
            return error
    except Exception:  # noqa: S110 - it wants other arguments
        pass
    try:
        error = _unmade(kind, args)
        if masked(error_text(error)) != told["text"]:
            kind = _saying(kind, told["text"].partition(": ")[2])
            error = _unmade(kind, args)
    except Exception as reason:
        raise TapeError(f"it raised a {name}, which cannot be made again: {reason}") from reason
    error.args = tuple(args)
    return error


def _unmade(kind: Any, args: list[Any]) -> Exception:
    """An error of a class whose `__init__` wants other arguments, without calling it."""
    error: Exception = kind.__new__(kind, *args)
    return error


def _saying(kind: Any, text: str) -> Any:
    """A class of errors that says this of itself: what its arguments do not tell."""
    return type(
        kind.__name__,
        (kind,),
        {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__str__": lambda _: text},
    )


def _loaded(name: str) -> Any:
    """The class of this full name, in a module that is loaded."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        found: Any = sys.modules.get(".".join(parts[:count]))
        if found is not None:
            for part in parts[count:]:
                found = getattr(found, part, None)
            return found if isinstance(found, type) else None
    return None


@functools.cache
def _stand_in(name: str) -> Any:
    """A class of errors for one that is not loaded."""
    module, _, own = name.rpartition(".")
    return type(own, (Exception,), {"__module__": module})


def _made(kind: Any, told: Any) -> Any:
    """A value of a type, of its plain data."""
    if kind is tuple or issubclass(kind, (float, PurePath, *loaded_types("numpy", "generic"))):
        return kind(told)
    if issubclass(kind, loaded_types("pydantic", "BaseModel")):
        return kind.model_validate(told)
    return msgspec.convert(told, kind, strict=False)
