"""Plugins for commands: listing all there are, and loading those that the command line names."""

import inspect
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from calipers.cli.exits import ERRORED, PASSED, USAGE, first_of
from calipers.cli.message import CommandError, debugging, note, shown
from calipers.cli.output import clean_stdout
from calipers.data.jsonable import plain
from calipers.files.project import find_project
from calipers.plugins import LoadedPlugin, PluginFailure, PluginManager
from calipers.stats.number_text import plural


def show_plugins(*, directory: Sequence[str] = (), json: bool = False) -> int:
    """Print all plugins, and what failed; returns the exit code."""
    with _manager() as manager:
        with clean_stdout(wanted=True):
            manager.load_plugins(directory)
        loaded = manager.plugins
    failures = manager.failures  # those of unloading included
    if json:
        click.echo(_as_json(loaded, failures))
    else:
        click.echo(shown(_list(loaded, failures)))
    if debugging():
        for failure in failures:
            note(f"\n{failure}\n\n{failure.traceback.rstrip()}")
    return ERRORED if failures else PASSED


@contextmanager
def installed_plugins() -> Iterator[PluginManager]:
    """A block with the plugins of all installed packages; what failed is noted on standard error."""
    with _manager() as manager:
        with clean_stdout(wanted=True):
            manager.load_plugins()
        if manager.failures:
            _note_failures(manager)
        yield manager


@contextmanager
def chosen_plugins(names: Sequence[str], *, installed: bool) -> Iterator[PluginManager | None]:
    """A block with the plugins that take part in a command; `None` if there are none.

    An installed plugin that cannot be loaded is noted and left out; one that `--plugin` or the project's file names must load.
    """
    project = find_project()
    listed = project.plugins if installed and isinstance(project.plugins, tuple) else ()
    installed = installed and project.plugins is True
    if not names and not listed and not installed:
        yield None
        return
    with _manager() as manager:
        with clean_stdout(wanted=True):
            for who, some in (("--plugin", names), (f"plugins in {project.file}", listed)):
                manager.load_named(some)
                if failures := manager.failures:
                    code = first_of([USAGE if each.stage == "find" else ERRORED for each in failures])
                    raise CommandError("\n  ".join([f"{who}:", *map(str, failures)]), code)
            if installed:
                manager.load_plugins()
        if manager.failures:
            _note_failures(manager)
        yield manager if len(manager) else None


def _note_failures(manager: PluginManager) -> None:
    note(f"{plural(len(manager.failures), 'plugin')} could not be loaded: `calipers plugins` says why")


@contextmanager
def _manager() -> Iterator[PluginManager]:
    """A manager whose failures the command shows, so that they are not logged as well."""
    log, handler = logging.getLogger("calipers.plugins"), logging.NullHandler()
    log.addHandler(handler)
    manager = PluginManager()
    try:
        yield manager
    finally:
        with clean_stdout(wanted=True):
            manager.unload_all()
        log.removeHandler(handler)


# ---------------------------------------------------------------------- as text and as data


def _list(loaded: Sequence[LoadedPlugin], failures: Sequence[PluginFailure]) -> str:
    formatter = click.get_current_context().make_formatter()
    if loaded:
        with formatter.section("Plugins"):
            formatter.write_dl([(_title(each), _description(each)) for each in loaded])
    if failures:
        with formatter.section("Not loaded"):
            formatter.write_dl([(each.plugin, f"{each.summary} (from {each.source})") for each in failures])
    if not loaded and not failures:
        formatter.write_text(
            "There are no plugins: no installed package has an entry point of the group calipers.plugins."
        )
    return formatter.getvalue().rstrip("\n")


def _title(each: LoadedPlugin) -> str:
    return each.name if each.version is None else f"{each.name} {each.version}"


def _description(each: LoadedPlugin) -> str:
    parts = [f"{', '.join(each.types)}; from {each.source}"]
    if each.evaluators:
        parts.append(f"evaluators: {', '.join(each.evaluators)}")
    if each.hooks:
        parts.append(f"hooks: {', '.join(each.hooks)}")
    return "; ".join(parts)


def _as_json(loaded: Sequence[LoadedPlugin], failures: Sequence[PluginFailure]) -> str:
    plugins: list[dict[str, Any]] = [
        {
            "name": each.name,
            "version": each.version,
            "types": each.types,
            "summary": (inspect.getdoc(type(each.plugin)) or "").partition("\n\n")[0].replace("\n", " "),
            "evaluators": list(each.evaluators),
            "hooks": list(each.hooks),
            "source": each.source,
        }
        for each in loaded
    ]
    return json.dumps(plain({"plugins": plugins, "failures": list(failures)}), indent=2, ensure_ascii=False)
