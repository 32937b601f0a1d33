"""Slips: what fingers and ears do to a text without changing what is meant."""

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from calipers.data.argument_checks import check_number

from .mutation import Mutation

# fmt: off
_NEIGHBOURS: Mapping[str, str] = MappingProxyType({
    "a": "qwsz", "b": "vghn", "c": "xdfv", "d": "serfcx", "e": "wsdr", "f": "drtgvc", "g": "ftyhbv", "h": "gyujnb",
    "i": "ujko", "j": "huikmn", "k": "jiolm", "l": "kop", "m": "njk", "n": "bhjm", "o": "iklp", "p": "ol",
    "q": "wa", "r": "edft", "s": "awedxz", "t": "rfgy", "u": "yhji", "v": "cfgb", "w": "qase", "x": "zsdc",
    "y": "tghu", "z": "asx",
})
"""Keys beside each other on an English keyboard."""
_SOUND_ALIKE = (
    ("your", "you're"), ("their", "there", "they're"), ("its", "it's"), ("to", "too", "two"), ("for", "four"),
    ("by", "buy", "bye"), ("right", "write"), ("no", "know"), ("new", "knew"), ("here", "hear"), ("wait", "weight"),
    ("week", "weak"), ("would", "wood"), ("be", "bee"), ("see", "sea"), ("mail", "male"), ("sale", "sail"),
    ("piece", "peace"), ("whole", "hole"), ("won", "one"), ("ate", "eight"), ("check", "cheque"), ("sent", "cent"),
    ("meet", "meat"), ("our", "hour"), ("then", "than"), ("affect", "effect"), ("accept", "except"),
)
# fmt: on
_HOMOPHONES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {word: tuple(other for other in group if other != word) for group in _SOUND_ALIKE for word in group}
)
_WORD = re.compile(r"[A-Za-z][A-Za-z']*")


@dataclass(frozen=True)
class Typos(Mutation):
    """Letters that are swapped, doubled, left out, or taken from the key beside. Digits stay: another number asks for something else."""

    name: ClassVar[str] = "typos"
    rate: float = 0.08
    """The share of letters; at least one is changed."""

    def __post_init__(self) -> None:
        check_number("rate", self.rate, above=0, at_most=1)

    def change(self, text: str, rng: random.Random) -> str:
        """The text with slips of the fingers."""
        places = [place for place, char in enumerate(text) if char.isascii() and char.isalpha()]
        if not places:
            return text
        chars = list(text)
        for place in rng.sample(places, max(1, round(self.rate * len(places)))):
            char = text[place]
            beside = _NEIGHBOURS[char.lower()]
            key = rng.choice(beside)
            kind = rng.randrange(4)
            if kind == 0:
                chars[place] = key.upper() if char.isupper() else key
            elif kind == 1:
                chars[place] = ""
            elif kind == 2:
                chars[place] = char * 2
            elif place + 1 < len(text) and text[place + 1].isalpha():
                chars[place], chars[place + 1] = chars[place + 1], chars[place]
        return "".join(chars)


@dataclass(frozen=True)
class Homophones(Mutation):
    """A word becomes one that sounds the same, as when a text is dictated."""

    name: ClassVar[str] = "homophones"

    def change(self, text: str, rng: random.Random) -> str:
        """The text with words that sound alike; as it is where it has none."""
        return _one_word(text, rng, lambda word: rng.choice(_HOMOPHONES[word.lower()]), among=_HOMOPHONES)


@dataclass(frozen=True)
class Casing(Mutation):
    """Capitals: none, all, at the beginning of each word, or at random."""

    name: ClassVar[str] = "casing"

    def change(self, text: str, rng: random.Random) -> str:
        """The text with other capitals."""
        ways: list[Callable[[str], str]] = [
            str.lower,
            str.upper,
            str.title,
            lambda each: "".join(char.upper() if rng.random() < 0.5 else char.lower() for char in each),
        ]
        return rng.choice(ways)(text)


@dataclass(frozen=True)
class Spacing(Mutation):
    """Spaces that are missing or too many, line breaks, and marks at the end that are gone or repeated."""

    name: ClassVar[str] = "spacing"

    def change(self, text: str, rng: random.Random) -> str:
        """The text with other spaces."""
        kind = rng.randrange(4)
        words = text.split(" ")
        at = rng.randrange(len(words))
        if kind == 0 and at:
            return " ".join(words[:at]) + " ".join(["", *words[at:]]).lstrip()
        if kind == 1:
            return "  ".join(words)
        if kind == 2:
            return "\n".join([" ".join(words[:at]), " ".join(words[at:])]).strip()
        return text.rstrip(" .?!") + rng.choice(["", "...", "!!!", "???", " ."])


def _one_word(
    text: str, rng: random.Random, replace: Callable[[str], str], *, among: Mapping[str, object]
) -> str:
    """The text with one of the words that may be replaced replaced; a capital stays a capital."""
    found = [word for word in _WORD.finditer(text) if word[0].lower() in among]
    if not found:
        return text
    word = rng.choice(found)
    new = replace(word[0])
    new = new[:1].upper() + new[1:] if word[0][0].isupper() else new
    return text[: word.start()] + new + text[word.end() :]
