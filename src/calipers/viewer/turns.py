"""Turns: requests that need tens of megabytes are worked on a few at a time. More at once would be no faster.

What a page shows beside what was asked for (the values of fields, slices, groups) has turns of its own, so that a table does not wait for it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from .deadline import check_deadline

AT_ONCE: Final = 2
_turns: Final = threading.BoundedSemaphore(AT_ONCE)
_turns_beside: Final = threading.BoundedSemaphore(1)
_LOOK: Final = 0.05
"""Seconds after which a request that waits for its turn looks at its deadline."""


@contextmanager
def in_turn(*, is_large: bool, is_beside: bool = False) -> Iterator[None]:
    """A block of work, which waits for its turn if it is large.

    Args:
        is_large: whether it needs much memory.
        is_beside: whether it is shown beside something else.

    Raises:
        Refusal: the time of the request was over before it had its turn.
    """
    if not is_large:
        yield
        return
    turns = _turns_beside if is_beside else _turns
    while not turns.acquire(timeout=_LOOK):
        check_deadline()
    try:
        yield
    finally:
        turns.release()
