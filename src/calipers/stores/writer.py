"""Writes a run to its store while it goes on, without making it wait for the disk.

Finished attempts are handed to a thread that appends them by batches, one batch at a time. The run goes on meanwhile; it
waits only when so much is unwritten that memory would fill up.

When the store cannot be written (a full disk, a lost server), the writer pauses and tries again, at longer and longer
intervals, while what the run finishes piles up to the bound. It says so by the logger `calipers.stores`, which writes to
stderr unless the program decides otherwise. After `patience` seconds it gives up: `add` raises from then on, so that the
run begins no new work; everything appended before is whole, and what the run holds in memory is still in its report.
"""

import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

import msgspec

from calipers.errors import InvalidOptionError, StoreError, StoreUnavailableError

from .store import PATIENCE, Store, patiently
from .stored_attempt import StoredAttempt, StoredCell

HEARTBEAT_SECONDS = 15.0
"""How often a writer that has nothing to write says that its run is alive."""


class _Item(msgspec.Struct, gc=False):
    """What was added at once. Thousands of them wait: the garbage collector need not look at each."""

    attempt: StoredAttempt | None
    cells: Sequence[StoredCell]
    size: int
    """How many characters they have."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How a writer works."""

    batch: int = 2048
    """Attempts that are appended at once."""
    every: float = 0.25
    """Seconds after which a smaller batch is appended too: so much of a run is lost when its process is killed."""
    most_waiting: int = 10_000
    """Attempts that may wait to be written before the run has to."""
    most_text: int = 64_000_000
    """Characters that may wait; one attempt may be larger."""
    patience: float = PATIENCE
    """Seconds for which a store that cannot be written is tried again."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            least = 1 if name in {"batch", "most_waiting", "most_text"} else 0
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not least <= value < float("inf")
            ):
                raise InvalidOptionError(f"{name} must be a number from {least}, got {value!r}")


class Writer:
    """Appends finished attempts of one run to a store, in a thread of its own.

    with Writer(store, run.id) as writer:
        writer.add(attempt, cells)

    Leaving the block waits until everything is stored.
    """

    def __init__(
        self, store: Store, run: str, *, generation: int | None = None, pace: Pace | None = None
    ) -> None:
        """A writer that has not begun.

        Args:
            store: to write to.
            run: the id of the run, which has begun.
            generation: of the run, for which it is written; default: whichever it is of.
            pace: how large batches are, how much may wait, and for how long to try.
        """
        self.store = store
        self.run = run
        self.generation = generation
        self.pace = pace or Pace()
        self.stored = 0
        """Attempts that are stored."""
        self.error: StoreError | None = None
        """Why it gave up; `None` if it did not."""
        self._enough = frozenset({1, self.pace.batch})
        """How many items the thread sleeps for: until there is one, and then until there is a batch."""
        self._items: deque[_Item] = deque()
        self._text = 0
        self._in_flight = 0
        self._urgent = False
        self._closed = False
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        """Tells the thread that there is something to do."""
        self._progress = threading.Condition(self._lock)
        """Tells those who wait that something was stored, or never will be."""
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def waiting(self) -> int:
        """Attempts that were added and are not stored yet."""
        return len(self._items) + self._in_flight

    def start(self) -> None:
        """Begin to say that the run is alive, before there is anything to write. Adding something does so, too."""
        with self._lock:
            if self._thread is None and not self._closed:
                self._start()

    def _start(self) -> None:
        name = f"calipers-writer-{self.run}"
        self._thread = threading.Thread(target=self._write_all, name=name, daemon=True)
        self._thread.start()

    def add(self, attempt: StoredAttempt, cells: Sequence[StoredCell] = ()) -> None:
        """Hand over a finished attempt with its cells; waits only where too much is unwritten.

        Raises:
            StoreError: the writer gave up, or is closed.
        """
        size = len(attempt.facts) + len(attempt.given) + len(attempt.output)
        if attempt.trace is not None:
            size += len(attempt.trace)
        for cell in cells:
            size += len(cell.body)
        self._put(_Item(attempt, cells, size))

    def add_cells(self, cells: Sequence[StoredCell]) -> None:
        """Hand over cells of an attempt that is stored already.

        Raises:
            StoreError: the writer gave up, or is closed.
        """
        self._put(_Item(None, cells, sum(len(cell.body) for cell in cells)))

    def flush(self) -> None:
        """Wait until everything that was added is stored.

        Raises:
            StoreError: it could not be.
        """
        with self._lock:
            self._urgent = True
            self._work.notify()
            while self.error is None and self.waiting:
                self._progress.wait()
            self._urgent = False
            if self.error is not None:
                raise self.error

    def close(self) -> None:
        """Store what is left, and end the thread. Closing twice does nothing.

        Raises:
            StoreError: something could not be stored.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._work.notify()
            thread = self._thread
        if thread is not None:
            thread.join()
        if self.error is not None:
            raise self.error

    def _put(self, item: _Item) -> None:
        with self._lock:
            if self._thread is None:
                self._start()
            items, pace = self._items, self.pace
            text = self._text + item.size
            if (
                self._closed
                or self.error is not None
                or len(items) >= pace.most_waiting
                or text > pace.most_text
            ):
                self._wait_for_room(item)
                text = self._text + item.size
            items.append(item)
            self._text = text
            if len(items) in self._enough:
                self._work.notify()

    def _wait_for_room(self, item: _Item) -> None:
        while self.error is None and not self._closed and self._full(item):
            self._urgent = True
            self._work.notify()
            self._progress.wait()
        if self.error is not None:
            raise self.error
        if self._closed:
            raise StoreError(f"the writer of run {self.run!r} is closed: nothing can be added to it")

    def _full(self, item: _Item) -> bool:
        if not self._items:
            return False
        return len(self._items) >= self.pace.most_waiting or self._text + item.size > self.pace.most_text

    # ------------------------------------------------------------------ the thread

    def _write_all(self) -> None:
        while True:
            batch = self._take()
            if batch is None:
                return
            try:
                self._append(batch)
            except BaseException as error:
                self._give_up(error, len(batch))
                return
            with self._lock:
                self.stored += sum([item.attempt is not None for item in batch])
                self._in_flight = 0
                self._progress.notify_all()

    def _take(self) -> list[_Item] | None:
        """The next batch; empty when nothing came for a while, `None` when there is no more to come."""
        with self._lock:
            while not self._items:
                if self._closed:
                    return None
                if not self._work.wait(HEARTBEAT_SECONDS):
                    return []
            if len(self._items) < self.pace.batch and not (self._closed or self._urgent):
                self._work.wait(self.pace.every)
            batch: list[_Item] = []
            size = 0
            while self._items and len(batch) < self.pace.batch and (not batch or size < self.pace.most_text):
                batch.append(self._items.popleft())
                size += batch[-1].size
            self._text -= size
            self._in_flight = len(batch)
            if not self._items:
                self._urgent = False
            return batch

    def _append(self, batch: Sequence[_Item]) -> None:
        """Append a batch, again and again while the store is unavailable."""
        if not batch:
            with suppress(
                StoreUnavailableError
            ):  # whether it can be written is for the next batch to find out
                self.store.beat(self.run, generation=self.generation)
            return
        attempts = [item.attempt for item in batch if item.attempt is not None]
        cells = [cell for item in batch for cell in item.cells]
        # The lock is not held: the run may go on adding meanwhile.
        patiently(
            lambda: self.store.append(self.run, attempts, cells, generation=self.generation),
            patience=self.pace.patience,
        )

    def _give_up(self, error: BaseException, lost: int) -> None:
        with self._lock:
            tried = (
                f" after {self.pace.patience:g} s of trying"
                if isinstance(error, StoreUnavailableError)
                else ""
            )
            self.error = StoreError(
                f"run {self.run!r} could not be stored any further{tried}: {error}. {self.stored} of its attempts are stored and "
                f"whole, {lost + len(self._items)} were finished and are not; resume the run when the store works again"
            )
            self.error.__cause__ = error
            self._in_flight = 0
            self._items.clear()
            self._progress.notify_all()
