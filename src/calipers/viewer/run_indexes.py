"""The indexes of the runs that are looked at: read in the background, kept in the store, and up to date.

A run that is over is read once, and its index is kept with it. A run in flight is read on where it was left: its writer only adds attempts.
Whatever else changes a run (scoring it again, attempts made again) has all of it read again, while the old index answers and its state
says so.
"""

import copy
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from time import monotonic
from typing import Final, TypeAlias

import numpy as np

from calipers.data.human_label import HumanLabel
from calipers.errors import StoreError
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.stores.stored_attempt import StoredAttempt, StoredCell

from .deadline import Deadline, current_deadline, working_until
from .index_builder import CHUNK, IndexBuilder
from .kept_index import MANIFEST, KeptIndex, pack_index, read_manifest
from .run_index import RunIndex
from .stored_trace import StoredTrace
from .trace_outline import LONG
from .wire import IndexState

PATIENCE: Final = 0.5
"""Seconds that a request waits for a reading that has just begun, before it is answered from what there is."""
KEPT_FROM: Final = 5_000
"""Attempts from which on an index is kept: those of smaller runs are made in an instant."""
MOST_READ: Final = 700_000
"""Attempts of all indexes that are in memory, and not in the store."""
MOST_RUNS: Final = 16
_LOOK: Final = 0.1
"""Seconds after which a request that waits looks whether it is still wanted."""
_FOREVER: Final = 24 * 3600.0
_PUBLISHED: Final = 0.25
"""Seconds after which what was read so far can be asked about."""
_REST: Final = 4.0
"""How many times as long as it took to read a run it is left alone then."""
_PACKED: Final = 4_000_000
"""Bytes of an index that are written at once."""

Stores: TypeAlias = Callable[[], AbstractContextManager[Store]]
"""Gives a store for a while."""
Traces: TypeAlias = Callable[[str, int], StoredTrace | None]
"""Gives the trace of an attempt, by its run and position."""
Chunk: TypeAlias = Sequence[tuple[StoredAttempt, list[StoredCell]]]
"""Some attempts with their cells."""


class RunIndexes:
    """The indexes of the runs of a store."""

    def __init__(self, reading: Stores, traces: Traces, writing: Stores | None = None) -> None:
        """Indexes of the runs in a store.

        Args:
            reading: gives a store to read from.
            traces: gives traces that are too long to be read with their attempts.
            writing: gives a store to keep them in; `None`: they are not kept.
        """
        self._reading = reading
        self._traces = traces
        self._writing = writing
        self._lock = threading.Lock()
        self._runs: dict[str, IndexedRun] = {}
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
            info = None if run in self._runs else store.run(run)
        with self._lock:
            found = self._runs.pop(run, None)
            if found is None:
                if info is None:  # it was let go in between
                    with self._reading() as store:
                        info = store.run(run)
                found = IndexedRun(info, self._reading, self._traces, self._writing, self._closed)
            self._runs[run] = found
            self._let_go(but=run)
        return found.index(revision, patience)

    def _let_go(self, but: str) -> None:
        """Forget the runs that were not asked for longest, where there are too many."""
        for run in list(self._runs):
            read = sum(each.in_memory for each in self._runs.values())
            if run == but or (len(self._runs) <= MOST_RUNS and read <= MOST_READ):
                return
            del self._runs[run]

    def states(self) -> dict[str, IndexState]:
        """How far each run that was looked at has been read."""
        with self._lock:
            return {run: each.state for run, each in self._runs.items()}

    def forget(self) -> None:
        """Forget all indexes, since the store is another one."""
        with self._lock:
            self._runs.clear()

    def close(self) -> None:
        """Stop reading."""
        self._closed.set()


