"""The store that is viewed: stores to read from, one to write to, and the run that a name means.

Each request reads through a store of its own from a small pool, so that requests do not wait for each other, and none of these can write.
What is read ends with the deadline of the request. A file that was deleted is noticed, since SQLite would go on reading what no one can
find any more; one that was put in its place is opened.
"""

import os
import queue
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from calipers.errors import StoreError, StoreMissingError
from calipers.stores.run_info import RunInfo
from calipers.stores.sql_runs import SqlRuns
from calipers.stores.sqlite import MemoryStore, SqliteStore
from calipers.stores.store import Redact, Store
from calipers.stores.store_url import open_store

from .deadline import Deadline, current_deadline
from .kept_traces import KeptTraces
from .refusal import Refusal
from .run_index import RunIndex
from .run_indexes import RunIndexes
from .stored_trace import StoredTrace
from .wire import IndexState

_T = TypeVar("_T")

READERS: Final = 6
"""Requests that read at the same time."""
SECONDS: Final = 10.0
"""How long a request may take, unless its route says otherwise."""
_LOOK: Final = 0.1
"""Seconds after which a request that waits for a reader looks what has changed."""


class ViewedStore:
    """The store that a viewer serves."""

    def __init__(
        self,
        store: str | os.PathLike[str] | Store,
        *,
        read_only: bool = False,
        redact: Sequence[Redact] = (),
        deadline: float = SECONDS,
    ) -> None:
        """Open the store.

        Args:
            store: its URL or path, or an open store, which stays open when this is closed.
            read_only: write nothing, not even what would make the next look faster.
            redact: hooks that take out what must not be written of labels; see `calipers.stores.hide_keys`.
            deadline: seconds that a request may take.

        Raises:
            StoreError: it cannot be opened; the message says what to do.
        """
        self.deadline = deadline
        self.csrf = secrets.token_urlsafe(24)
        """What every write has to carry, so that a page of another site cannot make one. It is another one at each start."""
        self._given = store if isinstance(store, Store) else None
        self._address = store.url if isinstance(store, Store) else store
        self._redact = redact
        self._lock = threading.Lock()
        self._mine = threading.local()
        """The store that this thread reads from."""
        self._free: queue.LifoQueue[Store] = queue.LifoQueue()
        self._made = 0
        """Readers of this era."""
        self._era = 0
        """How often the file was replaced."""
        self._closed = False
        self._writer = self._given or open_store(
            self._address, existing=True, read_only=read_only, redact=redact
        )
        self.url = self._writer.url
        """Where it is, without a password."""
        self.read_only = read_only or bool(getattr(self._writer, "read_only", False))
        """Whether nothing may be written."""
        self._writing = threading.RLock()
        self._kept: dict[Callable[[], Any], Any] = {}
        self._file = _identity_of(self._writer)
        self._indexes = RunIndexes(self.reading, self.trace, None if self.read_only else self.writing)

    # ------------------------------------------------------------------ reading

    @contextmanager
    def reading(self) -> Iterator[Store]:
        """A store to read from; what it reads ends with the deadline of the request.

        Within the block, the same thread gets the same store again.

        Raises:
            Refusal: too many requests read at the same time, or the store is gone.
        """
        held: Store | None = getattr(self._mine, "store", None)
        if held is not None:
            yield held
            return
        self._check_file()
        deadline = current_deadline() or Deadline(self.deadline)
        store = self._taken(deadline)
        if isinstance(store, SqlRuns) and store is not self._given:
            store.time_left = lambda: deadline.left
        era = self._era
        self._mine.store = store
        try:
            yield store
        finally:
            self._mine.store = None
            self._give_back(store, era)

    def _give_back(self, store: Store, era: int) -> None:
        with self._lock:
            if era == self._era and not self._closed:
                self._free.put(store)
            elif store is not self._given:
                store.close()

    def _taken(self, deadline: Deadline) -> Store:
        """A free store, made if there are not enough yet."""
        with suppress(queue.Empty):
            return self._free.get_nowait()
        while not self._may_make():
            # Who waits looks up now and then: the viewer may end, the file may be replaced, the client may go.
            with suppress(queue.Empty):
                return self._free.get(timeout=min(deadline.left, _LOOK))
            if deadline.is_over:
                raise Refusal("busy", "too many requests read the store at the same time: try again")
        try:
            return self._reader()
        except BaseException:
            with self._lock:
                self._made -= 1
            raise

    def _may_make(self) -> bool:
        """Whether a further reader may be made; if so, it counts already.

        Raises:
            Refusal: the viewer ends.
        """
        with self._lock:
            if self._closed:
                raise Refusal("gone", "the viewer ends")
            may_make = self._made < (1 if self._is_alone else READERS)
            self._made += may_make
            return may_make

    @property
    def _is_alone(self) -> bool:
        """Whether all requests share the store that was given, since no other can read what is in it."""
        return isinstance(self._given, MemoryStore) or (
            self._given is not None and not isinstance(self._given, SqlRuns)
        )

    def _reader(self) -> Store:
        if self._is_alone:
            assert self._given is not None
            return self._given
        store = open_store(self._reading_address, existing=True, read_only=True)
        store.can_lack_values = True
        if isinstance(store, SqlRuns) and isinstance(self._writer, SqlRuns):
            store.share_counts(self._writer)
        return store

    @property
    def address(self) -> str | None:
        """What another process opens the store by to read it, with its password; `None` if no other process can."""
        return None if self._is_alone else os.fspath(self._reading_address)

    @property
    def _reading_address(self) -> str | os.PathLike[str]:
        return self._writer.path if isinstance(self._writer, SqliteStore) else self._address

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """The store to write to; one request writes at a time.

        Raises:
            Refusal: it may not be written, or is gone.
        """
        if self.read_only:
            raise Refusal(
                "read_only", "this viewer only reads: start `calipers view` without --read-only to write"
            )
        self._check_file()
        with self._writing:
            yield self._writer

    # ------------------------------------------------------------------ runs

    def find_run(self, which: str) -> RunInfo:
        """The run of an id, the beginning of one, a name (the newest of that name), or `latest`.

        Raises:
            RunMissingError: there is none, or several ids begin so.
        """
        with self.reading() as store:
            return store.run(which)

    def revision(self, run: str) -> str:
        """Changes whenever a report of the run may say something else."""
        with self.reading() as store:
            return store.revision(run)

    def index(self, run: str, *, patience: float | None = None) -> RunIndex:
        """The index of a run, as far as it was read: that goes on in the background.

        Args:
            run: its id.
            patience: seconds to wait until all of it was read; default: a part of a second.

        Raises:
            RunMissingError: there is no such run.
        """
        return self._indexes.of(run) if patience is None else self._indexes.of(run, patience=patience)

    def index_states(self) -> dict[str, IndexState]:
        """How far the runs that were looked at have been read."""
        return self._indexes.states()

    def trace(self, run: str, position: int) -> StoredTrace | None:
        """The trace of an attempt, from those that were read lately; `None` if it has none.

        Raises:
            RunMissingError: there is no such run.
            Refusal: the time of the request is over.
        """

        def read() -> StoredTrace | None:
            with self.reading() as store:
                packed = store.packed_trace(run, position)
            return None if packed is None else StoredTrace(packed)

        with self.reading() as store:
            revision = store.revision(run, judging=False)
        return self.kept(KeptTraces).get((run, position, revision), read)

    # ------------------------------------------------------------------ what parts of the viewer remember

    def kept(self, make: Callable[[], _T]) -> _T:
        """What a part of the viewer remembers of this store: made when it is first asked for, by the class or function that is its key.

        What has a method `close` is closed with the store.
        """
        with self._lock:
            if make not in self._kept:
                self._kept[make] = make()
            found: _T = self._kept[make]
        return found

    # ------------------------------------------------------------------ life

    def _check_file(self) -> None:
        """See that the file of the store is still there, and open another one that was put in its place."""
        if self._file is None:
            return
        assert isinstance(self._writer, SqliteStore)
        found = _identity_of(self._writer)
        if found == self._file:
            return
        if found is None:
            raise StoreMissingError(
                f"the store {os.fspath(self._writer.path)!r} is gone: it was moved or deleted while it was viewed. Put it back, or "
                "start `calipers view` on another one"
            )
        with self._lock:
            if found != self._file:
                if self._given is not None:
                    raise StoreError(
                        f"the store {self.url!r} was replaced by another file: open it again to view it"
                    )
                self._empty()
                self._era += 1
                self._made = 0
                self._writer.close()
                self._writer = open_store(
                    self._address, existing=True, read_only=self.read_only, redact=self._redact
                )
                self._file = found
                self._indexes.forget()
                self._kept.clear()

    def _empty(self) -> None:
        with suppress(queue.Empty):
            while True:
                store = self._free.get_nowait()
                if store is not self._given:
                    store.close()

    def close(self) -> None:
        """Close all connections."""
        self._indexes.close()
        with self._lock:
            self._closed = True
            self._empty()
            kept = list(self._kept.values())
        for each in kept:
            if callable(close := getattr(each, "close", None)):
                close()
        if self._given is None:
            self._writer.close()


def _identity_of(store: Store) -> tuple[int, int] | None:
    """Which file a store is in; `None` if it is in none, or the file is gone."""
    if not isinstance(store, SqliteStore) or isinstance(store, MemoryStore):
        return None
    try:
        found = Path(store.path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
