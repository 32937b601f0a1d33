"""A store in a PostgreSQL database: one place for a team.

The tables live in a schema of their own, `calipers` unless the URL says otherwise. Batches are written by COPY. A lost
connection is made again when the store is next used; a batch that may or may not have arrived can be appended again.
"""

import contextlib
import re
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from typing_extensions import override

from calipers.errors import (
    MissingExtraError,
    StoreError,
    StoreMissingError,
    StoreTimeoutError,
    StoreUnavailableError,
)
from calipers.process.forks import keep_for_ever, no_more_forks, tell_of_forks

from .sql import VERSION, Columns, Row, Session, marks, migrations
from .sql_copies import SqlCopies
from .sql_runs import TOOK_TOO_LONG
from .store import Redact

if TYPE_CHECKING:
    import psycopg

_WORDS: Final = {"number": "BIGSERIAL", "bytes": "BYTEA", "clustered": ""}
_OPENING: Final = 0x43414C49
"""The advisory lock that is held while tables are made, and between prune and append."""
_TABLES: Final = (
    "runs",
    "evaluators",
    "attempts",
    "cells",
    "blobs",
    "blob_uses",
    "labels",
    "index_parts",
    "moved_values",
)
"""Those that shrink when runs are removed."""
_LONGEST: Final = 1_000_000.0
"""Seconds up to which the server takes a limit of time; one that is longer, or endless, is this long."""
_SPACE: Final = """SELECT pg_total_relation_size(c.oid), c.relpages, c.reltuples,
        (SELECT SUM(s.avg_width * (1 - s.null_frac)) FROM pg_stats s WHERE s.schemaname = n.nspname AND s.tablename = c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = ?"""
"""What the server knows of each table: bytes with its indexes and large values, pages, rows, and bytes of a row."""
_PAGE_BYTES: Final = 8192
_ROW_BYTES: Final = 32
"""What a row takes beside its values."""
CONNECT_SECONDS: Final = 10
"""How long to wait for a server."""


class PostgresqlStore(SqlCopies):
    """Runs in a PostgreSQL database."""

    def __init__(
        self, url: str, *, redact: Sequence[Redact] = (), existing: bool = False, read_only: bool = False
    ) -> None:
        """Connect, and make the tables if they are not there.

        Args:
            url: `postgresql://user@host/database`; `?schema=name` for another schema than `calipers`. What it leaves out is
                taken from PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE.
            redact: hooks that take out what must not be written; see `calipers.stores.hide_keys`.
            existing: make no tables: a schema without them is an error.
            read_only: write nothing, and change no tables: older ones are an error.
        """
        super().__init__(without_password(url), redact)
        self.read_only = read_only
        self._address, self.schema = _parts(url)
        self._writer = _Line(self._address, self.url, self.schema)
        self._reader = _Line(self._address, self.url, self.schema)
        try:
            with self._writer.transaction() as db:
                _prepare(db, self.url, self.schema, existing=existing, read_only=read_only)
        except BaseException:
            self._writer.close()
            raise

    @contextlib.contextmanager
    @override
    def _reading(self) -> Iterator[Session]:
        self.check_time()
        with self._reader.transaction() as db:
            if self.time_left is not None:
                # What is set for a transaction ends with it.
                db.run(f"SET LOCAL statement_timeout = {max(1, int(min(self.time_left(), _LONGEST) * 1000))}")
            yield db

    @contextlib.contextmanager
    @override
    def _writing(self) -> Iterator[Session]:
        if self.read_only:
            raise StoreError(f"the store {self.url!r} was opened for reading only")
        with self._writer.transaction() as db:
            # Shared among writers: a prune must not remove what an uncommitted batch refers to.
            db.run("SELECT pg_advisory_xact_lock_shared(?)", (_OPENING,))
            yield db

    @contextlib.contextmanager
    @override
    def _counting_looks(self) -> Iterator[Session]:
        with self._writer.transaction() as db:
            # Before anything is read, so that all earlier looks are seen. Others can still read.
            db.run("LOCK TABLE looks IN EXCLUSIVE MODE")
            yield db

    @override
    def prune(self) -> int:
        with self._writer.transaction() as db:
            db.run("SELECT pg_advisory_xact_lock(?)", (_OPENING,))
            removed = self._remove_unused(db)
        self._remove_objects()
        # Gives back the space to the tables, and what is free at their ends to the disk. A user who does not own them is told so by
        # the server, which leaves that to the automatic vacuum.
        self._writer.alone(f"VACUUM (ANALYZE) {', '.join(_TABLES)}")
        return removed

    @override
    def size(self) -> int | None:
        if not self.read_only:
            self._writer.alone(f"ANALYZE {', '.join(_TABLES)}")
        with self._reading() as db:
            return sum(_used(*row) for row in db.run(_SPACE, (self.schema,)))

    @override
    def close(self) -> None:
        self._reader.close()
        self._writer.close()


