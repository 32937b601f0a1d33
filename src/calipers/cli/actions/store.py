"""What `calipers store` does: copy runs from one store to another, and say what became of each."""

import json as json_module
from collections.abc import Sequence
from typing import Final

import click

from calipers.cli.exits import ERRORED, PASSED
from calipers.cli.message import note, shown
from calipers.cli.stored_runs import find_run, open_kept, open_or_make, shown_store
from calipers.errors import InvalidOptionError
from calipers.stats.number_text import plural
from calipers.stores.store import Store
from calipers.stores.store_copy import RunCopy, copy_store

_WHY: Final = {
    "running": "is being written: copy it when it is over",
    "differs": "is there, and says something else: --replace copies it again",
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
