"""`GET /runs/{run}/cases/{case}`: a case of a run with its attempts, and what stands around it in the filtered list."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Final

from calipers.data.result_names import Names
from calipers.errors import ValueAwayError
from calipers.stores.run_info import RunInfo
from calipers.stores.run_report import Counted
from calipers.stores.sqlite import MemoryStore, SqliteStore
from calipers.stores.store import Store

from .attempt_parts import AttemptParts
from .attempt_view import attempt_view
from .case_selection import neighbours, select
from .deadline import Deadline, check_deadline, current_deadline
from .index_builder import OUTCOMES, PARTS
from .refusal import Refusal
from .run_counter import RunCounter
from .run_index import RunIndex
from .run_rows import run_row
from .shown_talk import value_with_talk
from .shown_value import MISSING, MOST, blob_address
from .trace_answers import summary_of
from .viewed_store import ViewedStore
from .wire import CaseAnswer, ShownValue, TraceSummary

MOST_ATTEMPTS: Final = 200
"""Attempts that an answer has."""
_IN_ALL: Final = 10 * MOST
"""Characters that the longest value of all attempts may take together."""
_LEAST: Final = 2_000
"""Characters of a value, however many attempts there are."""
_TRACE_SECONDS: Final = 1.0
"""Seconds after which no further trace is read for its summary."""
_SEARCH_SECONDS: Final = 1.0
"""Seconds for finding the neighbours."""


def case_answer(
    viewed: ViewedStore, run: str, case: str, *, q: str = "", sort: str = "", rep: int = 1
) -> CaseAnswer:
    """A case of a run with its attempts.

    Args:
        viewed: the store.
        run: as in `Store.run`.
        case: the id of the case.
        q: the filter of the list that it is met in.
        sort: of that list.
        rep: an attempt that is wanted, from 1, with those around it; beyond the last one, it is the last.
    """
    if rep < 1:
        raise Refusal("bad_request", f"rep counts attempts from 1, got {rep}")
    info, index, positions = find_case(viewed, run, case)
    around = neighbours(select(index, q, sort=sort, deadline=Deadline(_SEARCH_SECONDS)), case)
    start = (min(rep, len(positions)) - 1) // MOST_ATTEMPTS * MOST_ATTEMPTS
    shown = positions[start : start + MOST_ATTEMPTS]
    with viewed.reading() as store:
        counted = counts_of(viewed, store, info)
        found = list(attempts_at(store, info, shown, counted))
        people = store.labels_by_position(info.id)
        folders = sound_folders(store)
    if not found:
        raise Refusal(
            "gone", f"the attempts at case {case!r} of run {info.id!r} were removed: reload the run"
        )
    judges = [one.name for one in info.evaluators if one.is_judge and not one.superseded]
    most = max(_LEAST, min(MOST, _IN_ALL // len(found)))
    summaries = _Summaries(viewed, info, index)
    first = found[0]
    return CaseAnswer(
        run=run_row(info, totals=None if counted is None else counted.totals),
        id=case,
        name=first.attempt.case_name,
        input=part_value(first, "input"),
        expected=part_value(first, "expected"),
        expected_calls=part_value(first, "expected_calls"),
        metadata=part_value(first, "metadata"),
        tags=list(first.record.tags),
        cluster=first.record.cluster,
        attempts=[
            attempt_view(
                parts,
                judges=judges,
                labels=people.get(parts.attempt.position, ()),
                has_trace=summaries.has_trace(parts.attempt.position),
                trace=summaries.of(parts.attempt.position),
                folders=folders,
                most=most,
            )
            for parts in found
        ],
        first=start,
        marks=marks_of(index, case),
        at=around.at,
        of=around.of,
        previous=around.previous,
        next=around.next,
        previous_failure=around.previous_failure,
        next_failure=around.next_failure,
    )


def marks_of(index: RunIndex, case: str) -> str:
    """What came of all attempts at a case, a letter for each."""
    number = index.number_of(case)
    return "" if number is None else "".join(OUTCOMES[index.outcome[row]] for row in index.rows_of(number))


def find_case(viewed: ViewedStore, run: str, case: str) -> tuple[RunInfo, RunIndex, list[int]]:
    """A case of a run: the run, its index as far as it was read, and the positions of the attempts.

    Raises:
        Refusal: the run has no such case, or it was not found in time.
    """
    with viewed.reading() as store:
        info = store.run(run)
    index, positions = case_in(viewed, info, case)
    if not positions:
        raise Refusal("not_found", f"run {info.id!r} has no case of the id {case!r:.100}")
    return info, index, positions


def case_in(viewed: ViewedStore, info: RunInfo, case: str) -> tuple[RunIndex, list[int]]:
    """The index of a run as far as it was read, and the positions of the attempts at a case; empty where the run lacks it.

    Raises:
        Refusal: that was not known in time.
    """
    while True:
        index = viewed.index(info.id)
        positions = index.positions_of(case)
        if positions or index.state.state != "reading":
            return index, positions
        deadline = current_deadline()
        if deadline is not None and deadline.left < deadline.seconds / 4:
            read, of = index.state.read, index.state.of
            raise Refusal(
                "busy",
                f"the case is not among the {read:,} of {of:,} attempts that were read so far: try again",
            )


def attempts_at(
    store: Store, info: RunInfo, positions: Sequence[int], counted: Counted | None
) -> Iterator[AttemptParts]:
    """The attempts at some positions of a run, without their traces.

    Args:
        store: that has them.
        info: the run.
        positions: of the attempts.
        counted: what was counted of the run, which tells the names of its results; without it they are as far as the attempts themselves tell.
    """
    names = Names(info.columns, shared=() if counted is None else counted.shared_keys)
    for attempt, cells in store.judged_at(info.id, positions, traces=False):
        check_deadline()
        yield AttemptParts(attempt, cells, info, names)


def counts_of(viewed: ViewedStore, store: Store, info: RunInfo) -> Counted | None:
    """What was counted of a run, perhaps some time ago; `None` if nothing was."""
    return store.kept_counts(info.id) or viewed.kept(RunCounter).latest(info.id)


def sound_folders(store: Store) -> list[Path]:
    """Where files of sound may be that attributes name by a relative path."""
    if isinstance(store, SqliteStore) and not isinstance(store, MemoryStore):
        return [Path(store.path).parent]
    return []


def part_value(parts: AttemptParts, name: str) -> ShownValue:
    """A value of an attempt by its part name."""
    raw = parts.part(name)
    if not raw:
        return MISSING
    return value_with_talk(raw, blob_address(parts.run.id, parts.attempt.position, name))


class _Summaries:
    """What traces add up to, as long as there is time to read them."""

    def __init__(self, viewed: ViewedStore, info: RunInfo, index: RunIndex) -> None:
        self._viewed = viewed
        self._info = info
        self._index = index
        self._end = monotonic() + _TRACE_SECONDS

    def has_trace(self, position: int) -> bool:
        """Whether an attempt left a trace."""
        row = self._index.row_at(position)
        return row is not None and bool(self._index.bits[row] & PARTS["trace"])

    def of(self, position: int) -> TraceSummary | None:
        """What its trace adds up to; `None` if it has none, there is no time, or it cannot be read where it was moved to."""
        if monotonic() > self._end or not self.has_trace(position):
            return None
        try:
            found = self._viewed.trace(self._info.id, position)
        except ValueAwayError:  # the page of the trace says why
            return None
        return None if found is None else summary_of(found)
