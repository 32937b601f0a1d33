"""The opposite: a negation that is put in or taken out. What was expected of the answer does not hold any more."""

import random
import re
from dataclasses import dataclass
from typing import ClassVar

from .mutation import Mutation

_NOT = re.compile(
    r"\b(?P<verb>is|are|was|were|could|would|should|must|may|do|does|did|has|have|had|ca|can|wo)"
    r"(?:n['\u2019]t|not|\s+not)\b|\s+(?:not|never)\b",
    re.IGNORECASE,
)
_WHOLE = {"ca": "can", "wo": "will"}
"""What is left of `can't` and `won't`, and what it stands for."""
_VERB = re.compile(
    r"\b(?:is|are|was|were|am|can|could|will|would|should|must|may|do|does|did|has|have|had)\b(?:\s+(?:I|you|he|she|it|we|they|there|this|that)\b)?",
    re.IGNORECASE,
)
_ASKING = {"who", "what", "when", "where", "why", "how", "which", "and", "or", "but", "so", "then", "please"}
"""Words behind which a verb may begin a question, with its subject behind it."""
_SENTENCE = re.compile(r"[^.!?\n]+")


@dataclass(frozen=True)
class Negated(Mutation):
    """A `not` or `never` taken away, or a `not` behind the first auxiliary verb of a sentence; before a text without one, `Do not do this:`."""

    name: ClassVar[str] = "negation"
    keeps_meaning: ClassVar[bool] = False

    def change(self, text: str, rng: random.Random) -> str:
        """The text with a negation more, or one less."""
        ways = [
            changed for sentence in _SENTENCE.finditer(text) if (changed := _turned(sentence)) is not None
        ]
        if not ways:
            return f"Do not do this: {text}"
        start, end, new = rng.choice(ways)
        return text[:start] + new + text[end:]


def _turned(sentence: re.Match[str]) -> tuple[int, int, str] | None:
    """What to put where in a sentence to turn it; `None`: there is nothing to turn."""
    said, start = sentence[0], sentence.start()
    if (found := _NOT.search(said)) is not None:
        verb = found["verb"] or ""
        return start + found.start(), start + found.end(), _whole(verb)
    found = _VERB.search(said)
    if found is None:
        return None
    words = found[0].split()
    asks = not said[: found.start()].strip() or said[: found.start()].split()[-1].lower() in _ASKING
    if len(words) == 2 and not asks:  # `it is that one`: the word behind the verb is no subject
        return start + found.start(), start + found.end(), f"{words[0]} not {words[1]}"
    return start + found.start(), start + found.end(), f"{found[0]} not"


def _whole(verb: str) -> str:
    found = _WHOLE.get(verb.lower(), verb)
    return found.capitalize() if verb[:1].isupper() else found