class _Line:
    """A connection that is made when needed, used by one thread at a time, and made again when lost."""

    def __init__(self, address: str, url: str, schema: str) -> None:
        self._address = address
        self._url = url
        self._schema = schema
        self._connection: psycopg.Connection[Row] | None = None
        self._lock = threading.RLock()
        self._closed = False
        tell_of_forks(self)

    def before_fork(self) -> None:
        """Nothing: the parent goes on as before."""

    def after_fork(self, *, is_child: bool) -> None:
        """Leave the connection to the parent: the child makes one of its own."""
        if is_child:
            keep_for_ever(self._connection)  # closing it would end the session of the parent
            self._connection = None
            self._lock = threading.RLock()

    @contextlib.contextmanager
    def transaction(self) -> Iterator["_PostgresqlSession"]:
        """A session in a transaction."""
        with self._lock, _explained(self._url, self._address):
            connection = self._connected()
            try:
                with contextlib.ExitStack() as stack:
                    try:
                        stack.enter_context(connection.transaction())
                    except Exception:
                        if not connection.closed:
                            raise
                        # The server was restarted, and nothing was asked of it yet.
                        connection = self._connected()
                        stack.enter_context(connection.transaction())
                    yield _PostgresqlSession(connection)
            except BaseException:
                if connection.broken or connection.closed:
                    self._connection = None
                raise

    def alone(self, statement: str) -> None:
        """Execute a statement that may not stand in a transaction."""
        with self._lock, _explained(self._url, self._address):
            self._connected().execute(statement.encode())

    def _connected(self) -> "psycopg.Connection[Row]":
        if self._closed:
            raise StoreError(f"the store {self._url!r} was used after it was closed")
        if self._connection is None or self._connection.closed:
            try:
                import psycopg
            except ImportError:
                raise MissingExtraError.of("a PostgreSQL store", "postgresql") from None
            self._connection = psycopg.connect(
                self._address, autocommit=True, connect_timeout=CONNECT_SECONDS, prepare_threshold=None
            )
            self._connection.execute(f"SET search_path TO {self._schema}".encode())
        return self._connection

    def close(self) -> None:
        with self._lock:
            self._closed = True
            no_more_forks(self)
            if self._connection is not None:
                self._connection.close()
                self._connection = None


class _PostgresqlSession:
    """A connection as a session."""

    def __init__(self, connection: "psycopg.Connection[Row]") -> None:
        self._connection = connection

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self._connection.execute(sql.replace("?", "%s").encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def insert(self, table: str, columns: Columns) -> None:
        rows = list(zip(*columns.values(), strict=True))
        if not rows:
            return
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN".encode()) as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def insert_missing(self, table: str, columns: Columns) -> None:
        sql = (
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES {marks(len(columns))} ON CONFLICT DO NOTHING"  # noqa: S608 - our own words
        )
        with self._connection.cursor() as cursor:
            cursor.executemany(sql.replace("?", "%s").encode(), list(zip(*columns.values(), strict=True)))


# ---------------------------------------------------------------------- opening


def without_password(url: str) -> str:
    """The URL with its password hidden."""
    return re.sub(r"(?i)([?&]password=)[^&#]*", r"\1***", re.sub(r"(//[^/@:]*):[^/]*@", r"\1:***@", url))


def _used(size: int, pages: int, rows: float, width: float | None) -> int:
    """How much of a table is in use. Rows of removed runs leave holes among others, which only later runs fill."""
    if rows == 0:
        return 0
    if rows < 0 or not pages or width is None:  # the server has not looked at it yet
        return size
    return int(size * min(1.0, rows * (float(width) + _ROW_BYTES) / (pages * _PAGE_BYTES)))


def _parts(url: str) -> tuple[str, str]:
    """The address for psycopg, and the schema."""
    # By hand: urlunsplit would lose the slashes of a URL without a host.
    place, _, query = url.partition("?")
    options = parse_qsl(query, keep_blank_values=True)
    schema = next((value for name, value in options if name == "schema"), "calipers")
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema):
        raise StoreError(f"a schema must have a name of small letters, digits and _, got {schema!r}")
    rest = urlencode([(name, value) for name, value in options if name != "schema"], quote_via=quote)
    return f"{place}?{rest}" if rest else place, schema


