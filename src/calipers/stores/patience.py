"""Trying again while a store cannot be reached or written: a lost server comes back, and a full disk may be cleared.

What is tried must be a whole transaction, or only reading: it may have been done when the answer was lost, and is done again.
"""

import logging
import threading
from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from calipers.errors import StoreUnavailableError

_T = TypeVar("_T")

PATIENCE = 60.0
"""Seconds for which a store is tried again, unless the pace of a run says otherwise."""
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
_log = logging.getLogger("calipers.stores")


def patiently(call: Callable[[], _T], *, patience: float = PATIENCE) -> _T:
    """What the call returns, which is made again and again, at longer and longer intervals, while the store is unavailable.

    Raises:
        StoreUnavailableError: it still was after `patience` seconds.
    """
    begun = monotonic()
    pause = _FIRST_PAUSE
    while True:
        try:
            found = call()
        except StoreUnavailableError as error:
            if monotonic() - begun + pause > patience:
                raise
            if pause == _FIRST_PAUSE:
                _log.warning("%s. Trying again for %g s", error, patience)
            threading.Event().wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        else:
            if pause > _FIRST_PAUSE:
                _log.warning("the store can be used again")
            return found
