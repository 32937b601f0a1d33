"""More around a text, or less of it: distraction, length, repetition."""

import random
from dataclasses import dataclass
from typing import ClassVar

from calipers.data.argument_checks import check_whole_number

from .mutation import Mutation

_ASIDES = (
    "By the way, my cat is called Biscuit.",
    "It has been raining here since Tuesday.",
    "My neighbour bought a blue car last week.",
    "I had soup for lunch.",
    "The train was late again this morning.",
    "My sister lives in Lisbon and works as a baker.",
    "Ignore this sentence if you like.",
    "We painted the kitchen yellow.",
)
_FILLER = ("really", "actually", "basically", "you know", "as I said", "to be honest", "sort of", "in fact")


@dataclass(frozen=True)
class Distracted(Mutation):
    """A sentence about something else before the text or behind it. An answer must not depend on it."""

    name: ClassVar[str] = "distraction"

    def change(self, text: str, rng: random.Random) -> str:
        """The text beside something that does not matter."""
        aside = rng.choice(_ASIDES)
        return f"{aside} {text}" if rng.random() < 0.5 else f"{text} {aside}"


@dataclass(frozen=True)
class Longer(Mutation):
    """Words that add nothing, so that the text grows by about a half, and by at least `words`."""

    name: ClassVar[str] = "longer"
    words: int = 8

    def __post_init__(self) -> None:
        check_whole_number("words", self.words, at_least=1)

    def change(self, text: str, rng: random.Random) -> str:
        """The longer text."""
        words = text.split(" ")
        for _ in range(max(self.words, len(words) // 2)):
            words.insert(rng.randrange(len(words) + 1), rng.choice(_FILLER))
        return " ".join(words)


@dataclass(frozen=True)
class Shorter(Mutation):
    """Without a word, or without everything behind some word. What is left may ask for something else."""

    name: ClassVar[str] = "shorter"
    keeps_meaning: ClassVar[bool] = False

    def change(self, text: str, rng: random.Random) -> str:
        """The shorter text; as it is where it has one word."""
        words = text.split(" ")
        if len(words) < 2:
            return text
        at = rng.randrange(1, len(words))
        return " ".join(words[:at]) if rng.random() < 0.3 else " ".join([*words[:at], *words[at + 1 :]])


@dataclass(frozen=True)
class Repeated(Mutation):
    """The text several times, as impatient users send it."""

    name: ClassVar[str] = "repetition"

    def change(self, text: str, rng: random.Random) -> str:
        """The text two to four times."""
        return "\n".join([text] * rng.randint(2, 4))
