"""Traces that were read lately, so that a page which asks for one in several steps does not have it read each time."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

from .stored_trace import StoredTrace

MOST_BYTES: Final = 100_000_000
"""Bytes of all kept traces together; the newest one is kept whatever its size."""


class KeptTraces:
    """Traces by the attempt that they are of, those that were asked for last."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[Hashable, StoredTrace | None] = OrderedDict()
        self._reading: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, read: Callable[[], StoredTrace | None]) -> StoredTrace | None:
        """A trace, read now if it is not here; `None` if there is none. Who asks meanwhile waits for the same reading."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            reading = self._reading.setdefault(key, threading.Lock())
        with reading:
            with self._lock:
                if key in self._kept:
                    return self._kept[key]
            try:
                found = read()
            finally:
                with self._lock:
                    self._reading.pop(key, None)
            with self._lock:
                self._kept[key] = found
                self._drop()
            return found

    def _drop(self) -> None:
        """Let go of those that were not asked for longest."""
        size = self.size
        while size > self._most_bytes and len(self._kept) > 1:
            _, gone = self._kept.popitem(last=False)
            size -= 0 if gone is None else gone.size

    @property
    def size(self) -> int:
        """Bytes that they take, about."""
        return sum(each.size for each in self._kept.values() if each is not None)
