"""A mutation: one small change of a text. What is chance comes from `rng`, so the same seed gives the same text."""

import random
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Mutation:
    """Base of all mutations. One of your own says its `name` and defines `change`."""

    name: ClassVar[str] = ""
    """What trials call it."""
    keeps_meaning: ClassVar[bool] = True
    """Whether the changed text asks for the same, so that what is expected of the answer still holds."""

    def change(self, text: str, rng: random.Random) -> str:
        """The changed text; the text itself where there is nothing to change."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say how it changes a text: define change()"
        )

    @property
    def label(self) -> str:
        """The name, or that of the class where there is none."""
        return self.name or type(self).__name__
