"""The large values of a store in SQL: in the table `blobs`, or moved to a folder or a bucket.

A value that was moved has an empty body in `blobs`, and an object somewhere, which `moved_values` names. An object goes through three
states, each written before what it announces:

- `writing`: it may be there. The value is still in the store.
- `there`: the value is read from it, if its body is empty.
- `leaving`: it is being removed, and nothing reads it any more.

So whatever is killed at any moment, a value is in the store or in an object that is `there`, and no object is forgotten. Names are never used
twice: an object that is being removed is never one that another process has just written.
"""

import hashlib
import logging
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from calipers.errors import ValueAwayError

from .blobs import Reference, reference, references
from .run_info import timestamp
from .sql import Session, chunks, marks, select_in
from .sql_index import SqlIndexes
from .sql_runs import HIDDEN
from .store import Redact
from .stored_attempt import Part, StoredAttempt, leave_out
from .value_place import ValuePlace, new_name

_FORGOTTEN: Final = timedelta(days=1)
"""An object that was being written for so long is removed when the store is pruned: who wrote it is gone."""
_REMOVED_AT_ONCE: Final = 1000
_log = logging.getLogger("calipers.stores")


class ReadValues(NamedTuple):
    """Large values that were asked for."""

    bodies: dict[bytes, bytes]
    """Compressed, by hash. One that the store lacks is missing."""
    unread: dict[bytes, str]
    """Why those cannot be read that are elsewhere."""


class MovedThere(NamedTuple):
    """What is in one place."""

    address: str
    values: int
    size: int
    """In bytes, compressed."""


