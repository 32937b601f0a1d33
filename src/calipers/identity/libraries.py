"""What was done to a library: the settings that its modules hold, and what of the project was put into them.

A library's code is known by its version. What it does also depends on what it was told: `lib.configure(model=...)`,
`lib.MODEL = ...`, a function of the project in the place of one of its own, a tool that was registered. All of that ends
in the library's modules, in their classes, or in objects of its own classes that stand there. Data found there counts,
and so do functions and classes of the project. What has no form, what a library caches, and what compiled code holds
is passed over.
"""

import dis
import functools
import re
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .fingerprint import digest
from .members import vars_of
from .origin import is_library, is_library_module, library_version, module_of
from .values import NoFormError, written

_MOST = 2_000
"""A table of more entries is one that the library brings along."""
_SCALARS = frozenset({str, int, float, bool, type(None)})
_ITEMS = frozenset({list, tuple, set, frozenset})
_LOOP = dis.opmap["FOR_ITER"]
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A text with one in it is another in every process."""
_MOST_PARTS = 100
"""A library of more modules with settings is one part."""


class Libraries:
    """The settings of libraries, each looked at once: while a run begins, nothing sets them."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[dict[str, str], list[Any]]] = {}
        self._versions: dict[str, str | None] = {}

    def version(self, top: str) -> str | None:
        """The version of a library; of one that says none, what its files hold. `None` for what is part of Python."""
        if top not in self._versions:
            of_python = not top or top in sys.builtin_module_names or top in sys.stdlib_module_names
            self._versions[top] = None if of_python else library_version(top) or _files(top)
        return self._versions[top]

    def settings(self, top: str) -> tuple[dict[str, str], list[Any]]:
        """What the modules of a library hold.

        Args:
            top: its top-level name.

        Returns:
            digests of the data by the names of modules, and the functions and classes of the project that are in it.
        """
        known = self._known.get(top)
        if known is None:
            known = self._known[top] = _settings(top)
        return known


def _files(top: str) -> str:
    """A digest of the loaded files of a library."""
    found: list[bytes] = []
    for name, module in sorted(sys.modules.items()):
        if name == top or name.startswith(f"{top}."):
            with suppress(OSError, TypeError, AttributeError):
                found.append(name.encode() + Path(module.__file__ or "").read_bytes())
    return f"files {digest(b'/'.join(found))}"


def _settings(top: str) -> tuple[dict[str, str], list[Any]]:
    found: dict[str, str] = {}
    code: list[Any] = []
    for name, module in sorted(sys.modules.items()):
        if (name == top or name.startswith(f"{top}.")) and type(module) is types.ModuleType:
            lines = [line for line in _module(module, top, code.append) if line is not None]
            if lines:
                found[name] = digest(b"\n".join(sorted(lines)))
    if len(found) > _MOST_PARTS:
        found = {top: digest("\n".join(f"{name} {text}" for name, text in found.items()).encode())}
    return found, code


# Kinds are asked for by `type`: to `isinstance`, an object may answer by loading what it stands for.


def _module(module: types.ModuleType, top: str, meet: Callable[[Any], None]) -> Iterator[bytes | None]:
    passing = _set_in_loops(module)
    for name, value in list(vars(module).items()):
        kind = type(value)
        if name.startswith("__") or "cache" in name.lower() or name in passing:
            continue
        if kind is types.FunctionType:
            if not is_library(value):
                meet(value)
        elif issubclass(kind, type):
            if value.__module__ == module.__name__:
                yield from _class(value, meet)
            elif _is_of_project(value):
                meet(value)
        elif kind in _SCALARS or kind in _ITEMS or issubclass(kind, dict):
            yield _line(name, value, meet)
        elif kind.__module__.partition(".")[0] == top:
            for field, held in vars_of(value).items():
                if type(held) in _SCALARS or type(held) in _ITEMS or type(held) is dict:
                    yield _line(f"{name}.{field}", held, meet)


@functools.lru_cache(maxsize=4096)
def _set_in_loops(module: types.ModuleType) -> set[str]:
    """The names that a module sets in loops: what they are in the end may depend on the order of a set."""
    try:
        loader: Any = getattr(module.__spec__, "loader", None)
        code = loader.get_code(module.__name__)
    except Exception:  # of any kind of loader: most have code, some have none
        return set()
    if not isinstance(code, types.CodeType) or _LOOP not in code.co_code[::2]:
        return set()
    found: set[str] = set()
    end = -1
    for step in dis.get_instructions(code):
        if step.opcode == _LOOP:
            end = max(end, step.argval)
        elif step.opname == "STORE_NAME" and step.offset < end:
            found.add(step.argval)
    return found


def _class(kind: type, meet: Callable[[Any], None]) -> Iterator[bytes | None]:
    for name, value in list(vars(kind).items()):
        if type(value) is types.FunctionType:
            if not value.__code__.co_filename.startswith("<") and not is_library(value):
                meet(value)
        elif type(value) in _SCALARS and not name.startswith("__"):
            yield _line(f"{kind.__qualname__}.{name}", value, meet)


def _line(name: str, value: Any, meet: Callable[[Any], None]) -> bytes | None:
    """A setting as bytes; `None` if it has no form."""
    if type(value) not in _SCALARS and len(value) > _MOST:
        return None
    if isinstance(value, dict):
        # Its order may come from a set, which has another in every process.
        lines = [_entry(key, item, meet) for key, item in list(value.items()) if type(key) in _SCALARS]
        return b"%s {%s}" % (name.encode(), b";".join(sorted(line for line in lines if line is not None)))
    return _entry(name, value, meet)


def _entry(name: Any, value: Any, meet: Callable[[Any], None]) -> bytes | None:
    if type(value) is str and _UUID.search(value):
        return None
    met: list[Any] = []
    try:
        line = b"%s %s" % (repr(name).encode("utf-8", "backslashreplace"), written(value, meet=met.append))
    except NoFormError:
        return None
    for thing in met:
        if _is_of_project(thing):
            meet(thing)
    return line


def _is_of_project(thing: Any) -> bool:
    """Whether code belongs to the project: classes of libraries may claim to be of modules that there are not."""
    home = sys.modules.get(module_of(thing))
    return (
        not is_library(thing) and home is not None and not is_library_module(home.__name__.partition(".")[0])
    )
