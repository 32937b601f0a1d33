"""Two or more reports side by side: what changed, and is it noise."""

from calipers.process.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, globals())
