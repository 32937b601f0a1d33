"""`--calipers-plugin NAME`: the plugins of Calipers that take part in a session."""

import logging
from collections.abc import Sequence

import pytest

from calipers.plugins import PluginManager


def load_named(names: Sequence[str]) -> PluginManager:
    """The plugins that are named, loaded.

    Raises:
        pytest.UsageError: one is not there, or could not be loaded.
    """
    manager = PluginManager()
    log, handler = logging.getLogger("calipers.plugins"), logging.NullHandler()
    log.addHandler(
        handler
    )  # what failed is told below: where nobody handles it, it would be logged to standard error, too
    try:
        manager.load_named(names)
    finally:
        log.removeHandler(handler)
    if manager.failures:
        manager.unload_all()
        raise pytest.UsageError("\n  ".join(["--calipers-plugin:", *map(str, manager.failures)]))
    return manager
