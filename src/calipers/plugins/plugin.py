"""What a plugin is: a class with a name that provides evaluators and other parts, or listens to runs.

A plugin derives from the class of what it provides, or from several; one that only listens derives from `PluginBase`. It is
made without arguments. `name`, `version`, `requires_calipers` and `evaluator_types` may be class attributes or properties,
and are read once, when the plugin is loaded. A class without a `name`, or with abstract methods, is not a plugin itself.

A hook names what it needs as parameters: `def on_test_end(self, test_name, record)`. Hooks of runs may be async. They run
on the event loop, so one that blocks holds up the run.
"""

import inspect
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final

from calipers.data.lifecycle import RunHook
from calipers.errors import PluginError


class PluginType(StrEnum):
    """What a plugin provides."""

    EVALUATOR = "evaluator"
    ADAPTER = "adapter"
    VIEW = "view"
    REPORTER = "view"
    """The same as `VIEW`."""
    STORE = "store"
    STORAGE = "store"
    """The same as `STORE`."""
    HOOKS = "hooks"
    """Only hooks."""

    @classmethod
    def _missing_(cls, value: object) -> "PluginType | None":
        return {"reporter": cls.VIEW, "storage": cls.STORE}.get(str(value))


class PluginBase:
    """The base class of plugins. Everything but `name` is optional."""

    # A subclass may have attributes or properties, and hooks with other parameters: type checkers accept both only with Any.
    name: Any
    """Its name in commands, files and messages; no other loaded plugin may have it."""
    version: Any = None
    """Its version, as text; `None` for that of the package it was installed with."""
    requires_calipers: Any = None
    """The versions of Calipers that it works with, such as `">=0.1,<2"`; `None` for any."""
    plugin_type: Any = PluginType.HOOKS
    """What it provides; follows from its base class."""

    def on_load(self) -> Any:
        """Called when the plugin is loaded. If it raises, the plugin is not loaded."""

    def on_unload(self) -> Any:
        """Called when the plugin is unloaded."""

    def on_suite_start(self, *_: Any, **details: Any) -> Any:
        """Called before the first attempt of a run.

        Args:
            details: `name`, `dataset_name`, `total` (attempts to make; `None` if unknown), `repeat`, `seed` and `metadata`.
        """

    def on_suite_end(self, *_: Any, **details: Any) -> Any:
        """Called when a run is over.

        Args:
            details: `name` of the run, and its `report`; `None` if the run broke off without one.
        """

    def on_test_start(self, *_: Any, **details: Any) -> Any:
        """Called before each attempt.

        Args:
            details: `test_name` (the name of the attempt), `case`, and `repeat_index` (from 1).
        """

    def on_test_end(self, *_: Any, **details: Any) -> Any:
        """Called after each attempt has been judged.

        Args:
            details: `test_name`, `case`, `repeat_index`, and `record` (what the report keeps of the attempt; `None` if the run
                was interrupted).
        """


class EvaluatorPlugin(PluginBase):
    """Provides evaluators: one that it makes itself, types that files make, or both.

    In a dataset file, what `create_evaluator` makes has the name of the plugin, and may be given its parameters. A type has
    its own name.
    """

    plugin_type: Any = PluginType.EVALUATOR
    evaluator_types: Any = ()
    """Classes and functions that dataset files may name, with parameters."""

    def create_evaluator(self, *_: Any, **parameters: Any) -> Any:
        """A new evaluator, of any style. Every parameter must have a default."""
        del parameters
        raise PluginError(f"the plugin {self.name!r} makes no evaluator: it has evaluator_types only")


class AdapterPlugin(PluginBase):
    """Provides an adapter: an object with `name` and `invoke(input_text)` that runs an agent and returns its trace.

    `calipers run --task plugin:NAME` uses it as the task.
    """

    plugin_type: Any = PluginType.ADAPTER

    def create_adapter(self, *_: Any, **parameters: Any) -> Any:
        """A new adapter."""
        del parameters
        raise PluginError(f"the plugin {self.name!r} makes no adapter: define create_adapter")


class ViewPlugin(PluginBase):
    """Provides a view: a function that makes text or bytes of a `Report`, or an object with `write(report, path)`.

    `calipers run --out NAME:PATH` uses it, by the name of the plugin; see `calipers.views.view`.
    """

    plugin_type: Any = PluginType.VIEW

    def create_view(self, *_: Any, **parameters: Any) -> Any:
        """A new view."""
        return self.create_reporter(**parameters)

    def create_reporter(self, *_: Any, **parameters: Any) -> Any:
        """The same as `create_view`: define one of the two."""
        del parameters
        raise PluginError(f"the plugin {self.name!r} makes no view: define create_view")


