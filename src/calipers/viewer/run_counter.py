"""Counts runs that were never counted, in the background: what all attempts of a run say together takes seconds where there are many.

A run that is over is counted once, and the store keeps the counts. A run in flight is counted again and again: the longer counting took,
the longer the run is left alone. Counting reads with stores that cannot write; what was counted is written at the end, in a moment.
"""

import logging
import threading
from collections.abc import Iterable
from time import monotonic
from typing import Final, NamedTuple

from calipers.errors import CalipersError
from calipers.stores.run_info import RunProgress
from calipers.stores.run_report import Counted
from calipers.stores.sql_runs import SqlRuns

from .deadline import Deadline, working_until
from .viewed_store import ViewedStore

_REST: Final = 2.0
"""Seconds after which a run in flight is counted again, at the earliest."""
_PART: Final = 10
"""A run in flight is left alone so many times longer than counting it took."""
_MOST: Final = 50_000
"""Attempts of a run in flight up to which it is counted."""
_log = logging.getLogger("calipers.viewer")


class _Known(NamedTuple):
    counted: Counted
    revision: str
    at: float
    took: float


class RunCounter:
    """The counting of one store."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._wanted: dict[str, RunProgress] = {}
        """Runs to count, the first one first."""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._deadline = Deadline(float("inf"))

    def latest(self, run: str) -> Counted | None:
        """What was counted last; `None` if nothing was. It may be older than the run."""
        known = self._known.get(run)
        return None if known is None else known.counted

    def of(self, run: RunProgress) -> Counted | None:
        """What was counted of a run as it is; of one in flight, what was counted last. `None` if nothing was."""
        known = self._known.get(run.id)
        if known is None or (run.status != "running" and known.revision != run.revision):
            return None
        return known.counted

    def version(self, run: str) -> str:
        """Changes when there is something new to say of a run."""
        known = self._known.get(run)
        return "" if known is None else known.revision

    def want(self, viewed: ViewedStore, runs: Iterable[RunProgress]) -> None:
        """Count these runs next, unless that was done, or was done just now."""
        wanted = {run.id: run for run in runs if self._is_due(run)}
        if not wanted:
            return
        with self._lock:
            self._wanted = {
                **wanted,
                **{name: run for name, run in self._wanted.items() if name not in wanted},
            }
            if self._thread is None and not self._deadline.is_cancelled:
                self._thread = threading.Thread(
                    target=self._count_all, args=[viewed], name="calipers-counter", daemon=True
                )
                self._thread.start()

    def _is_due(self, run: RunProgress) -> bool:
        known = self._known.get(run.id)
        if known is not None and known.revision == run.revision:
            return False
        if run.status != "running":
            return True
        if run.attempts > _MOST or run.attempts == 0:
            return False
        return known is None or monotonic() - known.at >= max(_REST, _PART * known.took)

    def _count_all(self, viewed: ViewedStore) -> None:
        with working_until(self._deadline):
            while (run := self._next()) is not None:
                try:
                    self._count(viewed, run)
                except CalipersError as error:  # it was deleted, or cannot be read: opening it says so
                    _log.debug("%s was not counted: %s", run.id, error)
                except Exception:  # the others are counted all the same
                    _log.exception("%s was not counted", run.id)

    def _next(self) -> RunProgress | None:
        with self._lock:
            if not self._wanted or self._deadline.is_over:
                self._thread = None
                return None
            return self._wanted.pop(next(iter(self._wanted)))

    def _count(self, viewed: ViewedStore, run: RunProgress) -> None:
        begun = monotonic()
        with viewed.reading() as store:
            counted = store.counted(run.id)
        ended = monotonic()
        self._known[run.id] = _Known(counted, run.revision, ended, ended - begun)
        if run.status != "running" and not viewed.read_only:
            with viewed.writing() as store:
                if isinstance(store, SqlRuns):
                    store.keep_shared_counts()

    def close(self) -> None:
        """End the counting."""
        self._deadline.cancel()
        thread = self._thread
        if thread is not None:
            thread.join()
