"""`copy_store`: copies the runs of a store to another one, and compares each attempt by a checksum.

A run appears in the target when it is whole. If the copy is interrupted, what was copied stays; the next copy compares it, and continues after
it. A run that the target has with other content is left alone, unless it is to be replaced.

Rows are copied as they are: what was taken out when they were written is not in them, and nothing else is taken out.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from calipers.errors import RunMissingError, StoreDamagedError, StoreError, ValueAwayError

from .sql_copies import COPYING, CopiedPage, SqlCopies
from .store import Store, patiently

PAGE: Final = 1000
"""Attempts of one transaction, unless the caller says otherwise."""
_TRIES: Final = 2
"""How often a page is written that does not come out as it went in."""

Became: TypeAlias = Literal["copied", "there", "running", "differs"]
"""What became of a run: copied now; there already, the same; not copied, since a process writes it, or since the target has another one."""


class RunCopy(NamedTuple):
    """What became of one run."""

    run: str
    name: str
    became: Became
    attempts: int = 0
    """How many it has."""
    written: int = 0
    """Those of them that were not there yet."""
    checksum: str | None = None
    """Of all its attempts, in order; `None` if they were not compared."""


def copy_store(
    source: Store,
    target: Store,
    *,
    runs: Sequence[str] | None = None,
    replace: bool = False,
    page: int = PAGE,
    told: Callable[[RunCopy], None] | None = None,
) -> list[RunCopy]:
    """Copy runs, with what a store has beside them: looks of gates, passports of judges, answers of models.

    Args:
        source: with the runs.
        target: where they are to be.
        runs: their ids; default: all, the oldest first.
        replace: copy a run again that the target has otherwise.
        page: attempts of one transaction.
        told: called when a run is done.

    Raises:
        StoreError: a store cannot be read or written, or is none whose rows can be copied.
        StoreDamagedError: an attempt in the source is damaged, or does not come out as it went in.
    """
    if not isinstance(source, SqlCopies) or not isinstance(target, SqlCopies):
        raise StoreError("runs can be copied between stores in SQLite and PostgreSQL")
    if source.url == target.url and source.url != "memory:":
        raise StoreError(f"the store {source.url!r} cannot be copied to itself")
    wanted = [info.id for info in reversed(source.runs())] if runs is None else list(runs)
    found: list[RunCopy] = []
    for run in wanted:
        found.append(_copied(source, target, run, replace=replace, most=page))
        if told is not None:
            told(found[-1])
    target.add_beside(source.copied_beside())
    after = b""
    while answers := source.copied_answers(after=after, most=page):
        target.add_answers(answers)
        after = answers[-1][0]
    return found


def _copied(source: SqlCopies, target: SqlCopies, run: str, *, replace: bool, most: int) -> RunCopy:
    of_run = source.copied_run(run)
    if of_run is None or of_run.row["status"] == COPYING:
        raise RunMissingError(f"the store {source.url!r} has no run {run!r}")
    said = RunCopy(run, str(of_run.row["name"]), "copied", of_run.row["attempts"])
    if of_run.is_running:
        return said._replace(became="running")
    there = target.copied_run(run)
    if there is not None and there.row["status"] != COPYING:
        if there.same(of_run):
            return said._replace(became="there")
        if not replace:
            return said._replace(became="differs")
    patiently(lambda: target.begin_copy(of_run))
    attempts, written, checksum = _copy_attempts(source, target, run, most)
    now = source.copied_run(run)
    if now is None or not now.same(of_run) or attempts != of_run.row["attempts"]:
        raise StoreError(f"run {run!r} changed while it was copied: copy it again")
    patiently(lambda: target.end_copy(of_run))
    return said._replace(attempts=attempts, written=written, checksum=checksum)


def _copy_attempts(source: SqlCopies, target: SqlCopies, run: str, most: int) -> tuple[int, int, str]:
    """Make the attempts of a run those of the source; returns how many they are, how many were written, and a checksum of all."""
    whole = hashlib.blake2b(digest_size=16)
    attempts = written = 0
    after = -1
    while (page := source.copied_page(run, after=after, most=most)).attempts:
        last = page.attempts[-1][0]
        wanted = page.checksums(run)
        for digest in wanted.values():
            whole.update(digest)
        attempts += len(wanted)
        written += _make_same(target, run, page, wanted, after=after)
        after = last
    _write(target, run, page, after=after, last=None)  # an empty one: nothing is behind it
    return attempts, written, whole.hexdigest()


def _make_same(target: SqlCopies, run: str, page: CopiedPage, wanted: dict[int, bytes], *, after: int) -> int:
    """Write a page unless it is there already, and read it back; returns how many attempts of it were not there.

    Raises:
        StoreDamagedError: it does not come out as it went in.
    """
    last = page.attempts[-1][0]
    lacking = 0
    for again in range(_TRIES + 1):
        try:
            there = target.copied_page(run, after=after, last=last, most=len(wanted) + 1)
        except ValueAwayError:  # of a value that the target had moved elsewhere, and gets anew
            there = CopiedPage([], [], {})
        differing = _differing(there, run, wanted)
        if not differing:
            return lacking
        if again == _TRIES:
            raise StoreDamagedError(
                f"run {run!r}: the attempts at the positions {differing[:5]} are not what was written into {target.url!r}"
            )
        lacking = max(lacking, len(differing))
        _write(target, run, page, after=after, last=last)
    return lacking


def _differing(page: CopiedPage, run: str, wanted: dict[int, bytes]) -> list[int]:
    """The positions at which a page is not as it should be."""
    try:
        found = page.checksums(run)
    except StoreDamagedError:
        return sorted(wanted)
    return sorted(place for place in wanted.keys() | found.keys() if wanted.get(place) != found.get(place))


def _write(target: SqlCopies, run: str, page: CopiedPage, *, after: int, last: int | None) -> None:
    patiently(lambda: target.write_page(run, page, after=after, last=last))
