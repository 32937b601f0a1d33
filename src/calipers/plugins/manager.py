"""Finds plugins, loads them, tells them about runs, and hands out what they provide.

Loading a plugin is all or nothing: if its import fails, or anything else until `on_load` has returned, the
plugin is not there, `failures` says why, and the others are loaded. Of two plugins with one name, the first
is loaded. Loading what is loaded already changes nothing.

Whatever a plugin raises later, in a hook or while it makes something, becomes a failure, too. Only Ctrl-C
goes through. A failure is also logged, to `calipers.plugins`, the first time that it happens.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from os import PathLike
from typing import Any, Self, TypeVar

import msgspec

from calipers.data.evaluator_styles import as_evaluator
from calipers.data.jsonable import safe_repr
from calipers.data.lifecycle import RunHook
from calipers.data.result import describe_error
from calipers.errors import InvalidOptionError, PluginError
from calipers.process.interrupt import is_interrupt, is_main, take_back
from calipers.process.user_code import settled
from calipers.run.task import TaskLike, is_task
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
from .evaluator_factory import EvaluatorType, UnavailableEvaluator
from .loaded_plugin import LoadedPlugin, load_plugin
from .plugin import AdapterPlugin, EvaluatorPlugin, PluginBase, StorePlugin, ViewPlugin, call_plainly, defines

GROUP = "calipers.plugins"
"""The group of entry points by which packages offer plugins."""

_log = logging.getLogger(GROUP)
_Plugin = TypeVar("_Plugin", bound=PluginBase)


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
        wanted = [] if isinstance(entry_points, bool) else entry_points
        if not isinstance(wanted, Sequence) or isinstance(wanted, str) or not _are_texts(wanted):
            raise InvalidOptionError(
                f"entry_points must be True, False or a list of names, got {entry_points!r}"
            )
        begun: set[Source] = set()
        for found in self._find(directories, classes, entry_points):
            if found.source not in begun:
                begun.add(found.source)
                self._forget_loading(found.source)  # a file that was mended has no failure any more
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
        """Load the plugins that options name: a name with a slash is a folder, and any other is one of an installed plugin.

        Args:
            names: such as `tone`, `acme-*`, `./plugins`.
        """
        folders = [name for name in names if "/" in name or os.sep in name]
        self.load_plugins(folders, entry_points=[name for name in names if name not in folders])

    def unload_all(self) -> None:
        """Tell all plugins that they are unloaded, and forget them; their failures stay."""
        loaded, self._loaded = self._loaded, {}
        for each in loaded.values():
            try:
                call_plainly(each.plugin.on_unload)
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
        """Note an error. Only the first of its kind is described: a hook may fail a million times."""
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
            except BaseException as error:
                if is_interrupt(error):
                    raise
                self._fail(error, each.name, "create_evaluator", each.source)
                evaluator = UnavailableEvaluator(each.name, describe_error(error)[1])
            made.append(evaluator)
        return made

    def get_evaluator_types(self) -> list[EvaluatorType]:
        """All evaluators that dataset files may name: pass them as `evaluator_types=` to whatever reads one."""
        return [kind for each in self._loaded.values() for kind in each.evaluators.values()]

    @property
    def views(self) -> Mapping[str, View]:
        """Views by the names of their plugins, as `calipers.views.formats.write_report` takes them.

        Each is made when it is first looked up; a `PluginError` says why one could not be.
        """
        wanted = "a function of a report, or an object with write(report, path)"
        return self._provided(ViewPlugin, "create_view", is_view, wanted)

    @property
    def adapters(self) -> Mapping[str, TaskLike]:
        """Adapters by the names of their plugins, as `Dataset.evaluate` takes them for a task.

        Each is made when it is first looked up; a `PluginError` says why one could not be.
        """
        return self._provided(AdapterPlugin, "create_adapter", is_task, "an object with invoke(input_text)")

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
        """What a method of a plugin makes; what goes wrong is noted, and raised as a `PluginError`."""
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
        """Call a hook of all plugins that have it, in the order in which they were loaded; what fails is noted."""
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


def _are_texts(values: Sequence[Any]) -> bool:
    return all(isinstance(each, str) for each in values)


_Thing = TypeVar("_Thing")


class Provided(Mapping[str, _Thing]):
    """The things that plugins make, by the names of the plugins. Each is made when it is first looked up, and kept."""

    def __init__(self, makers: Mapping[str, Callable[[], _Thing]]) -> None:
        self.makers = makers
        """What makes each of them, or raises a `PluginError`."""
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
