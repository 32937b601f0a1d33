"""Search: find inputs and conversations on which a system fails, each chosen by the outcomes of those before.

Each name is loaded when it is first used, so that importing this package costs next to nothing.
"""

from calipers.process.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, globals())
