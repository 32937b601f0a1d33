"""Whether a run is good enough to ship: a policy, the verdict on a run, the decision during a run, and the plan before it.

Each name is loaded when it is first used, so that importing this package costs next to nothing.
"""

from calipers.process.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, globals())
