"""Loading one plugin: all or nothing.

The class is called, its name, version, requirement, evaluators and hooks are read, and `on_load` is called. If any of it fails,
there is a failure instead of a plugin. Only Ctrl-C goes through.
"""

import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from calipers import agents
from calipers import evaluators as built_in
from calipers.data.jsonable import safe_repr
from calipers.data.lifecycle import RunHook
from calipers.errors import PluginError
from calipers.process.interrupt import is_interrupt
from calipers.views.formats import check_view_name

from .discovery import Candidate, PluginFailure, Source, failure_of
from .evaluator_factory import EvaluatorFactory, EvaluatorType, name_of
from .plugin import (
    FACTORIES,
    EvaluatorPlugin,
    Hook,
    PluginBase,
    PluginType,
    ViewPlugin,
    call_outside_loop,
    defines,
    hooks_of,
    types_of,
)


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
