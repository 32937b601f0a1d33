"""Plugins: what a package, a file or a class may add to Calipers, and the manager that finds and loads it.

Each name is loaded when it is first used, so that importing this package costs next to nothing.
"""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from .evaluators import EvaluatorFactory, UnavailableEvaluator
    from .failure import PluginFailure, Source
    from .loading import LoadedPlugin
    from .manager import PluginManager
    from .plugin import (
        AdapterPlugin,
        EvaluatorPlugin,
        PluginBase,
        PluginType,
        ReporterPlugin,
        StoragePlugin,
        StorePlugin,
        ViewPlugin,
    )

_HOMES = {
    "AdapterPlugin": ".plugin",
    "EvaluatorFactory": ".evaluators",
    "EvaluatorPlugin": ".plugin",
    "LoadedPlugin": ".loading",
    "PluginBase": ".plugin",
    "PluginFailure": ".failure",
    "PluginManager": ".manager",
    "PluginType": ".plugin",
    "ReporterPlugin": ".plugin",
    "Source": ".failure",
    "StoragePlugin": ".plugin",
    "StorePlugin": ".plugin",
    "UnavailableEvaluator": ".evaluators",
    "ViewPlugin": ".plugin",
}

__all__ = [
    "AdapterPlugin",
    "EvaluatorFactory",
    "EvaluatorPlugin",
    "LoadedPlugin",
    "PluginBase",
    "PluginFailure",
    "PluginManager",
    "PluginType",
    "ReporterPlugin",
    "Source",
    "StoragePlugin",
    "StorePlugin",
    "UnavailableEvaluator",
    "ViewPlugin",
]


if not TYPE_CHECKING:  # a checker that read this would accept every name, misspelt ones too
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
