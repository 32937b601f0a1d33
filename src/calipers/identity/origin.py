"""Where code comes from: the project, whose source is looked into, or a library, which is known by its version.

Code is a library's if its file is Python's own, installed among the packages, or Calipers' own. Everything else is the
project's, also what stands in a neighbouring folder or was installed for editing.
"""

import functools
import importlib.metadata
import os
import sys
import sysconfig
from pathlib import PurePath
from typing import Any

_OURS = "calipers"
_INSTALLED = {"site-packages", "dist-packages"}


def module_of(thing: Any) -> str:
    """The module that a function, class or object belongs to; empty if it does not tell."""
    named = getattr(thing, "__module__", None) or getattr(type(thing), "__module__", "")
    return named if isinstance(named, str) else ""


def is_library(thing: Any) -> bool:
    """Whether the code of a function, class or module is a library's."""
    name = thing.__name__ if type(thing) is type(sys) else module_of(thing)
    return is_library_module(name)


def is_library_module(name: str) -> bool:
    """Whether the module of this name is a library's."""
    top = name.partition(".")[0]
    if top == _OURS or top in sys.builtin_module_names or top in sys.stdlib_module_names:
        return True
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    return is_library_file(file) if isinstance(file, str) else False


@functools.cache
def is_library_file(file: str) -> bool:
    """Whether a file lies among the installed packages, or is Python's own."""
    if not _INSTALLED.isdisjoint(PurePath(file).parts):
        return True
    return any(file.startswith(folder) for folder in _folders())


@functools.cache
def _folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple(sorted({paths[name] + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")}))


@functools.cache
def library_version(top: str) -> str | None:
    """The version of the library with this top-level name; `None` for what is part of Python."""
    if top in sys.builtin_module_names or top in sys.stdlib_module_names:
        return None
    try:
        return importlib.metadata.version(top)
    except importlib.metadata.PackageNotFoundError:
        version = getattr(sys.modules.get(top), "__version__", None)
        return version if isinstance(version, str) else "unknown"
