"""The plugins of Calipers that take part in a session: installed ones, and those that `--calipers-plugin` names."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from calipers.files.project import find_project
from calipers.plugins import PluginManager


def load_named(names: Sequence[str]) -> PluginManager:
    """The plugins that are named, loaded."""
    manager = PluginManager()
    with _failures_not_logged():
        manager.load_named(names)
    if manager.failures:
        manager.unload_all()
        raise pytest.UsageError("\n  ".join(["--calipers-plugin:", *map(str, manager.failures)]))
    return manager


def with_chosen(named: PluginManager | None, folder: Path) -> PluginManager | None:
    """The plugins that are named, and all installed ones or those that the project's file chooses; `None` if there are none.

    What could not be loaded is among the failures of the manager, which the end of the session shows.
    """
    chosen = find_project(folder).plugins
    if chosen is False:
        return named
    manager = PluginManager() if named is None else named
    with _failures_not_logged():
        if chosen is True:
            manager.load_plugins()
        else:
            manager.load_named(chosen)
    return manager if named is not None or len(manager) or manager.failures else None


@contextmanager
def _failures_not_logged() -> Iterator[None]:
    """The session shows what failed; without a handler, logging would write it to standard error, too."""
    log, handler = logging.getLogger("calipers.plugins"), logging.NullHandler()
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
