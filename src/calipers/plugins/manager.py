"""Finds plugins, loads them, tells them about runs, and hands out what they provide.

Loading a plugin is all or nothing: its module is imported, an object made, its name, version, requirement, evaluators and
hooks read, and `on_load` called. If any of it fails, the plugin is not there, `failures` says why, and the others are
loaded. Of two plugins with one name, the first is loaded. Loading what is loaded already changes nothing.

Whatever a plugin raises later, in a hook or while it makes something, becomes a failure, too. Only Ctrl-C goes through.
A failure is also logged, to `calipers.plugins`, the first time that it happens.
"""

import asyncio
import logging
import sys
from collections.abc import Iterator, Sequence
from inspect import isawaitable
from os import PathLike
from typing import Any, Self, TypeVar

import msgspec

from calipers import agents
from calipers import evaluators as built_in
from calipers.errors import InvalidOptionError, PluginError
from calipers.lifecycle import RunHook
from calipers.plain import safe_repr
from calipers.styles import as_evaluator

from .discovery import Candidate, Found, find_classes, find_entry_points, find_in_directory
from .evaluators import EvaluatorFactory, EvaluatorType, UnavailableEvaluator, name_of
from .failure import PluginFailure, Source, failure_of
from .hooks import DETAILS, Listener, call_plainly, listeners_of
from .plugin import (
    FACTORIES,
    AdapterPlugin,
    EvaluatorPlugin,
    PluginBase,
    PluginType,
    StorePlugin,
    ViewPlugin,
    defines,
    types_of,
)
from .requirement import satisfies

GROUP = "calipers.plugins"
"""The group of entry points by which packages offer plugins."""

_log = logging.getLogger(GROUP)
_Plugin = TypeVar("_Plugin", bound=PluginBase)


class LoadedPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin that is loaded."""

    plugin: PluginBase
    name: str
    version: str | None
    """Its own, or that of its package; `None` if neither says."""
    types: tuple[PluginType, ...]
    """What it provides."""
    evaluators: dict[str, EvaluatorType]
    """Its evaluators, by the names that dataset files call them."""
    hooks: tuple[RunHook, ...]
    """What it wants to be told of runs."""
    source: Source


class PluginManager:
    """The plugins of a program. As a `with` block, it unloads them at the end."""

    def __init__(self, group: str = GROUP) -> None:
        """A manager that has loaded nothing yet.

        Args:
            group: the group of entry points to look for.
        """
        self.group = group
        self._loaded: dict[str, LoadedPlugin] = {}
        self._failures: dict[tuple[Source, str, str], PluginFailure] = {}
        self._listeners: dict[RunHook, list[Listener]] = {hook: [] for hook in DETAILS}

    # ------------------------------------------------------------------ what is loaded

    @property
    def plugins(self) -> list[LoadedPlugin]:
        """The plugins, in the order in which they were loaded."""
        return list(self._loaded.values())

    @property
    def failures(self) -> list[PluginFailure]:
        """All that went wrong, in the order in which it first happened."""
        return list(self._failures.values())

    def get(self, name: str) -> PluginBase:
        """The plugin of that name.

        Raises:
            PluginError: none is loaded under it.
        """
        if name not in self._loaded:
            known = ", ".join(map(repr, self._loaded)) or "none"
            raise PluginError(f"no plugin called {name!r} is loaded; loaded are {known}")
        return self._loaded[name].plugin

    def __contains__(self, name: object) -> bool:
        return name in self._loaded

    def __iter__(self) -> Iterator[PluginBase]:
        return iter([each.plugin for each in self._loaded.values()])

    def __len__(self) -> int:
        return len(self._loaded)

    def __repr__(self) -> str:
        return f"PluginManager({', '.join(self._loaded) or 'nothing loaded'}; {len(self._failures)} failures)"

    # ------------------------------------------------------------------ loading

    def load_plugins(
        self,
        directories: Sequence[str | PathLike[str]] = (),
        classes: Sequence[type[PluginBase]] = (),
        *,
        entry_points: bool | Sequence[str] = True,
        strict: bool = False,
    ) -> None:
        """Load plugins: those of installed packages, then those in folders, then classes.

        Args:
            directories: folders whose files `*.py` hold plugins.
            classes: plugins at hand.
            entry_points: whether to load those of installed packages; or which, by name or pattern.
            strict: raise if any of them fails, after all others are loaded.

        Raises:
            PluginError: something failed, and `strict` was asked for; the message lists all of it.
            InvalidOptionError: an argument makes no sense.
        """
        for option, value in (("directories", directories), ("classes", classes)):
            if isinstance(value, str | PathLike | type) or not isinstance(value, Sequence):
                raise InvalidOptionError(f"{option} must be a list, got {value!r}")
        if isinstance(entry_points, str) or not isinstance(entry_points, bool | Sequence):
            raise InvalidOptionError(f"entry_points must be True, False or a list, got {entry_points!r}")
        begun: set[Source] = set()
        for found in self._find(directories, classes, entry_points):
            if found.source not in begun:
                begun.add(found.source)
                self._forget(found.source)  # a file that was mended has no failure any more
            if isinstance(found, PluginFailure):
                self._note(found)
            else:
                self._load(found)
        failed = [failure for failure in self.failures if failure.source in begun]
        if strict and failed:
            raise PluginError(
                "\n".join(["not all plugins could be loaded:", *(f"- {each}" for each in failed)])
            )

    def unload_all(self) -> None:
        """Tell all plugins that they are unloaded, and forget them; their failures stay."""
        loaded, self._loaded = self._loaded, {}
        for listeners in self._listeners.values():
            listeners.clear()
        for each in loaded.values():
            try:
                call_plainly(each.plugin.on_unload)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self._fail(error, each.name, "on_unload", each.source)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.unload_all()

    def _find(
        self,
        directories: Sequence[str | PathLike[str]],
        classes: Sequence[type[PluginBase]],
        entry_points: bool | Sequence[str],
    ) -> Iterator[Found]:
        if entry_points is not False:
            yield from find_entry_points(self.group, None if entry_points is True else entry_points)
        for directory in directories:
            yield from find_in_directory(directory)
        yield from find_classes(classes)

    def _load(self, found: Candidate) -> None:
        """Load one plugin, or note why it cannot be."""
        if any(type(each.plugin) is found.kind for each in self._loaded.values()):
            return
        label, stage = found.label, "create"
        try:
            plugin = found.kind()
            stage = "name"
            name = label = _checked_name(plugin.name)
            stage = "duplicate"
            if name in self._loaded:
                if _is_twin(type(self._loaded[name].plugin), found.kind):
                    return
                raise PluginError(f"another plugin has this name: that of {self._loaded[name].source}")  # noqa: TRY301
            stage = "version"
            version = _checked_text("version", plugin.version) or found.version
            stage = "requires_calipers"
            _check_requirement(_checked_text("requires_calipers", plugin.requires_calipers))
            stage = "provides"
            evaluators = self._evaluators_of(plugin, name)
            stage = "hooks"
            listeners = listeners_of(plugin, name, found.source)
            stage = "on_load"
            call_plainly(plugin.on_load)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._fail(error, label, stage, found.source)
            return
        self._loaded[name] = LoadedPlugin(
            plugin=plugin,
            name=name,
            version=version,
            types=types_of(found.kind),
            evaluators=evaluators,
            hooks=tuple(listeners),
            source=found.source,
        )
        for hook, listener in listeners.items():
            self._listeners[hook].append(listener)

    def _evaluators_of(self, plugin: PluginBase, name: str) -> dict[str, EvaluatorType]:
        """The evaluators that a plugin provides, by the names that files call them.

        Raises:
            PluginError: it does not provide what it promises, or a name is taken.
        """
        kind = type(plugin)
        for base, members in FACTORIES.items():
            if isinstance(plugin, base) and not any(defines(kind, member) for member in members):
                raise PluginError(f"it provides no {base.plugin_type}: define {' or '.join(members)}")
        if plugin.plugin_type not in types_of(kind):
            raise PluginError(
                f"plugin_type is {plugin.plugin_type!r}, but it derives from no class that provides such: it is of type "
                f"{', '.join(types_of(kind))}"
            )
        if not isinstance(plugin, EvaluatorPlugin):
            return {}
        found: dict[str, EvaluatorType] = {}
        for each in plugin.evaluator_types:
            called = name_of(each)
            if found.setdefault(called, each) is not each:
                raise PluginError(f"two of its evaluator_types are called {called!r}")
        if defines(kind, "create_evaluator"):
            found.setdefault(name, EvaluatorFactory(name, plugin.create_evaluator, kind.__doc__))
        if not found:
            raise PluginError("it provides no evaluator: evaluator_types is empty")
        for called in found:
            for other in self._loaded.values():
                if called in other.evaluators:
                    raise PluginError(
                        f"the plugin {other.name!r} provides an evaluator called {called!r}, too"
                    )
            if called in built_in.__all__ or called in agents.__all__:
                raise PluginError(f"Calipers itself has a {called!r}: give the evaluator a name of its own")
        return found

    # ------------------------------------------------------------------ failures

    def _fail(self, error: BaseException, plugin: str, stage: str, source: Source) -> None:
        self._note(failure_of(error, plugin=plugin, stage=stage, source=source))

    def _note(self, failure: PluginFailure) -> None:
        key = failure.source, failure.plugin, failure.stage
        before = self._failures.get(key)
        if before is None:
            self._failures[key] = failure
            _log.warning("%s", failure)
        else:
            self._failures[key] = msgspec.structs.replace(before, count=before.count + 1)

    def _forget(self, source: Source) -> None:
        for key in [key for key in self._failures if key[0] == source]:
            del self._failures[key]

    # ------------------------------------------------------------------ what plugins provide

    def get_evaluators(self) -> list[Any]:
        """A new evaluator of each plugin that makes one.

        In place of one that could not be made there is an evaluator that fails on every attempt: a run must not pass because
        a judge is missing.
        """
        made: list[Any] = []
        for each, plugin in self._of(EvaluatorPlugin):
            if not defines(type(plugin), "create_evaluator"):
                continue
            try:
                evaluator = plugin.create_evaluator()
                as_evaluator(evaluator)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                failure = failure_of(error, plugin=each.name, stage="create_evaluator", source=each.source)
                self._note(failure)
                evaluator = UnavailableEvaluator(each.name, failure.error_message)
            made.append(evaluator)
        return made

    def get_evaluator_types(self) -> list[EvaluatorType]:
        """All evaluators that dataset files may name: pass them as `evaluator_types=` to whatever reads one."""
        return [kind for each in self._loaded.values() for kind in each.evaluators.values()]

    def get_adapters(self) -> list[Any]:
        """A new adapter of each plugin that makes one; what could not be made is left out, and is a failure."""
        return self._made(AdapterPlugin, "create_adapter")

    def get_views(self) -> list[Any]:
        """A new view of each plugin that makes one; what could not be made is left out, and is a failure."""
        return self._made(ViewPlugin, "create_view")

    def get_stores(self) -> list[Any]:
        """A new store of each plugin that makes one; what could not be made is left out, and is a failure."""
        return self._made(StorePlugin, "create_store")

    def get_reporters(self) -> list[Any]:
        """Another word for `get_views`."""
        return self.get_views()

    def get_storage_backends(self) -> list[Any]:
        """Another word for `get_stores`."""
        return self.get_stores()

    def _made(self, kind: type[_Plugin], method: str) -> list[Any]:
        made: list[Any] = []
        for each, plugin in self._of(kind):
            try:
                made.append(getattr(plugin, method)())
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self._fail(error, each.name, method, each.source)
        return made

    def _of(self, kind: type[_Plugin]) -> Iterator[tuple[LoadedPlugin, _Plugin]]:
        for each in self.plugins:
            if isinstance(each.plugin, kind):
                yield each, each.plugin

    # ------------------------------------------------------------------ hooks

    def listens(self, *hooks: RunHook) -> bool:
        """Whether any plugin has any of these hooks."""
        return any(self._listeners[hook] for hook in hooks)

    async def dispatch(self, hook: RunHook, **details: Any) -> None:
        """Call a hook of all plugins that have it, in the order in which they were loaded; what fails is noted."""
        for listener in tuple(self._listeners[hook]):
            try:
                outcome = listener.call(**{name: details.get(name) for name in listener.wanted})
                if isawaitable(outcome):
                    await outcome
            except (KeyboardInterrupt, GeneratorExit):
                raise
            except asyncio.CancelledError as error:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
                self._fail(error, listener.plugin, hook, listener.source)
            except BaseException as error:
                self._fail(error, listener.plugin, hook, listener.source)


def _is_twin(one: type, other: type) -> bool:
    """Whether two classes are the same one of the same file, imported under two names."""
    files = [getattr(sys.modules.get(kind.__module__), "__file__", None) for kind in (one, other)]
    names = one.__qualname__ == other.__qualname__ and one.__module__ != other.__module__
    return names and files[0] is not None and files[0] == files[1]


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name or name != name.strip() or not name.isprintable() or ":" in name:
        raise PluginError(f"a plugin's name is text in one line, without a colon, got {safe_repr(name):.200}")
    return name


def _checked_text(what: str, value: Any) -> str | None:
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise PluginError(f"{what} must be text, or None, got {safe_repr(value):.200}")
    return value


def _check_requirement(requirement: str | None) -> None:
    ours: str = sys.modules["calipers"].__version__
    if requirement is not None and not satisfies(ours, requirement):
        raise PluginError(f"it needs calipers {requirement}, and this is {ours}")
