"""Words in another language, as people write who speak several."""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from .mutation import Mutation

# fmt: off
_WORDS: Mapping[str, Mapping[str, str]] = MappingProxyType({
    "Spanish": {"please": "por favor", "hello": "hola", "thanks": "gracias", "money": "dinero", "order": "pedido",
                "refund": "reembolso", "help": "ayuda", "today": "hoy", "my": "mi", "the": "el", "and": "y", "when": "cuándo",
                "what": "qué", "how": "cómo", "where": "dónde", "name": "nombre", "is": "es", "with": "con"},
    "German": {"please": "bitte", "hello": "hallo", "thanks": "danke", "money": "Geld", "order": "Bestellung",
               "refund": "Erstattung", "help": "Hilfe", "today": "heute", "my": "meine", "the": "die", "and": "und", "when": "wann",
               "what": "was", "how": "wie", "where": "wo", "name": "Name", "is": "ist", "with": "mit"},
    "French": {"please": "s'il vous plaît", "hello": "bonjour", "thanks": "merci", "money": "argent", "order": "commande",
               "refund": "remboursement", "help": "aide", "today": "aujourd'hui", "my": "mon", "the": "le", "and": "et",
               "when": "quand", "what": "quoi", "how": "comment", "where": "où", "name": "nom", "is": "est", "with": "avec"},
})
# fmt: on
_WORD = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True)
class MixedLanguage(Mutation):
    """Common words become those of one other language; the others stay."""

    name: ClassVar[str] = "language mix"

    def change(self, text: str, rng: random.Random) -> str:
        """The mixed text; with a greeting where it has no word that is known."""
        language = rng.choice(list(_WORDS))
        words = _WORDS[language]
        mixed = _WORD.sub(lambda word: words.get(word[0].lower(), word[0]), text)
        return (
            mixed
            if mixed != text
            else f"{words['hello'].capitalize()}! {text} {words['thanks'].capitalize()}."
        )
