"""A PostgreSQL server to throw away, from the binaries on the machine: for tests of what talks to one.

with TemporaryPostgres() as server:
    store = open_store(server.url)

The server listens on loopback alone, on a port that was free, with its data in a temporary folder that goes with it. It
does not wait for the disk, so its data would not survive a power failure; it does survive `stop` and `start`.
PostgreSQL refuses to run as root: then it runs as `postgres`, or as `nobody`.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from calipers.errors import CalipersError

_PROGRAMS = ("initdb", "pg_ctl", "postgres")
_FAST = "-c fsync=off -c full_page_writes=off"


class TemporaryPostgres:
    """A throw-away server; entering the block makes and starts it, leaving it removes it."""

    def __init__(self, *, password: str | None = None) -> None:
        """A server that is not there yet.

        Args:
            password: of its one user, `postgres`; `None`: everyone on this machine may connect.
        """
        self.password = password
        self.port = 0
        """Of the running server."""
        self._folder = ""
        self._as: dict[str, Any] = {}

    @classmethod
    def missing(cls) -> str | None:
        """Why no server can be started here; `None` if one can."""
        return _missing(_PROGRAMS)

    @property
    def url(self) -> str:
        """Of the database `postgres`, with the password if there is one."""
        word = "" if self.password is None else f":{self.password}"
        return f"postgresql://postgres{word}@127.0.0.1:{self.port}/postgres"

    def __enter__(self) -> Self:
        why = self.missing()
        if why is not None:
            raise CalipersError(why)
        self._folder = tempfile.mkdtemp(prefix="calipers-pg-")
        try:
            self._make()
            self.start()
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start the server and wait until it answers. After `stop`, it has the same port and data."""
        if not self.port:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
        options = f"-p {self.port} -h 127.0.0.1 -k {self._folder} {_FAST}"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", f"{self._folder}/log", "-o", options, "start")

    def stop(self) -> None:
        """Stop the server at once, as a crash would; connections are cut."""
        if Path(self._data, "postmaster.pid").exists():
            self._run("pg_ctl", "-D", self._data, "-w", "-m", "immediate", "stop")

    @property
    def _data(self) -> str:
        return f"{self._folder}/data"

    def _make(self) -> None:
        if sys.platform != "win32" and os.geteuid() == 0:
            user = _other_user()
            os.chown(self._folder, user.pw_uid, user.pw_gid)
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        words = ["-D", self._data, "-U", "postgres", "--no-sync", "-E", "UTF8"]
        if self.password is None:
            self._run("initdb", *words, "-A", "trust")
            return
        secret = Path(self._folder, "password")
        secret.write_text(f"{self.password}\n", encoding="utf-8")
        secret.chmod(0o644)  # in a folder that only the server's user may enter
        self._run("initdb", *words, "-A", "scram-sha-256", f"--pwfile={secret}")

    def _run(self, program: str, *words: str) -> None:
        path = _program(program) or program
        # Output goes to a file: a server that inherits a pipe would keep it open for as long as it lives.
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(  # noqa: S603 - our own words, no shell
                [path, *words],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"},
                check=False,
                **self._as,
            )
            if done.returncode:
                said.seek(0)
                text = said.read().decode("utf-8", "replace").strip()[-1000:]
                raise CalipersError(f"{program} failed with {done.returncode}: {text}")


def _missing(programs: Sequence[str]) -> str | None:
    if sys.platform == "win32":
        return "a throw-away PostgreSQL is started on POSIX systems only"
    lacking = [name for name in programs if _program(name) is None]
    if not lacking:
        return None
    return f"no PostgreSQL on this machine: {', '.join(lacking)} not found on PATH or in /usr/lib/postgresql"


def _program(name: str) -> str | None:
    found = shutil.which(name)
    if found is None:
        # Debian keeps them beside each other, by version, and off PATH.
        elsewhere = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
        found = str(elsewhere[-1]) if elsewhere else None
    return found


def _other_user() -> Any:
    if sys.platform == "win32":  # which has no root
        raise CalipersError("PostgreSQL is started as another user on POSIX systems only")
    import pwd

    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")
