"""The attempts of a store in SQL: written in batches, and read as a stream.

Reading goes page by page, each page a statement of its own that starts after the last key of the one before. So no
transaction stays open between pages, and a batch that is written meanwhile is seen whole or not at all.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from typing_extensions import override

from calipers.errors import StoreError, ValueAwayError

from .blobs import Blobs, PackedText, is_reference, reference, references, restore
from .packing import facts_of
from .redaction import redacted_attempt, redacted_cell
from .run_info import timestamp
from .sql import Row, Session, chunks, marks, safe_text, select_in
from .sql_runs import HIDDEN, not_written, of_generation, run_changed, run_number, superseded_places
from .sql_values import SqlValues
from .stored_attempt import Known, Parts, StoredAttempt, StoredCell, cells_of, read_cells, split_cells

_T = TypeVar("_T")

_PAGE = 500
"""Attempts that are read at once."""
_MOST_TEXT = 4_000_000
"""Characters of large values that are read at once."""

# The columns are the fields of the records, except for `cells`, `run` and `unread` of an attempt, and `run` and `case_name` of a cell.
_ATTEMPT_FIELDS = StoredAttempt.__struct_fields__[:-3]
_CELL_FIELDS = StoredCell.__struct_fields__[:-2]
_ATTEMPT = ", ".join(_ATTEMPT_FIELDS)
_HEAD = ", ".join(_ATTEMPT_FIELDS[:-3])
_COLUMNS: dict[Parts, str] = {True: _ATTEMPT, False: _HEAD, "given": f"{_HEAD}, given"}
_WITHOUT_TRACE = ", ".join([*_ATTEMPT_FIELDS[:-1], "NULL"])
_CELL = ", ".join(_CELL_FIELDS)


_SIZES = (
    """SELECT run, SUM(LENGTH(facts) + LENGTH(given) + LENGTH(output) + COALESCE(LENGTH(trace), 0)
        + COALESCE(LENGTH(cells), 0) + 100) FROM attempts GROUP BY run""",
    "SELECT run, SUM(LENGTH(body) + 100) FROM cells GROUP BY run",
    "SELECT run, SUM(LENGTH(body) + 100) FROM index_parts GROUP BY run",
    """SELECT u.run, SUM(LENGTH(b.body) + 100)
        FROM blob_uses u JOIN runs r ON r.no = u.run JOIN blobs b ON b.hash = u.hash
        WHERE r.place = (SELECT MAX(o.place) FROM blob_uses v JOIN runs o ON o.no = v.run WHERE v.hash = u.hash)
        GROUP BY u.run""",
)
"""The sizes of runs by their numbers, table by table; a row takes about a hundred bytes beside its texts."""


class SqlStore(SqlValues):
    """A store in an SQL database."""

    # ------------------------------------------------------------------ in

    @override
    def append(
        self,
        run: str,
        attempts: Sequence[StoredAttempt] = (),
        cells: Sequence[StoredCell] = (),
        *,
        generation: int | None = None,
    ) -> None:
        if self.redact:
            cells = [*(cell for one in attempts for cell in cells_of(one)), *cells]
            attempts = [redacted_attempt(attempt, self.redact) for attempt in attempts]
            cells = [redacted_cell(cell, self.redact) for cell in cells]
        positions = [attempt.position for attempt in attempts]
        if positions and min(positions) < 0:
            raise StoreError(f"the position of an attempt counts from 0, got {min(positions)}")
        # The last of several in one place wins.
        attempts = _last(attempts, positions)
        inside, others = split_cells(attempts, cells)
        outside = _last(others, [(cell.position, cell.evaluator) for cell in others])
        attempt_columns = _by_column(attempts, _ATTEMPT_FIELDS) | {"cells": inside}
        cell_columns = _by_column(outside, _CELL_FIELDS)
        blobs = Blobs()
        for columns, names in ((attempt_columns, ("given", "output", "trace")), (cell_columns, ("body",))):
            columns.update({name: blobs.take_all(columns[name]) for name in names})
        with self._writing() as db:
            number, any_there = _count_in(db, run, generation, attempts, positions, cells)
            if any_there:
                _count_out(db, number, _remove(db, number, positions))
            if outside:
                _replace_cells(db, number, run, attempts, outside)
            db.insert("attempts", {**attempt_columns, "run": [number] * len(attempts)})
            db.insert("cells", {**cell_columns, "run": [number] * len(outside)})
            if blobs.bodies:
                # In one order, so that two writers never wait for each other.
                hashes = sorted(blobs.bodies)
                db.insert_missing(
                    "blobs", {"hash": hashes, "body": [blobs.bodies[digest] for digest in hashes]}
                )
                db.insert_missing("blob_uses", {"run": [number] * len(hashes), "hash": hashes})
                self._put_back(db, blobs.bodies)

    @override
    def remove_attempts(self, run: str, positions: Iterable[int], *, generation: int | None = None) -> None:
        with self._writing() as db:
            number = run_changed(db, run, generation)
            _count_out(db, number, _remove(db, number, list(positions)))

    @override
    def prune(self) -> int:
        with self._writing() as db:
            removed = self._remove_unused(db)
        self._remove_objects()
        return removed

    @staticmethod
    def _remove_unused(db: Session) -> int:
        unused = "FROM blobs WHERE NOT EXISTS (SELECT 1 FROM blob_uses WHERE blob_uses.hash = blobs.hash)"
        count = int(db.run(f"SELECT COUNT(*) {unused}")[0][0])
        if count:
            db.run(f"DELETE {unused}")
        return count

    # ------------------------------------------------------------------ out

    @override
    def attempts(
        self,
        run: str,
        *,
        after: int = -1,
        name: str | None = None,
        failed: bool | None = None,
        parts: Parts = True,
    ) -> Iterator[StoredAttempt]:
        for rows in self._pages(run, after=after, name=name, failed=failed, parts=parts):
            yield from self._restored([_attempt(row, run) for row in rows])

    def _pages(
        self,
        run: str,
        *,
        after: int,
        name: str | None = None,
        failed: bool | None = None,
        parts: Parts = True,
    ) -> Iterator[list[Row]]:
        """The rows of attempts, each with the cells in it at the end."""
        with self._reading() as db:
            values: list[Any] = [run_number(db, run)]
        where = "run = ?"
        if name is not None:
            where += " AND (name = ? OR source_case_name = ?)"
            values += [safe_text(name)] * 2
        if failed is not None:
            where += " AND failed = ?"
            values.append(failed)
        sql = (
            f"SELECT {_COLUMNS[parts]}, cells FROM attempts WHERE {where} AND position > ? "  # noqa: S608
            f"ORDER BY position LIMIT {_PAGE}"
        )
        while True:
            with self._reading() as db:
                rows = db.run(sql, [*values, after])
            if rows:
                yield rows
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    @override
    def cells(self, run: str, *, evaluator: int | None = None, after: int = -1) -> Iterator[StoredCell]:
        for _, cells in self.judged(run, after=after, failed=False, parts=False):
            yield from (cell for cell in cells if evaluator is None or cell.evaluator == evaluator)

    @override
    def judged(
        self,
        run: str,
        *,
        after: int = -1,
        failed: bool | None = None,
        parts: Parts = True,
        longest_trace: int | None = None,
    ) -> Iterator[tuple[StoredAttempt, list[StoredCell]]]:
        with self._reading() as db:
            number = run_number(db, run)
            without = superseded_places(db, number)
        sql = f"SELECT {_CELL} FROM cells WHERE run = ? AND position BETWEEN ? AND ?"  # noqa: S608
        for rows in self._pages(run, after=after, failed=failed, parts=parts):
            with self._reading() as db:
                others = db.run(sql, (number, rows[0][0], rows[-1][0]))
            yield from self._with_cells(rows, others, run, without, longest_trace)

    @override
    def judged_at(
        self, run: str, positions: Sequence[int], *, traces: bool = True, longest_trace: int | None = None
    ) -> Iterator[tuple[StoredAttempt, list[StoredCell]]]:
        columns = _ATTEMPT if traces else _WITHOUT_TRACE
        for some in chunks(sorted(positions), _PAGE):
            with self._reading() as db:
                number = run_number(db, run)
                sql = f"SELECT {columns}, cells FROM attempts WHERE run = ? AND position IN"  # noqa: S608
                rows = sorted(select_in(db, sql, (number,), some), key=lambda row: row[0])
                sql = f"SELECT {_CELL} FROM cells WHERE run = ? AND position IN"  # noqa: S608
                others = select_in(db, sql, (number,), some)
                without = superseded_places(db, number)
            yield from self._with_cells(rows, others, run, without, longest_trace)

    @override
    def packed_trace(self, run: str, position: int) -> PackedText | None:
        with self._reading() as db:
            sql = "SELECT trace FROM attempts WHERE run = ? AND position = ?"
            rows = db.run(sql, (run_number(db, run), position))
            text: str | None = rows[0][0] if rows else None
            if text is None:
                return None
            found = reference(text, run)
            if found is None:
                return PackedText.of(text)
        values = self._read_values([text])
        if found.hash in values.unread:
            raise ValueAwayError(f"the trace cannot be read: {values.unread[found.hash]}")
        if found.hash not in values.bodies:
            return PackedText.of(restore(text, {}, run))  # which says what is missing
        return PackedText(values.bodies[found.hash], is_packed=True, run=run)

    def _with_cells(
        self,
        rows: Sequence[Row],
        others: Sequence[Row],
        run: str,
        without: frozenset[int],
        longest_trace: int | None = None,
    ) -> Iterator[tuple[StoredAttempt, list[StoredCell]]]:
        """Attempts with the cells in their rows and those in rows of their own, without some evaluators."""
        outside: dict[int, list[StoredCell]] = {}
        for row in others:
            outside.setdefault(row[0], []).append(_cell(row, run))
        any_large = bool(references((row[2] for row in others), run))
        attempts = [_attempt(row, run) for row in rows]
        left = {} if longest_trace is None else _long_traces(attempts, longest_trace)
        for row, attempt in zip(rows, self._restored(attempts), strict=True):
            position = attempt.position
            if position in left:
                attempt.trace = left[position]
            cells = read_cells(row[-1], position, run)
            if position in outside:
                own = outside[position]
                # One attempt at a time, since cells may be large.
                cells.update(
                    {cell.evaluator: cell for cell in (self._restored_cells(own) if any_large else own)}
                )
            for place in without:
                cells.pop(place, None)
            yield attempt, list(cells.values())

    def _restored(
        self, attempts: Sequence[StoredAttempt], *, may_lack: bool | None = None
    ) -> Iterator[StoredAttempt]:
        """The attempts with their large values, read a few at a time; `may_lack`: instead of `can_lack_values`."""
        waiting: list[StoredAttempt] = []
        size = 0
        for attempt in attempts:
            given, output, trace = attempt.given, attempt.output, attempt.trace
            if not (waiting or is_reference(given) or is_reference(output) or is_reference(trace)):
                yield attempt
                continue
            waiting.append(attempt)
            size += sum(one.length for one in references((given, output, trace), attempt.run))
            if size >= _MOST_TEXT:
                yield from self._inflated(waiting, may_lack=may_lack)
                waiting, size = [], 0
        yield from self._inflated(waiting, may_lack=may_lack)

    def _inflated(
        self, attempts: Sequence[StoredAttempt], *, may_lack: bool | None
    ) -> Iterator[StoredAttempt]:
        for attempt, bodies in self._filled(attempts, may_lack=may_lack):
            attempt.given = restore(attempt.given, bodies, attempt.run)
            attempt.output = restore(attempt.output, bodies, attempt.run)
            attempt.trace = None if attempt.trace is None else restore(attempt.trace, bodies, attempt.run)
            yield attempt

    def _restored_cells(self, cells: Sequence[StoredCell]) -> Iterator[StoredCell]:
        bodies = self._read_values(cell.body for cell in cells).bodies
        for cell in cells:
            cell.body = restore(cell.body, bodies, cell.run)
            yield cell

    @override
    def done(self, run: str) -> list[range]:
        # Position minus rank is the same for all neighbours in a range.
        sql = (
            "SELECT MIN(position), MAX(position) FROM (SELECT position, "
            "position - ROW_NUMBER() OVER (ORDER BY position) AS row FROM attempts WHERE run = ?) AS places "
            "GROUP BY row ORDER BY 1"
        )
        with self._reading() as db:
            return [range(first, last + 1) for first, last in db.run(sql, (run_number(db, run),))]

    @override
    def run_sizes(self) -> dict[str, int]:
        with self._reading() as db:
            ids: dict[int, str] = dict(db.run("SELECT no, id FROM runs WHERE status <> ?", (HIDDEN,)))
            found = dict.fromkeys(ids, 0)
            for sql in _SIZES:
                for number, size in db.run(sql):
                    if number in found:
                        found[number] += int(size)
        return {ids[number]: size for number, size in found.items()}

    @override
    def find(self, keys: Iterable[bytes], *, failed: bool = False) -> dict[bytes, Known]:
        found: dict[bytes, Known] = {}
        for some in chunks(keys):
            with self._reading() as db:
                known = find_known(db, some, failed=failed)
            attempts = self._restored([one.attempt for one in known.values()], may_lack=True)
            # What cannot be read now is not known now.
            found.update(
                {one.key: known[one.key] for one in attempts if one.key is not None and one.unread is None}
            )
        for one in found.values():
            one.cells = dict(zip(one.cells, self._restored_cells([*one.cells.values()]), strict=True))
        return found


# ---------------------------------------------------------------------- rows


def _long_traces(attempts: Iterable[StoredAttempt], longest: int) -> dict[int, str]:
    """Take the traces off that are too long, and return the references to them by position."""
    found: dict[int, str] = {}
    for attempt in attempts:
        text = attempt.trace
        if text is not None and any(one.length > longest for one in references((text,), attempt.run)):
            found[attempt.position] = text
            attempt.trace = None
    return found


def _last(items: Sequence[_T], keys: Sequence[Hashable]) -> Sequence[_T]:
    """The last item of each key."""
    return items if len(set(keys)) == len(keys) else list(dict(zip(keys, items, strict=True)).values())


def _by_column(records: Sequence[Any], names: Iterable[str]) -> dict[str, Sequence[Any]]:
    return {name: list(map(attrgetter(name), records)) for name in names}


def _count_in(
    db: Session,
    run: str,
    generation: int | None,
    attempts: Sequence[StoredAttempt],
    positions: Sequence[int],
    cells: Sequence[StoredCell],
) -> tuple[int, bool]:
    """Add a batch to the counts of the run; returns the number of the run, and whether it has attempts in the range.

    One statement for all of it: a thread that writes beside a busy run waits for the interpreter after each.
    """
    failures = sum([attempt.failed for attempt in attempts])
    where, wanted = of_generation(run, generation)
    rows = db.run(
        "UPDATE runs SET changes = changes + 1, counted = NULL, heartbeat = ?, attempts = attempts + ?, "  # noqa: S608
        f"failures = failures + ? WHERE {where} "
        "RETURNING no, (SELECT COUNT(*) FROM evaluators WHERE evaluators.run = runs.no), "
        "EXISTS (SELECT 1 FROM attempts a WHERE a.run = runs.no AND a.position BETWEEN ? AND ?)",
        (
            *(timestamp(), len(attempts), failures),
            *wanted,
            *(min(positions, default=0), max(positions, default=-1)),
        ),
    )
    if not rows:
        raise not_written(db, run)
    ((number, known, any_there),) = rows
    # Cells of evaluators that are not there would never be found.
    strange = sorted({cell.evaluator for cell in cells if not 0 <= cell.evaluator < known})
    if strange:
        raise StoreError(f"run {run!r} has {known} evaluators, and none in the places {strange[:5]}")
    return int(number), bool(any_there)


def _count_out(db: Session, number: int, removed: Mapping[int, bool]) -> None:
    """Take removed attempts out of the counts of the run."""
    if removed:
        db.run(
            "UPDATE runs SET attempts = attempts - ?, failures = failures - ? WHERE no = ?",
            (len(removed), sum(removed.values()), number),
        )


def _remove(db: Session, number: int, positions: Sequence[int]) -> dict[int, bool]:
    """Remove attempts with their cells, and return whether each that was there had failed."""
    if not positions:
        return {}
    sql = "SELECT position, failed FROM attempts WHERE run = ? AND position"
    first, last = min(positions), max(positions)
    if last - first < 4 * len(positions):
        # As a range it is the same statement for every batch, and quicker to prepare than thousands of marks.
        wanted = set(positions)
        found = [row for row in db.run(f"{sql} BETWEEN ? AND ?", (number, first, last)) if row[0] in wanted]
    else:
        found = select_in(db, f"{sql} IN", (number,), positions)
    removed = {position: bool(failed) for position, failed in found}
    for some in chunks(removed):
        for table in ("attempts", "cells"):
            db.run(f"DELETE FROM {table} WHERE run = ? AND position IN {marks(len(some))}", [number, *some])  # noqa: S608
    return removed


def _replace_cells(
    db: Session, number: int, run: str, attempts: Sequence[StoredAttempt], cells: Sequence[StoredCell]
) -> None:
    """Remove the cells that new ones replace, and refuse cells of attempts that are not stored."""
    later = {cell.position for cell in cells} - {attempt.position for attempt in attempts}
    sql = "SELECT position FROM attempts WHERE run = ? AND position IN"
    lacking = sorted(later - {row[0] for row in select_in(db, sql, (number,), later)})
    if lacking:
        raise StoreError(
            f"run {run!r} has no attempts at the positions {lacking[:5]}, for which there are cells"
        )
    again: dict[int, list[int]] = {}
    for cell in cells if later else ():
        again.setdefault(cell.evaluator, []).append(cell.position)
    for place, positions in again.items():
        for some in chunks(positions):
            db.run(
                f"DELETE FROM cells WHERE run = ? AND evaluator = ? AND position IN {marks(len(some))}",  # noqa: S608
                [number, place, *some],
            )


def _attempt(row: Row, run: str) -> StoredAttempt:
    position, name, source, repeat, failed, key, case_hash, origin, facts, *parts, _ = row
    given, output, trace = parts if len(parts) == 3 else (*(parts or ("",)), "", None)
    return StoredAttempt(
        position=position,
        name=name,
        source_case_name=source,
        repeat=repeat,
        failed=bool(failed),
        key=key,
        case_hash=case_hash,
        origin=origin,
        facts=facts,
        given=given,
        output=output,
        trace=trace,
        run=run,
    )


def _cell(row: Row, run: str) -> StoredCell:
    position, evaluator, body, origin = row
    return StoredCell(position=position, evaluator=evaluator, origin=origin, body=body, run=run)


# ---------------------------------------------------------------------- what earlier runs know

_COPIES = 5
"""How many runs that took an attempt over are asked for results."""


def find_known(db: Session, keys: Sequence[bytes], *, failed: bool) -> dict[bytes, Known]:
    """What any run knows about attempts, by key; large values are still references.

    A result holds for the very output that was judged, and two attempts of one key may have different outputs. So results
    come from the newest attempt and from its copies: those of the same origin that agree in all that an evaluator sees of
    an attempt, down to how long it took.
    """
    sql = "SELECT a.key, a.run, a.position, COALESCE(a.origin, r.id), r.id, r.place FROM attempts a JOIN runs r ON r.no = a.run"
    which = f"r.status <> '{HIDDEN}' AND " + ("" if failed else "NOT a.failed AND ")
    places = select_in(db, f"{sql} WHERE {which}a.key IN", (), keys)
    copies: dict[bytes, list[Row]] = {}
    for row in sorted(places, key=lambda row: row[5], reverse=True):
        same = copies.setdefault(bytes(row[0]), [])
        if not same or (same[0][3] == row[3] and len(same) < _COPIES):
            same.append(row)
    attempts = _attempts_at(db, [row for same in copies.values() for row in same])
    for key, same in copies.items():
        first, *others = (_judged_content(attempts[row[1:3]][0]) for row in same)
        copies[key] = [same[0], *(row for row, one in zip(same[1:], others, strict=True) if one == first)]
    cells = _identified_cells(db, attempts, [row for same in copies.values() for row in same])
    found: dict[bytes, Known] = {}
    for key, same in copies.items():
        known = Known(attempt=attempts[same[0][1:3]][0], origin=same[0][3], cells={})
        for row in same:
            for identity, cell in cells[row[1:3]]:
                cell.case_name = attempts[row[1:3]][0].case_name
                known.cells.setdefault(identity, cell)
        found[key] = known
    return found


def _judged_content(attempt: StoredAttempt) -> tuple[Any, ...]:
    """What evaluators see of an attempt; large values by reference, which is the hash of their content."""
    facts = facts_of(attempt)
    return attempt.output, attempt.trace, facts.task_duration, facts.metrics, facts.tries


def _by_run(rows: Sequence[Row]) -> dict[tuple[int, str], list[int]]:
    """Positions by the number and the id of their run."""
    found: dict[tuple[int, str], list[int]] = {}
    for _, number, position, _, run, _ in rows:
        found.setdefault((number, run), []).append(position)
    return found


def _attempts_at(db: Session, rows: Sequence[Row]) -> dict[Row, tuple[StoredAttempt, str | None]]:
    """Attempts with the cells in their rows, by the number of their run and their position."""
    sql = f"SELECT {_ATTEMPT}, cells FROM attempts WHERE run = ? AND position IN"  # noqa: S608
    return {
        (number, row[0]): (_attempt(row, run), row[-1])
        for (number, run), positions in _by_run(rows).items()
        for row in select_in(db, sql, (number,), positions)
    }


def _identified_cells(
    db: Session, attempts: Mapping[Row, tuple[StoredAttempt, str | None]], rows: Sequence[Row]
) -> dict[Row, list[tuple[str, StoredCell]]]:
    """The cells whose evaluator has an identity, by the number of their run and their position."""
    found: dict[Row, list[tuple[str, StoredCell]]] = {}
    for (number, run), positions in _by_run(rows).items():
        sql = "SELECT place, identity FROM evaluators WHERE run = ? AND identity IS NOT NULL"
        identities: dict[int, str] = dict(db.run(sql, (number,)))
        cells = {position: read_cells(attempts[number, position][1], position, run) for position in positions}
        sql = f"SELECT {_CELL} FROM cells WHERE run = ? AND position IN"  # noqa: S608
        for row in select_in(db, sql, (number,), positions):
            cells[row[0]][row[1]] = _cell(row, run)
        for position, by_place in cells.items():
            found[number, position] = [
                (identities[place], cell) for place, cell in by_place.items() if place in identities
            ]
    return found
