"""Names of a package that load when they are first used, so that importing the package costs next to nothing.

A package writes `__getattr__, __dir__ = late_names(__name__, _HOMES, globals())`, with the module of each name in
`_HOMES`, and imports the same names under `TYPE_CHECKING` for those who read without running.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
"""That of `typing`, which takes longer to load than all of this."""
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def late_names(
    package: str, homes: Mapping[str, str], namespace: dict[str, Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    Args:
        package: the package's name.
        homes: the module of each name, in full or relative to the package (`.module`).
        namespace: the package's globals, which keep what was loaded.
    """

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = namespace[name] = getattr(import_module(home, package), name)
        return value

    def names() -> list[str]:
        return sorted(homes)

    return load, names
