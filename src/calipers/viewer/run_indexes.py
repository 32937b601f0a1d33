"""The indexes of the runs that are looked at: read in the background, and kept up to date.

A run in flight is read on where it was left. When something else changed, such as results of attempts that were read before, all is read
again, and meanwhile the old index answers.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from time import monotonic
from typing import Final

from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store

from .deadline import Deadline, working_until
from .index_builder import CHUNK, IndexBuilder
from .run_index import RunIndex
from .wire import IndexState

PATIENCE: Final = 0.5
"""Seconds that a first request waits for an index to be read, before it is answered from what there is."""
_FOREVER: Final = 24 * 3600.0


class RunIndexes:
    """The indexes of the runs of a store."""

    def __init__(self, reading: Callable[[], AbstractContextManager[Store]]) -> None:
        """Indexes of the runs in a store.

        Args:
            reading: gives a store to read from, for a while.
        """
        self._reading = reading
        self._lock = threading.Lock()
        self._readers: dict[str, _Reader] = {}
        self._closed = threading.Event()

    def of(self, run: str, *, patience: float = PATIENCE) -> RunIndex:
        """The index of a run, by its id, as far as it was read.

        Args:
            run: its id.
            patience: seconds to wait for all of it.

        Raises:
            RunMissingError: there is no such run.
        """
        with self._reading() as store:
            revision = store.revision(run)
            info = store.run(run) if run not in self._readers else None
        with self._lock:
            reader = self._readers.get(run)
            if reader is None:
                assert info is not None
                reader = self._readers[run] = _Reader(info, self._reading, self._closed)
        return reader.index(revision, patience)

    def states(self) -> dict[str, IndexState]:
        """How far each index was read."""
        with self._lock:
            return {run: reader.state for run, reader in self._readers.items()}

    def forget(self) -> None:
        """Forget all indexes, since the store is another one."""
        with self._lock:
            self._readers.clear()

    def close(self) -> None:
        """Stop reading."""
        self._closed.set()


class _Reader:
    """Reads one run."""

    def __init__(
        self, info: RunInfo, reading: Callable[[], AbstractContextManager[Store]], closed: threading.Event
    ) -> None:
        self.run = info.id
        self._reading = reading
        self._closed = closed
        self._lock = threading.Lock()
        self._idle = threading.Event()
        self._idle.set()
        self._index = RunIndex(
            IndexBuilder(info), state=IndexState(state="reading", read=0, of=info.attempts)
        )
        self._error: BaseException | None = None

    @property
    def state(self) -> IndexState:
        """How far the run was read."""
        return self._index.state

    def index(self, revision: str, patience: float) -> RunIndex:
        """The index; where it is not of a revision, reading begins."""
        with self._lock:
            if self._index.revision != revision and self._idle.is_set():
                self._idle.clear()
                self._error = None
                threading.Thread(
                    target=self._read, args=(revision,), daemon=True, name="calipers-index"
                ).start()
        self._idle.wait(patience)
        if self._error is not None:
            raise self._error
        return self._index

    def _read(self, revision: str) -> None:
        try:
            with working_until(Deadline(_FOREVER)):
                self._read_all(revision)
        except BaseException as error:
            self._error = error
        finally:
            self._idle.set()

    def _read_all(self, revision: str) -> None:
        with self._reading() as store:
            info = store.run(self.run)
            people = store.labels_by_position(self.run)
        built = IndexBuilder(info)
        after, told = -1, monotonic()
        while not self._closed.is_set():
            with self._reading() as store:
                judged = store.judged(self.run, after=after)
                some = [pair for pair, _ in zip(judged, range(CHUNK), strict=False)]
            built.add(some)
            if len(some) < CHUNK:
                break
            after = some[-1][0].position
            if not self._index.revision and monotonic() - told > PATIENCE / 2:
                told = monotonic()
                state = IndexState(state="reading", read=built.size, of=max(info.attempts, built.size))
                self._index = RunIndex(built, state=state, people=people)
        live = info.status == "running" and not info.is_abandoned()
        state = IndexState(state="live" if live else "ready", read=built.size, of=built.size)
        self._index = RunIndex(built, state=state, people=people, revision=revision)
