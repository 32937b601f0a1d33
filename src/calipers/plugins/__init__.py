"""Plugins: what a package, a file or a class may add to Calipers, and the manager that finds and loads it."""

from .evaluators import EvaluatorFactory, UnavailableEvaluator
from .failure import PluginFailure, Source
from .manager import LoadedPlugin, PluginManager
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
