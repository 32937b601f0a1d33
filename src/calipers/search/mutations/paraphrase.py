"""The same in the words of a language model. It is asked before the search, so that the search can be made again without it.

```python
paraphrases = await ModelParaphrase("openai:gpt-5-mini").of(dataset)
space = case_variants(dataset, [paraphrases, "typos"])
```
"""

import asyncio
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Final

from calipers.data.argument_checks import check_number, check_whole_number
from calipers.errors import InvalidOptionError
from calipers.models.model import Ask, as_model
from calipers.rollouts.players import Message
from calipers.rollouts.testers import ask_model
from calipers.run.dataset import Dataset
from calipers.search.realism import said_by_user

from .mutation import Mutation

PARAPHRASE: Final = (
    "Say the following message in other words, as another user would write it. Keep its meaning, its names and its numbers. "
    "Write nothing but the message.\n\n{text}"
)
_NUMBER: Final = re.compile(r"\d+")
_AT_ONCE: Final = 8


@dataclass(frozen=True)
class Paraphrases(Mutation):
    """Texts in other words that are known before the search. A text of which none is known stays as it is."""

    by_text: Mapping[str, Sequence[str]]

    name: ClassVar[str] = "paraphrase"

    def change(self, text: str, rng: random.Random) -> str:
        """One of the paraphrases of the text."""
        known = self.by_text.get(text)
        return rng.choice(known) if known else text


@dataclass(frozen=True)
class ModelParaphrase:
    """A paraphrase by a language model."""

    model: Any
    """Any model of `calipers.models`, or any target of conversations."""
    prompt: str = PARAPHRASE
    """`{text}` in it is the text."""
    _: KW_ONLY
    temperature: float | None = 1.0
    """Of a model of `calipers.models`."""

    name: ClassVar[str] = "paraphrase"
    keeps_meaning: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not callable(getattr(self.model, "reply", None)):
            as_model(self.model)
        check_number("temperature", self.temperature, at_least=0, or_none=True)
        if "{text}" not in self.prompt:
            raise InvalidOptionError(
                f"the prompt of a paraphrase must have {{text}} in it, got {self.prompt!r:.200}"
            )

    async def change(self, text: str, rng: random.Random) -> str:
        """What the model makes of the text; the text itself where it says nothing."""
        return await self._asked(text, rng.getrandbits(31), 0) or text

    async def of(
        self, texts: "Iterable[str] | Dataset[Any, Any, Any]", *, times: int = 3, seed: int = 0
    ) -> Paraphrases:
        """Paraphrases of texts, to be given to `case_variants` and to relations as any mutation.

        One that loses a number or adds one asks for something else, and is left out; so is one that says the same twice.

        Args:
            texts: texts, or a dataset, of which those in the inputs count.
            times: how often the model is asked of each.
            seed: from which its draws follow, where it takes a seed.

        Raises:
            ModelError: the model cannot be asked.
        """
        check_whole_number("times", times, at_least=1)
        given = (
            [text for case in texts.cases for text in said_by_user(case.inputs)]
            if isinstance(texts, Dataset)
            else list(texts)
        )
        asked = [(text, again) for text in dict.fromkeys(given) if text.strip() for again in range(times)]
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(text: str, again: int) -> str:
            async with places:
                rng = random.Random(f"paraphrase {seed} {again} {text}")  # noqa: S311 - chance, not secrets
                return await self._asked(text, rng.getrandbits(31), again)

        said = await asyncio.gather(*(one(text, again) for text, again in asked))
        found: dict[str, list[str]] = {}
        for (text, _), other in zip(asked, said, strict=True):
            same_numbers = sorted(_NUMBER.findall(text)) == sorted(_NUMBER.findall(other))
            if other and other != text and same_numbers and other not in found.setdefault(text, []):
                found[text].append(other)
        return Paraphrases({text: tuple(others) for text, others in found.items() if others})

    async def _asked(self, text: str, seed: int, again: int) -> str:
        said = self.prompt.replace("{text}", text)
        if callable(getattr(self.model, "reply", None)):
            return (await ask_model(self.model, [Message("user", said)])).text.strip()
        question = Ask(
            messages=[{"role": "user", "content": said}],
            temperature=self.temperature,
            seed=seed,
            repeat=again,
        )
        answer = await as_model(self.model).ask(question)
        return (answer.text or "").strip()
