"""Byte strings that a process needs again and should not hold in memory: the first ones are held, the rest is in a temporary file."""

import os
import sys
import tempfile
import threading
import weakref
from typing import IO, Final

HELD: Final = 4_000_000
"""Bytes that are held in memory."""


class Spool:
    """Byte strings by number, in the order in which they were added. Any thread may read while one adds."""

    def __init__(self, held: int = HELD) -> None:
        """An empty one, which holds so many bytes in memory."""
        self._most = held
        self._held: list[bytes] = []
        self._size = 0
        """Bytes in memory."""
        self._file: IO[bytes] | None = None
        self._places: list[tuple[int, int]] = []
        """Where those in the file begin, and how long they are."""
        self._end = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._held) + len(self._places)

    def add(self, data: bytes) -> int:
        """Add a byte string, and return its number.

        Raises:
            OSError: the disk is full.
        """
        with self._lock:
            if self._file is None and self._size + len(data) <= self._most:
                self._held.append(data)
                self._size += len(data)
                return len(self._held) - 1
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this does
                weakref.finalize(self, self._file.close)
            self._file.seek(self._end)
            self._file.write(data)
            self._file.flush()
            self._places.append((self._end, len(data)))
            self._end += len(data)
            return len(self._held) + len(self._places) - 1

    def read(self, number: int) -> bytes:
        """The byte string of a number."""
        if number < len(self._held):
            return self._held[number]
        start, size = self._places[number - len(self._held)]
        assert self._file is not None
        if sys.platform != "win32":
            return os.pread(self._file.fileno(), size, start)
        with self._lock:
            self._file.seek(start)
            return self._file.read(size)
