"""Large texts, kept once by the hash of their content and compressed.

Inputs that every run repeats, and traces that are megabytes long, would fill a database with copies. A text longer than
`LARGEST_INLINE` is replaced by a reference, `blob:<hash>:<length>`, which is never the beginning of JSON. A shorter one
takes less space where it is than its reference and a row of its own would.

zlib, because every Python has it: on the JSON of traces a faster codec saves little of what storing costs.
"""

import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

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
        return f"{_MARK}{digest.hex()}:{len(text)}"


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


def _whose(run: str | None) -> str:
    return "the store" if run is None else f"run {run!r} in the store"
