"""What any run of a store in SQL knows about an attempt, so that a later run need not make it again.

A cell holds for the very output that was judged. Two runs may have made the attempt of one key each, with different
outputs; a run may have made it twice, for two cases of the same content; and a run that was resumed may have made it
anew after another one had taken the first over. Cells are taken from the newest attempt and from its copies: those of
the same origin that also say the same of everything an evaluator sees of an attempt, down to how long it took.
"""

from collections.abc import Sequence
from typing import Any

from .packing import facts_of
from .records import Known, StoredAttempt, StoredCell, read_cells
from .sql import Row, Session, select_in

_COPIES = 5
"""Of how many runs that took an attempt over, the cells are looked at."""

_HEAD = "a.position, a.name, a.source_case_name, a.repeat, a.failed, a.key, a.case_hash, a.origin, a.facts"


def find_known(db: Session, keys: Sequence[bytes], *, failed: bool) -> dict[bytes, Known]:
    """What is known by key; large values are still references."""
    sql = "SELECT a.key, a.run, a.position, COALESCE(a.origin, r.id), r.id, r.place FROM attempts a JOIN runs r ON r.no = a.run"
    which = "" if failed else "NOT a.failed AND "
    places = select_in(db, f"{sql} WHERE {which}a.key IN", (), keys)
    copies: dict[bytes, list[Row]] = {}
    for row in sorted(places, key=lambda row: row[5], reverse=True):
        same = copies.setdefault(bytes(row[0]), [])
        if not same or (same[0][3] == row[3] and len(same) < _COPIES):
            same.append(row)
    attempts = _attempts(db, [row for same in copies.values() for row in same])
    for key, same in copies.items():
        first, *others = (_content(attempts[row[1:3]]) for row in same)
        copies[key] = [same[0], *(row for row, one in zip(same[1:], others, strict=True) if one == first)]
    cells = _cells(db, [row for same in copies.values() for row in same])
    found: dict[bytes, Known] = {}
    for key, same in copies.items():
        known = Known(attempt=attempts[same[0][1:3]], origin=same[0][3], cells={})
        for row in same:
            for identity, cell in cells.get(row[1:3], ()):
                cell.case_name = attempts[row[1:3]].case_name
                known.cells.setdefault(identity, cell)
        found[key] = known
    return found


def _content(attempt: StoredAttempt) -> tuple[Any, ...]:
    """What evaluators see of an attempt; large values by reference, which is the hash of their content."""
    facts = facts_of(attempt)
    return attempt.output, attempt.trace, facts.task_duration, facts.metrics, facts.tries


def _by_run(rows: Sequence[Row]) -> dict[tuple[int, str], list[int]]:
    """Positions by the number and the id of their run."""
    found: dict[tuple[int, str], list[int]] = {}
    for _, number, position, _, run, _ in rows:
        found.setdefault((number, run), []).append(position)
    return found


def _attempts(db: Session, rows: Sequence[Row]) -> dict[Row, StoredAttempt]:
    sql = f"SELECT {_HEAD}, a.given, a.output, a.trace FROM attempts a WHERE a.run = ? AND a.position IN"  # noqa: S608
    return {
        (number, row[0]): StoredAttempt(
            position=row[0],
            name=row[1],
            source_case_name=row[2],
            repeat=row[3],
            failed=bool(row[4]),
            key=row[5],
            case_hash=row[6],
            origin=row[7],
            facts=row[8],
            given=row[9],
            output=row[10],
            trace=row[11],
            run=run,
        )
        for (number, run), positions in _by_run(rows).items()
        for row in select_in(db, sql, (number,), positions)
    }


def _cells(db: Session, rows: Sequence[Row]) -> dict[Row, list[tuple[str, StoredCell]]]:
    """The cells that have an identity, by the number of their run and their position."""
    found: dict[Row, dict[int, StoredCell]] = {}
    identities: dict[int, dict[int, str]] = {}
    for (number, run), positions in _by_run(rows).items():
        sql = "SELECT place, identity FROM evaluators WHERE run = ? AND identity IS NOT NULL"
        identities[number] = dict(db.run(sql, (number,)))
        sql = "SELECT position, cells FROM attempts WHERE run = ? AND position IN"
        for position, text in select_in(db, sql, (number,), positions):
            found[number, position] = read_cells(text, position, run)
        sql = "SELECT position, evaluator, body, origin FROM cells WHERE run = ? AND position IN"
        for position, place, body, origin in select_in(db, sql, (number,), positions):
            cell = StoredCell(position=position, evaluator=place, body=body, origin=origin, run=run)
            found[number, position][place] = cell
    return {
        (number, position): [
            (identities[number][place], cell) for place, cell in cells.items() if place in identities[number]
        ]
        for (number, position), cells in found.items()
    }
