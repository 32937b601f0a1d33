"""A file that is written whole or not at all: a reader finds the old one or the new one, and never half of one."""

import os
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from calipers.errors import InvalidOptionError


def write_whole(path: str | os.PathLike[str], chunks: Iterable[bytes]) -> None:
    """Write a file beside its place and move it there; folders that are missing are made.

    A symbolic link stays one: what it leads to is replaced. A device or a pipe (`/dev/null`, `/dev/fd/63`) is written
    to as it is, since replacing it would put a file in its place.

    Raises:
        InvalidOptionError: the path is a folder.
    """
    named = Path(path)
    if named.is_dir():
        raise InvalidOptionError(f"{os.fspath(path)!r} is a folder: name a file in it")
    if named.exists() and (not named.is_file() or named.is_relative_to("/dev")):
        with named.open("wb") as file:
            file.writelines(chunks)
        return
    target = Path(os.path.realpath(named))
    if target.is_symlink():
        raise InvalidOptionError(
            f"{os.fspath(path)!r} is a link that leads back to itself: name another file"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".calipers-{secrets.token_hex(8)}.tmp")
    try:
        with beside.open("xb") as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def changing_alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """A block that reads a file and writes it anew, while other processes wait that do the same; folders that are missing are made.

    The folder is locked, so that no file is left beside the other. Windows, and a file system without locks, know no such lock.
    """
    folder = Path(os.path.realpath(path)).parent
    folder.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":
        yield
        return
    import fcntl

    place = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)
