"""Large texts, kept once by the hash of their content and compressed.

Inputs that every run repeats, and traces that are megabytes long, would fill a database with copies. A text longer than
`LARGEST_INLINE` is replaced by a reference, `blob:<hash>:<length>`, which is never the beginning of JSON. A shorter one
takes less space where it is than its reference and a row of its own would.

zlib, because every Python has it: on the JSON of traces a faster codec saves little of what storing costs.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from calipers.errors import StoreDamagedError

LARGEST_INLINE: Final = 1024
"""Characters of the longest text that is stored where it belongs."""
_LEVEL: Final = 3
_MARK: Final = "blob:"


class Reference(NamedTuple):
    """What stands in the place of a large text."""

    hash: bytes
    length: int
    """Of the text, in characters."""

    @property
    def text(self) -> str:
        """As it is stored."""
        return f"{_MARK}{self.hash.hex()}:{self.length}"


class Blobs:
    """The large texts of one batch."""

    def __init__(self) -> None:
        self.bodies: dict[bytes, bytes] = {}
        """What is to be stored, compressed, by hash."""

    def take_all(self, texts: Sequence[str | None]) -> Sequence[str | None]:
        """The texts, with references in the places of large ones."""
        if max(map(len, filter(None, texts)), default=0) <= LARGEST_INLINE:
            return texts
        return [None if text is None else self.take(text) for text in texts]

    def take(self, text: str) -> str:
        """The text, or the reference to it if it is large."""
        if len(text) <= LARGEST_INLINE:
            return text
        data = text.encode()
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if digest not in self.bodies:
            self.bodies[digest] = zlib.compress(data, _LEVEL)
        return Reference(digest, len(text)).text


def is_reference(text: str | None) -> bool:
    """Whether a stored text is a reference, or begins like one."""
    return text is not None and text.startswith(_MARK)


def reference(text: str | None, run: str | None = None) -> Reference | None:
    """The reference that a stored text is; `None` if it is the text itself. Errors name the run."""
    if text is None or not text.startswith(_MARK):
        return None
    digest, _, length = text.removeprefix(_MARK).partition(":")
    try:
        return Reference(bytes.fromhex(digest), int(length))
    except ValueError:
        raise StoreDamagedError(f"{_whose(run)} is damaged: {text!r:.100} refers to no value") from None


def restore(text: str, bodies: Mapping[bytes, bytes], run: str | None = None) -> str:
    """The text that a stored one stands for, from the compressed bodies that were read for it."""
    found = reference(text, run)
    if found is None:
        return text
    body = bodies.get(found.hash)
    if body is None:
        raise StoreDamagedError(f"{_whose(run)} is damaged: it lacks the value {found.hash.hex()}")
    try:
        return zlib.decompress(body).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise StoreDamagedError(
            f"{_whose(run)} is damaged: the value {found.hash.hex()} cannot be read ({error})"
        ) from None


def references(texts: Iterable[str | None], run: str | None = None) -> list[Reference]:
    """The references among stored texts."""
    return [found for text in texts if (found := reference(text, run)) is not None]


# ---------------------------------------------------------------------- in pieces

_PIECE: Final = 1 << 20
"""Bytes of a piece at most."""
_READ: Final = 1 << 16
"""Bytes of a compressed text that are read at once."""
_BETWEEN_PLACES: Final = 1 << 22
"""Bytes from one place that is kept to the next: what is read in vain at most."""


class _Place(NamedTuple):
    """Where reading can begin in the middle of a text."""

    offset: int
    """In the text."""
    read: int
    """Bytes of the compressed text that led there."""
    state: Any
    """Of the decompressor."""


class PackedText:
    """A text as it is stored, compressed if it is large: read in pieces, or from the middle, without ever having the whole in memory.

    Threads may read from it at the same time once it was read through.
    """

    def __init__(self, body: bytes, *, is_packed: bool, run: str | None = None) -> None:
        """Take what is stored.

        Args:
            body: the text as bytes, or compressed.
            is_packed: whether it is compressed.
            run: that errors name.
        """
        self.body = body
        self.is_packed = is_packed
        self._run = run
        self._places: list[_Place] = []

    @classmethod
    def of(cls, text: str) -> "PackedText":
        """A text that is in memory anyway."""
        return cls(text.encode(), is_packed=False)

    @property
    def size(self) -> int:
        """Bytes that it takes in memory, about."""
        return len(self.body) + 2 * _READ * len(self._places)

    def pieces(self) -> Iterator[bytes]:
        """The whole text, piece by piece.

        Raises:
            StoreDamagedError: it cannot be read.
        """
        if not self.is_packed:
            yield self.body
            return
        self._places = [_Place(0, 0, zlib.decompressobj())]
        offset = 0
        for piece, read, state in self._unpacked(self._places[0]):
            yield piece
            offset += len(piece)
            if offset - self._places[-1].offset >= _BETWEEN_PLACES and not state.eof:
                self._places.append(_Place(offset, read, state.copy()))

    def between(self, start: int, end: int) -> bytes:
        """A part of the text, from one offset in bytes to another.

        Raises:
            StoreDamagedError: it cannot be read.
        """
        if not self.is_packed:
            return self.body[start:end]
        place = next(
            (each for each in reversed(self._places) if each.offset <= start),
            _Place(0, 0, zlib.decompressobj()),
        )
        found: list[bytes] = []
        offset = place.offset
        for piece, _, _ in self._unpacked(place):
            found.append(piece[max(start - offset, 0) : max(end - offset, 0)])
            offset += len(piece)
            if offset >= end:
                break
        return b"".join(found)

    def _unpacked(self, place: _Place) -> Iterator[tuple[bytes, int, Any]]:
        """The text from a place on: each piece, with what was read of the compressed one, and the state behind it."""
        state, read, body = place.state.copy(), place.read, memoryview(self.body)
        try:
            while not state.eof:
                given = body[read : read + _READ]
                piece = state.decompress(given, _PIECE)
                read += len(given) - len(state.unconsumed_tail)
                if not piece and not given:
                    raise zlib.error("it ends too early")  # noqa: TRY301 - what is told below
                yield piece, read, state
        except zlib.error as error:
            raise StoreDamagedError(
                f"{_whose(self._run)} is damaged: a value cannot be read ({error})"
            ) from None


def _whose(run: str | None) -> str:
    return "the store" if run is None else f"run {run!r} in the store"
