"""Requests that people can still read, and programs cannot: other digits, other letters, invisible letters.

Targets fall for these because a guard compares characters, or tokens made of characters, and a reader compares shapes.
No instruction is needed: the text says what it says. Each can be taken off again, as an encoding can.
"""

import re
from dataclasses import dataclass
from typing import ClassVar

from .encoding import Encoding

LEET = dict(zip("aeiost", "431057", strict=True))
"""The letter and the digit that looks like it."""

LOOK_ALIKES = dict(zip("aceijopsxyACEHIKMOPSTXY", "асеіјорѕхуАСЕНІКМОРЅТХУ", strict=True))  # noqa: RUF001
"""Latin letters, and Cyrillic ones that print the same."""

ZERO_WIDTH = "\u200b"
RIGHT_TO_LEFT, END_OF_DIRECTION = "\u202e", "\u202c"

_FROM_LEET = str.maketrans({digit: letter for letter, digit in LEET.items()})
_TO_LEET = str.maketrans(LEET | {letter.upper(): digit for letter, digit in LEET.items()})
_FROM_LOOK_ALIKES = str.maketrans({other: letter for letter, other in LOOK_ALIKES.items()})
_TO_LOOK_ALIKES = str.maketrans(LOOK_ALIKES)
_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)} | {0x20: 0x3000}
_FROM_WIDE = {wide: code for code, wide in _WIDE.items()}


@dataclass(frozen=True)
class Disguise(Encoding):
    """Base of disguises, which are encodings that need no instruction."""

    family: ClassVar[str] = "disguise"


@dataclass(frozen=True)
class Leetspeak(Disguise):
    """Digits for letters that look like them: `c0d3 w0rd`. Lists of words do not have every spelling, models have read them.

    The way back takes every such digit for a small letter: digits and capitals of the text itself are lost.
    """

    name: ClassVar[str] = "leetspeak"

    def encode(self, text: str) -> str:
        """Digits for letters."""
        return text.translate(_TO_LEET)

    def decode(self, text: str) -> str:
        """Letters for digits."""
        return text.translate(_FROM_LEET)


@dataclass(frozen=True)
class LookAlikes(Disguise):
    """Cyrillic letters for the Latin ones they look like. To a program these are other words, to a person the same.

    The way back takes every such Cyrillic letter for a Latin one.
    """

    name: ClassVar[str] = "look_alikes"

    def encode(self, text: str) -> str:
        """Cyrillic for Latin."""
        return text.translate(_TO_LOOK_ALIKES)

    def decode(self, text: str) -> str:
        """Latin for Cyrillic."""
        return text.translate(_FROM_LOOK_ALIKES)


@dataclass(frozen=True)
class ZeroWidth(Disguise):
    """A space of no width after every letter. It cuts each word in pieces that no list has, and shows nothing.

    The way back takes all of them off, also those of the text itself.
    """

    name: ClassVar[str] = "zero_width"

    def encode(self, text: str) -> str:
        """With invisible spaces."""
        return "".join(letter + ZERO_WIDTH for letter in text)

    def decode(self, text: str) -> str:
        """Without them."""
        return text.replace(ZERO_WIDTH, "")


_TURNED = re.compile(f"{RIGHT_TO_LEFT}([^{RIGHT_TO_LEFT}{END_OF_DIRECTION}]*){END_OF_DIRECTION}")


@dataclass(frozen=True)
class RightToLeft(Disguise):
    """Stored backwards between marks of direction, shown forwards. Program and person read the same line differently.

    The way back needs a text without such marks of its own.
    """

    name: ClassVar[str] = "right_to_left"

    def encode(self, text: str) -> str:
        """Turned, between marks."""
        return f"{RIGHT_TO_LEFT}{text[::-1]}{END_OF_DIRECTION}"

    def decode(self, text: str) -> str:
        """As it is shown."""
        return _TURNED.sub(lambda turned: turned[1][::-1], text)


@dataclass(frozen=True)
class FullWidth(Disguise):
    """The wide letters of East Asian typesetting. They are letters of their own until the text is normalized.

    The way back takes every wide character of that block for its narrow one.
    """

    name: ClassVar[str] = "full_width"

    def encode(self, text: str) -> str:
        """In wide letters."""
        return text.translate(_WIDE)

    def decode(self, text: str) -> str:
        """In narrow ones."""
        return text.translate(_FROM_WIDE)


_SPELLED = re.compile(r"\w(?:-\w)+")


@dataclass(frozen=True)
class SpelledOut(Disguise):
    """Hyphens between the letters of every word, as over a bad line: `c-o-d-e`. Letters are tokens that mean nothing alone.

    The way back takes letters with hyphens between them for a word: the text's own, such as `x-y`, are lost.
    """

    name: ClassVar[str] = "spelled_out"

    def encode(self, text: str) -> str:
        """Letter by letter."""
        return re.sub(r"\w+", lambda word: "-".join(word[0]), text)

    def decode(self, text: str) -> str:
        """Word by word."""
        return _SPELLED.sub(lambda word: word[0].replace("-", ""), text)
