"""Moving old large values out of a store, to a folder or a bucket, and bringing them back.

Inputs, outputs and traces are moved; results of evaluators stay, so that whatever counts them needs nothing else. A value is moved only
if all runs that have it are old enough. Every value is read back from there, and compared, before it leaves the store. What is killed on
the way can be repeated, and several processes may do it at the same time: `calipers.stores.sql_values` says why.
"""

import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from calipers.data.argument_checks import check_whole_number
from calipers.errors import StoreError

from .run_info import RunInfo
from .sql_values import SqlValues
from .store import Store, patiently
from .value_place import ValuePlace, place_address

LEAST: Final = 64_000
"""Bytes, compressed, from which on a value is worth an object of its own."""
_MOST_VALUES: Final = 256
"""Values that are moved together."""
_MOST_BYTES: Final = 16_000_000
"""Bytes that are moved together."""


class Moved(NamedTuple):
    """What was moved."""

    values: int
    size: int
    """In bytes, compressed."""


def offload_values(
    store: Store,
    to: str | os.PathLike[str],
    *,
    older_than: timedelta = timedelta(0),
    min_size: int = LEAST,
    told: Callable[[Moved], None] | None = None,
) -> Moved:
    """Move large values to a folder or a bucket. They are read from there whenever they are asked for.

    Args:
        store: with the values.
        to: a folder, or the address of a bucket that fsspec knows, such as `s3://bucket/folder`. It is kept in the store, so it
            holds no password: credentials come from the environment.
        older_than: only values of runs that all began longer ago.
        min_size: only values that take so many bytes in the store, where they are compressed.
        told: called with what was moved so far.

    Raises:
        InvalidOptionError: `to` is no such place, or `min_size` no number of bytes.
        StoreError: something cannot be read or written. What was moved by then is moved.
        MissingExtraError: a bucket, and fsspec is not installed.
    """
    check_whole_number("min_size", min_size, at_least=1)
    kept = _with_values(store)
    address = place_address(to)
    place = ValuePlace(address)
    before = datetime.now(UTC) - older_than
    old = [info.id for info in kept.runs() if info.damaged is None and _is_old(info, before)]
    random.shuffle(old)  # so that two processes rarely do the same
    of_results = kept.values_of_results()
    moved = Moved(0, 0)
    for run in old:
        for hashes in _batches(kept, run, set(old), of_results, min_size):
            objects = patiently(lambda hashes=hashes: kept.begin_move(hashes, address))  # type: ignore[misc]
            place.put({name: body for name, (_, body) in objects.items()})
            done = patiently(
                lambda objects=objects: kept.end_move({name: one[0] for name, one in objects.items()})  # type: ignore[misc]
            )
            moved = Moved(moved.values + len(done), moved.size + sum(len(objects[name][1]) for name in done))
            if told is not None and done:
                told(moved)
    return moved


def bring_back_values(
    store: Store,
    *,
    source: str | os.PathLike[str] | None = None,
    told: Callable[[Moved], None] | None = None,
) -> Moved:
    """Bring large values back into the store; `prune` then removes the objects that are not needed any more.

    Args:
        store: that they were moved out of.
        source: only those of this place; default: all.
        told: called with what was brought back so far.

    Raises:
        StoreError: some could not be read. All others are back.
    """
    kept = _with_values(store)
    address = None if source is None else place_address(source)
    back = Moved(0, 0)
    failed: dict[bytes, str] = {}
    after = b""
    while listed := kept.moved_from(address, after=after, most=_MOST_VALUES):
        after = listed[-1][0]
        for hashes in _by_size(listed):
            found, size, unread = patiently(lambda hashes=hashes: kept.bring_back(hashes))  # type: ignore[misc]
            failed.update(unread)
            back = Moved(back.values + found, back.size + size)
            if told is not None:
                told(back)
    if failed:
        digest, why = next(iter(failed.items()))
        raise StoreError(
            f"{len(failed)} large values could not be brought back, of which {digest.hex()[:8]}: {why}; {back.values} are back"
        )
    return back


def _with_values(store: Store) -> SqlValues:
    if not isinstance(store, SqlValues):
        raise StoreError("large values can be moved out of stores in SQLite and PostgreSQL")
    return store


def _is_old(info: RunInfo, before: datetime) -> bool:
    """Whether a run is over, and began before a moment; where that is unknown, it is not old."""
    if info.status == "running" and not info.is_abandoned():
        return False
    try:
        began = datetime.fromisoformat(info.started_at)
    except ValueError:
        return False
    return (began if began.tzinfo is not None else began.replace(tzinfo=UTC)) <= before


def _batches(
    store: SqlValues, run: str, old: set[str], of_results: set[bytes], least: int
) -> Iterator[Sequence[bytes]]:
    """Values of a run that are to be moved, some at a time."""
    after = b""
    while listed := store.values_of(run, least=least, after=after, most=_MOST_VALUES):
        after = listed[-1][0]
        users = store.users_of([digest for digest, _ in listed])
        yield from _by_size(
            each for each in listed if each[0] not in of_results and users.get(each[0], {""}) <= old
        )


def _by_size(listed: Iterable[tuple[bytes, int]]) -> Iterator[Sequence[bytes]]:
    """Values, so many at a time as memory holds easily."""
    batch: list[bytes] = []
    total = 0
    for digest, size in listed:
        if batch and total + size > _MOST_BYTES:
            yield batch
            batch, total = [], 0
        batch.append(digest)
        total += size
    if batch:
        yield batch