def _prepare(db: _PostgresqlSession, url: str, schema: str, *, existing: bool, read_only: bool) -> None:
    """Bring the tables up to date, or make them."""
    db.run("SELECT pg_advisory_xact_lock(?)", (_OPENING,))
    tables = {
        name
        for (name,) in db.run(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = ?", (schema,)
        )
    }
    if not tables and (existing or read_only):
        raise StoreMissingError(
            f"there is no store in the schema {schema!r} of {url!r}: `calipers run --store URL` makes one, and ?schema= names "
            "another"
        )
    if not tables:
        db.run(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        db.run("CREATE TABLE calipers_store (version INTEGER NOT NULL)")
        db.run("INSERT INTO calipers_store VALUES (0)")
    elif "calipers_store" not in tables:
        raise StoreError(
            f"the schema {schema!r} of {url!r} holds tables of another program; it was not changed. Name another schema "
            "with ?schema="
        )
    ((version,),) = db.run("SELECT version FROM calipers_store")
    if version > VERSION:
        raise StoreError(
            f"the store {url!r} has version {version}, and this release reads up to {VERSION}: install a newer calipers"
        )
    if version < VERSION and read_only:
        raise StoreError(
            f"the store {url!r} is of an older version: open it for writing once to bring it up to date"
        )
    if version < VERSION:
        for statement in migrations(version, **_WORDS):
            db.run(statement)
        db.run("UPDATE calipers_store SET version = ?", (VERSION,))


@contextlib.contextmanager
def _explained(url: str, address: str) -> Iterator[None]:
    """The server's errors in our words, without the password."""
    try:
        yield
    except Exception as error:
        import psycopg

        if not isinstance(error, psycopg.Error):
            raise
        said = _hide(" ".join(str(error).split()), address)
        if isinstance(error, psycopg.errors.QueryCanceled):
            raise StoreTimeoutError(TOOK_TOO_LONG.format(url)) from None
        if isinstance(error, psycopg.OperationalError):
            final = _refusal(said)
            if final is not None:
                raise StoreError(f"the store {url!r} cannot be opened: {said}. {final}") from None
            raise StoreUnavailableError(
                f"the store {url!r} cannot be reached now ({said}). Is the server up? What was stored before is safe"
            ) from None
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            raise StoreError(
                f"the store {url!r} may not be used: {said}. Ask for the right to create and write the schema"
            ) from None
        raise StoreError(f"the store {url!r} failed: {said}") from None


def _refusal(said: str) -> str | None:
    """What to do about a refusal; `None` if waiting may help."""
    if "password" in said or "authentication" in said:
        return "Check the user and the password; PGPASSWORD or ~/.pgpass keeps it out of the URL"
    if re.search(r'(role|database|user) "[^"]*" does not exist', said):
        return "Create it, or name another one"
    return None


def _hide(text: str, address: str) -> str:
    parts = urlsplit(address)
    given = [parts.password, *(value for name, value in parse_qsl(parts.query) if name == "password")]
    for secret in given:
        for spelling in {secret, unquote(secret)} if secret else ():
            text = text.replace(spelling, "***")
    return text
