"""What a store in SQL needs so that its runs can be copied to another one, and copies taken in: rows as they are, page by page.

A run that is being copied has the status `copying`. Until it is whole, no other method of the store finds it.
"""

import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec
from typing_extensions import override

from calipers.errors import StoreDamagedError, StoreError, ValueAwayError

from .blobs import is_reference, references
from .run_info import Owner, RunInfo, this_process, timestamp
from .sql import Row, Session, safe_text
from .sql_runs import HIDDEN, remove_run, to_json, unknown
from .sql_store import SqlStore

COPYING: Final = HIDDEN
_FORGOTTEN_SECONDS: Final = 7 * 86400.0
"""A copy that was not continued for this long is removed when the store is pruned."""
_RUN: Final = (
    *("id", "place", "name", "dataset_name", "status", "ended_at", "owner", "heartbeat"),
    *("attempts", "failures", "changes", "info", "ending", "generation", "spent"),
)
_ATTEMPT: Final = (
    *("position", "name", "source_case_name", "repeat", "failed", "key", "case_hash", "origin"),
    *("facts", "cells", "given", "output", "trace"),
)
_CELL: Final = ("position", "evaluator", "origin", "body")
_EVALUATOR: Final = ("place", "identity", "body")
_LABEL: Final = ("position", "question", "person", "body")
_BESIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "looks": ("question", "body"),
    "passports": ("identity", "at", "body"),
}
"""What a store has beside its runs, by table."""
_ANSWER: Final = ("key", "at", "answer")


class CopiedRun(NamedTuple):
    """A run without its attempts, as rows."""

    row: dict[str, Any]
    evaluators: list[Row]
    labels: list[Row]

    @property
    def id(self) -> str:
        """Its id."""
        return str(self.row["id"])

    @property
    def is_running(self) -> bool:
        """Whether a process writes it."""
        if self.row["status"] != "running":
            return False
        owner = None if self.row["owner"] is None else msgspec.json.decode(self.row["owner"], type=Owner)
        return not RunInfo(name="", owner=owner, heartbeat=self.row["heartbeat"]).is_abandoned()

    def same(self, other: "CopiedRun") -> bool:
        """Whether the other one has had the same changes, and says the same."""
        left_out = {"heartbeat", "owner", "place"}
        rows = [
            {name: value for name, value in one.row.items() if name not in left_out} for one in (self, other)
        ]
        return rows[0] == rows[1] and (self.evaluators, self.labels) == (other.evaluators, other.labels)


class CopiedPage(NamedTuple):
    """Some attempts of a run with all cells of theirs, as rows, and the large values that they refer to."""

    attempts: list[Row]
    cells: list[Row]
    blobs: dict[bytes, bytes]

    def checksums(self, run: str) -> dict[int, bytes]:
        """A checksum of each attempt, with its cells and its large values, by position.

        Raises:
            StoreDamagedError: a large value is not there, or not what it was.
        """
        values = {digest: _checked(digest, self.blobs, run) for digest in self._hashes(run)}
        cells: dict[int, list[Row]] = {}
        for row in self.cells:
            cells.setdefault(row[0], []).append(row)
        found: dict[int, bytes] = {}
        for row in self.attempts:
            digest = hashlib.blake2b(digest_size=16)
            own = [row, *sorted(cells.get(row[0], ()), key=lambda cell: cell[1])]
            digest.update(msgspec.msgpack.encode(own))
            for one in references((value for each in own for value in each if isinstance(value, str)), run):
                digest.update(values[one.hash])
            found[row[0]] = digest.digest()
        return found

    def _hashes(self, run: str) -> set[bytes]:
        texts = (value for row in (*self.attempts, *self.cells) for value in row if isinstance(value, str))
        return {one.hash for one in references(texts, run)}


def _checked(digest: bytes, bodies: Mapping[bytes, bytes], run: str) -> bytes:
    """The hash of a large value, made anew."""
    try:
        found = hashlib.blake2b(zlib.decompress(bodies[digest]), digest_size=16).digest()
    except (KeyError, zlib.error):
        found = b""
    if found != digest:
        raise StoreDamagedError(
            f"run {run!r} in the store is damaged: the value {digest.hex()} is not what was written"
        )
    return found


