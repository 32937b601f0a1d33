"""A mutation: one small change of a text. What is chance comes from `rng`, so the same seed gives the same text."""

import random
from dataclasses import dataclass
from typing import Any, ClassVar

from calipers.errors import InvalidOptionError
from calipers.rollouts.players import Message
from calipers.rollouts.targets import as_target
from calipers.rollouts.testers import ask_model


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


PARAPHRASE = (
    "Say the following message in other words, as another user would write it. Keep its meaning, its names and its numbers. "
    "Write nothing but the message.\n\n{text}"
)


@dataclass(frozen=True)
class ModelParaphrase:
    """A paraphrase by a language model: any target of conversations. It is awaited, so it is a building block for strategies of your own."""

    model: Any
    prompt: str = PARAPHRASE
    """`{text}` in it is the text."""

    name: ClassVar[str] = "paraphrase"
    keeps_meaning: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_target(self.model)
        if "{text}" not in self.prompt:
            raise InvalidOptionError(
                f"the prompt of a paraphrase must have {{text}} in it, got {self.prompt!r:.200}"
            )

    async def change(self, text: str, rng: random.Random) -> str:
        """What the model makes of the text; the text itself where it says nothing."""
        del rng
        reply = await ask_model(self.model, [Message("user", self.prompt.replace("{text}", text))])
        return reply.text.strip() or text
