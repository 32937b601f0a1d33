"""Answers of models that are kept by what was asked, so that the same question is not paid for twice.

A key is made of everything that decides an answer: the model and its address, the whole request, and which repeat of the
question it is. A repeat is never given the answer of another one. `calipers run` keeps answers in its store; a program does with
`using_cache`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from typing import Protocol

_VERSION = b"1"
"""Of what is kept: another one is not read."""


class AnswerCache(Protocol):
    """Where answers are kept."""

    def get(self, key: bytes, /) -> bytes | None:
        """The answer under a key; `None` if there is none."""
        ...

    def put(self, key: bytes, answer: bytes, /) -> None:
        """Keep an answer under a key."""
        ...


class PendingAnswers:
    """A cache before another one: a new answer waits here until `keep` passes it on, when the caller has found that it counts.

    Otherwise an answer that is no verdict would be kept, and the next run would fail by it again.
    """

    def __init__(self, kept: AnswerCache) -> None:
        self._kept = kept
        self._waiting: dict[bytes, bytes] = {}

    def get(self, key: bytes, /) -> bytes | None:
        """The answer under a key; `None` if there is none."""
        return self._kept.get(key)

    def put(self, key: bytes, answer: bytes, /) -> None:
        """Let an answer wait."""
        self._waiting[key] = answer

    def keep(self) -> None:
        """Keep the answers that wait."""
        for key, answer in self._waiting.items():
            self._kept.put(key, answer)
        self._waiting.clear()


_in_use: ContextVar[AnswerCache | None] = ContextVar("calipers_answer_cache", default=None)


@contextmanager
def using_cache(cache: AnswerCache | None) -> Iterator[None]:
    """Keep the answers of models in this cache, inside of the block; `None`: keep none."""
    token = _in_use.set(cache)
    try:
        yield
    finally:
        _in_use.reset(token)


def cache_in_use() -> AnswerCache | None:
    """The cache of the innermost `using_cache`; `None` if there is none."""
    return _in_use.get()


def cache_key(name: str, address: str, request: bytes, *, repeat: int) -> bytes:
    """The key of a question.

    Args:
        name: the model.
        address: where it is.
        request: the whole request.
        repeat: which repeat of the same question it is.
    """
    found = blake2b(digest_size=32)
    for part in (_VERSION, name.encode(), address.encode(), str(repeat).encode(), request):
        found.update(len(part).to_bytes(8))
        found.update(part)
    return found.digest()