class IndexedRun:
    """A run that is looked at, with its index."""

    def __init__(
        self,
        info: RunInfo,
        reading: Stores,
        traces: Traces,
        writing: Stores | None,
        closed: threading.Event,
    ) -> None:
        self.run = info.id
        self._reading = reading
        self._traces = traces
        self._writing = writing
        self._closed = closed
        self._lock = threading.Lock()
        self._idle = threading.Event()
        self._idle.set()
        self._begun = self._rested = 0.0
        """When the last reading began, and until when the run is left alone."""
        self._index = RunIndex(
            IndexBuilder(info), state=IndexState(state="reading", read=0, of=info.attempts)
        )
        self._built: IndexBuilder | None = None
        """What can be read on, of a run in flight."""
        self._read_at: tuple[int, int, bool] | None = None
        """The generation, the number of changes and whether the run went on, when it was read."""
        self._error: BaseException | None = None

    @property
    def in_memory(self) -> int:
        """Attempts whose columns are in memory."""
        source = self._index.source
        return 0 if isinstance(source, KeptIndex) else source.size

    @property
    def state(self) -> IndexState:
        """How far it was read."""
        return self._index.state

    def index(self, revision: str, patience: float) -> RunIndex:
        """The index; where it is not of a revision, reading begins."""
        with self._lock:
            is_old = self._index.revision != revision and monotonic() >= self._rested
            if is_old and self._idle.is_set():
                self._idle.clear()
                self._error = None
                self._begun = monotonic()
                name = f"index of {self.run}"
                threading.Thread(target=self._read, args=(revision,), daemon=True, name=name).start()
        self._wait(self._begun + patience)
        if self._error is not None:
            raise self._error
        return self._index

    def _wait(self, end: float) -> None:
        """Wait until all was read, or until a moment, as long as the request is wanted and the viewer goes on."""
        deadline = current_deadline()
        while (left := end - monotonic()) > 0 and not self._idle.wait(min(left, _LOOK)):
            if self._closed.is_set() or (deadline is not None and deadline.is_over):
                return

    def _read(self, revision: str) -> None:
        try:
            with working_until(Deadline(_FOREVER)):
                self._bring_up_to_date(revision)
        except BaseException as error:
            self._error = error
            self._rested = 0.0
        finally:
            self._idle.set()

    def _bring_up_to_date(self, revision: str) -> None:
        with self._reading() as store:
            changes = store.changes(
                self.run
            )  # first, so that what is written from now on makes it another number
            info = store.run(self.run)
            people = store.labels_by_position(self.run)
        goes_on = info.status == "running" and not info.is_abandoned()
        read_at = (info.generation, changes, goes_on)
        if read_at == self._read_at:
            self._index = _with_people(self._index, info, people, revision)
            return
        built = self._built if self._may_read_on(info, goes_on=goes_on) else None
        kept = None if goes_on else self._kept(info, changes)
        if kept is None:
            built = self._all_read(info, people, built)
            if self._closed.is_set():
                return
        source = kept or built
        assert source is not None
        state = IndexState(state="live" if goes_on else "ready", read=source.size, of=source.size)
        self._index = RunIndex(source, state=state, people=people, revision=revision)
        self._built = built if goes_on else None
        self._read_at = read_at
        took = monotonic() - self._begun
        self._rested = monotonic() + _REST * took
        if built is not None and not goes_on and source.size >= KEPT_FROM and not built.lacks_values:
            self._keep(changes)
        if isinstance(self._index.source, KeptIndex):
            self._idle.set()
            self._index.source.warm(self._closed)

    # ------------------------------------------------------------------ reading

    def _may_read_on(self, info: RunInfo, *, goes_on: bool) -> bool:
        """Whether only attempts were added since a run was read: its writer does nothing else."""
        if self._built is None or self._read_at is None or not goes_on:
            return False
        before = self._built.info
        known = len(before.evaluators)
        return info.generation == self._read_at[0] and info.evaluators[:known] == before.evaluators

    def _all_read(
        self, info: RunInfo, people: Mapping[int, Sequence[HumanLabel]], built: IndexBuilder | None
    ) -> IndexBuilder:
        """The columns of all attempts that are stored, read on or read anew."""
        if built is not None:
            built.go_on(info)
            missing = self._missing(built)
            if missing is not None:
                self._take(built, self._attempts_at(missing), info, people)
                if not built.has_renamed:
                    return built
        shared = () if built is None else built.shared_keys
        while True:
            built = IndexBuilder(
                info, shared=shared, long_trace=lambda position: self._traces(self.run, position)
            )
            self._take(built, self._attempts(), info, people)
            if not built.has_renamed:
                return built
            shared = built.shared_keys

    def _take(
        self,
        built: IndexBuilder,
        chunks: Iterable[Chunk],
        info: RunInfo,
        people: Mapping[int, Sequence[HumanLabel]],
    ) -> None:
        """Read attempts, and let the ones that were read be asked about."""
        told = monotonic()
        is_first = not self._index.revision
        for chunk in chunks:
            if self._closed.is_set():
                return
            built.add(chunk)
            if monotonic() - told > _PUBLISHED:
                told = monotonic()
                state = IndexState(state="reading", read=built.size, of=max(info.attempts, built.size))
                if is_first:
                    self._index = RunIndex(built, state=state, people=people)
                else:
                    self._index = _in_state(self._index, state)

    def _attempts(self) -> Iterator[Chunk]:
        """All attempts with their cells. The store is given back in between."""
        after = -1
        while True:
            with self._reading() as store:
                chunk = list(islice(store.judged(self.run, after=after, longest_trace=LONG), CHUNK))
            if chunk:
                yield chunk
            if len(chunk) < CHUNK:
                return
            after = chunk[-1][0].position

    def _attempts_at(self, positions: Sequence[int]) -> Iterator[Chunk]:
        for start in range(0, len(positions), CHUNK):
            with self._reading() as store:
                some = positions[start : start + CHUNK]
                yield list(store.judged_at(self.run, some, longest_trace=LONG))

    def _missing(self, built: IndexBuilder) -> list[int] | None:
        """The positions that are stored and were not read; `None` if some that were read are gone."""
        with self._reading() as store:
            done = store.done(self.run)
        stored = np.concatenate(
            [np.arange(each.start, each.stop) for each in done] or [np.empty(0, np.int64)]
        )
        read = built.array("position")
        if not bool(np.isin(read, stored).all()):
            return None
        return [int(position) for position in np.setdiff1d(stored, read)]

    # ------------------------------------------------------------------ keeping

    def _kept(self, info: RunInfo, changes: int) -> KeptIndex | None:
        """The index that the store keeps; `None` if there is none of the run as it is now."""
        with self._reading() as store:
            for build in reversed(store.index_builds(self.run)):
                parts = store.index_parts(self.run, build, MANIFEST)
                manifest = read_manifest(parts, info.generation, changes)
                if manifest is not None:
                    return KeptIndex(info, manifest, self._reader(build))
        return None

    def _reader(self, build: str) -> Callable[[str, Sequence[int] | None], Mapping[int, bytes]]:
        def read(name: str, numbers: Sequence[int] | None) -> Mapping[int, bytes]:
            with self._reading() as store:
                found = store.index_parts(self.run, build, name, numbers)
            if not found:
                self._read_at = None  # another process has replaced it
                self._index = _in_state(self._index, self._index.state, revision="")
            return found

        return read

    def _keep(self, changes: int) -> None:
        """Keep the index with the run, and answer from there from now on."""
        if self._writing is None:
            return
        self._idle.set()
        build = f"{changes:012d}-{secrets.token_hex(4)}"
        index = self._index
        try:
            for parts in _batches(pack_index(index, changes)):
                if self._closed.is_set():
                    return
                with self._writing() as store:
                    store.add_index_parts(self.run, build, parts)
            with self._writing() as store:
                store.remove_index(self.run, but=build)
            kept = self._kept(index.info, changes)
        except StoreError:
            return  # a full disk, or a run that was deleted: the index stays in memory
        if kept is not None and self._index is index:
            self._index = RunIndex(kept, state=index.state, people=index.people, revision=index.revision)


def _batches(parts: Iterable[tuple[str, int, bytes]]) -> Iterator[dict[tuple[str, int], bytes]]:
    """Parts, some megabytes at a time; the manifest, which is the last, alone."""
    batch: dict[tuple[str, int], bytes] = {}
    size = 0
    for name, number, body in parts:
        if batch and (size + len(body) > _PACKED or name == MANIFEST):
            yield batch
            batch, size = {}, 0
        batch[name, number] = body
        size += len(body)
    yield batch


def _in_state(index: RunIndex, state: IndexState, *, revision: str | None = None) -> RunIndex:
    """The same index in another state."""
    found = copy.copy(index)
    found.state = state
    found.revision = index.revision if revision is None else revision
    return found


def _with_people(
    index: RunIndex, info: RunInfo, people: Mapping[int, Sequence[HumanLabel]], revision: str
) -> RunIndex:
    """The same index after people labelled attempts."""
    found = copy.copy(index)
    found.info = info
    found.people = dict(people)
    found.__dict__.pop("labelled", None)
    found.revision = revision
    return found
