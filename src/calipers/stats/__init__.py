"""Numbers in, numbers out: estimates, comparisons, reliability, power, sequential looks, agreement, and more.

`rate` and `mean` are the front door for one run, `compare_paired`, `compare_these` and `compare_unpaired` for two: they choose the
interval for the kind and size of the data, with the case as the unit of inference. Everything is plain Python over the
standard library. What was not measured is `None`; a number that cannot be (NaN, a negative count) is a `ValueError`.

Each name is loaded when it is first used.
"""

from calipers.process.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, globals())
