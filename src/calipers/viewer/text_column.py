"""The texts of attempts, to be searched: blocks of bytes, each with the texts of some hundred neighbouring attempts.

Texts are casefolded UTF-8. A text stands between two bytes that UTF-8 does not have, so a whole text, its beginning and any part of it are
found by one search for bytes. Very long texts are cut, and of these attempts it is not known whether they lack a text.
"""

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from .deadline import Deadline
from .spool import Spool
from .value_column import Array, Mask

_BEGIN: Final = b"\xff"
_END: Final = b"\xfe"
_ROW: Final = b"\xfd"
_ROW_BYTE: Final = 0xFD
LONGEST: Final = 100_000
"""Characters of one text that are searched."""
_SMALL: Final = 1 << 17
"""Bytes of a block up to which more rows are added to it."""
_LARGE: Final = 1 << 18
"""Bytes of a block from which on another one is begun."""


class Block(NamedTuple):
    """Where the texts of neighbouring rows are."""

    number: int
    """By which it is read."""
    first: int
    """Its first row."""
    rows: int


class Hits(NamedTuple):
    """Where a text was found."""

    rows: Mask
    known: Mask | None
    """Which rows were searched to their end; `None`: all."""

    @property
    def searched(self) -> float:
        """The share of the rows that were searched."""
        return 1.0 if self.known is None else float(self.known.mean())


class TextColumn:
    """The texts of all attempts."""

    def __init__(
        self, read: Callable[[int], bytes], blocks: Sequence[Block] = (), cut: Iterable[int] = ()
    ) -> None:
        """Texts in blocks.

        Args:
            read: gives a block by its number.
            blocks: in order.
            cut: the rows of texts that were cut.
        """
        self.read = read
        self.blocks = list(blocks)
        self.cut = list(cut)

    def all(self, n: int) -> list[bytes]:
        """The texts of the first n rows, each row as bytes."""
        found: list[bytes] = []
        for block in self.blocks:
            if block.first < n:
                found += self.read(block.number).split(_ROW)[:-1]
        return found[:n]

    def search(self, wanted: Sequence[bytes], n: int) -> "Search":
        """A search for any of some needles in the first n rows, which has yet to begin."""
        cut = np.asarray(self.cut, np.int64)
        return Search(self.read, [block for block in self.blocks if block.first < n], cut[cut < n], wanted, n)


class GrowingText(TextColumn):
    """The texts of attempts while they are read."""

    def __init__(self, spool: Spool) -> None:
        super().__init__(spool.read)
        self._spool = spool
        self.size = 0

    def extend(self, rows: Iterable[Sequence[str]]) -> None:
        """Add the texts of the next rows."""
        packed: list[bytes] = []
        size = 0
        for texts in rows:
            packed.append(self._packed(texts, self.size + len(packed)))
            size += len(packed[-1])
            if size >= _LARGE:
                self._add(packed)
                packed, size = [], 0
        if packed:
            self._add(packed)

    def _packed(self, texts: Sequence[str], row: int) -> bytes:
        parts: list[bytes] = []
        for text in texts:
            if len(text) > LONGEST:
                text = text[:LONGEST]  # noqa: PLW2901
                if not self.cut or self.cut[-1] != row:
                    self.cut.append(row)
            parts += (_BEGIN, text.casefold().encode("utf-8", "surrogatepass"), _END)
        parts.append(_ROW)
        return b"".join(parts)

    def _add(self, packed: list[bytes]) -> None:
        blocks, first, before, rows = self.blocks, self.size, b"", 0
        if blocks and (last := self.read(blocks[-1].number)) and len(last) < _SMALL:
            _, first, rows = blocks[-1]
            before, blocks = last, blocks[:-1]
        number = self._spool.add(before + b"".join(packed))
        self.size += len(packed)
        # Readers of earlier rows have the list that was.
        self.blocks = [*blocks, Block(number, first, rows + len(packed))]


class Search:
    """A search, which goes on where it was left when a deadline was over."""

    def __init__(
        self,
        read: Callable[[int], bytes],
        blocks: Sequence[Block],
        cut: Array,
        wanted: Sequence[bytes],
        n: int,
    ) -> None:
        self._read = read
        self._blocks = blocks
        self._cut = cut
        self._wanted = wanted
        self._found = np.zeros(n, np.bool_)
        self._next = 0
        self._lock = threading.Lock()

    def hits(self, deadline: Deadline | None = None) -> Hits:
        """What was found, after going on until the deadline."""
        with self._lock:
            blocks, found = self._blocks, self._found
            while self._next < len(blocks) and (deadline is None or not deadline.is_over):
                _, first, _ = block = blocks[self._next]
                data = self._read(block.number)
                for needle in self._wanted:
                    rows = np.asarray(_rows_with(data, needle), np.int64) + first
                    found[rows[rows < len(found)]] = True
                self._next += 1
            if self._next == len(blocks) and not len(self._cut):
                return Hits(found.copy(), None)
            known = np.ones(len(found), np.bool_)
            if self._next < len(blocks):
                known[blocks[self._next].first :] = False
            known[self._cut] = False
            return Hits(found.copy(), known | found)


def needle(text: str, *, whole: bool = False, beginning: bool = False) -> bytes:
    """What to search for: a part of a text, a whole text, or the beginning of one."""
    sought = text.casefold().encode("utf-8", "surrogatepass")
    if whole:
        return _BEGIN + sought + _END
    return _BEGIN + sought if beginning or not sought else sought


def _rows_with(data: bytes, sought: bytes) -> list[int]:
    """The rows of a block that hold a needle."""
    at = data.find(sought)
    if at < 0:
        return []
    found: list[int] = []
    ends: list[int] = np.flatnonzero(np.frombuffer(data, np.uint8) == _ROW_BYTE).tolist()
    while at >= 0:
        row = bisect_right(ends, at)
        found.append(row)
        if 4 * len(found) > len(ends):
            # Many rows have it: to look into each is quicker than to search from hit to hit.
            rows = data.split(_ROW)
            return [*found, *(each for each in range(row + 1, len(ends)) if sought in rows[each])]
        at = data.find(sought, ends[row])
    return found
