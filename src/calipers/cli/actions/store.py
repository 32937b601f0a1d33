"""What `calipers store` does: copy runs to another store, move large values out of one, and say what became of them."""

import json as json_module
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import click

from calipers.cli.exits import ERRORED, PASSED
from calipers.cli.message import note, shown
from calipers.cli.quantities import age_in, bytes_in, size_text
from calipers.cli.stored_runs import find_run, open_kept, open_or_make, shown_store
from calipers.errors import InvalidOptionError
from calipers.stats.number_text import plural
from calipers.stores.offloading import LEAST, Moved, bring_back_values, offload_values
from calipers.stores.sql_values import SqlValues
from calipers.stores.store import Store
from calipers.stores.store_copy import RunCopy, copy_store

_WHY: Final = {
    "running": "is being written: copy it when it has ended",
    "differs": "is there with other content: --replace copies it again",
}


def copy_runs(
    *, source: str, target: str, run: Sequence[str], name: str | None, replace: bool, json: bool
) -> int:
    """Copy runs; returns the exit code."""
    if run and name is not None:
        raise InvalidOptionError("--run names the runs to copy: give no --name beside it")
    with open_kept(source) as here, open_or_make(target) as there:
        wanted = _wanted(here, run, name)
        done = copy_store(here, there, runs=wanted, replace=replace, told=None if json else _tell)
        where = shown_store(there)
    if json:
        told = [
            {
                "run": each.run,
                "name": each.name,
                "became": each.became,
                "attempts": each.attempts,
                "checksum": each.checksum,
            }
            for each in done
        ]
        click.echo(json_module.dumps(told, indent=2))
    copied = [each for each in done if each.became == "copied"]
    same = sum(each.became == "there" for each in done)
    also = f"; {plural(same, 'run')} {'was' if same == 1 else 'were'} there already" if same else ""
    attempts = plural(sum(each.attempts for each in copied), "attempt")
    note(f"Copied {plural(len(copied), 'run')} with {attempts} to {where}, and compared them{also}")
    return ERRORED if any(each.became in _WHY for each in done) else PASSED


def _wanted(store: Store, run: Sequence[str], name: str | None) -> list[str]:
    """The runs to copy, the oldest first."""
    if run:
        return list({find_run(store, each).id: None for each in run})
    return [info.id for info in reversed(store.runs(name=name)) if info.damaged is None]


def _tell(copy: RunCopy) -> None:
    if copy.became in _WHY:
        note(f"Not copied: {copy.run} {_WHY[copy.became]}")
    elif copy.became == "copied":
        click.echo(
            shown(f"{copy.run}  {plural(copy.attempts, 'attempt')}, checksum {copy.checksum}  {copy.name}")
        )


def offload(
    *, store: str | None, to: str | None, older_than: str | None, min_size: str | None, back: bool
) -> int:
    """Move large values out of a store, or back, or say where they are; returns the exit code."""
    if back and (to is not None or older_than is not None or min_size is not None):
        raise InvalidOptionError("--back brings all values back: give no other option beside --store")
    if to is None and (older_than is not None or min_size is not None):
        raise InvalidOptionError("--to needs a place to move the values to")
    age = timedelta(0) if older_than is None else age_in("--older-than", older_than)
    least = LEAST if min_size is None else max(1, bytes_in("--min-size", min_size))
    with open_kept(store) as opened:
        if to is None and not back:
            _tell_places(opened)
            return PASSED
        before = opened.size()
        if back:
            moved = bring_back_values(opened)
        else:
            moved = offload_values(opened, to or "", older_than=age, min_size=least)
        if moved.values:
            opened.prune()
        after = opened.size()
        note(f"{_told(moved, back=back)} {shown_store(opened)}{_room(before, after)}")
    return PASSED


def _told(moved: Moved, *, back: bool) -> str:
    if not moved.values:
        return "There is nothing to bring back to" if back else "There is nothing to move out of"
    values = f"{plural(moved.values, 'large value')} ({size_text(moved.size)})"
    return f"Brought {values} back to" if back else f"Moved {values} out of"


def _room(before: int | None, after: int | None) -> str:
    return (
        ""
        if before is None or after is None
        else f", which took {size_text(before)} and takes {size_text(after)}"
    )


def _tell_places(store: Store) -> None:
    places = store.places() if isinstance(store, SqlValues) else []
    for place in places:
        click.echo(shown(f"{plural(place.values, 'large value')}  {size_text(place.size)}  {place.address}"))
    if not places:
        note(f"All large values are in {shown_store(store)}; --to says where to move old ones")
