"""Moderators that need no key: words and patterns, a secret in any disguise, closeness in meaning; and batching.

Each name is loaded when it is first used.
"""

from calipers.process.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, globals())
