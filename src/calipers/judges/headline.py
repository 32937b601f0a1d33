"""Which result speaks for a judge that gives several: the vote of a jury, the total of a rubric.

A class says so by `headline`, the keys of its results, the first that is there before the others.
"""

from collections.abc import Sequence
from typing import Any


def headline_of(judge: Any, keys: Sequence[str | None]) -> int | None:
    """The place of the result that speaks for a judge, by the keys of what it gave; `None` if its class does not say."""
    wanted: Sequence[str] = getattr(type(judge), "headline", ())
    return next((keys.index(key) for key in wanted if key in keys), None)
