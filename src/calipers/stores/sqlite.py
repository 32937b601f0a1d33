"""A store in one SQLite file: the embedded default, and the store in memory for tests.

The file is in WAL mode: any number of processes read while one writes, and writers wait for each other. A killed process
loses nothing that was appended. With `synchronous=NORMAL`, a power failure may cost the last appends, but the file is whole.

One statement inserts many rows. Python's `sqlite3` gives up the interpreter's lock around every statement, and a thread that
has to win it back a million times from a busy run would be slower by orders of magnitude.
"""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote

from typing_extensions import override

from calipers.errors import StoreError, StoreMissingError, StoreTimeoutError, StoreUnavailableError
from calipers.process.forks import keep_for_ever, no_more_forks, tell_of_forks

from .sql import VERSION, Columns, Row, Session, marks, migrations
from .sql_copies import SqlCopies
from .sql_runs import TOOK_TOO_LONG
from .store import Redact

APPLICATION_ID: Final = 0x43414C49
"""Says in the file's header that it is ours: "CALI"."""
BUSY_SECONDS: Final = 30.0
"""How long a writer waits for another one."""
FORK_SECONDS: Final = 10.0
"""How long a fork waits for a transaction to end; a child cannot use a store in the middle of one."""
_WORDS: Final = {"number": "INTEGER", "bytes": "BLOB", "clustered": "WITHOUT ROWID"}
_FEWEST_ROWS: Final = 16
"""Rows from which on it pays to look for columns with one value."""
_SIZES: Final = (1024, 128, 16, 4, 1)
"""Rows of one statement: few sizes, since preparing a new one costs as much as its rows, and none larger, since those take
megabytes to prepare, and more time than they save."""
_MOST_VALUES: Final = 32_766
"""The most values that SQLite takes in one statement."""
_PASSING: Final = (
    "SQLITE_FULL",
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_IOERR",
    "SQLITE_CANTOPEN",
    "SQLITE_PROTOCOL",
)
_STEPS: Final = 10_000
"""Steps of SQLite, some tenths of a millisecond, after which a statement asks whether there is time left."""
_State: TypeAlias = Literal["open", "closed for a fork", "lost"]


class SqliteStore(SqlCopies):
    """Runs in one SQLite file."""

    def __init__(
        self, path: str | os.PathLike[str], *, redact: Sequence[Redact] = (), read_only: bool = False
    ) -> None:
        """Open the file, or make it.

        Args:
            path: of the file; missing folders are made.
            redact: hooks that take out what must not be written; see `calipers.stores.hide_keys`.
            read_only: open an existing file, and write nothing.
        """
        self.path = Path(path)
        super().__init__(f"sqlite:///{quote(name_of_file(self.path))}{'?mode=ro' * read_only}", redact)
        self.read_only = read_only
        _check_place(self.path, read_only=read_only)
        # Any thread may use a connection, one at a time.
        self._write_lock = threading.RLock()
        self._read_lock = threading.RLock()
        self._state: _State = "open"
        self._opening = threading.Lock()
        self._readers = 0
        """How many blocks read now; more than one only if nested in one thread."""
        self._is_held = False
        """Whether a fork holds both locks."""
        with _explained(self.url):
            self._open()
        tell_of_forks(self)

    def _open(self) -> None:
        self._writer = self._connect()
        try:
            _prepare(self._writer, self.url, read_only=self.read_only)
            self._reader = self._connect()
        except BaseException:
            self._writer.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        if not self.read_only:
            return _connected(self.path, "mode=rwc")
        try:
            return _connected(self.path, "mode=ro")
        except sqlite3.OperationalError as error:
            # Readers write a file beside the store, too. If they may not, they can do without unless something is being written.
            if not error.sqlite_errorname.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")):
                raise
            if Path(f"{self.path}-wal").exists():
                raise StoreError(
                    f"the store {os.fspath(self.path)!r} cannot be read: its newest runs are still in the -wal file beside it, "
                    "and its folder may not be written. Make the folder writable, or copy both files elsewhere"
                ) from error
            return _connected(self.path, "mode=ro&immutable=1")

    @contextlib.contextmanager
    @override
    def _reading(self) -> Iterator[Session]:
        with self._read_lock, _explained(self.url):
            if self._state != "open":
                self._open_again()
            self.check_time()
            if self.time_left is not None:
                self._reader.set_progress_handler(self._is_over, _STEPS)
            self._readers += 1
            try:
                yield _SqliteSession(self._reader)
            finally:
                self._readers -= 1

    def _is_over(self) -> bool:
        """Whether a statement should end now."""
        return self.time_left is not None and self.time_left() <= 0

    @contextlib.contextmanager
    @override
    def _writing(self) -> Iterator[Session]:
        if self.read_only:
            may = _may_write(self.path) and _may_write(self.path.parent)
            way = "leave out mode=ro to write" if may else "make it and its folder writable first"
            raise StoreError(f"the store {os.fspath(self.path)!r} was opened for reading only: {way}")
        with self._write_lock, _explained(self.url):
            if self._state != "open":
                self._open_again()
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield _SqliteSession(self._writer)
                self._writer.execute("COMMIT")
            except BaseException:
                # A full disk may have ended the transaction already.
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    @override
    def size(self) -> int | None:
        files = (self.path, Path(f"{self.path}-wal"))
        return sum(each.stat().st_size for each in files if each.exists())

    @override
    def prune(self) -> int:
        removed = super().prune()
        with self._write_lock, _explained(self.url):
            if self._state != "open":
                self._open_again()
            self._writer.execute("VACUUM")
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return removed

    @override
    def close(self) -> None:
        no_more_forks(self)
        with self._write_lock, self._read_lock:
            if self._state != "lost":
                self._reader.close()
                self._writer.close()
                self._state = "open"  # its closed connections raise

    # ------------------------------------------------------------------ forks

    def before_fork(self) -> None:
        """Close the connections, unless they are in long use."""
        if not self._write_lock.acquire(timeout=FORK_SECONDS):
            return
        if not self._read_lock.acquire(timeout=FORK_SECONDS):
            self._write_lock.release()
            return
        if self._is_in_use():
            self._read_lock.release()
            self._write_lock.release()
            return
        self._is_held = True
        if self._state == "open":
            self._let_go()

    def _is_in_use(self) -> bool:
        """Whether the forking thread itself uses the store."""
        return self._state == "open" and (self._readers > 0 or self._writer.in_transaction)

    def _let_go(self) -> None:
        self._reader.close()
        self._writer.close()
        self._state = "closed for a fork"

    def after_fork(self, *, is_child: bool) -> None:
        """Let the store be used again."""
        held, self._is_held = self._is_held, False
        if is_child:
            self._write_lock, self._read_lock = threading.RLock(), threading.RLock()
            self._opening = threading.Lock()
            self._readers = 0
            if not held:
                # SQLite forbids using or closing them here.
                keep_for_ever((self._writer, self._reader))
                self._state = "lost"
        elif held:
            self._read_lock.release()
            self._write_lock.release()

    def _open_again(self) -> None:
        """Open what was closed for a fork."""
        with self._opening:
            if self._state == "lost":
                raise StoreError(
                    f"the store {self.url!r} was in use when this process was forked, and SQLite does not "
                    "allow to go on with it here: open it again in this process"
                )
            if self._state == "closed for a fork":
                self._open()
                self._state = "open"


