"""What makes two cases, tasks or evaluators the same, so that nothing is computed twice and nothing stale is shown."""

from calipers.process.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, globals())
