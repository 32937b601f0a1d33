"""Reference turns: what real users wrote, and how surprising a text is beside it, by its characters. Pure Python, without a model of language.

**The character surprise** of a text is the mean of `-log p` over its characters, in nats, where `p` is how likely each follows the three before it. It is learnt from
the reference by counting, smoothed after Witten and Bell (1991). Being a mean, it can be compared over lengths. It knows spelling, and common words,
but no sense: "the the the" does not surprise it.

**Left out.** A text that was learnt from surprises less than a new one. So each reference turn is judged by what the others teach.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from math import log
from typing import Final

from .odd_text import oddities, words_of

ORDER: Final = 4
"""Characters that are looked at together."""
_CHARACTERS: Final = 2.0**16
"""Among so many characters one is drawn that the reference does not have."""
_FEW_WORDS: Final = 3
"""A text of fewer words may well have none that the reference has."""
_EDGE: Final = "\n"
"""Stands before a text and behind it."""


class ReferenceTurns:
    """What was learnt from the turns of real users."""

    def __init__(self, turns: Iterable[str]) -> None:
        self.turns = tuple(turns)
        self._seen = [Counter[str]() for _ in range(ORDER)]
        """How often each run of characters comes, by its length less one."""
        self._followed = [Counter[str]() for _ in range(ORDER)]
        """How often something follows each run that is one shorter, and how many different characters do."""
        self._kinds = [Counter[str]() for _ in range(ORDER)]
        self._words = Counter[str]()
        """In how many turns each word comes."""
        for turn in self.turns:
            self._words.update(set(words_of(turn)))
            for length, runs in enumerate(_runs(turn)):
                self._seen[length].update(runs)
        for length, seen in enumerate(self._seen):
            for run, count in seen.items():
                self._followed[length][run[:-1]] += count
                self._kinds[length][run[:-1]] += 1

    def surprise(self, text: str, *, learnt_from: bool = False) -> float:
        """The character surprise of a text.

        Args:
            text: not blank.
            learnt_from: whether it is a turn of the reference, to be judged by what the others teach.
        """
        own = [Counter(runs) for runs in _runs(text)] if learnt_from else [Counter[str]()] * ORDER
        own_followed = [Counter[str]() for _ in range(ORDER)]
        own_kinds = [Counter[str]() for _ in range(ORDER)]
        if learnt_from:
            for length, runs in enumerate(own):
                for run, count in runs.items():
                    own_followed[length][run[:-1]] += count
                    own_kinds[length][run[:-1]] += self._seen[length][run] == count
        said = _framed(text)
        total = 0.0
        for place in range(ORDER - 1, len(said)):
            chance = 1 / _CHARACTERS
            for length in range(ORDER):
                run = said[place - length : place + 1]
                before = run[:-1]
                kinds = self._kinds[length][before] - own_kinds[length][before]
                if not kinds:  # of longer ones nothing is known, either
                    break
                count = self._seen[length][run] - own[length][run]
                chance = (count + kinds * chance) / (
                    self._followed[length][before] - own_followed[length][before] + kinds
                )
            total -= log(chance)
        return total / (len(said) - ORDER + 1)

    def odd_kinds(self, text: str, *, learnt_from: bool = False) -> list[str]:
        """The kinds of oddity of a text, with `no known word` where it has several words, and none that the reference has."""
        kinds = list(dict.fromkeys(each.kind for each in oddities(text)))
        return [*kinds, "no known word"] if self.knows_no_word(text, learnt_from=learnt_from) else kinds

    def knows_no_word(self, text: str, *, learnt_from: bool = False) -> bool:
        """Whether a text has several words, none of which is in the reference."""
        words = [word for word in words_of(text) if not word.isdecimal()]
        return len(words) >= _FEW_WORDS and not any(self._words[word] > learnt_from for word in words)


def _framed(text: str) -> str:
    said = unicodedata.normalize("NFC", text.strip())
    return f"{_EDGE * (ORDER - 1)}{said}{_EDGE}"


def _runs(text: str) -> list[list[str]]:
    """The runs of characters of each length that end at a character of the text or at its end."""
    said = _framed(text)
    return [
        [said[place - length : place + 1] for place in range(ORDER - 1, len(said))] for length in range(ORDER)
    ]
