"""Writes a run to its store while it goes on, without making it wait for the disk.

A thread appends finished attempts in batches. The run waits only when so much is unwritten that memory would fill up.

When the store cannot be written (a full disk, a lost server), the writer tries again, at longer and longer intervals, and
logs a warning to `calipers.stores`, which writes to stderr by default. After `patience` seconds it gives up: `add` raises from
then on, so that the run begins no new work. Everything appended before is whole, and attempts in memory are still in the report.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Self

import msgspec

from calipers.data.argument_checks import check_number, check_whole_number
from calipers.errors import StoreError, StoreUnavailableError

from .store import PATIENCE, Store, patiently
from .stored_attempt import StoredAttempt, StoredCell

HEARTBEAT_SECONDS = 15.0
"""How often a writer with nothing to write renews the heartbeat of its run."""
_ENOUGH = 512
"""Items for which the thread wakes: few are left to be written when a run is over. While it writes, more come together."""
_BESIDE_SECONDS = 0.1
"""How often it looks whether something else has changed."""


class _Item(msgspec.Struct, gc=False):
    """What was added at once. Thousands may wait, and the garbage collector need not look at each."""

    attempt: StoredAttempt | None
    cells: Sequence[StoredCell]
    size: int
    """Their characters."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How a writer works."""

    batch: int = 2048
    """Attempts that are appended at once, at most."""
    every: float = 0.25
    """Seconds after which a few are appended too; a killed process loses at most so much."""
    most_waiting: int = 10_000
    """Unwritten attempts at which the run has to wait."""
    most_text: int = 64_000_000
    """Unwritten characters at which the run has to wait; one attempt may be larger."""
    patience: float = PATIENCE
    """Seconds to keep trying when the store cannot be written."""

    def __post_init__(self) -> None:
        for name in ("batch", "most_waiting", "most_text"):
            check_whole_number(name, getattr(self, name), at_least=1)
        for name in ("every", "patience"):
            check_number(name, getattr(self, name), at_least=0, of="seconds")


class Writer:
    """Appends finished attempts of one run to a store, in a thread of its own.

    with Writer(store, run.id) as writer:
        writer.add(attempt, cells)

    Leaving the block waits until everything is stored.
    """

    def __init__(
        self, store: Store, run: str, *, generation: int | None = None, pace: Pace | None = None
    ) -> None:
        """A writer for a run that has begun; it refuses to write for another `generation`, if one is given."""
        self.store = store
        self.run = run
        self.generation = generation
        self.pace = pace or Pace()
        self.stored = 0
        """Attempts stored so far."""
        self.error: StoreError | None = None
        """Why it gave up; `None` if it did not."""
        self.beside: Callable[[], None] | None = None
        """Writes what changes without an attempt that ends; called by the thread, some times a second. Set before the thread starts."""
        self._beaten = monotonic()
        self._enough = min(_ENOUGH, self.pace.batch)
        self._items: deque[_Item] = deque()
        self._text = 0
        self._in_flight = 0
        self._urgent = False
        self._closed = False
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        """Tells the thread that there is something to do."""
        self._progress = threading.Condition(self._lock)
        """Wakes waiting callers when something was stored, or never will be."""
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def waiting(self) -> int:
        """Attempts that were added and are not stored yet."""
        return len(self._items) + self._in_flight

    def start(self) -> None:
        """Begin to renew the heartbeat before there is anything to write. Adding something does so too."""
        with self._lock:
            if self._thread is None and not self._closed:
                self._start()

    def _start(self) -> None:
        name = f"calipers-writer-{self.run}"
        self._thread = threading.Thread(target=self._write_all, name=name, daemon=True)
        self._thread.start()

    def add(self, attempt: StoredAttempt, cells: Sequence[StoredCell] = ()) -> None:
        """Add a finished attempt with its cells; waits only if too much is unwritten.

        Raises:
            StoreError: the writer gave up, or is closed.
        """
        size = len(attempt.facts) + len(attempt.given) + len(attempt.output)
        if attempt.trace is not None:
            size += len(attempt.trace)
        if cells:
            size += sum(len(cell.body) for cell in cells)
        self._put(_Item(attempt, cells, size))

    def add_cells(self, cells: Sequence[StoredCell]) -> None:
        """Add cells of an attempt that is stored already.

        Raises:
            StoreError: the writer gave up, or is closed.
        """
        self._put(_Item(None, cells, sum(len(cell.body) for cell in cells)))

    def flush(self) -> None:
        """Wait until everything is stored.

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
        """Store the rest and end the thread. Closing twice does nothing.

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
            if len(items) == 1 or len(items) == self._enough:  # the thread waits for nothing else
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
                with suppress(StoreError):
                    self._write_beside()
                return
            try:
                self._append(batch)
                self._write_beside()
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
                if not self._work.wait(HEARTBEAT_SECONDS if self.beside is None else _BESIDE_SECONDS):
                    return []
            if len(self._items) < self._enough and not (self._closed or self._urgent):
                self._work.wait(self.pace.every)
            if len(self._items) <= self.pace.batch and self._text <= self.pace.most_text:
                batch, size = list(self._items), self._text
                self._items.clear()
            else:
                batch, size = self._next_items()
            self._text -= size
            self._in_flight = len(batch)
            if not self._items:
                self._urgent = False
            return batch

    def _next_items(self) -> tuple[list[_Item], int]:
        """As many items as may be appended at once, and their characters."""
        batch: list[_Item] = []
        size = 0
        while self._items and len(batch) < self.pace.batch and (not batch or size < self.pace.most_text):
            batch.append(self._items.popleft())
            size += batch[-1].size
        return batch, size

    def _append(self, batch: Sequence[_Item]) -> None:
        """Append a batch, and try again while the store is unavailable."""
        if not batch:
            if self.beside is None or monotonic() - self._beaten >= HEARTBEAT_SECONDS:
                self._beaten = monotonic()
                with suppress(StoreUnavailableError):  # the next batch will find out
                    self.store.beat(self.run, generation=self.generation)
            return
        attempts = [item.attempt for item in batch if item.attempt is not None]
        cells = [cell for item in batch for cell in item.cells]
        # The lock is not held, so that the run can add more.
        patiently(
            lambda: self.store.append(self.run, attempts, cells, generation=self.generation),
            patience=self.pace.patience,
        )

    def _write_beside(self) -> None:
        if self.beside is not None:
            with suppress(StoreUnavailableError):  # the next time will do
                self.beside()

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
