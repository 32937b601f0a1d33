"""What a tool gave, as a tape has it, and the same again in a replay.

A value that JSON can hold is given back as it was. Of any other, the plain data are kept and the name of its type: a replay
makes it again where the type is loaded by then and the value was made from its fields alone (dataclasses, msgspec, pydantic,
tuples, sets, times). Whether that works is tried while it is recorded; what cannot be made again is said so on the tape.
Nothing is imported because a tape names it.

An error is made again by its class and its arguments. Where the class is not loaded, one of the same name stands for it.
"""

import functools
import re
import sys
from collections.abc import Mapping, Sequence
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
    kind = type(value)
    named = {"value": told, "type": f"{kind.__module__}.{kind.__qualname__}"}
    try:
        is_same = bool(_made(kind, told) == value)
    except Exception:  # what a type or a comparison raises says that it does not work
        is_same = False
    return named if is_same else {**named, "exact": False}


def given_back(answered: Mapping[str, Any]) -> Any:
    """The value that a tape has.

    Raises:
        TapeError: it cannot be made again.
    """
    name = answered.get("type")
    if name is None:
        return answered["value"]
    kind = _loaded(name)
    if kind is None or answered.get("exact") is False:
        why = "cannot be made of plain data" if kind is not None else "is not loaded here"
        raise TapeError(f"it returned a {name}, which {why}: have it return what JSON can hold")
    try:
        return _made(kind, answered["value"])
    except Exception as error:
        raise TapeError(f"it returned a {name}, which cannot be made again: {error}") from error


def kept_error(error: Exception, secrets: Sequence[str] = ()) -> dict[str, Any]:
    """An error as a tape has it, without these secrets and what looks like one."""
    kind = type(error)
    args = list(
        error.__reduce__()[1] if isinstance(error, OSError) else error.args
    )  # an OSError hides the file's name
    args = args if are_plain(args) else [str(error)]
    return {
        "error": {
            "type": f"{kind.__module__}.{kind.__qualname__}",
            "args": masked(args, secrets),
            "text": masked(error_text(error), secrets),
        }
    }


def raised_again(told: Mapping[str, Any]) -> Exception:
    """The error that a tape has."""
    name, args = told["type"], told["args"]
    kind = _loaded(name)
    if kind is None or not issubclass(kind, Exception):
        kind = _stand_in(name)
    try:
        error: Exception = kind(*args)
        if masked(error_text(error)) == told["text"]:
            return error
    except Exception:  # noqa: S110 - it wants other arguments
        pass
    error = kind.__new__(kind, *args)
    error.args = tuple(args)
    return error


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
    if issubclass(kind, loaded_types("pydantic", "BaseModel")):
        return kind.model_validate(told)
    return msgspec.convert(told, kind, strict=False)
