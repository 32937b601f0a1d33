"""`GET /runs`: the runs of the store, as rows of a list."""

from datetime import UTC, datetime
from typing import Final

from calipers.report.cost import Cost
from calipers.stats.number_text import dollars
from calipers.stores.run_info import RunInfo

from .viewed_store import ViewedStore
from .wire import Money, RunRow, RunsAnswer, RunState

MOST: Final = 500
"""Rows of one answer."""


def runs_answer(
    viewed: ViewedStore, *, q: str = "", sort: str = "", after: str = "", limit: int = 100
) -> RunsAnswer:
    """The runs that meet a filter, a page at a time."""
    del q, sort, after
    with viewed.reading() as store:
        infos = store.runs()
    return RunsAnswer(
        rows=[run_row(info) for info in infos[: min(limit, MOST)]],
        next=None,
        total=len(infos),
        datasets=sorted({info.dataset_name for info in infos if info.dataset_name is not None}),
    )


def run_row(info: RunInfo) -> RunRow:
    """A run as a row."""
    totals = info.totals
    ending = info.ending or {}
    incomplete = ending.get("incomplete")  # a text in earlier releases
    return RunRow(
        id=info.id,
        name=info.name,
        dataset=info.dataset_name,
        state=state_of(info),
        started_at=info.started_at,
        ended_at=info.ended_at,
        seconds=_seconds(info),
        attempts=info.attempts,
        total=info.total,
        cases=None if totals is None else totals.counts.cases,
        failures=info.failures,
        repeat=info.repeat,
        rate=None if totals is None else totals.pass_rate,
        cost=None
        if totals is None or totals.costs is None
        else money(totals.costs.agent, totals.costs.judges),
        task=info.task_name,
        task_version=info.task_version,
        commit=None if info.git is None else info.git.commit,
        dirty=info.git is not None and info.git.dirty,
        evaluators=info.columns,
        seed=info.seed,
        incomplete=incomplete.get("reason") if isinstance(incomplete, dict) else incomplete,
        damaged=info.damaged,
    )


def state_of(info: RunInfo) -> RunState:
    """What became of a run: `abandoned` if it is marked as running and no process runs it any more."""
    return "abandoned" if info.is_abandoned() else info.status


def money(*parts: Cost | None) -> Money | None:
    """What some parts of a run cost together; `None` if nothing is known of any."""
    known = [part for part in parts if part is not None and part.total is not None]
    if not known:
        return None
    total = sum(part.total for part in known if part.total is not None)
    at_least = len(known) < len([part for part in parts if part is not None]) or any(
        part.unpriced_calls for part in known
    )
    return Money(dollars=total, at_least=at_least, text=("at least " if at_least else "") + dollars(total))


def _seconds(info: RunInfo) -> float | None:
    """How long a run took, or has taken."""
    try:
        begun = datetime.fromisoformat(info.started_at)
        ended = datetime.now(UTC) if info.ended_at is None else datetime.fromisoformat(info.ended_at)
    except ValueError:
        return None
    return max(0.0, (ended - begun).total_seconds())
