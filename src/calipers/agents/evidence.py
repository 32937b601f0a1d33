"""Whether calls of tools would have been recorded: what an empty list of calls may be taken for.

An agent without a recorded call either called nothing, or called what nothing records. Evidence for the first is code that
records calls within the agent's reach: a function marked with `@tool`, or one that calls `record_tool_call` or
`tool_call`. It is looked for in what a function uses (the names in its code, its closure, its object) and in what these
hold, the nearest first, up to a fixed number of objects. So an agent of a framework is found to have the tools that were
given to it.
"""

import functools
import sys
import types
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

MARK: Final = "__calipers_tool__"
"""The attribute of a function that is marked with `@tool`."""

_RECORDING: Final = frozenset({"record_tool_call", "tool_call"})
_MOST_OBJECTS = 5_000
"""How many objects are looked at. A framework's agent keeps its tools close to itself."""
_MOST_ITEMS = 200
"""How many items of a container are looked at."""
_EMPTY: Final = (str, bytes, int, float, complex, type(None), types.CodeType, types.FrameType)
_BY_CALLER: WeakKeyDictionary[types.CodeType, bool] = WeakKeyDictionary()


def reaches_tools(*roots: Any) -> bool:
    """Whether code that records calls of tools is within reach of some objects."""
    waiting: deque[Any] = deque(roots)
    seen: set[int] = set()
    kept: list[Any] = []  # what is looked at must not go away, or its id would be another's
    while waiting and len(seen) < _MOST_OBJECTS:
        value = waiting.popleft()
        if isinstance(value, _EMPTY) or id(value) in seen:
            continue
        seen.add(id(value))
        kept.append(value)
        try:
            if _records(value):
                return True
            waiting.extend(_inside(value))
        except Exception:  # noqa: S112 - an object that does not let itself be looked at, or that changes meanwhile
            continue
    return False


def caller_reaches_tools() -> bool:
    """The same for the function that called into this package."""
    frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001
    while frame is not None and _is_passed_over(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    if frame is None:
        return False
    code = frame.f_code
    if code not in _BY_CALLER:
        used = _used_by(code, frame.f_globals)
        _BY_CALLER[code] = bool(_RECORDING & _names_in(code)) or reaches_tools(
            *used, *frame.f_locals.values()
        )
    return _BY_CALLER[code]


def _is_passed_over(module: str) -> bool:
    return module == "contextlib" or module.partition(".")[0] == "calipers"


def _records(value: Any) -> bool:
    if isinstance(value, types.FunctionType):
        if value.__module__ and _is_passed_over(value.__module__) and MARK not in value.__dict__:
            return False  # what Calipers itself does says nothing of the agent
        return MARK in value.__dict__ or bool(_RECORDING & _names_in(value.__code__))
    return False


def _inside(value: Any) -> Iterable[Any]:
    """What an object holds or uses."""
    if isinstance(value, types.FunctionType):
        return _inside_function(value)
    if isinstance(value, types.MethodType):
        return (value.__func__, value.__self__)
    if isinstance(value, functools.partial):
        return (value.func, *value.args, *value.keywords.values())
    if isinstance(value, staticmethod | classmethod):
        return (value.__func__,)
    if isinstance(value, property):
        return (value.fget,)
    if isinstance(value, Mapping):
        return list(value.values())[:_MOST_ITEMS]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)[:_MOST_ITEMS]
    if isinstance(value, type):
        return list(vars(value).values())[:_MOST_ITEMS]
    if isinstance(value, types.ModuleType):
        return ()  # what is used of it is found by name
    return _inside_object(value)


def _inside_function(function: types.FunctionType) -> Iterator[Any]:
    yield from _used_by(function.__code__, function.__globals__)
    yield from function.__dict__.values()
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not yet filled
            continue


def _inside_object(value: Any) -> Iterator[Any]:
    yield from list(getattr(value, "__dict__", {}).values())
    for kind in type(value).__mro__:
        for name in getattr(kind, "__slots__", ()):
            yield getattr(value, name, None)
        if kind.__module__ not in {"builtins", "abc", "typing"}:
            yield from (each for each in vars(kind).values() if isinstance(each, types.FunctionType))


def _names_in(code: types.CodeType) -> frozenset[str]:
    """The names that code uses, that of the functions inside included."""
    inner = (_names_in(each) for each in code.co_consts if isinstance(each, types.CodeType))
    return frozenset(code.co_names).union(*inner)


def _used_by(code: types.CodeType, names: Mapping[str, Any]) -> Iterator[Any]:
    """The objects that code uses by name; of modules, those of their members whose names it has."""
    used = _names_in(code)
    for name in used & names.keys():
        value = names[name]
        if isinstance(value, types.ModuleType):
            yield from (vars(value)[member] for member in used & vars(value).keys())
        else:
            yield value
