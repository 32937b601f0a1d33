"""What a store in SQL keeps for judges: labels of people, passports, and answers of models.

A label is written for an attempt that is there; a passport and an answer belong to no run. Answers are kept for speed alone: any of
them may be removed at any time.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from typing_extensions import override

from calipers.data.human_label import HumanLabel
from calipers.data.jsonable import plain
from calipers.errors import StoreDamagedError, StoreError

from .redaction import redacted_label, redacted_passport
from .run_info import timestamp
from .sql import Session, chunks, marks, safe_text, select_in
from .sql_runs import SqlRuns, run_number, to_json
from .stored_passport import StoredPassport

_KEY = ("run", "position", "question", "person")
"""What a label is known by."""


class SqlJudging(SqlRuns):
    """The labels, passports and answers of a store in SQL."""

    # ------------------------------------------------------------------ labels

    @override
    def add_labels(self, labels: Sequence[HumanLabel]) -> None:
        written = [redacted_label(label, self.redact) for label in labels]
        by_run: dict[str, list[HumanLabel]] = {}
        for label in written:
            by_run.setdefault(label.run, []).append(label)
        with self._writing() as db:
            # In one order, so that two writers never wait for each other.
            for run, some in sorted(by_run.items()):
                number = run_number(db, run)
                _check_attempts(db, number, run, {label.position for label in some})
                some.sort(key=lambda label: (label.position, label.question, label.person))
                for label in some:
                    db.run(
                        "INSERT INTO labels (run, position, question, person, body) VALUES (?, ?, ?, ?, ?) "
                        "ON CONFLICT (run, position, question, person) DO UPDATE SET body = excluded.body",
                        (number, label.position, label.question, label.person, to_json(plain(label))),
                    )

    @override
    def labels(
        self, *, run: str | None = None, question: str | None = None, person: str | None = None
    ) -> list[HumanLabel]:
        given = {"question": safe_text(question), "person": safe_text(person)}
        asked: dict[str, Any] = {
            f"labels.{name}": value for name, value in given.items() if value is not None
        }
        with self._reading() as db:
            if run is not None:
                asked["labels.run"] = run_number(db, run)
            where = " AND ".join(f"{column} = ?" for column in asked)
            rows = db.run(
                "SELECT runs.id, labels.position, labels.body FROM labels JOIN runs ON runs.no = labels.run "  # noqa: S608 - our own words
                f"{'WHERE ' * bool(where)}{where} ORDER BY runs.place, labels.position",
                [*asked.values()],
            )
        found = [_label(run, position, body) for run, position, body in rows]
        # By code points within an attempt, whatever the collation of the database.
        runs = {label.run: number for number, label in reversed(list(enumerate(found)))}
        return sorted(found, key=lambda one: (runs[one.run], one.position, one.question, one.person))

    @override
    def remove_label(self, run: str, position: int, *, question: str, person: str) -> bool:
        with self._writing() as db:
            where = " AND ".join(f"{column} = ?" for column in _KEY)
            values = (run_number(db, run), position, safe_text(question), safe_text(person))
            return bool(db.run(f"DELETE FROM labels WHERE {where} RETURNING position", values))  # noqa: S608 - our own words

    # ------------------------------------------------------------------ passports

    @override
    def add_passport(self, passport: StoredPassport) -> None:
        written = redacted_passport(passport, self.redact)
        with self._writing() as db:
            db.run(
                "INSERT INTO passports (identity, at, body) VALUES (?, ?, ?)",
                (safe_text(written.identity), safe_text(written.at), to_json(plain(written))),
            )

    @override
    def passports(self, identity: str | None = None) -> list[StoredPassport]:
        where, values = ("", []) if identity is None else ("WHERE identity = ?", [safe_text(identity)])
        with self._reading() as db:
            rows = db.run(f"SELECT identity, at, body FROM passports {where} ORDER BY no DESC", values)  # noqa: S608 - our own words
        found = []
        for known_as, at, body in rows:
            try:
                found.append(msgspec.json.decode(body, type=StoredPassport))
            except ValueError as error:
                raise StoreDamagedError(
                    f"the passport of {known_as!r}, made at {at}, is damaged in the store: {error}; "
                    f"remove_passports({known_as!r}) of the store removes it, and `calipers judge check` makes another"
                ) from error
        return sorted(found, key=lambda one: one.at, reverse=True)

    @override
    def remove_passports(self, identity: str) -> int:
        with self._writing() as db:
            return len(
                db.run("DELETE FROM passports WHERE identity = ? RETURNING no", (safe_text(identity),))
            )

    # ------------------------------------------------------------------ answers of models

    @override
    def model_answer(self, key: bytes) -> bytes | None:
        with self._reading() as db:
            rows = db.run("SELECT answer FROM model_answers WHERE key = ?", (key,))
        return bytes(rows[0][0]) if rows else None

    @override
    def keep_model_answer(self, key: bytes, answer: bytes) -> None:
        if self.redact or self.read_only:
            return
        with self._writing() as db:
            db.insert_missing("model_answers", {"key": [key], "at": [timestamp()], "answer": [answer]})

    @override
    def remove_model_answers(self, *, before: str | None = None, keys: Iterable[bytes] | None = None) -> int:
        where, values = ("", []) if before is None else ("WHERE at < ?", [before])
        with self._writing() as db:
            found = [bytes(key) for (key,) in db.run(f"SELECT key FROM model_answers {where}", values)]  # noqa: S608 - our own words
            if keys is not None:
                found = [*set(found).intersection(keys)]
            for some in chunks(found):
                db.run(f"DELETE FROM model_answers WHERE key IN {marks(len(some))}", some)  # noqa: S608 - our own words
        return len(found)


def _check_attempts(db: Session, number: int, run: str, positions: set[int]) -> None:
    """Refuse labels of attempts that are not stored."""
    sql = "SELECT position FROM attempts WHERE run = ? AND position IN"
    lacking = sorted(positions - {row[0] for row in select_in(db, sql, (number,), positions)})
    if lacking:
        raise StoreError(
            f"run {run!r} has no attempts at the positions {lacking[:5]}, for which there are labels"
        )


def _label(run: str, position: int, body: str) -> HumanLabel:
    try:
        return msgspec.json.decode(body, type=HumanLabel)
    except ValueError as error:
        raise StoreDamagedError(
            f"a label of attempt {position} of run {run!r} is damaged in the store: {error}; `calipers prune --run {run} "
            "--labelled --yes` removes the run with its labels"
        ) from error
