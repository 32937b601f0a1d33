"""What was lost in hearing: word error rate, and error rate of the words that matter.

Both compare texts as they are spoken: lower case, no punctuation, numbers in words (`spelling` says which). A number may
be said in several ways, and these are the same: `nineteen ninety nine` and `one thousand nine hundred ninety nine`, `fifteen
hundred` and `one thousand five hundred`, `a hundred and five` and `one hundred five`. Other ways are not, such as `five fifty`
for $5.50, or the digits of a telephone number one by one.

The *entities* of a request are the argument values of the expected calls that are said in it; one is lost if it cannot be
found in what was heard. An agent may mishear every other word and still do the right thing.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError, MissingExtraError
from calipers.voice.spelling import number_words, spoken_words

_SMALL = {number_words(number): number for number in range(1, 100)}
"""By their spelling: numbers that are said of the last two digits of a year, and of the two before."""
_CENTURIES = range(13, 21)
"""What a year may begin with; from 1 to 12 it would be the hour of a time."""
_ROUND = frozenset({"hundred", "thousand", "million", "billion", "trillion"})
_BEFORE_AND = _ROUND | {"dollar", "dollars", "euro", "euros", "pound", "pounds"}


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
    reference, hypothesis = compared_words(said), compared_words(heard)
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
    values = (" ".join(spoken_words(_text(value))) for call in calls for value in _leaves(call.arguments))
    return [value for value in values if value and _is_said(value, said)]


def lost_entities(said: str, heard: str, calls: Sequence[ToolCall]) -> list[str]:
    """Those of the entities of a request that cannot be found in what was heard."""
    return [entity for entity in entities(said, calls) if not _is_said(entity, heard)]


def compared_words(text: str) -> list[str]:
    """The words of a text as they are spoken, with numbers said in one way."""
    words = spoken_words(text)
    found: list[str] = []
    place = 0
    while place < len(words):
        word, after = words[place], words[place + 1 : place + 2]
        if word == "and" and found[-1:] and found[-1] in _BEFORE_AND and after and after[0] in _SMALL:
            place += 1
        elif word == "a" and after and after[0] in _ROUND:
            found.append("one")
            place += 1
        else:
            said, width = _number_at(words, place)
            found += said
            place += width
    return found


def _number_at(words: Sequence[str], place: int) -> tuple[list[str], int]:
    """The words at a place, and how many there were: those of a number in two parts as one number."""
    hundreds, width = _small_at(words, place)
    following = words[place + width : place + width + 2]
    if hundreds < 11 or not following:
        return list(words[place : place + max(width, 1)]), max(width, 1)
    if following[0] == "hundred":
        rest, more = _small_at(words, place + width + 1)
        return number_words(hundreds * 100 + rest).split(), width + 1 + more
    is_century = hundreds in _CENTURIES
    if is_century and following[0] == "oh" and 1 <= _SMALL.get(following[-1], 0) <= 9:
        return number_words(hundreds * 100 + _SMALL[following[-1]]).split(), width + 2
    rest, more = _small_at(words, place + width)
    if is_century and rest >= 10:
        return number_words(hundreds * 100 + rest).split(), width + more
    return list(words[place : place + width]), width


def _small_at(words: Sequence[str], place: int) -> tuple[int, int]:
    """The number from 1 to 99 that stands at a place, and its words; none of either if there is no number."""
    for width in (2, 1):
        text = " ".join(words[place : place + width])
        if text in _SMALL:
            return _SMALL[text], min(width, len(words) - place)
    return 0, 0


def _text(value: Any) -> str:
    """A value as one would say it: nobody says the `.0` of a whole number."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list | tuple | AbstractSet):
        for each in value:
            yield from _leaves(each)
    elif value is not None and not isinstance(value, bool):  # nobody says None or True
        yield value


def _is_said(entity: str, text: str) -> bool:
    """Whether the words of an entity stand in a text, as it is spoken or with its numbers said in one way.

    Both, since the hour of half past fourteen is said in `fourteen thirty`, and is no part of the number 1430.
    """
    return any(_stands_in(read(entity), read(text)) for read in (spoken_words, compared_words))


def _stands_in(part: Sequence[str], whole: Sequence[str]) -> bool:
    width = len(part)
    return any(list(whole[at : at + width]) == list(part) for at in range(len(whole) - width + 1))
