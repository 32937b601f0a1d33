"""Requests that were received and acknowledged, on disk until the traces in them are stored. `RequestSpool`.

A folder with numbered segments. Each entry is a letter, the size of what follows, and that: the body of a request (`J`: JSON, `P`: protobuf), or
the ids of traces that are stored now (`K`), so that spans before it are done and spans after it came late. An entry that is cut off
was never acknowledged, and is left out. A segment is removed when no trace waits for anything in it, and none might that is remembered.
"""

import os
import shutil
import struct
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["J", "P", "K"]

_HEAD: Final = struct.Struct(">cI")
_ID_BYTES: Final = 16
SEGMENT_BYTES: Final = 1 << 25


class Entry(NamedTuple):
    """One thing in a spool."""

    segment: int
    kind: Kind
    body: bytes


class RequestSpool:
    """A spool that is written. Safe to use from several threads."""

    def __init__(self, folder: Path, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        """A new spool in a folder, or what goes on with the one that is there."""
        self.folder = folder
        self._most = segment_bytes
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        self._number = max(map(_number, _segments(folder)), default=0) + 1
        self._oldest = min(map(_number, _segments(folder)), default=self._number)
        self._file: BinaryIO = self._opened()

    def write(self, requests: Sequence[tuple[Kind, bytes]]) -> int:
        """Put requests on disk; the segment that they are in. They are safe when this returns.

        Raises:
            OSError: they could not be written.
        """
        with self._lock:
            if self._file.tell() >= self._most:
                self._file.close()
                self._number += 1
                self._file = self._opened()
            entries = (_HEAD.pack(kind.encode(), len(body)) + body for kind, body in requests)
            self._append(b"".join(entries))
            os.fsync(self._file.fileno())
            return self._number

    def mark_kept(self, trace_ids: Iterable[int]) -> None:
        """Note that traces are stored. If the note is lost, they are stored once more in the same place."""
        body = b"".join(each.to_bytes(_ID_BYTES) for each in trace_ids)
        with self._lock:
            self._append(_HEAD.pack(b"K", len(body)) + body)

    def _append(self, data: bytes) -> None:
        """Write all of some bytes, or nothing: a part of an entry would hide those after it."""
        begin = self._file.tell()
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.truncate(begin)
            self._file.seek(begin)
            raise

    @property
    def current(self) -> int:
        """The segment that is being written."""
        return self._number

    def release(self, needed: int) -> None:
        """Remove the segments before the first that is still needed."""
        with self._lock:
            while self._oldest < min(needed, self._number):
                (self.folder / _name(self._oldest)).unlink(missing_ok=True)
                self._oldest += 1

    def close(self) -> None:
        """Close the file that is being written."""
        with self._lock:
            self._file.close()

    def remove(self) -> None:
        """Remove all of it: nothing in it is needed any more."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):  # those of other runs are still there
            self.folder.parent.rmdir()

    def _opened(self) -> BinaryIO:
        # Without a buffer: what a killed process had written is there.
        return (self.folder / _name(self._number)).open("ab", buffering=0)


def read_spool(folder: Path) -> Iterator[Entry]:
    """What a spool holds, in the order in which it came."""
    for path in sorted(_segments(folder), key=_number):
        with path.open("rb") as file:
            while len(head := file.read(_HEAD.size)) == _HEAD.size:
                letter, size = _HEAD.unpack(head)
                body = file.read(size)
                kind = _KINDS.get(letter)
                if len(body) < size or kind is None:
                    break
                yield Entry(_number(path), kind, body)


_KINDS: Final[dict[bytes, Kind]] = {b"J": "J", b"P": "P", b"K": "K"}


def kept_ids(entry: Entry) -> list[int]:
    """The traces that an entry says are stored."""
    body = entry.body
    return [
        int.from_bytes(body[place : place + _ID_BYTES])
        for place in range(0, len(body) - _ID_BYTES + 1, _ID_BYTES)
    ]


_SUFFIX: Final = ".otlp"


def _segments(folder: Path) -> list[Path]:
    return [path for path in folder.glob(f"*{_SUFFIX}") if path.stem.isdecimal()]


def _number(path: Path) -> int:
    return int(path.stem)


def _name(number: int) -> str:
    return f"{number:08}{_SUFFIX}"