class SqlCopies(SqlStore):
    """A store in SQL whose runs can be copied."""

    # ------------------------------------------------------------------ out

    def copied_run(self, run: str) -> CopiedRun | None:
        """A run as rows, also one that is still being copied here; `None` if there is none of that id."""
        with self._reading() as db:
            return _run(db, run)

    def copied_page(self, run: str, *, after: int, last: int | None = None, most: int) -> CopiedPage:
        """The attempts of a run behind a position, up to another one or at most so many."""
        with self._reading() as db:
            number = _number(db, run)
            until, values = ("", []) if last is None else (" AND position <= ?", [last])
            attempts = db.run(
                f"SELECT {', '.join(_ATTEMPT)} FROM attempts WHERE run = ? AND position > ?{until} "  # noqa: S608 - our own words
                f"ORDER BY position LIMIT {most}",
                [number, after, *values],
            )
            attempts = [_plain_attempt(row) for row in attempts]
            if not attempts:
                return CopiedPage([], [], {})
            cells = db.run(
                f"SELECT {', '.join(_CELL)} FROM cells WHERE run = ? AND position BETWEEN ? AND ?",  # noqa: S608
                (number, attempts[0][0], attempts[-1][0]),
            )
            texts = (value for row in (*attempts, *cells) for value in row if isinstance(value, str))
            large = [text for text in texts if is_reference(text)]
        found = self._read_values(large)  # what was moved elsewhere comes along
        for digest, why in found.unread.items():
            raise ValueAwayError(f"run {run!r} cannot be copied: large value {digest.hex()[:8]}: {why}")
        return CopiedPage(attempts, cells, found.bodies)

    def copied_beside(self) -> dict[str, list[Row]]:
        """What the store has beside its runs, by table: looks of gates, and passports of judges."""
        with self._reading() as db:
            return {
                table: db.run(f"SELECT {', '.join(names)} FROM {table} ORDER BY no")  # noqa: S608
                for table, names in _BESIDE.items()
            }

    def copied_answers(self, *, after: bytes, most: int) -> list[Row]:
        """Answers of models, in the order of their keys, behind one of them."""
        sql = f"SELECT {', '.join(_ANSWER)} FROM model_answers WHERE key > ? ORDER BY key LIMIT {most}"  # noqa: S608
        with self._reading() as db:
            return [_plain(row) for row in db.run(sql, (after,))]

    # ------------------------------------------------------------------ in

    def begin_copy(self, run: CopiedRun) -> None:
        """Begin to take a run in, or go on with it; a run of its id is hidden until it is like that one.

        Raises:
            StoreError: another process takes it in.
        """
        with self._writing() as db:
            there = _run(db, run.id)
            if there is not None and there.row["status"] == COPYING and _is_under_way(there):
                raise StoreError(
                    f"run {run.id!r} is being copied into {self.url!r} by another process: wait for its end"
                )
            row = {
                **run.row,
                "status": COPYING,
                "owner": to_json(this_process()),
                "heartbeat": timestamp(),
                "attempts": 0,
                "failures": 0,
                "ending": None,
            }
            if there is None:
                db.insert("runs", {name: [value] for name, value in row.items()})
            else:
                _update(db, run.id, row)

    def write_page(self, run: str, page: CopiedPage, *, after: int, last: int | None) -> None:
        """Put attempts of a run in the place of those between two positions, all or nothing."""
        with self._writing() as db:
            number = _number(db, run)
            until, values = ("", []) if last is None else (" AND position <= ?", [last])
            for table in ("attempts", "cells"):
                db.run(f"DELETE FROM {table} WHERE run = ? AND position > ?{until}", [number, after, *values])  # noqa: S608
            for table, names, rows in (("attempts", _ATTEMPT, page.attempts), ("cells", _CELL, page.cells)):
                db.insert(table, {**_columns(names, rows), "run": [number] * len(rows)})
            if page.blobs:
                hashes = sorted(page.blobs)  # in one order, so that two writers never wait for each other
                db.insert_missing("blobs", {"hash": hashes, "body": [page.blobs[each] for each in hashes]})
                db.insert_missing("blob_uses", {"run": [number] * len(hashes), "hash": hashes})
                self._put_back(db, page.blobs)
            _update(db, run, {"heartbeat": timestamp()})

    def end_copy(self, run: CopiedRun) -> None:
        """Show a run that has been taken in."""
        with self._writing() as db:
            number = _number(db, run.id)
            for table, names, rows in (
                ("evaluators", _EVALUATOR, run.evaluators),
                ("labels", _LABEL, run.labels),
            ):
                db.run(f"DELETE FROM {table} WHERE run = ?", (number,))  # noqa: S608
                db.insert(table, {**_columns(names, rows), "run": [number] * len(rows)})
            db.run("DELETE FROM index_parts WHERE run = ?", (number,))
            _update(db, run.id, {**run.row, "counted": None})

    def add_beside(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """Take in what another store has beside its runs, where it is not here yet."""
        there = self.copied_beside()
        with self._writing() as db:
            for table, names in _BESIDE.items():
                known = set(there[table])
                db.insert(table, _columns(names, [row for row in rows[table] if row not in known]))

    def add_answers(self, rows: Sequence[Row]) -> None:
        """Take in answers of models that are not here yet."""
        with self._writing() as db:
            db.insert_missing("model_answers", _columns(_ANSWER, rows))

    @staticmethod
    @override
    def _remove_unused(db: Session) -> int:
        now = datetime.now(UTC)
        for number, heartbeat in db.run("SELECT no, heartbeat FROM runs WHERE status = ?", (COPYING,)):
            if (now - datetime.fromisoformat(heartbeat)).total_seconds() > _FORGOTTEN_SECONDS:
                remove_run(db, number)
        return SqlStore._remove_unused(db)  # noqa: SLF001 - what it adds to


def _run(db: Session, run: str) -> CopiedRun | None:
    rows = db.run(f"SELECT no, {', '.join(_RUN)} FROM runs WHERE id = ?", (safe_text(run),))  # noqa: S608
    if not rows:
        return None
    number, *values = rows[0]
    evaluators = db.run(
        f"SELECT {', '.join(_EVALUATOR)} FROM evaluators WHERE run = ? ORDER BY place",  # noqa: S608
        (number,),
    )
    labels = db.run(
        f"SELECT {', '.join(_LABEL)} FROM labels WHERE run = ? ORDER BY position, question, person",  # noqa: S608
        (number,),
    )
    return CopiedRun(dict(zip(_RUN, values, strict=True)), evaluators, labels)


def _number(db: Session, run: str) -> int:
    rows = db.run("SELECT no FROM runs WHERE id = ?", (safe_text(run),))
    if not rows:
        raise unknown(run)
    return int(rows[0][0])


def _update(db: Session, run: str, values: Mapping[str, Any]) -> None:
    what = ", ".join(f"{name} = ?" for name in values)
    db.run(f"UPDATE runs SET {what} WHERE id = ?", [*values.values(), safe_text(run)])  # noqa: S608


def _is_under_way(run: CopiedRun) -> bool:
    """Whether another process takes it in."""
    owner = msgspec.json.decode(run.row["owner"], type=Owner)
    return (
        owner != this_process()
        and not RunInfo(name="", owner=owner, heartbeat=run.row["heartbeat"]).is_abandoned()
    )


def _columns(names: Iterable[str], rows: Sequence[Row]) -> dict[str, Sequence[Any]]:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _plain_attempt(row: Row) -> Row:
    """A row as every database gives it: some have no flags, and some no bytes."""
    position, name, source, repeat, failed, key, case_hash, *rest = row
    return (position, name, source, repeat, bool(failed), *_plain((key, case_hash)), *rest)


def _plain(row: Row) -> Row:
    return tuple(bytes(value) if isinstance(value, memoryview | bytearray) else value for value in row)
