"""A run as a row of a list, which every page that names runs shows."""

from datetime import UTC, datetime
from typing import Any

from calipers.gate.looks import Look
from calipers.report.cost import Cost
from calipers.report.summary import Totals
from calipers.stats.number_text import dollars
from calipers.stores.run_info import RunInfo

from .wire import GateState, Money, RunRow, RunState


def run_row(info: RunInfo, *, totals: Totals | None = None, look: Look | None = None) -> RunRow:
    """A run as a row.

    Args:
        info: the run.
        totals: what was counted of it; default: what is kept with it.
        look: the last verdict of a gate on it.
    """
    totals = totals or info.totals
    ending = info.ending or {}
    incomplete = ending.get("incomplete")  # a text in earlier releases
    return RunRow(
        id=info.id,
        name=info.name,
        dataset=info.dataset_name,
        state=state_of(info),
        started_at=info.started_at,
        ended_at=info.ended_at,
        seconds=_seconds(info, ending.get("duration")),
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
        gate=_gate(info, look),
        incomplete=incomplete.get("reason") if isinstance(incomplete, dict) else incomplete,
        shard=info.shard,
        damaged=info.damaged,
    )


def _seconds(info: RunInfo, duration: object) -> float | None:
    """How long a run took as its report says; of one without a report, until it ended or gave its last sign of life."""
    if isinstance(duration, float | int):
        return float(duration)
    last = info.heartbeat if info.is_abandoned() else None
    return seconds_of(info.started_at, info.ended_at or last)


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


def _gate(info: RunInfo, look: Look | None) -> GateState | None:
    """What a gate made of a run: `calipers gate` afterwards, else the rule that could end it early."""
    if look is not None and look.attempts >= info.attempts:
        return GateState(policy="calipers gate", outcome=look.outcome, decided=True)
    stopping: Any = (info.ending or {}).get("stopping")
    if isinstance(stopping, dict):
        outcome = stopping.get("outcome")
        return GateState(policy="stop_when", outcome=outcome or "undecided", decided=outcome is not None)
    if info.status == "running" and info.parameters.get("stop_when"):
        return GateState(policy="stop_when", outcome="undecided", decided=False)
    return None


def seconds_of(started_at: str, ended_at: str | None) -> float | None:
    """How long a run took, or has taken; `None` if it is not known when it began."""
    try:
        begun = datetime.fromisoformat(started_at)
        ended = datetime.now(UTC) if ended_at is None else datetime.fromisoformat(ended_at)
    except ValueError:
        return None
    return max(0.0, (ended - begun).total_seconds())
