"""What was done to a library: the settings that its modules hold, and what of the project was put into them.

A library's code is known by its version. What it does also depends on what it was told: `lib.configure(model=...)`,
`lib.MODEL = ...`, a function of the project in the place of one of its own, a tool that was registered. All of that ends
in the library's modules, in their classes, or in objects of its own classes that stand there. Functions and classes of
the project that are found there count, and so does data, unless it is what the library's source says: a library loads
modules as it needs them, and their constants are no settings. What has no form, what a library caches, and what compiled
code holds is passed over.
"""

import ast
import functools
import re
import sys
import types
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from .fingerprint import digest
from .library_state import globals_set_in, settings_in
from .members import vars_of
from .origin import is_library, is_library_module, library_version, module_of
from .value_bytes import NoFormError, written

_MOST = 2_000
"""A table of more entries is one that the library brings along."""
_SCALARS = frozenset({str, int, float, bool, type(None)})
_DATA = _SCALARS | {list, tuple, set, frozenset}
_MOST_PARTS = 100
"""More settings than this are one part."""
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A text with one in it is another in every process."""
_ASSIGNMENT: Final = re.compile(r"^([ \t]*)(\w+)(?:[ \t]*:[^=\n]+)?[ \t]*=[ \t]*([^=\s].*)$", re.MULTILINE)


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
        """What the modules of a library hold: digests of the data by the names of modules, and code of the project in it."""
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
    looking = _Looking(top)
    for name, module in sorted(sys.modules.items()):
        if (name == top or name.startswith(f"{top}.")) and type(module) is types.ModuleType:
            looking.at_module(module)
    found = looking.found
    if len(found) > _MOST_PARTS:
        found = {top: digest("\n".join(f"{name} {text}" for name, text in found.items()).encode())}
    return found, looking.code


@functools.lru_cache(maxsize=4096)
def _assignments(module: types.ModuleType) -> dict[str, list[tuple[str, str]]]:
    """What stands behind the equals signs of a module's source, each after its indentation, by the name before them."""
    file = getattr(module, "__file__", None)
    found: dict[str, list[tuple[str, str]]] = {}
    if isinstance(file, str) and file.endswith(".py"):
        with suppress(OSError, UnicodeError):
            for indentation, name, text in _ASSIGNMENT.findall(Path(file).read_text(encoding="utf-8")):
                found.setdefault(name, []).append((indentation, text))
    return found


class _Looking:
    """One look at the modules of a library.

    Kinds are asked for by `type`: to `isinstance`, an object may answer by loading what it stands for.
    """

    def __init__(self, top: str) -> None:
        self.top = top
        self.found: dict[str, str] = {}
        self.code: list[Any] = []
        self._seen: set[int] = set()

    def at_module(self, module: types.ModuleType) -> None:
        """Note what a module holds."""
        for name, value in list(vars(module).items()):
            kind = type(value)
            if name.startswith("__") or "cache" in name.lower():
                continue
            if kind is types.FunctionType:
                self._meet(value)
            elif issubclass(kind, type):
                self._class(value, module) if value.__module__ == module.__name__ else self._meet(value)
            elif kind in _DATA or issubclass(kind, dict):
                # A constant is no setting unless the source says another value; a letter is left over from a loop.
                self._data(module, (name,), value, computed=not name.isupper() and len(name) > 1)
            elif kind.__module__.partition(".")[0] == self.top and id(value) not in self._seen:
                self._seen.add(id(value))
                for field, held in settings_in(vars_of(value), kind).items():
                    if (type(held) in _DATA or type(held) is dict) and not field.startswith("__"):
                        self._data(module, (name, field), held, computed=True)

    def _class(self, kind: type, module: types.ModuleType) -> None:
        for name, value in list(vars(kind).items()):
            if type(value) is types.FunctionType:
                if not value.__code__.co_filename.startswith("<"):
                    self._meet(value)
            elif type(value) in _SCALARS and not name.startswith("__"):
                self._data(module, (kind.__qualname__, name), value, computed=False)

    def _meet(self, thing: Any) -> None:
        """Note code of the project."""
        # Classes of libraries may claim to be of modules that there are not.
        home = sys.modules.get(module_of(thing))
        if home is None or is_library(thing) or is_library_module(home.__name__.partition(".")[0]):
            return
        self.code.append(thing)

    def _data(self, module: types.ModuleType, path: tuple[str, ...], value: Any, *, computed: bool) -> None:
        """Note data that is not what the source says; with `computed`, also where the source does not tell."""
        line = self._line(value)
        name, of_module = path[-1], len(path) == 1
        said = _assignments(module).get(name, [])
        if not line or not (said or computed):
            return
        known = [indentation for indentation, text in said if self._says(text, line)]
        by_function = of_module and all(known) and name in globals_set_in(module).told
        if known and not by_function:
            return
        told = any(self._says(text, None) for _, text in said)
        setting = told or (computed and value not in ([], {}, (), set(), None))
        if setting and not (of_module and name in globals_set_in(module).own):
            self.found[".".join((module.__name__, *path))] = digest(line)

    def _says(self, text: str, line: bytes | None) -> bool:
        """Whether a text of the source is data, and that of the line if there is one."""
        try:
            value = ast.literal_eval(text.partition("  #")[0])
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return False
        return line is None or self._line(value) == line

    def _line(self, value: Any) -> bytes:
        """Data as bytes; none if it has no form, or is a large table."""
        if type(value) not in _SCALARS and len(value) > _MOST:
            return b""
        if not isinstance(value, dict):
            return self._written(value)
        # Its order may come from a set, which has another in every process.
        entries = [
            (repr(key), self._written(item)) for key, item in list(value.items()) if type(key) in _SCALARS
        ]
        lines = sorted(b"%s %s" % (key.encode("utf-8", "replace"), line) for key, line in entries if line)
        return b"{%s}" % b";".join(lines)

    def _written(self, value: Any) -> bytes:
        if type(value) is str and _UUID.search(value):
            return b""
        met: list[Any] = []
        try:
            line = written(value, meet=met.append)
        except NoFormError:
            return b""
        for thing in met:
            self._meet(thing)
        return line