class MemoryStore(SqliteStore):
    """Runs in memory, gone when the store is closed: for tests, and for runs that are scored again at once."""

    def __init__(self, *, redact: Sequence[Redact] = ()) -> None:
        SqlCopies.__init__(self, "memory:", redact)
        self.read_only = False
        self._writer = _tuned(sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None))
        _prepare(self._writer, self.url, read_only=False)
        self._reader = self._writer
        self._write_lock = self._read_lock = threading.RLock()
        self._state = "open"
        self._opening = threading.Lock()
        self._readers = 0
        self._is_held = False
        tell_of_forks(self)

    @override
    def size(self) -> int | None:
        ((pages,),), ((size,),) = (
            self._reader.execute(f"PRAGMA {what}").fetchall() for what in ("page_count", "page_size")
        )
        return int(pages * size)

    @override
    def _let_go(self) -> None:
        """Nothing: the child has a copy of its own."""

    @override
    def after_fork(self, *, is_child: bool) -> None:
        super().after_fork(is_child=is_child)
        if is_child:
            self._read_lock = self._write_lock


class _SqliteSession:
    """A connection as a session."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def insert(self, table: str, columns: Columns, *, verb: str = "INSERT") -> None:
        different = columns
        row = marks(len(columns))
        count = min(map(len, columns.values()))
        if count >= _FEWEST_ROWS:
            # A column with one value for all rows is written into the statement: a row costs by the number of its values.
            said = {name: _literal(values) for name, values in columns.items()}
            different = {name: values for name, values in columns.items() if said[name] is None}
            row = f"({', '.join(text or '?' for text in said.values())})"
        width = len(different)
        values = list(chain.from_iterable(zip(*different.values(), strict=True)))
        into = f"{verb} INTO {table} ({', '.join(columns)}) VALUES "
        start = 0
        while left := count - start:
            size = next(size for size in _SIZES if size <= left and size * width <= _MOST_VALUES)
            self._connection.execute(
                into + ", ".join([row] * size), values[start * width : (start + size) * width]
            )
            start += size

    def insert_missing(self, table: str, columns: Columns) -> None:
        self.insert(table, columns, verb="INSERT OR IGNORE")


def _literal(values: Sequence[Any]) -> str | None:
    """The one value of a column as SQL, if it is NULL or an integer."""
    first = values[0]
    if (first is not None and not isinstance(first, int)) or values.count(first) < len(values):
        return None
    return "NULL" if first is None else str(int(first))


# ---------------------------------------------------------------------- opening


def _connected(path: Path, options: str) -> sqlite3.Connection:
    address = f"file:{quote(name_of_file(path.absolute()))}?{options}"
    connection = sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)
    try:
        return _tuned(connection)
    except BaseException:
        connection.close()
        raise


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK)


def _tuned(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def name_of_file(path: Path) -> bytes:
    """The path as bytes.

    Raises:
        StoreError: no file can have this name. SQLite would cut it at a NUL.
    """
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:
        name = b"\0"
    if b"\0" in name:
        raise StoreError(f"{os.fspath(path)!r} is not a valid path: it has characters that no file name has")
    return name


def _check_place(path: Path, *, read_only: bool) -> None:
    """Refuse a path that cannot be a store, before SQLite makes anything of it."""
    if path.is_dir():
        raise StoreError(
            f"{os.fspath(path)!r} is a folder: name a file in it, such as {os.fspath(path / 'runs.db')!r}"
        )
    if path.exists() and not path.is_file():  # to open a pipe is to wait for a writer
        raise StoreError(f"{os.fspath(path)!r} is a pipe, a socket or a device: name a regular file")
    if read_only and not path.exists():
        raise StoreMissingError(f"there is no store {os.fspath(path)!r}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            with path.open("rb") as file:
                head = file.read(16)
            if head and head != b"SQLite format 3\0":
                raise StoreError(
                    f"{os.fspath(path)!r} is not a store, but a file of another kind: name another file"
                )
            if not read_only and not _may_write(path):
                raise StoreError(
                    f"{os.fspath(path)!r} may not be written: make it writable, or open it for reading only "
                    "(sqlite:///…?mode=ro)"
                )
        if not read_only and not _may_write(path.parent):
            raise StoreError(
                f"the store {os.fspath(path)!r} cannot be written: no permission to write in its folder "
                f"{os.fspath(path.parent)!r}. Make the folder writable, or name another place"
            )
    except OSError as error:
        raise StoreError(
            f"the store {os.fspath(path)!r} cannot be opened: {error.strerror or error}"
        ) from error


def _prepare(connection: sqlite3.Connection, url: str, *, read_only: bool) -> None:
    """Bring the tables up to date, or make them."""
    if sqlite3.sqlite_version_info < (3, 35):
        raise StoreError(f"stores need SQLite 3.35 or later, and this Python has {sqlite3.sqlite_version}")
    # In a transaction, so that a file that another process is making is never seen half made.
    connection.execute("BEGIN")
    try:
        version = _version(connection, url)
    finally:
        connection.execute("ROLLBACK")
    if version < VERSION:
        if read_only:
            raise StoreError(
                f"the store {url!r} is of an older version: open it for writing once to bring it up to date"
            )
        # It has an effect on a new file only. Larger pages are split less often.
        connection.execute("PRAGMA page_size = 8192")
        _use_wal(connection)
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in migrations(_version(connection, url), **_WORDS):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch the file to WAL mode. SQLite does not wait here for another process that does the same, so we do."""
    begun = time.monotonic()
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if (
                not error.sqlite_errorname.startswith("SQLITE_BUSY")
                or time.monotonic() - begun > BUSY_SECONDS
            ):
                raise
            time.sleep(0.01)
        else:
            return