class SqlValues(SqlIndexes):
    """The large values of a store in SQL."""

    def __init__(self, url: str, redact: Sequence[Redact] = ()) -> None:
        super().__init__(url, redact)
        self.lacked = 0
        """How many large values could not be read where they are."""
        self._places: dict[str, ValuePlace] = {}
        self._has_told = False

    # ------------------------------------------------------------------ reading

    def _read_values(self, texts: Iterable[str | None]) -> ReadValues:
        """The values that stored texts refer to."""
        hashes = list(dict.fromkeys(one.hash for one in references(texts)))
        if not hashes:
            return ReadValues({}, {})
        found = ReadValues({}, {})
        # What is moved meanwhile is looked for once more.
        for _ in range(2):
            found.unread.clear()
            with self._reading() as db:
                left = [digest for digest in hashes if digest not in found.bodies]
                rows = select_in(db, "SELECT hash, body FROM blobs WHERE hash IN", (), left)
                moved = {bytes(digest) for digest, body in rows if not body}
                found.bodies.update({bytes(digest): bytes(body) for digest, body in rows if body})
                objects = _objects(db, moved) if moved else {}
            if moved:
                self._fetch(found, moved, objects)
            if not found.unread:
                break
        return found

    def _fetch(
        self, found: ReadValues, moved: Iterable[bytes], objects: Mapping[bytes, Sequence[tuple[str, str]]]
    ) -> None:
        """Read values from where they were moved to; one that was moved to several places is tried in each."""
        left = dict.fromkeys(moved, "the store does not say where it is")
        for turn in range(max(map(len, objects.values()), default=0)):
            names: dict[str, dict[str, bytes]] = {}
            for digest in left:
                if turn < len(objects.get(digest, ())):
                    address, name = objects[digest][turn]
                    names.setdefault(address, {})[name] = digest
            for address, wanted in names.items():
                for name, body in self._place(address).get([*wanted]).items():
                    digest = wanted[name]
                    why = body if isinstance(body, str) else _why_wrong(digest, body)
                    if why is None and not isinstance(body, str):
                        found.bodies[digest] = body
                        del left[digest]
                    else:
                        left[digest] = f"it was moved to {address}, and cannot be read there now ({why})"
        found.unread.update(left)

    def _place(self, address: str) -> ValuePlace:
        place = self._places.get(address)
        if place is None:
            place = self._places[address] = ValuePlace(address)
        return place

    def _filled(
        self, attempts: Sequence[StoredAttempt], *, may_lack: bool | None
    ) -> Iterator[tuple[StoredAttempt, dict[bytes, bytes]]]:
        """Attempts with the bodies that they refer to; what cannot be read now is left out of them, or an error."""
        found = self._read_values(text for a in attempts for text in (a.given, a.output, a.trace))
        for attempt in attempts:
            if found.unread:
                self._leave_out(
                    attempt, found.unread, may_lack=self.can_lack_values if may_lack is None else may_lack
                )
            yield attempt, found.bodies

    def _leave_out(self, attempt: StoredAttempt, unread: Mapping[bytes, str], *, may_lack: bool) -> None:
        lacking = {
            one.hash for one in references((attempt.given, attempt.output, attempt.trace), attempt.run)
        } & unread.keys()
        if not lacking:
            return
        self.lacked += len(lacking)
        said = [f"large value {digest.hex()[:8]}: {unread[digest]}" for digest in sorted(lacking)]
        whose = f"attempt {attempt.name!r} of run {attempt.run!r}"
        if not may_lack:
            raise ValueAwayError(
                f"{whose} lacks a {said[0]}. Make that place reachable again; credentials come from the environment"
            )
        if not self._has_told:
            self._has_told = True
            _log.warning("%s and perhaps others lack a %s", whose, said[0])
        parts: dict[Part, str | None] = {
            "given": attempt.given,
            "output": attempt.output,
            "trace": attempt.trace,
        }
        for part, text in parts.items():
            one = reference(text, attempt.run)
            if one is not None and one.hash in unread:
                leave_out(attempt, part, f"[not readable now: {one.hash.hex()[:8]}, {unread[one.hash]}]")

    # ------------------------------------------------------------------ writing

    @staticmethod
    def _put_back(db: Session, bodies: Mapping[bytes, bytes]) -> None:
        """Let values be in the store again of which some were moved; what is used again is not old any more."""
        moved = select_in(db, "SELECT DISTINCT hash FROM moved_values WHERE hash IN", (), bodies)
        for (digest,) in sorted(moved):
            db.run(
                "UPDATE blobs SET body = ? WHERE hash = ? AND LENGTH(body) = 0",
                (bodies[bytes(digest)], digest),
            )

    # ------------------------------------------------------------------ moving

    def values_of(self, run: str, *, least: int, after: bytes, most: int) -> list[tuple[bytes, int]]:
        """Hashes and sizes of large values of a run that are in the store, in order, behind one of them."""
        sql = (
            "SELECT b.hash, LENGTH(b.body) FROM runs r JOIN blob_uses u ON u.run = r.no JOIN blobs b ON b.hash = u.hash "  # noqa: S608 - a number
            f"WHERE r.id = ? AND LENGTH(b.body) >= ? AND u.hash > ? ORDER BY u.hash LIMIT {most}"
        )
        with self._reading() as db:
            rows = db.run(sql, (run, max(1, least), after))
        return [(bytes(digest), int(size)) for digest, size in rows]

    def users_of(self, hashes: Sequence[bytes]) -> dict[bytes, set[str]]:
        """The runs that have some values, and "" for one that is being copied here."""
        sql = "SELECT u.hash, r.id, r.status FROM blob_uses u JOIN runs r ON r.no = u.run WHERE u.hash IN"
        found: dict[bytes, set[str]] = {}
        with self._reading() as db:
            for digest, run, status in select_in(db, sql, (), hashes):
                found.setdefault(bytes(digest), set()).add("" if status == HIDDEN else run)
        return found

    def values_of_results(self) -> set[bytes]:
        """The large values that results of evaluators have."""
        with self._reading() as db:
            # Not as `LIKE 'blob:%'`: PostgreSQL's driver reads its sign as that of a value.
            rows = db.run("SELECT body FROM cells WHERE substr(body, 1, 5) = 'blob:'")
        return {one.hash for one in references(body for (body,) in rows)}

    def begin_move(self, hashes: Sequence[bytes], address: str) -> dict[str, tuple[bytes, bytes]]:
        """Announce objects for values that are in the store, and return their names, each with the hash and the body."""
        with self._writing() as db:
            db.run("INSERT INTO value_places (address) VALUES (?) ON CONFLICT DO NOTHING", (address,))
            ((place,),) = db.run("SELECT no FROM value_places WHERE address = ?", (address,))
            rows = select_in(
                db, "SELECT hash, body FROM blobs WHERE LENGTH(body) > 0 AND hash IN", (), hashes
            )
            found = {new_name(bytes(digest)): (bytes(digest), bytes(body)) for digest, body in rows}
            if found:
                columns: dict[str, Sequence[Any]] = {
                    "name": [*found],
                    "hash": [digest for digest, _ in found.values()],
                    "place": [place] * len(found),
                    "state": ["writing"] * len(found),
                    "size": [len(body) for _, body in found.values()],
                    "at": [timestamp()] * len(found),
                }
                db.insert("moved_values", columns)
        return found

    def end_move(self, objects: Mapping[str, bytes]) -> list[str]:
        """Let values be read from objects that are whole, unless another process did; returns the names of those that are."""
        done: list[str] = []
        with self._writing() as db:
            for name, digest in sorted(objects.items(), key=lambda each: each[1]):
                sql = "UPDATE moved_values SET state = 'there' WHERE name = ? AND state = 'writing' RETURNING name"
                if not db.run(sql, (name,)):
                    continue  # it was taken for forgotten
                sql = "UPDATE blobs SET body = ? WHERE hash = ? AND LENGTH(body) > 0 RETURNING hash"
                if db.run(sql, (b"", digest)):
                    done.append(name)
                    db.run(
                        "UPDATE moved_values SET state = 'leaving' WHERE hash = ? AND name <> ? AND state = 'there'",
                        (digest, name),
                    )
                else:
                    db.run("UPDATE moved_values SET state = 'leaving' WHERE name = ?", (name,))
        return done

    def moved_from(self, address: str | None, *, after: bytes, most: int) -> list[tuple[bytes, int]]:
        """Hashes and sizes of values that were moved, to one place or to any, in order, behind one of them."""
        where, values = ("", []) if address is None else (" AND p.address = ?", [address])
        sql = (
            "SELECT m.hash, MAX(m.size) FROM moved_values m JOIN value_places p ON p.no = m.place JOIN blobs b ON b.hash = m.hash "  # noqa: S608 - our own words
            f"WHERE m.state = 'there' AND LENGTH(b.body) = 0{where} AND m.hash > ? GROUP BY m.hash ORDER BY m.hash LIMIT {most}"
        )
        with self._reading() as db:
            return [(bytes(digest), int(size)) for digest, size in db.run(sql, [*values, after])]

    def bring_back(self, hashes: Sequence[bytes]) -> tuple[int, int, dict[bytes, str]]:
        """Let moved values be in the store again; returns how many are, their bytes, and why others could not be read."""
        found = self._read_values(Reference(digest, 0).text for digest in hashes)
        with self._writing() as db:
            self._put_back(db, found.bodies)
        return len(found.bodies), sum(map(len, found.bodies.values())), found.unread

    def places(self) -> list[MovedThere]:
        """The places that values were moved to, and what is in each."""
        with self._reading() as db:
            rows = db.run(
                "SELECT p.address, COUNT(*), SUM(m.size) FROM moved_values m JOIN value_places p ON p.no = m.place "
                "JOIN blobs b ON b.hash = m.hash WHERE m.state = 'there' AND LENGTH(b.body) = 0 "
                "GROUP BY p.address ORDER BY p.address"
            )
        return [MovedThere(address, int(values), int(size)) for address, values, size in rows]

    def _remove_objects(self) -> None:
        """Remove the objects that nothing reads any more."""
        long_ago = (datetime.now(UTC) - _FORGOTTEN).isoformat()
        with self._writing() as db:
            db.run(
                "UPDATE moved_values SET state = 'leaving' WHERE (state = 'writing' AND at < ?) OR (state = 'there' AND NOT EXISTS "
                "(SELECT 1 FROM blobs b WHERE b.hash = moved_values.hash AND LENGTH(b.body) = 0))",
                (long_ago,),
            )
            rows = db.run(
                "SELECT p.address, m.name FROM moved_values m JOIN value_places p ON p.no = m.place WHERE m.state = 'leaving'"
            )
        names: dict[str, list[str]] = {}
        for address, name in rows:
            names.setdefault(address, []).append(name)
        for address, wanted in names.items():
            for some in chunks(wanted, _REMOVED_AT_ONCE):
                why = self._place(address).remove(some)
                if why is not None:
                    _log.warning(
                        "%d large values that no run needs stay in %s, since they cannot be removed now (%s): prune again",
                        *(len(wanted), address, why),
                    )
                    break
                with self._writing() as db:
                    db.run(f"DELETE FROM moved_values WHERE name IN {marks(len(some))}", some)  # noqa: S608


def _objects(db: Session, hashes: Iterable[bytes]) -> dict[bytes, list[tuple[str, str]]]:
    """The objects of values: address and name, the newest first."""
    sql = (
        "SELECT m.hash, p.address, m.name, m.at FROM moved_values m JOIN value_places p ON p.no = m.place "
        "WHERE m.state = 'there' AND m.hash IN"
    )
    found: dict[bytes, list[tuple[str, str]]] = {}
    for digest, address, name, _ in sorted(
        select_in(db, sql, (), hashes), key=lambda row: row[3], reverse=True
    ):
        found.setdefault(bytes(digest), []).append((address, name))
    return found


def _why_wrong(digest: bytes, body: bytes) -> str | None:
    """Why an object is not the value of a hash; `None` if it is."""
    try:
        is_right = hashlib.blake2b(zlib.decompress(body), digest_size=16).digest() == digest
    except zlib.error:
        is_right = False
    return None if is_right else "what is there is not what was written"
