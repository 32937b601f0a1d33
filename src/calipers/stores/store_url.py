"""A store by its URL.

| URL | store |
|---|---|
| `sqlite:///runs.db`, `sqlite:////data/runs.db`, or a plain path | a file, relative or absolute |
| `postgresql://user@host/database` | a server for a team; PGHOST and the like fill in what is left out |
| `memory:` | gone when the process ends |

`?mode=ro` opens a file for reading only; `?schema=name` puts the tables of a server into a schema other than `calipers`.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from calipers.errors import StoreError

from .postgresql import PostgresqlStore, without_password
from .sqlite import MemoryStore, SqliteStore, name_of_file
from .store import Redact, Store

_FORMS = "sqlite:///path, postgresql://user@host/database, memory:, or the path of a file"


def open_store(
    url: str | os.PathLike[str],
    *,
    redact: Sequence[Redact] = (),
    existing: bool = False,
    read_only: bool = False,
) -> Store:
    """The store of a URL, made if it is not there.

    Args:
        url: see above; a path means an SQLite file.
        redact: hooks that take out what must not be written, such as `hide_keys("api_key")`.
        existing: make no store: a missing one is an error, and a file that may not be written is opened for reading only.
        read_only: open an existing store, and write nothing.

    Raises:
        StoreError: it is not the URL of a store, or the store cannot be opened; the message says what to do.
        MissingExtraError: PostgreSQL, and psycopg is not installed.
    """
    if not isinstance(url, str | os.PathLike) or not os.fspath(url):
        raise StoreError(f"a store is named by {_FORMS}; got {url!r}")
    if callable(redact) or not all(callable(hook) for hook in redact):
        raise StoreError(f"redact must be a list of functions, got {redact!r}")
    if isinstance(url, os.PathLike):
        return _sqlite_file(os.fspath(url), redact, existing=existing, read_only=read_only)
    if url == "memory:":
        return MemoryStore(redact=redact)
    scheme = re.match(r"([a-zA-Z][a-zA-Z0-9+.-]+):", url)  # two letters at least: C:\runs.db is a path
    if scheme is None:
        return _sqlite_file(url, redact, existing=existing, read_only=read_only)
    match scheme[1].lower():
        case "sqlite":
            return _sqlite(url, redact, existing=existing, read_only=read_only)
        case "postgresql" | "postgres":
            return PostgresqlStore(url, redact=redact, existing=existing, read_only=read_only)
        case "memory":
            raise StoreError(f"a store in memory has no name: write memory:, got {url!r}")
    shown = without_password(url)
    raise StoreError(f"unknown kind of store {scheme[1]!r} in {shown!r}: a store is named by {_FORMS}")


def _sqlite(url: str, redact: Sequence[Redact], *, existing: bool, read_only: bool) -> Store:
    parts = urlsplit(url)
    path = unquote(parts.path).removeprefix("/")
    if path == ":memory:" or (not path and not parts.netloc):
        raise StoreError(f"{url!r} names no file: write sqlite:///path, or memory: for a store in memory")
    if parts.netloc or not url[len("sqlite:") :].startswith("///"):
        raise StoreError(
            f"{url!r} names no file: write sqlite:/// and a path, as in sqlite:///runs.db, or sqlite:////data/runs.db "
            "from the root"
        )
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    mode = options.pop("mode", "rw")
    if options or mode not in {"ro", "rw"}:
        raise StoreError(
            f"unknown option in {url!r}: there is ?mode=ro, which opens a store for reading only"
        )
    return _sqlite_file(path, redact, existing=existing, read_only=read_only or mode == "ro")


def _sqlite_file(path: str, redact: Sequence[Redact], *, existing: bool, read_only: bool = False) -> Store:
    name_of_file(Path(path))
    if existing and not (os.access(path, os.W_OK) and os.access(Path(path).parent, os.W_OK)):
        read_only = True  # SQLite also writes beside the file
    return SqliteStore(path, redact=redact, read_only=read_only)
