"""Finds and loads plugins, calls their hooks, and hands out what they provide.

Loading a plugin is all or nothing: if anything fails before `on_load` has returned, the plugin is not loaded, `failures` says
why, and the others are loaded. Of two plugins with one name, the first is loaded. Loading a plugin twice changes nothing.

An error that a plugin raises later, in a hook or while it makes something, becomes a failure too. Only Ctrl-C goes through.
A failure is logged to `calipers.plugins` the first time it happens.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from os import PathLike
from typing import Any, Self, TypeVar

import msgspec

from calipers import agents
from calipers import evaluators as built_in
from calipers.data.evaluator_styles import as_evaluator
from calipers.data.jsonable import safe_repr
from calipers.data.lifecycle import RunHook
from calipers.data.result import describe_error
from calipers.errors import InvalidOptionError, PluginError
from calipers.process.interrupt import is_interrupt, is_main, take_back
from calipers.process.user_code import settled
from calipers.run.task import TaskLike, is_task
from calipers.views.formats import check_view_name
from calipers.views.view import View, is_view

from .discovery import (
    LOADING,
    Candidate,
    Found,
    PluginFailure,
    Source,
    failure_of,
    find_classes,
    find_entry_points,
    find_in_directory,
)
from .evaluator_factory import EvaluatorFactory, EvaluatorType, UnavailableEvaluator, name_of
from .plugin import (
    FACTORIES,
    AdapterPlugin,
    EvaluatorPlugin,
    Hook,
    PluginBase,
    PluginType,
    StorePlugin,
    ViewPlugin,
    call_outside_loop,
    defines,
    hooks_of,
    types_of,
)

GROUP = "calipers.plugins"
"""The entry-point group of plugins."""

_log = logging.getLogger(GROUP)
_Plugin = TypeVar("_Plugin", bound=PluginBase)


class LoadedPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin that is loaded."""

    plugin: PluginBase
    name: str
    version: str | None
    """Its own, or that of its package; `None` if neither has one."""
    types: tuple[PluginType, ...]
    """What it provides."""
    evaluators: dict[str, EvaluatorType]
    """Its evaluators, by their names in dataset files."""
    hooks: dict[RunHook, Hook]
    """Its hooks of runs."""
    source: Source


def load_plugin(found: Candidate, loaded: Mapping[str, LoadedPlugin]) -> LoadedPlugin | PluginFailure | None:
    """The plugin, or why there is none; `None` if it is loaded already. `loaded` has the others by name."""
    kind, label, stage = found.kind, found.label, "create"
    if any(type(each.plugin) is kind for each in loaded.values()):
        return None
    try:
        plugin = kind()
        stage = "name"
        name = label = _checked_name(plugin.name)
        stage = "duplicate"
        if name in loaded:
            if _is_twin(type(loaded[name].plugin), kind):
                return None
            raise PluginError(f"another plugin has this name: {loaded[name].source}")  # noqa: TRY301
        stage = "version"
        version = _checked_text("version", plugin.version) or found.version
        stage = "requires_calipers"
        _check_requirement(_checked_text("requires_calipers", plugin.requires_calipers))
        stage = "provides"
        _check_promises(plugin)
        if isinstance(plugin, ViewPlugin):
            check_view_name(name)
        evaluators = _evaluators_of(plugin, name, loaded) if isinstance(plugin, EvaluatorPlugin) else {}
        stage = "hooks"
        hooks = hooks_of(plugin)
        stage = "on_load"
        call_outside_loop(plugin.on_load)
    except BaseException as error:
        if is_interrupt(error):
            raise
        return failure_of(error, plugin=label, stage=stage, source=found.source)
    return LoadedPlugin(
        plugin=plugin,
        name=name,
        version=version,
        types=types_of(kind),
        evaluators=evaluators,
        hooks=hooks,
        source=found.source,
    )


