"""The runs of the store as rows, each made once and kept until its run changes; and `GET /runs`, a page of them.

A store may have thousands of runs, and what it keeps of each takes long to decode. So all that is asked for each time is how far each run has
come; only runs that changed are read again. What was never counted is counted in the background, and its row has no rate until then.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, Final, NamedTuple

import msgspec

from calipers.data.argument_checks import did_you_mean
from calipers.gate.looks import Look
from calipers.stores.run_info import RunProgress

from .cursor import Cursor
from .refusal import Refusal
from .run_counter import RunCounter
from .run_filter import RunFilter
from .run_rows import run_row, seconds_of
from .viewed_store import ViewedStore
from .wire import RunRow, RunsAnswer

MOST: Final = 500
"""Rows of one answer."""
_AT_ONCE: Final = 500
"""Runs that are decoded at once."""


class _Kept(NamedTuple):
    state: tuple[str, str, str | None]
    """What the row was made of: the revisions of the run and its counts, and the last look at it."""
    row: RunRow


class RunList:
    """The rows of one store."""

    def __init__(self) -> None:
        self._rows: dict[str, _Kept] = {}
        self._lock = threading.Lock()

    def rows(self, viewed: ViewedStore) -> list[RunRow]:
        """All rows, the newest run first."""
        counter = viewed.kept(RunCounter)
        with viewed.reading() as store:
            progress = store.progress()
            looks = {look.run: look for look in store.looks()}
            states = {run.id: _state(run, counter, looks.get(run.id)) for run in progress}
            by_id = {run.id: run for run in progress}
            changed = [run for run, state in states.items() if not self._has(run, state)]
            for start in range(0, len(changed), _AT_ONCE):
                for info in store.runs(ids=changed[start : start + _AT_ONCE]):
                    counted = counter.of(by_id[info.id])
                    totals = None if counted is None else counted.totals
                    row = run_row(info, totals=info.totals or totals, look=looks.get(info.id))
                    self._rows[info.id] = _Kept(states[info.id], row)
        found = [_as_of_now(self._rows[run.id].row, run) for run in progress if run.id in self._rows]
        with self._lock:
            for gone in self._rows.keys() - states.keys():
                self._rows.pop(gone, None)
        uncounted = {row.id for row in found if row.cases is None and row.damaged is None}
        counter.want(viewed, [run for run in progress if run.id in uncounted or run.status == "running"])
        return found

    def _has(self, run: str, state: tuple[str, str, str | None]) -> bool:
        kept = self._rows.get(run)
        return kept is not None and kept.state == state


def _state(run: RunProgress, counter: RunCounter, look: Look | None) -> tuple[str, str, str | None]:
    return run.revision, counter.version(run.id), None if look is None else f"{look.attempts} {look.outcome}"


def _as_of_now(row: RunRow, run: RunProgress) -> RunRow:
    """A row of a run in flight, whose time goes on, and whose process may have ended."""
    if run.status != "running":
        return row
    state = run.state
    until = None if state == "running" else run.heartbeat
    return msgspec.structs.replace(row, state=state, seconds=seconds_of(row.started_at, until))


# ---------------------------------------------------------------------- one page


SORTS: Final[Mapping[str, Callable[[RunRow], Any]]] = {
    "started_at": lambda row: row.started_at or None,
    "name": lambda row: row.name.casefold(),
    "dataset": lambda row: None if row.dataset is None else row.dataset.casefold(),
    "state": lambda row: row.state,
    "rate": lambda row: None if row.rate is None else row.rate.value,
    "cost": lambda row: None if row.cost is None else row.cost.dollars,
    "seconds": lambda row: row.seconds,
    "attempts": lambda row: row.attempts,
    "cases": lambda row: row.cases,
    "failures": lambda row: row.failures,
    "commit": lambda row: row.commit,
    "task": lambda row: row.task,
    "task_version": lambda row: row.task_version,
}
"""What runs can be sorted by."""


def runs_answer(
    viewed: ViewedStore, *, q: str = "", sort: str = "", after: str = "", limit: int = 100
) -> RunsAnswer:
    """The runs that meet a filter, a page at a time."""
    wanted = RunFilter.read(q)
    if not 1 <= limit <= MOST:
        raise Refusal("bad_request", f"limit must be between 1 and {MOST}, got {limit}")
    rows = viewed.kept(RunList).rows(viewed)
    found = sorted_rows((row for row in rows if wanted.matches(row)), sort)
    start = Cursor.read(after).place_in([row.id for row in found]) if after else 0
    page = found[start : start + limit]
    return RunsAnswer(
        rows=page,
        next=Cursor(start + len(page), page[-1].id).text() if start + limit < len(found) else None,
        total=len(found),
        datasets=[name for name, _ in Counter(row.dataset for row in rows if row.dataset).most_common()],
    )


def sorted_rows(rows: Iterable[RunRow], sort: str) -> list[RunRow]:
    """The rows in an order; those that lack a value come last, and equal ones stay the newest first.

    Raises:
        Refusal: there is no such order.
    """
    found = list(rows)
    name = sort.removeprefix("-")
    if not name:
        return found
    if name not in SORTS:
        raise Refusal(
            "bad_request",
            f"runs cannot be sorted by {name!r}{did_you_mean(name, SORTS)}; there are {', '.join(SORTS)}",
        )
    values: list[tuple[Any, RunRow]] = [(SORTS[name](row), row) for row in found]
    known = [(value, row) for value, row in values if value is not None]
    known.sort(key=itemgetter(0), reverse=sort.startswith("-"))
    return [*(row for _, row in known), *(row for value, row in values if value is None)]
