"""The tables of a store, and how an older store becomes one of today.

`MIGRATIONS[n]` leads from version n to n + 1; a new store goes through all of them. They are never changed once they
are released: a later release adds one.

There are no foreign keys: rows come and go with their run, in one transaction, and a check for each of a million cells
would cost more than it finds.
"""

from typing import Final

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        """CREATE TABLE runs (
            no {number} PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            name TEXT NOT NULL,
            dataset_name TEXT,
            status TEXT NOT NULL,
            ended_at TEXT,
            owner TEXT,
            heartbeat TEXT,
            attempts BIGINT NOT NULL DEFAULT 0,
            failures BIGINT NOT NULL DEFAULT 0,
            changes BIGINT NOT NULL DEFAULT 0,
            info TEXT NOT NULL,
            ending TEXT,
            counted TEXT
        )""",
        """CREATE TABLE evaluators (
            run BIGINT NOT NULL,
            place INTEGER NOT NULL,
            identity TEXT,
            body TEXT NOT NULL,
            PRIMARY KEY (run, place)
        ) {clustered}""",
        """CREATE TABLE attempts (
            run BIGINT NOT NULL,
            position BIGINT NOT NULL,
            name TEXT NOT NULL,
            source_case_name TEXT,
            repeat INTEGER NOT NULL,
            failed BOOLEAN NOT NULL,
            key {bytes},
            case_hash {bytes},
            origin TEXT,
            facts TEXT NOT NULL,
            cells TEXT,
            given TEXT NOT NULL,
            output TEXT NOT NULL,
            trace TEXT,
            PRIMARY KEY (run, position)
        ) {clustered}""",
        "CREATE INDEX attempts_by_key ON attempts (key) WHERE key IS NOT NULL",
        """CREATE TABLE cells (
            run BIGINT NOT NULL,
            position BIGINT NOT NULL,
            evaluator INTEGER NOT NULL,
            origin TEXT,
            body TEXT NOT NULL,
            PRIMARY KEY (run, position, evaluator)
        ) {clustered}""",
        """CREATE TABLE blobs (
            hash {bytes} NOT NULL PRIMARY KEY,
            body {bytes} NOT NULL
        )""",
        """CREATE TABLE blob_uses (
            run BIGINT NOT NULL,
            hash {bytes} NOT NULL,
            PRIMARY KEY (run, hash)
        ) {clustered}""",
        "CREATE INDEX blob_uses_by_hash ON blob_uses (hash)",
    ),
    # A dataset whose cases bring evaluators of their own may have as many of them as cases.
    ("CREATE INDEX evaluators_by_identity ON evaluators (run, identity)",),
    # Who was taken for dead, and is not, must not write on beside its successor.
    ("ALTER TABLE runs ADD COLUMN generation BIGINT NOT NULL DEFAULT 0",),
    # Ids tell the time of a clock, which may be set back: the order of runs has to be their own.
    (
        "ALTER TABLE runs ADD COLUMN place TEXT NOT NULL DEFAULT ''",
        "UPDATE runs SET place = id",
        "CREATE INDEX runs_by_place ON runs (place)",
    ),
    # What a gate has looked at already: a further look has less of the doubt. It outlives the run.
    (
        """CREATE TABLE looks (
            no {number} PRIMARY KEY,
            question TEXT NOT NULL,
            body TEXT NOT NULL
        )""",
        "CREATE INDEX looks_by_question ON looks (question)",
    ),
)
"""The statements that lead from each version to the next; names in braces are the database's own words."""

VERSION: Final = len(MIGRATIONS)
"""The version of the tables that this release reads and writes."""


def migrations(version: int, **words: str) -> list[str]:
    """The statements that lead from a version to today's, in the words of a database."""
    return [statement.format(**words) for step in MIGRATIONS[version:] for statement in step]
