"""Python objects by address: `module:name`, `path/to/file.py:name`, or a whole file.

The current directory can be imported from. A file is imported as Python would import it from its own folder: next to
its siblings, and as a part of its package if the folder is one. What it raises is shown with its own traceback.
"""

import sys
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module, invalidate_caches
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from calipers.cli.exits import USAGE
from calipers.cli.message import CommandError, UserCodeError, no_file
from calipers.process.interrupt import is_interrupt
from calipers.process.user_code import import_file


def load_object(address: str) -> Any:
    """The object at an address."""
    home, name = split_address(address)
    if name is None:
        raise CommandError(f"{address!r} names no object: write module:name, or path/to/file.py:name", USAGE)
    return object_in(load_home(home), name, address)


def split_address(address: str) -> tuple[str, str | None]:
    """The module or file, and the name of the object in it."""
    home, colon, name = address.rpartition(":")
    # A colon also follows a drive letter: in C:\evals\a.py and C:a.py there is no name.
    is_path = "/" in name or "\\" in name or (len(home) == 1 and name.endswith(".py"))
    if not colon or not home or is_path:
        return address, None
    return home, name


def load_home(home: str) -> ModuleType:
    """A module, by its name or by the path of its file."""
    return load_file(Path(home)) if home.endswith(".py") else load_module(home)


def load_module(name: str) -> ModuleType:
    """A module by its dotted name."""
    make_importable(Path.cwd())
    if not all(part.isidentifier() for part in name.split(".")):
        raise CommandError(f"{name!r} is not a file and not the name of a module", USAGE)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise UserCodeError(f"importing {name} failed:", error) from error
        raise CommandError(
            f"module not found: {error.name} (looked in the current folder and among the installed packages)",
            USAGE,
        ) from error
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise UserCodeError(f"importing {name} failed:", error) from error


def load_file(path: Path) -> ModuleType:
    """A module by the path of its file; one that is loaded already is not loaded again."""
    if not path.is_file():
        raise no_file(path)
    path = path.resolve()
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(path) and module.__name__ != "__main__":
            return module
    folder, name = path.parent, path.stem
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        folder, name = folder.parent, f"{folder.name}.{name}"
    make_importable(Path.cwd())
    make_importable(folder)
    try:
        # Another package of that name may be loaded: then the file is not what is found there.
        if "." in name and (module := import_module(name)).__file__ == str(path):
            return module
        return _execute(path, name.rpartition(".")[2])
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise UserCodeError(f"importing {path.name} failed:", error) from error


class FilesByName(MetaPathFinder):
    """Finds modules in files that were loaded by their paths elsewhere, under the names that they have there."""

    def __init__(self) -> None:
        self.files: dict[str, Path] = {}
        """By the names of the modules."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None, /) -> ModuleSpec | None:
        """Where to load a module from; `None` where it is none of these."""
        file = self.files.get(name)
        return None if file is None else spec_from_file_location(name, file)


loaded_by_path: dict[str, Path] = {}
"""Files whose modules may not be what an import finds under their names, by these names."""


def _execute(path: Path, name: str) -> ModuleType:
    """Import a file that is not in a package: by its path, since another module may have its name."""
    taken, number = name, 1
    while name in sys.modules or name in sys.stdlib_module_names:
        number += 1
        name = f"{taken}_{number}"
    module = import_file(path, name)
    loaded_by_path[name] = path
    return module


def object_in(module: ModuleType, name: str, address: str) -> Any:
    """An attribute of a module, also of a class in it: `answer`, `Agent.answer`."""
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            names = [each for each in vars(module) if not each.startswith("_")]
            near = get_close_matches(name, names, n=3)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise CommandError(f"{address!r}: {module.__name__} has no {name!r}{hint}", USAGE) from None
    return found


def make_importable(folder: Path) -> None:
    """Put a folder where Python looks first, as it does for the folder of a script."""
    text = str(folder)
    with suppress(ValueError):
        sys.path.remove(text)
    sys.path.insert(0, text)
    invalidate_caches()
