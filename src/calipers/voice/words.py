"""What was lost in hearing: word error rate, and error rate of the words that matter.

Both compare texts as they are spoken: lower case, no punctuation, numbers in words. The *entities* of a request are the
argument values of the expected calls that are said in it; one is lost if it cannot be found in what was heard. An agent
may mishear every other word and still do the right thing.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from calipers.errors import InvalidOptionError, MissingExtraError
from calipers.trace import ToolCall

from .demo.spelling import spoken_words


@dataclass(frozen=True)
class WordErrors:
    """How what was heard differs from what was said."""

    substitutions: int
    """Words heard as other words."""
    deletions: int
    """Words that were not heard."""
    insertions: int
    """Words heard that nobody said."""
    words: int
    """Words that were said."""

    @property
    def errors(self) -> int:
        """All of them."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float:
        """Errors per word that was said; more than 1 if much was heard that nobody said."""
        return self.errors / self.words

    def __add__(self, other: "WordErrors") -> "WordErrors":
        return WordErrors(
            self.substitutions + other.substitutions,
            self.deletions + other.deletions,
            self.insertions + other.insertions,
            self.words + other.words,
        )


def has_words(text: Any) -> bool:
    """Whether anything is said in a text."""
    return isinstance(text, str) and bool(spoken_words(text))


def word_errors(said: str, heard: str) -> WordErrors:
    """The errors of one text heard as another, with the fewest edits.

    Raises:
        InvalidOptionError: nothing was said, so there is nothing to lose; or one of them is no text.
        MissingExtraError: jiwer is not installed.
    """
    for what, text in (("said", said), ("heard", heard)):
        if not isinstance(text, str):
            raise InvalidOptionError(
                f"what was {what} is a text, got {text!r:.200}: an agent that does not tell what it heard has no errors"
            )
    reference, hypothesis = spoken_words(said), spoken_words(heard)
    if not reference:
        raise InvalidOptionError(f"there are no words in {said!r}, so none can be misheard")
    try:
        import jiwer
    except ImportError:
        raise MissingExtraError.of("the word error rate", "voice") from None
    found = jiwer.process_words(" ".join(reference), " ".join(hypothesis))
    return WordErrors(found.substitutions, found.deletions, found.insertions, len(reference))


def entities(said: str, calls: Sequence[ToolCall]) -> list[str]:
    """The argument values of the calls that are said in the text, as they are spoken, each as often as it is expected."""
    spoken = spoken_words(said)
    values = (" ".join(spoken_words(str(value))) for call in calls for value in _leaves(call.arguments))
    return [value for value in values if value and _stands_in(value.split(), spoken)]


def lost_entities(said: str, heard: str, calls: Sequence[ToolCall]) -> list[str]:
    """Those of the entities of a request that cannot be found in what was heard."""
    found = spoken_words(heard)
    return [entity for entity in entities(said, calls) if not _stands_in(entity.split(), found)]


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list | tuple | AbstractSet):
        for each in value:
            yield from _leaves(each)
    elif value is not None and not isinstance(value, bool):  # nobody says None or True
        yield value


def _stands_in(part: Sequence[str], whole: Sequence[str]) -> bool:
    width = len(part)
    return any(list(whole[at : at + width]) == list(part) for at in range(len(whole) - width + 1))
