"""What the stores need of a database: sessions, the statements that all databases share, and the tables.

Statements have `?` for their values; a database that wants another sign replaces it.

`MIGRATIONS[n]` leads from version n of the tables to n + 1; a new store goes through all of them. A released migration never
changes: a later release adds one. There are no foreign keys: rows come and go with their run, in one transaction, and
checking each of a million cells would cost more than it finds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, TypeVar

_T = TypeVar("_T")

Row: TypeAlias = tuple[Any, ...]

Columns: TypeAlias = Mapping[str, Sequence[Any]]
"""The values of many rows, by column: a tuple for each of thousands of rows would keep the garbage collector busy."""

MANY = 5000
"""The most values of one `IN (…)`."""


class Session(Protocol):
    """A connection, in a transaction if it is for writing."""

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Execute a statement and return its rows."""
        ...

    def insert(self, table: str, columns: Columns) -> None:
        """Add many rows."""
        ...

    def insert_missing(self, table: str, columns: Columns) -> None:
        """Add the rows whose primary key is not there yet."""
        ...


def chunks(items: Iterable[_T], size: int = MANY) -> Iterator[list[_T]]:
    """The items, so many at a time."""
    chunk: list[_T] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def marks(count: int) -> str:
    """`(?, ?, ?)`."""
    return f"({', '.join('?' * count)})"


def select_in(session: Session, sql: str, before: Sequence[Any], items: Iterable[Any]) -> list[Row]:
    """The rows of a statement that ends in `IN`, for any number of items; `before` has the values of earlier marks."""
    found: list[Row] = []
    for chunk in chunks(items):
        found += session.run(f"{sql} {marks(len(chunk))}", [*before, *chunk])
    return found


def safe_text(text: str | None) -> str | None:
    """A text that can be searched for: PostgreSQL has no NUL in texts, and UTF-8 has no half surrogates."""
    if text is None or (text.isascii() and "\0" not in text):
        return text
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


# ---------------------------------------------------------------------- the tables

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
    # A run may have as many evaluators as cases.
    ("CREATE INDEX evaluators_by_identity ON evaluators (run, identity)",),
    # An owner that was taken for dead must not write beside its successor.
    ("ALTER TABLE runs ADD COLUMN generation BIGINT NOT NULL DEFAULT 0",),
    # Ids hold the time, and a clock may be set back: runs need an order of their own.
    (
        "ALTER TABLE runs ADD COLUMN place TEXT NOT NULL DEFAULT ''",
        "UPDATE runs SET place = id",
        "CREATE INDEX runs_by_place ON runs (place)",
    ),
    # The looks of gates, which share the doubt. They outlive their run.
    (
        """CREATE TABLE looks (
            no {number} PRIMARY KEY,
            question TEXT NOT NULL,
            body TEXT NOT NULL
        )""",
        "CREATE INDEX looks_by_question ON looks (question)",
    ),
    # What judges are believed by, and what models answered them.
    (
        """CREATE TABLE labels (
            run BIGINT NOT NULL,
            position BIGINT NOT NULL,
            question TEXT NOT NULL,
            person TEXT NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (run, position, question, person)
        ) {clustered}""",
        """CREATE TABLE passports (
            no {number} PRIMARY KEY,
            identity TEXT NOT NULL,
            at TEXT NOT NULL,
            body TEXT NOT NULL
        )""",
        """CREATE TABLE model_answers (
            key {bytes} NOT NULL PRIMARY KEY,
            at TEXT NOT NULL,
            answer {bytes} NOT NULL
        )""",
    ),
    # What a viewer read of a run, so that it finds attempts quickly when it is opened again.
    (
        """CREATE TABLE index_parts (
            run BIGINT NOT NULL,
            build TEXT NOT NULL,
            name TEXT NOT NULL,
            part INTEGER NOT NULL,
            body {bytes} NOT NULL,
            PRIMARY KEY (run, build, name, part)
        )""",
    ),
    # Large values that were moved elsewhere: their row in `blobs` has an empty body.
    (
        """CREATE TABLE value_places (
            no {number} PRIMARY KEY,
            address TEXT NOT NULL UNIQUE
        )""",
        """CREATE TABLE moved_values (
            name TEXT NOT NULL PRIMARY KEY,
            hash {bytes} NOT NULL,
            place BIGINT NOT NULL,
            state TEXT NOT NULL,
            size BIGINT NOT NULL,
            at TEXT NOT NULL
        )""",
        "CREATE INDEX moved_values_by_hash ON moved_values (hash)",
    ),
    # What attempts have spent that are not stored yet, or never will be, must not be spent again.
    ("ALTER TABLE runs ADD COLUMN spent TEXT",),
)
"""The statements that lead from each version to the next; names in braces are the types and words of a database."""

VERSION: Final = len(MIGRATIONS)
"""The version of the tables that this release reads and writes."""


def migrations(version: int, **words: str) -> list[str]:
    """The statements that lead from a version to today's, in the words of a database."""
    return [statement.format(**words) for step in MIGRATIONS[version:] for statement in step]
