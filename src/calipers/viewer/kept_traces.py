"""Traces that were read lately, so that a page which asks for one in several steps does not have it read each time.

A trace is read in a thread of its own. A request waits for it until its deadline, and what it could not wait for is there when it asks again.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

from .deadline import Deadline, current_deadline, working_until
from .refusal import Refusal
from .stored_trace import StoredTrace

MOST_BYTES: Final = 100_000_000
"""Bytes of all kept traces together; the newest one is kept whatever its size."""
MOST_READ: Final = 2
"""Traces that are read at the same time."""
_SECONDS: Final = 120.0
"""Seconds that reading one may take, however many wait for it."""
_LOOK: Final = 0.05
"""Seconds after which a request that waits looks at its deadline."""


class _Reading:
    """A trace that is being read."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.found: StoredTrace | None = None
        self.error: BaseException | None = None


class KeptTraces:
    """Traces by the attempt that they are of, those that were asked for last."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[Hashable, StoredTrace | None] = OrderedDict()
        self._reading: dict[Hashable, _Reading] = {}
        self._lock = threading.Lock()
        self._turn = threading.Semaphore(MOST_READ)
        self._deadlines: set[Deadline] = set()
        self._closed = False

    def get(self, key: Hashable, read: Callable[[], StoredTrace | None]) -> StoredTrace | None:
        """A trace, read now if it is not here; `None` if there is none. Requests for it meanwhile wait for the same reading.

        Raises:
            Refusal: the time of the request is over. The reading goes on.
        """
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            reading = self._reading.get(key)
            if reading is None:
                reading = self._reading[key] = _Reading()
                threading.Thread(
                    target=self._read, args=(key, read, reading), name="calipers-trace", daemon=True
                ).start()
        deadline = current_deadline()
        while not reading.done.wait(_LOOK):
            if deadline is not None and deadline.is_over:
                raise Refusal("busy", "the trace is long, and is still being read: try again")
        if reading.error is not None:
            raise reading.error
        return reading.found

    def _read(self, key: Hashable, read: Callable[[], StoredTrace | None], reading: _Reading) -> None:
        try:
            with self._turn, working_until(self._deadline()) as deadline:
                try:
                    reading.found = read()
                finally:
                    self._deadlines.discard(deadline)
            with self._lock:
                self._kept[key] = reading.found
                self._drop()
        except BaseException as error:
            reading.error = error
        finally:
            with self._lock:
                self._reading.pop(key, None)
            reading.done.set()

    def _deadline(self) -> Deadline:
        deadline = Deadline(_SECONDS)
        with self._lock:
            self._deadlines.add(deadline)
            if self._closed:
                deadline.cancel()
        return deadline

    def close(self) -> None:
        """End what is being read."""
        with self._lock:
            self._closed = True
            for deadline in self._deadlines:
                deadline.cancel()

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
