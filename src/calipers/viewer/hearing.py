"""What an agent heard of a spoken request, word by word, beside what was said.

Words are compared as `calipers.voice.transcripts` compares them, so the word error rate is the one that it counts: errors per word that was
said. The words are aligned with as few errors as can be.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from calipers.matching.assignment import best_alignment
from calipers.voice.spelling import compared_words

from .wire import HeardWord, Hearing

_MOST: Final = 1_000_000
"""Pairs of words up to which texts are aligned."""


def hearing(said: str, heard: str) -> Hearing:
    """One text beside another, word by word; texts of many thousand words have no words."""
    one, two = compared_words(said), compared_words(heard)
    if len(one) * len(two) > _MOST:
        return Hearing(said=said, heard=heard, words=[])
    words = list(_aligned(one, two))
    errors = sum(word.kind != "same" for word in words)
    return Hearing(said=said, heard=heard, words=words, word_error_rate=errors / len(one) if one else None)


def _aligned(said: Sequence[str], heard: Sequence[str]) -> Iterator[HeardWord]:
    """The words with the fewest errors: a pair of the same saves two, one of different words saves one."""
    weights = [[2 if word == other else 1 for other in heard] for word in said]
    at = 0
    for word, place in zip(said, best_alignment(weights, len(heard)), strict=True):
        if place is None:
            yield HeardWord(said=word, heard="", kind="missed")
            continue
        yield from (HeardWord(said="", heard=other, kind="added") for other in heard[at:place])
        at = place + 1
        other = heard[place]
        yield HeardWord(said=word, heard=other, kind="same" if word == other else "changed")
    yield from (HeardWord(said="", heard=other, kind="added") for other in heard[at:])
