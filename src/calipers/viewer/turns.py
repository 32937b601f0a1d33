"""Turns: requests that need tens of megabytes while they are worked on have them a few at a time. More at once would be no faster."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from .deadline import check_deadline

AT_ONCE: Final = 2
_turns: Final = threading.BoundedSemaphore(AT_ONCE)
_LOOK: Final = 0.05
"""Seconds after which a request that waits for its turn looks at its deadline."""


@contextmanager
def in_turn(*, is_large: bool) -> Iterator[None]:
    """A block of work, which waits for its turn if it is large.

    Raises:
        Refusal: the time of the request was over before it had its turn.
    """
    if not is_large:
        yield
        return
    while not _turns.acquire(timeout=_LOOK):
        check_deadline()
    try:
        yield
    finally:
        _turns.release()