def _version(connection: sqlite3.Connection, url: str) -> int:
    """The version of the tables, 0 in a new file.

    Raises:
        StoreError: they are not ours, or of a later release.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if tables or application or version:
            raise StoreError(
                f"{url!r} is a database of another program; it was not changed. Name another file"
            )
        return 0
    if version > VERSION:
        raise StoreError(
            f"the store {url!r} has version {version}, and this release reads up to {VERSION}: install a newer calipers"
        )
    return int(version)


@contextlib.contextmanager
def _explained(url: str) -> Iterator[None]:
    """SQLite's errors in our words."""
    try:
        yield
    except sqlite3.ProgrammingError as error:
        raise StoreError(f"the store {url!r} was used after it was closed, or wrongly: {error}") from error
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name == "SQLITE_INTERRUPT":
            raise StoreTimeoutError(TOOK_TOO_LONG.format(url)) from error
        if name.startswith(_PASSING):
            raise StoreUnavailableError(
                f"the store {url!r} cannot be used now ({error}): what was stored before is whole. Free disk space, or wait "
                "until no other process uses it"
            ) from error
        if name.startswith("SQLITE_READONLY"):
            raise StoreError(
                f"the store {url!r} may not be written: make it and its folder writable"
            ) from error
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise StoreError(
                f"the store {url!r} is damaged ({error}): restore it from a backup, or save what can be read with "
                "`sqlite3 FILE .recover`"
            ) from error
        raise StoreError(f"the store {url!r} failed: {error}") from error
