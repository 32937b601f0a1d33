"""What `calipers runs` does: the runs of a store as a table, or as JSON."""

import json as json_module
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click
from rich.console import Console

from calipers.cli.exits import PASSED
from calipers.cli.message import note
from calipers.cli.output import printing
from calipers.cli.stored_runs import note_settings, open_kept, shown_store, state
from calipers.data.jsonable import plain
from calipers.errors import StoreError, StoreUnavailableError
from calipers.report.summary import Totals
from calipers.stats.number_text import rate_text
from calipers.stores.run_info import RunInfo, Status
from calipers.stores.store import Store
from calipers.viewer.run_filter import RunFilter
from calipers.viewer.run_rows import run_row
from calipers.views.grid import Cell, Column, grid
from calipers.views.page import Page

_COLUMNS = (
    Column("Run", rank=0),
    Column("Begun", rank=5),
    Column("Name", least=16, rank=2),
    Column("Dataset", least=8, rank=2),
    Column("State", rank=1),
    Column("Cases", align="right", rank=3),
    Column("Passed", align="right", rank=2),
    Column("[95 % interval]", rank=4),
)
_STYLES = {
    "finished": "green",
    "running": "cyan",
    "interrupted": "yellow",
    "failed": "red",
    "abandoned": "yellow",
    "damaged": "red",
}
_BEGINNINGS = tuple(map(len, ("20261116-180944", "20261116-180944039")))
"""Characters of an id up to the second, and to the millisecond, in which the run began."""
_LONGEST = 60
"""Cells that a name may have."""


def show_runs(
    *,
    store: str | None = None,
    name: str | None = None,
    dataset: str | None = None,
    status: str | None = None,
    filter: Sequence[str] = (),  # noqa: A002 - the option is called so
    limit: int = 20,
    json: bool = False,
) -> int:
    """Print the runs of a store; returns the exit code."""
    filters = [RunFilter.read(text) for text in filter]
    with open_kept(store) as opened:
        found = _matching(opened, name=name, dataset=dataset, status=status)
        if filters:
            found = _filtered(opened, found, filters)
        some = found[:limit] if limit else found
        counted = [(info, _totals(opened, info)) for info in some]
        if json:
            click.echo(json_module.dumps([_data(*run) for run in counted], indent=2, allow_nan=False))
        elif some:
            short = _short_ids([info.id for info in opened.runs()])
            _print([(info, short[info.id], totals) for info, totals in counted])
        for info in some:
            if info.damaged is not None:
                note(info.damaged)
        if not found:
            told = " of that kind" if name or dataset or status or filters else ""
            note(f"The store {shown_store(opened)!r} has no runs{told}")
        elif len(some) < len(found) and not json:
            note(f"and {len(found) - len(some):,} older ones: --limit 0 lists all")
    note_settings()
    return PASSED


def _matching(store: Store, *, name: str | None, dataset: str | None, status: str | None) -> list[RunInfo]:
    """The runs that are asked for, newest first."""
    kept: Any = "running" if status == "abandoned" else status
    known: Status | None = kept
    found = store.runs(name=name, dataset_name=dataset, status=known)
    return [info for info in found if status is None or state(info) == status]


def _filtered(store: Store, runs: Sequence[RunInfo], filters: Sequence[RunFilter]) -> list[RunInfo]:
    """Those that meet all filters."""
    looks = {look.run: look for look in store.looks()}
    rows = ((info, run_row(info, totals=_totals(store, info), look=looks.get(info.id))) for info in runs)
    return [info for info, row in rows if all(each.matches(row) for each in filters)]


def _totals(store: Store, info: RunInfo) -> Totals | None:
    """What all attempts of a run say together; `None` if it cannot be read, which is noted with it."""
    if info.damaged is not None:
        return None
    try:
        return store.totals(info.id)
    except StoreUnavailableError:
        raise
    except StoreError as error:  # one run, and no reason to hide the others
        info.damaged = str(error)
        return None


def _short_ids(ids: Sequence[str]) -> dict[str, str]:
    """The beginning of each id that belongs to one run, and so names it: up to the second or the millisecond, else all."""
    counts = Counter(run[:length] for run in ids for length in _BEGINNINGS)
    return {
        run: next((run[:length] for length in _BEGINNINGS if counts[run[:length]] == 1), run) for run in ids
    }


def _row(page: Page, info: RunInfo, short: str, totals: Totals | None) -> list[Cell]:
    word = state(info)
    rate = None if totals is None else totals.pass_rate
    value, ends = ("", "") if rate is None else rate_text(rate.value, rate.interval)
    return [
        (page.fit(short, _LONGEST), "bold"),
        page.fit(_local(info.started_at), _LONGEST),
        page.fit(info.name, _LONGEST),
        page.fit(info.dataset_name or "", _LONGEST),
        (word if info.shard is None else f"{word}, shard {info.shard}", _STYLES[word]),
        "" if totals is None else _cases(info, totals),
        value,
        ends,
    ]


def _cases(info: RunInfo, totals: Totals) -> str:
    """How many there are; of a run that is not complete, how far it came."""
    if info.total is not None and info.attempts != info.total:
        return f"{info.attempts:,}/{info.total:,}{' attempts' if info.repeat > 1 else ''}"
    cases, attempts = totals.counts.cases, totals.counts.attempts
    if info.repeat == 1:
        return f"{cases:,}"
    # The tests of a pytest session may each repeat their cases as they like.
    return (
        f"{cases:,} x {info.repeat}"
        if attempts == cases * info.repeat
        else f"{cases:,}, {attempts:,} attempts"
    )


def _local(moment: str) -> str:
    """A moment by the clock on the wall; ids are in UTC."""
    try:
        return f"{datetime.fromisoformat(moment).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:  # of a report that was made elsewhere
        return moment[:16]


def _data(info: RunInfo, totals: Totals | None) -> dict[str, Any]:
    """What a program may want to know of a run."""
    told: dict[str, Any] = plain(info)
    left_out = ("ending", "totals", "owner", "evaluators", "parameters", "heartbeat")
    return {
        **{key: value for key, value in told.items() if key not in left_out},
        "status": state(info),
        "shard": info.shard,
        "evaluators": info.columns,
        "cases": None if totals is None else totals.counts.cases,
        "passed": None if totals is None else totals.counts.passed,
        "pass_rate": None if totals is None else plain(totals.pass_rate),
    }


def _print(runs: Sequence[tuple[RunInfo, str, Totals | None]]) -> None:
    console = Console()
    page = Page(console.width, console.encoding)
    with printing():
        for line in grid(page, _COLUMNS, [_row(page, *run) for run in runs]):
            if console.is_terminal:
                console.print(line)
            else:
                click.echo(line.plain.rstrip())
