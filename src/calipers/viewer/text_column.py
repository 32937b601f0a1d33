"""The texts of attempts, to be searched: blocks of bytes, each with the texts of some hundred neighbouring attempts.

Texts are casefolded UTF-8. A text stands between two bytes that UTF-8 does not have, so a whole text, its beginning and any part of it are
found by one search for bytes. Very long texts are cut, and it is known of which attempts.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np

from .deadline import Deadline
from .spool import Spool
from .value_column import Array, Mask

_BEGIN: Final = b"\xff"
_END: Final = b"\xfe"
_ROW: Final = b"\xfd"
LONGEST: Final = 100_000
"""Characters of one text that are searched."""
_SMALL: Final = 1 << 17
"""Bytes of a block up to which more rows are added to it."""
_LARGE: Final = 1 << 18
"""Bytes of a block from which on another one is begun."""


class _Block(NamedTuple):
    number: int
    """In the spool."""
    first: int
    """Its first row."""
    starts: Array
    """Where each row begins."""


class Hits(NamedTuple):
    """Where a text was found."""

    rows: Mask
    searched: float
    """The share of the rows that were searched."""


class TextColumn:
    """The texts of all attempts."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._blocks: list[_Block] = []
        self.size = 0
        self.cut: list[int] = []
        """The rows of texts that were cut."""

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
        parts: list[str] = []
        for text in texts:
            if len(text) > LONGEST:
                text = text[:LONGEST]  # noqa: PLW2901
                if not self.cut or self.cut[-1] != row:
                    self.cut.append(row)
            parts.append(text.casefold())
        return b"".join(
            [*(b"%b%b%b" % (_BEGIN, part.encode("utf-8", "surrogatepass"), _END) for part in parts), _ROW]
        )

    def _add(self, packed: list[bytes]) -> None:
        blocks, first, before, start = self._blocks, self.size, b"", np.empty(0, np.uint32)
        if blocks and (last := self._spool.read(blocks[-1].number)) and len(last) < _SMALL:
            first, start, before, blocks = blocks[-1].first, blocks[-1].starts, last, blocks[:-1]
        begins = list(accumulate((len(row) for row in packed[:-1]), initial=len(before)))
        number = self._spool.add(before + b"".join(packed))
        starts = np.concatenate([start, np.asarray(begins, np.uint32)])
        self.size += len(packed)
        self._blocks = [*blocks, _Block(number, first, starts)]

    def all(self, n: int) -> list[bytes]:
        """The texts of the first n rows, casefolded, each row as bytes."""
        found: list[bytes] = []
        for block in self._blocks:
            if block.first < n:
                found += self._spool.read(block.number).split(_ROW)[:-1]
        return found[:n]

    def find(self, wanted: Sequence[bytes], n: int, deadline: Deadline | None = None) -> Hits:
        """The rows, of the first n, that hold any of some needles."""
        found = np.zeros(n, np.bool_)
        done = 0
        for block in self._blocks:
            if block.first >= n:
                break
            if deadline is not None and deadline.is_over:
                return Hits(found, done / n)
            data = self._spool.read(block.number)
            for needle in wanted:
                rows = np.asarray(_rows_with(data, block.starts, needle), np.int64) + block.first
                found[rows[rows < n]] = True
            done = min(n, block.first + len(block.starts))
        return Hits(found, 1.0)


def needle(text: str, *, whole: bool = False, beginning: bool = False) -> bytes:
    """What to search for: a part of a text, a whole text, or the beginning of one."""
    sought = text.casefold().encode("utf-8", "surrogatepass")
    if whole:
        return _BEGIN + sought + _END
    return _BEGIN + sought if beginning or not sought else sought


def _rows_with(data: bytes, starts: Array, sought: bytes) -> list[int]:
    """The rows of a block that hold a needle."""
    found: list[int] = []
    places: Any = None
    at = data.find(sought)
    while at >= 0:
        if places is None:
            places = starts.tolist()
        row = bisect_right(places, at) - 1
        found.append(row)
        if 4 * len(found) > len(places):
            # Many rows have it: to look into each is quicker than to search from hit to hit.
            rows = data.split(_ROW)
            return [*found, *(each for each in range(row + 1, len(places)) if sought in rows[each])]
        if row + 1 == len(places):
            break
        at = data.find(sought, places[row + 1])
    return found
