"""Where code comes from: the project, whose source is looked into, or a library, which is known by its version.

Code is a library's if its file is Python's own, installed among the packages, or Calipers' own. Everything else is the
project's, also what stands in a neighbouring folder or was installed for editing.
"""

import functools
import importlib.metadata
import inspect
import os
import sys
import sysconfig
import types
from pathlib import PurePath
from typing import Any

_OURS = "calipers"
_INSTALLED = {"site-packages", "dist-packages"}
_MADE_AT_RUN_TIME = 1 << 9
"""The flag of classes that are not part of the interpreter itself."""


def module_of(thing: Any) -> str:
    """The module that a function, class or object belongs to; empty if it does not tell."""
    named = getattr(thing, "__module__", None) or getattr(type(thing), "__module__", "")
    return named if isinstance(named, str) else ""


def is_library(thing: Any) -> bool:
    """Whether the code of a function, class or module is a library's.

    A function is where its code is, whatever it says of itself: decorators copy the names of what they wrap, and what
    `exec` makes claims to be Python's own.
    """
    if isinstance(thing, types.ModuleType):
        return is_library_module(thing.__name__)
    if isinstance(thing, types.FunctionType):
        file = thing.__code__.co_filename
        home = home_of(thing)
        if is_ours(home) or file.startswith("<frozen "):
            return True
        return bool(home) and is_library_module(home) if file.startswith("<") else is_library_file(file)
    if isinstance(thing, type) and thing.__module__ == "builtins":
        return not thing.__flags__ & _MADE_AT_RUN_TIME
    return is_library_module(module_of(thing))


def is_installed(thing: Any) -> bool:
    """Whether the code is that of a library which is neither Python's own nor Calipers'."""
    top = module_of(thing).partition(".")[0]
    return is_library(thing) and not is_ours(top) and top not in sys.stdlib_module_names


def home_of(function: types.FunctionType) -> str:
    """The module whose names a function reads; empty if it has none."""
    name = function.__globals__.get("__name__")
    return name if isinstance(name, str) else ""


def stands_in_its_module(function: types.FunctionType) -> bool:
    """Whether a function of a library is one that the library's own source defines, and holds nothing of others."""
    found: Any = sys.modules.get(home_of(function))
    for name in function.__code__.co_qualname.split("."):
        found = None if found is None else inspect.getattr_static(found, name, None)
    return getattr(found, "__func__", found) is function


def wrapped_by(thing: Any) -> Any:
    """What a decorated function or a proxy wraps; `None` if nothing.

    An object that answers to every name is not asked for this one.
    """
    try:
        known = inspect.getattr_static(thing, "__wrapped__", None) is not None
        return getattr(thing, "__wrapped__", None) if known else None
    except Exception:  # user code runs here
        return None


def is_ours(module: str) -> bool:
    """Whether a module of this name is Calipers' own, wherever it is installed."""
    return module.partition(".")[0] == _OURS


def is_library_module(name: str) -> bool:
    """Whether the module of this name is a library's."""
    if is_ours(name):
        return True
    top = name.partition(".")[0]
    file = getattr(sys.modules.get(name), "__file__", None)
    if isinstance(file, str):  # a project may name a module like one of Python's
        return is_library_file(file)
    return top in sys.builtin_module_names or top in sys.stdlib_module_names


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


def library_version(top: str) -> str | None:
    """The version of the library with this top-level name; `None` for what is part of Python, or says no version."""
    if top in sys.builtin_module_names or top in sys.stdlib_module_names:
        return None
    try:
        return importlib.metadata.version(top)
    except importlib.metadata.PackageNotFoundError:
        version = getattr(sys.modules.get(top), "__version__", None)
        return version if isinstance(version, str) else None
