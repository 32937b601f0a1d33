"""The same in other words, by rules: synonyms, politeness, order."""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from .mutation import Mutation

# fmt: off
_ALIKE = (
    ("buy", "purchase"), ("help", "assist"), ("want", "would like"), ("need", "require"), ("get", "obtain"),
    ("show", "display"), ("tell me", "let me know"), ("give me", "provide me with"), ("fix", "repair"),
    ("big", "large"), ("small", "little"), ("start", "begin"), ("end", "finish"), ("send", "forward"),
    ("find", "locate"), ("change", "modify"), ("cancel", "call off"), ("refund", "reimbursement"),
    ("order", "purchase order"), ("problem", "issue"), ("question", "query"), ("quick", "fast"),
    ("price", "cost"), ("money", "funds"), ("customer", "client"), ("phone", "telephone"), ("broken", "defective"),
    ("account", "user account"), ("delete", "remove"), ("make", "create"), ("list", "enumerate"), ("write", "compose"),
    ("what is", "what's"), ("how much", "what amount"), ("can you", "could you"), ("do not", "don't"), ("i am", "i'm"),
)
# fmt: on
_SYNONYMS: Mapping[str, str] = MappingProxyType({**dict(_ALIKE), **{b: a for a, b in _ALIKE}})
_PHRASE = re.compile(
    rf"\b({'|'.join(sorted(map(re.escape, _SYNONYMS), key=len, reverse=True))})\b", re.IGNORECASE
)
_BEFORE = (
    "Please: ", "Hi! ", "Hello, I hope you are well. ", "Quick one: ", "Excuse me, ", "hey ", "I'd like to ask: ",
    "Sorry to bother you. ",
)  # fmt: skip
_AFTER = (" Thanks!", " Thank you very much in advance.", " asap", " Please.", " Cheers", " I'm waiting.")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Synonyms(Mutation):
    """A word or phrase of everyday requests becomes another that means the same."""

    name: ClassVar[str] = "synonyms"

    def change(self, text: str, rng: random.Random) -> str:
        """The text with a synonym; as it is where none is known."""
        found = list(_PHRASE.finditer(text))
        if not found:
            return text
        phrase = rng.choice(found)
        new = _SYNONYMS[phrase[0].lower()]
        new = new[:1].upper() + new[1:] if phrase[0][0].isupper() else new
        return text[: phrase.start()] + new + text[phrase.end() :]


@dataclass(frozen=True)
class Politeness(Mutation):
    """A greeting before it, thanks behind it, or both."""

    name: ClassVar[str] = "politeness"

    def change(self, text: str, rng: random.Random) -> str:
        """The text with a frame of courtesy, or of its opposite."""
        kind = rng.randrange(3)
        before = rng.choice(_BEFORE) if kind != 1 else ""
        return before + text + (rng.choice(_AFTER) if kind != 0 else "")


@dataclass(frozen=True)
class Reordered(Mutation):
    """The sentences in another order; of a single one, its parts at the commas."""

    name: ClassVar[str] = "reordering"

    def change(self, text: str, rng: random.Random) -> str:
        """The text in another order; as it is where it has one part."""
        parts, joint = _SENTENCE.split(text.strip()), " "
        if len(parts) < 2:
            parts, joint = [part.strip() for part in text.split(",")], ", "
        if len(parts) < 2:
            return text
        first, second = rng.sample(range(len(parts)), 2)
        parts[first], parts[second] = parts[second], parts[first]
        return joint.join(parts)
