"""The parameters of an evaluation, from text: `--param model=small` fills `model`, converted by its annotation."""

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from calipers.errors import InvalidOptionError

_FILLED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def parse_pairs(pairs: Sequence[str]) -> dict[str, str]:
    """`["k=v"]` as a mapping.

    Raises:
        InvalidOptionError: an item is no pair, or a key stands twice.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InvalidOptionError(f"--param must be NAME=VALUE, got {pair!r}")
        if key in found:
            raise InvalidOptionError(f"--param gives {key!r} twice: {found[key]!r} and {value!r}")
        found[key] = value
    return found


def parameter_names(function: Callable[..., Any]) -> tuple[list[str], bool]:
    """The parameters that can be filled by name, and whether any other name is taken as well."""
    parameters = inspect.signature(function).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind in _FILLED]
    return names, any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


def fill(function: Callable[..., Any], given: Mapping[str, str], *, label: str) -> dict[str, Any]:
    """The keyword arguments for a function, from those of the given that it takes.

    Raises:
        InvalidOptionError: a value does not fit its annotation, or a parameter without a default was not given.
    """
    names, takes_any = parameter_names(function)
    hints = _hints(function)
    filled: dict[str, Any] = {}
    missing: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in given and parameter.kind in _FILLED:
            filled[name] = _convert(given[name], _kind(parameter, hints), label=label, name=name)
        elif parameter.default is parameter.empty and parameter.kind in {*_FILLED, parameter.POSITIONAL_ONLY}:
            missing.append(name)
    if missing:
        options = " ".join(f"--param {name}=..." for name in missing)
        raise InvalidOptionError(f"{label} has parameters without a value: give {options}")
    if takes_any:
        filled.update({name: value for name, value in given.items() if name not in names})
    return filled


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except Exception:  # an annotation that names what is imported for type checkers only
        return {}


def _kind(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> Any:
    """What a parameter takes: by its annotation, else by its default, else text."""
    if parameter.name in hints:
        return hints[parameter.name]
    default = parameter.default
    return str if default is parameter.empty or default is None else type(default)


def _convert(text: str, kind: Any, *, label: str, name: str) -> Any:
    try:
        return _read(text, kind)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        wanted = getattr(kind, "__name__", None) if get_origin(kind) is None else None
        raise InvalidOptionError(
            f"--param {name}={text} does not fit {label}, which takes {wanted or kind!s}: {error}"
        ) from error


def _read(text: str, kind: Any) -> Any:
    """Text as a value of a type: as it stands, or as JSON where the type is one of lists or mappings."""
    if kind is Any or kind is inspect.Parameter.empty:
        return text
    members = get_args(kind) if get_origin(kind) in {Union, types.UnionType} else (kind,)
    if str in members:  # any text is one, so nothing else can be meant; except that None is said by its name
        return None if type(None) in members and text == "None" else text
    if Path in members:
        return Path(text)
    if any(_is_container(member) for member in members):
        return msgspec.json.decode(text, type=kind)
    if type(None) in members and text in {"", "None"}:
        return None
    return msgspec.convert(text, kind, strict=False)


def _is_container(kind: Any) -> bool:
    return (get_origin(kind) or kind) in {list, dict, tuple, set, frozenset, Sequence, Mapping}
