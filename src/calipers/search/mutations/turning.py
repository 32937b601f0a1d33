"""The opposite: a negation that is put in or taken out. What was expected of the answer does not hold any more."""

import random
import re
from dataclasses import dataclass
from typing import ClassVar

from .mutation import Mutation

_VERB = re.compile(
    r"\b(is|are|was|were|am|can|could|will|would|should|must|may|do|does|did|has|have|had)(n?'t\b|\s+not\b|\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Negated(Mutation):
    """`not` after an auxiliary verb, or one taken away; before a text without one, `Do not:`."""

    name: ClassVar[str] = "negation"
    keeps_meaning: ClassVar[bool] = False

    def change(self, text: str, rng: random.Random) -> str:
        """The text with a negation more, or one less."""
        found = list(_VERB.finditer(text))
        if not found:
            return f"Do not do this: {text}"
        verb = rng.choice(found)
        new = verb[1] if verb[2] else f"{verb[1]} not"
        return text[: verb.start()] + new + text[verb.end() :]
