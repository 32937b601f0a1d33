"""Calipers measures AI agents: evaluators in any style, an error bar on every number.

The names load when they are first used, so that `import calipers` costs next to nothing.
"""

from calipers.process.lazy_exports import lazy_exports

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_exports(__name__, globals())
