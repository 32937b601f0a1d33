"""Where plugins are found, and what goes wrong with them, as data.

The order is always the same: entry points sorted by name, then folders as given with their files sorted by name, then classes.
A file whose name begins with `_` is not a plugin, but others may import it. The plugins of a module are the classes that it
defines itself. A module that cannot be imported is a failure of its own plugins and of no other.

A folder of plugins becomes a package of its own, named after the path of the folder: two folders may hold files of the same
name, no file is imported twice, and what its classes make can be pickled. A file may import its neighbours as
`from ._shared import words`. The folder is not put on `sys.path`.
"""

import hashlib
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib import invalidate_caches
from inspect import isabstract
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec

from calipers.data.jsonable import safe_repr
from calipers.data.result import describe_error
from calipers.errors import PluginError
from calipers.process.interrupt import is_interrupt
from calipers.process.user_code import import_file

from .plugin import PluginBase, is_plugin

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint


Origin: TypeAlias = Literal["entry point", "file", "class"]
"""How a plugin was found."""


LOADING = frozenset(
    {
        "import",
        "find",
        "create",
        "name",
        "duplicate",
        "version",
        "requires_calipers",
        "provides",
        "hooks",
        "on_load",
    }
)
"""Stages of loading a plugin."""

_SELF_EXPLAINING = {"find", "name", "duplicate", "version", "requires_calipers", "provides", "hooks"}
"""Stages whose own errors need no explanation."""


class Source(msgspec.Struct, frozen=True):
    """Where a plugin comes from."""

    origin: Origin
    place: str
    """`module:Class`, or the path of a file or folder."""
    package: str | None = None
    """The installed package, with its version: `calipers-tone 1.2`."""

    def __str__(self) -> str:
        return self.place if self.package is None else f"{self.package}, {self.place}"


class PluginFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that went wrong."""

    plugin: str
    """Its name; if it has none yet, that of the entry point, the file or the class."""
    stage: str
    """What failed: `import`, `find` (there is no plugin where one was looked for), `create`, `name`, `duplicate`, `version`,
    `requires_calipers`, `provides` or `hooks`; or the method, such as `on_load`, `on_test_end` or `create_evaluator`."""
    source: Source
    error_type: str
    error_message: str
    """`Type: text`."""
    traceback: str
    count: int = 1
    """How often it happened; the error is the first one."""

    @property
    def summary(self) -> str:
        """What happened, in one line: `import failed: ImportError: ...`."""
        if self.error_type == "PluginError" and self.stage in _SELF_EXPLAINING:
            return self.error_message.removeprefix(f"{self.error_type}: ")
        times = "" if self.count == 1 else f" ({self.count:,} times)"
        return f"{self.stage} failed{times}: {self.error_message}"

    def __str__(self) -> str:
        return f"{self.plugin} ({self.source}): {self.summary}"


def failure_of(error: BaseException, *, plugin: str, stage: str, source: Source) -> PluginFailure:
    """An error as a failure."""
    kind, message, stack = describe_error(error)
    return PluginFailure(
        plugin=plugin,
        stage=stage,
        source=source,
        error_type=kind,
        error_message=message,
        traceback=stack,
    )


class Candidate(NamedTuple):
    """A class that is to be loaded."""

    kind: type[PluginBase]
    label: str
    """What to call it before its name is known."""
    source: Source
    version: str | None = None
    """Of the package it was installed with."""


Found: TypeAlias = Candidate | PluginFailure


def find_entry_points(group: str, wanted: Sequence[str] | None = None) -> Iterator[Found]:
    """The plugins of installed packages.

    Args:
        group: of entry points.
        wanted: names or patterns; `None` for all. One without a match is a failure.
    """
    here = Source("entry point", f"group {group}")
    entries, damaged = _installed(group)
    yield from damaged
    for pattern in wanted or ():
        if not any(fnmatchcase(entry.name, pattern) for entry in entries):
            names = ", ".join(repr(entry.name) for entry in entries)
            known = f"there are {names}" if names else f"no package has an entry point of the group {group!r}"
            missing = PluginError(f"no plugin {pattern!r} is installed: {known}")
            yield failure_of(missing, plugin=pattern, stage="find", source=here)
    for entry in entries:
        if wanted is None or any(fnmatchcase(entry.name, pattern) for pattern in wanted):
            yield from _of_entry_point(entry)


def find_in_directory(directory: str | PathLike[str]) -> Iterator[Found]:
    """The plugins of the files in a folder."""
    source = Source("file", safe_repr(directory))
    try:
        folder = Path(directory)
        source = Source("file", str(folder))
        files = sorted(path for path in folder.iterdir() if path.suffix == ".py" and path.name[0] != "_")
        if not files:
            raise PluginError("there are no plugins in this folder: it has no file *.py")  # noqa: TRY301
    except Exception as error:  # there is none, it may not be read, or it is no path at all
        yield failure_of(error, plugin=source.place, stage="find", source=source)
        return
    for path in files:
        source, stage = Source("file", str(path)), "import"
        try:
            module = import_plugin_file(path)
            stage = "find"
            kinds = _plugins_in(module)
        except BaseException as error:
            if is_interrupt(error):
                raise
            yield failure_of(error, plugin=path.stem, stage=stage, source=source)
            continue
        yield from (Candidate(kind, kind.__name__, source) for kind in kinds)


def find_classes(classes: Iterable[Any]) -> Iterator[Found]:
    """Classes that the caller passed."""
    for kind in classes:
        home = kind if isinstance(kind, type) else type(kind)
        name, source = home.__name__, Source("class", f"{home.__module__}:{home.__qualname__}")
        try:
            yield Candidate(_checked(kind), name, source)
        except PluginError as error:
            yield failure_of(error, plugin=name, stage="find", source=source)


def _installed(group: str) -> "tuple[list[EntryPoint], list[PluginFailure]]":
    """The entry points, each once, and packages whose entry points cannot be read."""
    damaged: list[PluginFailure] = []
    try:
        entries = list(_entry_points(group, _path()))
    except Exception:  # one package whose own description is damaged hides those of all others
        entries, damaged = _package_by_package(group)
    found = {(entry.name, entry.value): entry for entry in entries}
    return [found[key] for key in sorted(found)], damaged


@lru_cache(maxsize=4)
def _entry_points(group: str, path: tuple[tuple[str, int], ...]) -> "tuple[EntryPoint, ...]":  # noqa: ARG001
    """What is installed in these folders, read once: it takes ten milliseconds where two hundred packages are installed."""
    from importlib.metadata import entry_points  # most of what importing this module would cost

    return tuple(entry_points(group=group))


def _path() -> tuple[tuple[str, int], ...]:
    """Where packages may be installed, and when each place last changed."""
    places = []
    for place in sys.path:
        try:
            places.append((str(Path(place).absolute()), Path(place).stat().st_mtime_ns))
        except (OSError, TypeError, ValueError):  # there is no such folder
            places.append((str(place), 0))
    return tuple(places)


def _package_by_package(group: str) -> "tuple[list[EntryPoint], list[PluginFailure]]":
    """The same, package by package, which takes longer."""
    from importlib.metadata import distributions

    entries: list[EntryPoint] = []
    damaged: list[PluginFailure] = []
    seen: set[str] = set()
    for package in distributions():
        name = _name_of(package)
        if name in seen:  # an earlier one on the path hides it
            continue
        seen.add(name)
        try:
            entries += package.entry_points.select(group=group)
        except Exception as error:
            if _may_offer(package, group):
                source = Source("entry point", f"group {group}", name)
                damaged.append(failure_of(error, plugin=name, stage="find", source=source))
    return entries, damaged


def _name_of(package: "Distribution") -> str:
    try:
        name: str | None = package.name if _is_described(package) else None
    except Exception:  # it cannot be read
        name = None
    return name or f"a package without a name, in {package.locate_file('')}"


def _version_of(package: "Distribution") -> str | None:
    return package.version if _is_described(package) else None


def _is_described(package: "Distribution") -> bool:
    # Asked for the name of a package without metadata, some Pythons give `None`, some warn, and later ones raise.
    return any(package.read_text(name) for name in ("METADATA", "PKG-INFO", ""))


def _may_offer(package: "Distribution", group: str) -> bool:
    """Whether a package with unreadable entry points might have some of this group."""
    try:
        return group in (package.read_text("entry_points.txt") or "")
    except Exception:
        return True


def _of_entry_point(entry: "EntryPoint") -> Iterator[Found]:
    source, version, stage = Source("entry point", entry.value), None, "find"
    try:
        if entry.dist is not None:
            version = _version_of(entry.dist)
            source = Source("entry point", entry.value, f"{_name_of(entry.dist)} {version or ''}".strip())
        stage = "import"
        found = entry.load()
        stage = "find"
        kinds = _plugins_in(found) if isinstance(found, ModuleType) else [_checked(found)]
    except BaseException as error:
        if is_interrupt(error):
            raise
        yield failure_of(error, plugin=entry.name, stage=stage, source=source)
        return
    for kind in kinds:
        yield Candidate(kind, entry.name if len(kinds) == 1 else kind.__name__, source, version)


def _checked(kind: Any) -> type[PluginBase]:
    """The class, if it is a plugin.

    Raises:
        PluginError: it is not.
    """
    if is_plugin(kind):
        return kind  # type: ignore[no-any-return]
    if not isinstance(kind, type):
        hint = f": pass the class {type(kind).__name__}" if isinstance(kind, PluginBase) else ""
        raise PluginError(f"a plugin is a class, got {safe_repr(kind):.200}{hint}")
    if issubclass(kind, PluginBase):
        raise PluginError(_about_abstract(kind))
    raise PluginError(
        f"{kind.__name__} is not a plugin: derive it from EvaluatorPlugin, or another class of calipers.plugins"
    )


def _plugins_in(module: ModuleType) -> list[type[PluginBase]]:
    """The plugins that a module defines.

    Raises:
        PluginError: there are none.
    """
    own = dict.fromkeys(
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, PluginBase) and value.__module__ == module.__name__
    )
    found = [kind for kind in own if is_plugin(kind)]
    if not found:
        why = "; ".join(map(_about_abstract, own)) or (
            "derive a class from EvaluatorPlugin, or another class of calipers.plugins; start the name of a helper file "
            "with _"
        )
        raise PluginError(f"there is no plugin in it: {why}")
    return found


def _about_abstract(kind: type[PluginBase]) -> str:
    if isabstract(kind):
        missing = ", ".join(sorted(getattr(kind, "__abstractmethods__", ())))
        return f"{kind.__name__} is abstract: it does not define {missing}"
    return f"{kind.__name__} has no name: write name = '...' in the class"


_lock = threading.RLock()


def import_plugin_file(path: Path) -> ModuleType:
    """The module in a file."""
    path = path.resolve()
    package = f"calipers_plugins_{_digest(path.parent)}"
    # A stem with a dot would read as a package inside the package.
    name = f"{package}.{path.stem if '.' not in path.stem else f'{_digest(path)}'}"
    with _lock:
        if name in sys.modules:
            return sys.modules[name]
        if package not in sys.modules:
            folder = ModuleType(package, "A folder of plugins.")
            folder.__path__ = [str(path.parent)]
            sys.modules[package] = folder
        invalidate_caches()
        return import_file(path, name)


def _digest(path: Path) -> str:
    return hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:12]