class StorePlugin(PluginBase):
    """Provides a store: an object that keeps reports."""

    plugin_type: Any = PluginType.STORE

    def create_store(self, *_: Any, **parameters: Any) -> Any:
        """A new store."""
        return self.create_storage(**parameters)

    def create_storage(self, *_: Any, **parameters: Any) -> Any:
        """The same as `create_store`: define one of the two."""
        del parameters
        raise PluginError(f"the plugin {self.name!r} makes no store: define create_store")


ReporterPlugin = ViewPlugin
"""The same as `ViewPlugin`."""

StoragePlugin = StorePlugin
"""The same as `StorePlugin`."""

_PROVIDERS: tuple[type[PluginBase], ...] = (EvaluatorPlugin, AdapterPlugin, ViewPlugin, StorePlugin)

FACTORIES: dict[type[PluginBase], tuple[str, ...]] = {
    AdapterPlugin: ("create_adapter",),
    ViewPlugin: ("create_view", "create_reporter"),
    StorePlugin: ("create_store", "create_storage"),
}
"""The methods of which a plugin of each kind must define one; evaluators may also come from a list of types."""


def is_plugin(kind: Any) -> bool:
    """Whether it is a class that can be loaded, and not a base class of plugins."""
    return (
        inspect.isclass(kind)
        and issubclass(kind, PluginBase)
        and not inspect.isabstract(kind)
        and hasattr(kind, "name")
    )


def types_of(kind: type[PluginBase]) -> tuple[PluginType, ...]:
    """What a class of plugins provides, by its base classes."""
    found = tuple(base.plugin_type for base in _PROVIDERS if issubclass(kind, base))
    return found or (PluginType.HOOKS,)


def defines(kind: type[PluginBase], member: str) -> bool:
    """Whether a class of plugins defines a member itself."""
    home = next(base for base in kind.__mro__ if member in vars(base))
    return home not in {PluginBase, *_PROVIDERS}


# ---------------------------------------------------------------------- hooks of runs


DETAILS: Final[dict[RunHook, tuple[str, ...]]] = {
    "on_suite_start": ("name", "dataset_name", "total", "repeat", "seed", "metadata"),
    "on_test_start": ("test_name", "case", "repeat_index"),
    "on_test_end": ("test_name", "case", "repeat_index", "record"),
    "on_suite_end": ("name", "report"),
}
"""The details that the parameters of each hook may name."""


class Hook:
    """A hook of one plugin: called with all details, it passes on those that its parameters name."""

    def __init__(self, method: Callable[..., Any], wanted: tuple[str, ...]) -> None:
        self.method = method
        self.wanted = wanted
        """The details that it takes."""

    def __call__(self, details: Mapping[str, Any]) -> Any:
        """What the method returns, which may have to be awaited."""
        return self.method(**{name: details.get(name) for name in self.wanted})


def hooks_of(plugin: PluginBase) -> dict[RunHook, Hook]:
    """The hooks of runs that a plugin has.

    Raises:
        PluginError: a parameter names no detail.
    """
    return {
        hook: Hook(method, _wanted(hook, method, known))
        for hook, known in DETAILS.items()
        if defines(type(plugin), hook)
        for method in [getattr(plugin, hook)]
    }


def call_outside_loop(hook: Callable[[], Any]) -> None:
    """Call a hook that runs outside of any event loop.

    Raises:
        PluginError: it is async.
    """
    outcome = hook()
    if inspect.isawaitable(outcome):
        if inspect.iscoroutine(outcome):
            outcome.close()
        raise PluginError("it is async, but only hooks of runs can be: there is no event loop to await it")


def _wanted(hook: str, method: Callable[..., Any], known: tuple[str, ...]) -> tuple[str, ...]:
    wanted: list[str] = []
    for name, parameter in inspect.signature(method).parameters.items():
        match parameter.kind:
            case parameter.VAR_KEYWORD:
                return known
            case parameter.POSITIONAL_OR_KEYWORD | parameter.KEYWORD_ONLY if name in known:
                wanted.append(name)
            case parameter.VAR_POSITIONAL:
                pass
            case _ if parameter.default is parameter.empty:
                raise PluginError(f"{hook} has an unknown parameter {name!r}: it may name {', '.join(known)}")
    return tuple(wanted)
