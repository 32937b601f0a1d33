"""Names of a package that load when they are first used, so that importing the package costs next to nothing.

The stub beside a package's `__init__.py` says where each name is from, once, for type checkers and for this module alike:

    from calipers.data.case import Case as Case

A library for this (`lazy_loader`) parses the stub with `ast`, which takes longer to load than all of this.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False
"""That of `typing`, which takes long to load, too."""
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def lazy_exports(
    package: str, namespace: dict[str, Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of a package.

    Args:
        package: the package's name.
        namespace: the package's globals, which keep what was loaded.
    """
    homes = _read(sys.modules[package])

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = namespace[name] = getattr(import_module(home), name)
        return value

    names = sorted(homes)
    return load, names.copy, names


def _read(package: Any) -> dict[str, str]:
    """The module of each name that the stub of a package imports, a line for each."""
    path = f"{package.__file__.rpartition('.')[0]}.pyi"
    text: str = package.__spec__.loader.get_data(path).decode("utf-8")
    lines = [line.split() for line in text.splitlines() if line.startswith("from ")]
    return {words[3]: words[1] for words in lines}
