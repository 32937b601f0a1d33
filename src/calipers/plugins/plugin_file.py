"""Importing a plugin file by its path.

A folder of plugins becomes a package of its own, whose name follows from the path of the folder: two folders
may hold files of the same name, the same file is never imported twice, and what its classes make can be
pickled. A file may import what stands beside it as `from ._shared import words`. The folder is not put on
`sys.path`.
"""

import hashlib
import sys
import threading
from importlib import invalidate_caches
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

_lock = threading.RLock()


def import_plugin_file(path: Path) -> ModuleType:
    """The module that a file holds. What the file raises is raised."""
    path = path.resolve()
    package = f"calipers_plugins_{_digest(path.parent)}"
    # A stem with a dot in it would read as a package in the package.
    name = f"{package}.{path.stem if '.' not in path.stem else f'{_digest(path)}'}"
    with _lock:
        if name in sys.modules:
            return sys.modules[name]
        if package not in sys.modules:
            folder = ModuleType(package, "A folder of plugins.")
            folder.__path__ = [str(path.parent)]
            sys.modules[package] = folder
        invalidate_caches()
        spec = spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        # Dataclasses, pickles and type hints look a module up by its name.
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
        return module


def _digest(path: Path) -> str:
    return hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:12]