def _is_twin(one: type, other: type) -> bool:
    """Whether two classes are one class of one file, imported under two names."""
    files = [getattr(sys.modules.get(kind.__module__), "__file__", None) for kind in (one, other)]
    names = one.__qualname__ == other.__qualname__ and one.__module__ != other.__module__
    return names and files[0] is not None and files[0] == files[1]


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name or name != name.strip() or not name.isprintable() or ":" in name:
        raise PluginError(
            f"the name of a plugin must be one line of text without a colon, got {safe_repr(name):.200}"
        )
    return name


def _checked_text(what: str, value: Any) -> str | None:
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise PluginError(f"{what} must be a text, or None, got {safe_repr(value):.200}")
    return value


def satisfies(version: str, requirement: str) -> bool:
    """Whether a version, or a pre-release, meets a requirement such as `>=0.1,<2`.

    Raises:
        PluginError: the requirement cannot be read.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        clauses = SpecifierSet(requirement)
    except InvalidSpecifier:
        clauses = SpecifierSet()
    if not clauses:
        raise PluginError(
            f"{requirement!r} is not a version requirement: write an operator and a version, such as '>=0.1,<2'"
        )
    return clauses.contains(version, prereleases=True)


def _check_requirement(requirement: str | None) -> None:
    ours: str = sys.modules["calipers"].__version__
    if requirement is not None and not satisfies(ours, requirement):
        raise PluginError(f"it needs calipers {requirement}, and this is {ours}")


def _check_promises(plugin: PluginBase) -> None:
    """Refuse a plugin that does not provide what its base classes promise."""
    kind = type(plugin)
    for base, methods in FACTORIES.items():
        if isinstance(plugin, base) and not any(defines(kind, method) for method in methods):
            raise PluginError(f"it provides no {base.plugin_type}: define {' or '.join(methods)}")
    # A plugin that only listens may have any type, since nothing else is asked of it.
    provided = types_of(kind)
    if provided != (PluginType.HOOKS,) and plugin.plugin_type not in provided:
        raise PluginError(
            f"plugin_type is {plugin.plugin_type!r}, but its base classes make it of type {', '.join(provided)}"
        )


def _evaluators_of(
    plugin: EvaluatorPlugin, name: str, loaded: Mapping[str, LoadedPlugin]
) -> dict[str, EvaluatorType]:
    """The evaluators that a plugin provides, by their names in files.

    Raises:
        PluginError: there are none, or a name is taken.
    """
    found: dict[str, EvaluatorType] = {}
    for each in plugin.evaluator_types:
        called = name_of(each)
        if found.setdefault(called, each) is not each:
            raise PluginError(f"two of its evaluator_types are called {called!r}")
    if defines(type(plugin), "create_evaluator"):
        found.setdefault(name, EvaluatorFactory(name, plugin.create_evaluator, type(plugin).__doc__))
    if not found:
        raise PluginError("it provides no evaluator: define create_evaluator or evaluator_types")
    for called in found:
        for other in loaded.values():
            if called in other.evaluators:
                raise PluginError(f"the plugin {other.name!r} also provides an evaluator {called!r}")
        if called in dir(built_in) or called in dir(agents):
            raise PluginError(f"Calipers itself has a {called!r}: give the evaluator another name")
    return found


class PluginManager:
    """The plugins of a program. As a `with` block, it unloads them at the end."""

    def __init__(self, group: str = GROUP) -> None:
        """A manager that has loaded nothing yet, and looks for entry points of a group."""
        self.group = group
        self._loaded: dict[str, LoadedPlugin] = {}
        self._failures: dict[tuple[Source, str, str], PluginFailure] = {}

    # ------------------------------------------------------------------ what is loaded

    @property
    def plugins(self) -> list[LoadedPlugin]:
        """The plugins, in the order in which they were loaded."""
        return list(self._loaded.values())

    @property
    def failures(self) -> list[PluginFailure]:
        """Everything that went wrong, in the order in which it first happened."""
        return list(self._failures.values())

    def get(self, name: str) -> PluginBase:
        """The plugin of that name.

        Raises:
            PluginError: none is loaded.
        """
        if name not in self._loaded:
            known = ", ".join(map(repr, self._loaded)) or "none"
            raise PluginError(f"no plugin {name!r} is loaded; loaded are: {known}")
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
            directories: folders with files of plugins, `*.py`.
            classes: of plugins.
            entry_points: whether to load those of installed packages; or which, by name or pattern.
            strict: raise if any of them fails, after all others are loaded.

        Raises:
            PluginError: with `strict`, something failed; the message lists all of it.
            InvalidOptionError: an argument is not valid.
        """
        for option, value in (("directories", directories), ("classes", classes)):
            if isinstance(value, str | PathLike | type) or not isinstance(value, Sequence):
                raise InvalidOptionError(f"{option} must be a list, got {value!r}")
        wanted = [] if isinstance(entry_points, bool) else entry_points
        is_list = isinstance(wanted, Sequence) and not isinstance(wanted, str)
        if not is_list or not all(isinstance(name, str) for name in wanted):
            raise InvalidOptionError(
                f"entry_points must be True, False or a list of names, got {entry_points!r}"
            )
        begun: set[Source] = set()
        for found in self._find(directories, classes, entry_points):
            if found.source not in begun:
                begun.add(found.source)
                self._forget_loading(found.source)  # a file that was fixed has no failure any more
            outcome = load_plugin(found, self._loaded) if isinstance(found, Candidate) else found
            if isinstance(outcome, LoadedPlugin):
                self._loaded[outcome.name] = outcome
            elif outcome is not None:
                self._note(outcome)
        failed = [each for each in self.failures if each.source in begun and each.stage in LOADING]
        if strict and failed:
            raise PluginError(
                "\n".join(["not all plugins could be loaded:", *(f"- {each}" for each in failed)])
            )

    def load_named(self, names: Sequence[str]) -> None:
        """Load the plugins that options name: a name with a slash is a folder, any other an installed plugin (`tone`, `acme-*`)."""
        folders = [name for name in names if "/" in name or os.sep in name]
        self.load_plugins(folders, entry_points=[name for name in names if name not in folders])

    def unload_all(self) -> None:
        """Unload all plugins; their failures stay."""
        loaded, self._loaded = self._loaded, {}
        for each in loaded.values():
            try:
                call_outside_loop(each.plugin.on_unload)
            except BaseException as error:
                if is_interrupt(error):
                    raise
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

    # ------------------------------------------------------------------ failures

    def _fail(self, error: BaseException, plugin: str, stage: str, source: Source) -> None:
        """Note an error. Only the first of its kind is described, since a hook may fail a million times."""
        before = self._failures.get((source, plugin, stage))
        if before is None:
            self._note(failure_of(error, plugin=plugin, stage=stage, source=source))
        else:
            self._failures[source, plugin, stage] = msgspec.structs.replace(before, count=before.count + 1)

    def _note(self, failure: PluginFailure) -> None:
        self._failures[failure.source, failure.plugin, failure.stage] = failure
        _log.warning("%s", failure)

    def _forget_loading(self, source: Source) -> None:
        for key, failure in list(self._failures.items()):
            if failure.source == source and failure.stage in LOADING:
                del self._failures[key]

    # ------------------------------------------------------------------ what plugins provide

    def get_evaluators(self) -> list[Any]:
        """A new evaluator of each plugin that makes one.

        One that cannot be made is replaced by an evaluator that fails on every attempt: a run must not pass because an
        evaluator is missing.
        """
        made: list[Any] = []
        for each, plugin in self._of(EvaluatorPlugin):
            if not defines(type(plugin), "create_evaluator"):
                continue
            try:
                evaluator = plugin.create_evaluator()
                as_evaluator(evaluator)
            except BaseException as error:
                if is_interrupt(error):
                    raise
                self._fail(error, each.name, "create_evaluator", each.source)
                evaluator = UnavailableEvaluator(each.name, describe_error(error)[1])
            made.append(evaluator)
        return made

    def get_evaluator_types(self) -> list[EvaluatorType]:
        """All evaluators that dataset files may name: pass them as `evaluator_types=`."""
        return [kind for each in self._loaded.values() for kind in each.evaluators.values()]

    @property
    def views(self) -> Mapping[str, View]:
        """Views by the names of their plugins, as `calipers.views.formats.write_report` takes them.

        Each is made on first use; a `PluginError` says why one cannot be made.
        """
        wanted = "a function of a report, or an object with write(report, path)"
        return self._provided(ViewPlugin, "create_view", is_view, wanted)

    @property
    def adapters(self) -> Mapping[str, TaskLike]:
        """Adapters by the names of their plugins, as `Dataset.evaluate` takes them for a task.

        Each is made on first use; a `PluginError` says why one cannot be made.
        """
        return self._provided(AdapterPlugin, "create_adapter", is_task, "an object with invoke(input_text)")

    def get_adapters(self) -> list[Any]:
        """A new adapter of each plugin that makes one; one that cannot be made is left out, and noted as a failure."""
        return self._made(AdapterPlugin, "create_adapter")

    def get_views(self) -> list[Any]:
        """A new view of each plugin that makes one; one that cannot be made is left out, and noted as a failure."""
        return self._made(ViewPlugin, "create_view")

    def get_stores(self) -> list[Any]:
        """A new store of each plugin that makes one; one that cannot be made is left out, and noted as a failure."""
        return self._made(StorePlugin, "create_store")

    def get_reporters(self) -> list[Any]:
        """The same as `get_views`."""
        return self.get_views()

    def get_storage_backends(self) -> list[Any]:
        """The same as `get_stores`."""
        return self.get_stores()

    def _provided(
        self, kind: type[PluginBase], method: str, fits: Callable[[Any], bool], wanted: str
    ) -> Mapping[str, Any]:
        def make(each: LoadedPlugin) -> Any:
            made = self._make(each, method)
            if not fits(made):
                raise PluginError(
                    f"{method} of the plugin {each.name!r} must return {wanted}, got {safe_repr(made):.200}"
                )
            return made

        return Provided({each.name: partial(make, each) for each, _ in self._of(kind)})

    def _made(self, kind: type[PluginBase], method: str) -> list[Any]:
        made: list[Any] = []
        for each, _ in self._of(kind):
            with suppress(PluginError):  # noted
                made.append(self._make(each, method))
        return made

    def _make(self, each: LoadedPlugin, method: str) -> Any:
        """What a method of a plugin makes; an error is noted, and raised as a `PluginError`."""
        try:
            return getattr(each.plugin, method)()
        except BaseException as error:
            if is_interrupt(error):
                raise
            self._fail(error, each.name, method, each.source)
            raise PluginError(
                f"{method} of the plugin {each.name!r} failed: {describe_error(error)[1]}"
            ) from error

    def _of(self, kind: type[_Plugin]) -> Iterator[tuple[LoadedPlugin, _Plugin]]:
        for each in self.plugins:
            if isinstance(each.plugin, kind):
                yield each, each.plugin

    # ------------------------------------------------------------------ hooks

    def listens(self, *hooks: RunHook) -> bool:
        """Whether any plugin has any of these hooks."""
        return any(hook in each.hooks for each in self._loaded.values() for hook in hooks)

    async def dispatch(self, hook: RunHook, **details: Any) -> None:
        """Call a hook of all plugins that have it, in the order of loading; errors are noted."""
        for each in self.plugins:
            if hook not in each.hooks:
                continue
            _, error = await settled(each.hooks[hook], details)
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                if is_main(task):
                    error = await take_back(task) or error
                elif isinstance(error, asyncio.CancelledError):
                    raise error
            if error is None:
                continue
            if is_interrupt(error):
                raise error
            self._fail(error, each.name, hook, each.source)


_Thing = TypeVar("_Thing")


class Provided(Mapping[str, _Thing]):
    """What plugins make, by the names of the plugins. Each thing is made on first use, and kept."""

    def __init__(self, makers: Mapping[str, Callable[[], _Thing]]) -> None:
        self.makers = makers
        self._made: dict[str, _Thing] = {}

    def __getitem__(self, name: str) -> _Thing:
        if name not in self._made:
            self._made[name] = self.makers[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self.makers

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)

    def __repr__(self) -> str:
        return f"Provided({', '.join(self.makers) or 'nothing'})"
