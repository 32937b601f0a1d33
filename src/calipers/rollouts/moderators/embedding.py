"""`EmbeddingModerator`: how close a text is in meaning to examples of what it should not be.

The model is that of `calipers.models.embeddings`: it comes with a package, needs no network, and takes well under a millisecond
a sentence. It is a rough judge. It knows which words a text has, not how they are put together: to refuse a thing is close
to doing it. Give examples of both sides, close to what your target really says, and measure the moderator on texts of
your own before you believe it.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

from calipers.data.argument_checks import check_number, check_texts
from calipers.errors import InvalidOptionError
from calipers.models.embeddings import cosine_similarity, embed

from .moderator import TextModerator


@dataclass(frozen=True)
class EmbeddingModerator(TextModerator):
    """Scores a text by its similarity to the nearest example.

    With `harmless` examples the score says which side is nearer: 0.5 where both are equally near, above it where the
    nearest of `examples` is nearer. Without them it is the similarity itself, and the threshold is yours to find.
    """

    examples: Sequence[str]
    """Texts that score high."""
    _: KW_ONLY
    harmless: Sequence[str] = ()
    """Texts that score low."""
    sharpness: float = 12.0
    """How quickly the score leaves 0.5 as one side comes nearer."""

    blocking: ClassVar[bool] = False
    """It only works with texts, so it needs no thread."""

    def __post_init__(self) -> None:
        for name, texts in (("examples", self.examples), ("harmless", self.harmless)):
            check_texts(name, texts)
        if not self.examples:
            raise InvalidOptionError("an EmbeddingModerator needs at least one example of what scores high")
        check_number("sharpness", self.sharpness, above=0)

    def score_text(self, text: str) -> float:
        """The score of one text.

        Raises:
            MissingExtraError: wordllama is not installed.
        """
        (vector,) = embed([text])
        high, low = self._vectors
        near = max(cosine_similarity(vector, each) for each in high)
        if not low:
            return max(0.0, near)
        lead = near - max(cosine_similarity(vector, each) for each in low)
        return 1 / (1 + math.exp(-self.sharpness * lead)) if self.sharpness * lead > -700 else 0.0

    @cached_property
    def _vectors(self) -> tuple[list[list[float]], list[list[float]]]:
        return embed(self.examples), embed(self.harmless)
