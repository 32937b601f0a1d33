"""The encodings and disguises of attacks on conversations, as mutations of any text."""

import random
from dataclasses import dataclass

from calipers.errors import InvalidOptionError
from calipers.rollouts.attacks.library import ATTACKS

from .mutation import Mutation


@dataclass(frozen=True)
class Encoded(Mutation):
    """A text as one of the attacks of `calipers.rollouts.attacks` writes it: `base64`, `leetspeak`, `look_alikes`."""

    attack: str = "base64"

    def __post_init__(self) -> None:
        if self.attack not in ATTACKS:
            raise InvalidOptionError(f"no attack {self.attack!r}: there are {', '.join(ATTACKS)}")

    @property
    def label(self) -> str:
        """The name of the attack."""
        return self.attack

    def change(self, text: str, rng: random.Random) -> str:
        """The encoded text; a blank one stays as it is."""
        return ATTACKS[self.attack].change(text, rng) if text.strip() else text
