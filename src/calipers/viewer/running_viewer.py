"""The viewers that run on this machine for this user, so that `calipers view --url` can make another address that opens one.

Each viewer writes a file with the secret of its tokens to a folder that only the user can read. With the secret, any process can sign a token, and the
server, which has the secret too, recognises it without having been asked. The file is removed when the viewer ends, or by the next one if its process is gone.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

_LARGEST: Final = 100_000
"""Bytes of such a file."""


class RunningViewer(msgspec.Struct, frozen=True, kw_only=True):
    """A viewer that runs."""

    pid: int
    begun: float
    """When its process began: numbers of processes are used again."""
    url: str
    """Where it is, without a token."""
    store: str
    """What it shows, without a password."""
    secret: bytes
    """That its tokens are signed with."""

    @property
    def is_alive(self) -> bool:
        """Whether its process still runs."""
        return _begun(self.pid) == self.begun


def folder() -> Path:
    """Where viewers are noted: what the system clears when the user leaves, else the user's cache."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir():
        return Path(runtime) / "calipers"
    cache = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "calipers"


@contextmanager
def noted(url: str, store: str, secret: bytes) -> Iterator[None]:
    """Note a viewer of this process for the length of a block, if that is possible."""
    begun = _begun(os.getpid())
    place = None
    with suppress(OSError, RuntimeError):  # no home, or none that may be written
        if begun is not None:
            viewer = RunningViewer(pid=os.getpid(), begun=begun, url=url, store=store, secret=secret)
            place = _written(viewer)
    try:
        yield
    finally:
        if place is not None:
            with suppress(OSError):
                place.unlink()


def running_viewers() -> list[RunningViewer]:
    """The viewers that run, the newest last."""
    found: list[RunningViewer] = []
    with suppress(OSError, RuntimeError):
        for path in folder().glob("view-*.json"):
            with suppress(OSError, ValueError):
                if path.stat().st_size > _LARGEST:
                    continue
                viewer = msgspec.json.decode(path.read_bytes(), type=RunningViewer)
                if viewer.is_alive:
                    found.append(viewer)
                else:
                    path.unlink()
    return sorted(found, key=lambda one: one.begun)


def _written(viewer: RunningViewer) -> Path:
    """The file that a viewer was noted in, which no one else can read."""
    where = folder()
    where.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = where / f"view-{viewer.pid}-{viewer.url.rpartition(':')[2]}.json"
    beside = place.with_suffix(".tmp")
    with open(beside, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(msgspec.json.encode(viewer))
    beside.replace(place)
    return place


def _begun(pid: int) -> float | None:
    """When a process began; `None` if there is none of that number."""
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None
