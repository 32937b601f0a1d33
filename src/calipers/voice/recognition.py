"""A recognizer that needs no key and no network: pocketsphinx, whose wheel carries a model of English.

With a grammar, it finds the sentence of the grammar that fits best. Some sentence nearly always fits, so the sound is decoded
twice: with the grammar, and with phones alone. The sentence is accepted if its pronunciation is close to the phones; see
`phone_distance`. The limit of 0.6 was chosen on sixty requests drawn at random from a grammar and forty unrelated sentences, in two
voices; those of the demonstration and of the tests are others.

Without a grammar, it writes down the English it hears, several times slower and with many mistakes. What was heard before
changes nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from calipers.data.argument_checks import check_number
from calipers.errors import InvalidAudioError, InvalidOptionError
from calipers.process.user_code import call_in_thread

from .audio import Audio
from .decoder import SAMPLE_RATE, Vocabulary, decode

__all__ = ["Hearing", "Recognizer", "phone_distance"]

_PAUSE = bytes(2 * int(0.3 * SAMPLE_RATE))
"""Silence before and after: words that begin with the sound itself are missed."""
_KINDS = {
    "vowels": "AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW",
    "stops and affricates": "P B T D K G CH JH",
    "fricatives": "F V TH DH S Z SH ZH HH",
    "nasals": "M N NG",
    "liquids and glides": "L R W Y ER",
}
_KINDS_OF: dict[str, frozenset[str]] = {
    phone: frozenset(kind for kind, phones in _KINDS.items() if phone in phones.split())
    for phones in _KINDS.values()
    for phone in phones.split()
}
_WITHIN_A_KIND = 0.5


@dataclass(frozen=True, kw_only=True)
class Hearing:
    """What a recognizer heard, and what it thinks of that."""

    accepted: bool
    """Whether it believes that this was said."""
    text: str
    """The sentence that fits best; empty if none does."""
    reason: str
    """Why it was accepted or not, in words."""
    distance: float | None = None
    """How far the pronunciation of the sentence is from the sounds, from 0 up; `None` where it was not measured."""
    sounds: str = ""
    """The phones that were heard without the grammar."""
    pronunciation: str = ""
    """The phones of the sentence, as the grammar's decoder heard it."""


@dataclass(frozen=True)
class Recognizer:
    """Turns speech into text with pocketsphinx.

    ```python
    hearing = await Recognizer(grammar).recognize(audio)
    if hearing.accepted:
        print(hearing.text)
    ```
    """

    grammar: str | None = None
    """What may be said, in the JSpeech Grammar Format; `None` for any English."""
    max_distance: float = field(default=0.6, kw_only=True)
    """How far the sounds may be from those of the sentence. Infinity accepts all that fits the grammar."""
    pronunciations: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """Words that the dictionary lacks, with their phones in the ARPAbet: `{"frobnicator": "F R AA B N IH K EY T ER"}`."""

    def __post_init__(self) -> None:
        if self.grammar is not None and not isinstance(self.grammar, str):
            hint = ": give its jsgf" if hasattr(self.grammar, "jsgf") else ""
            raise InvalidOptionError(
                f"grammar must be a text in the JSpeech Grammar Format, or None, got {self.grammar!r:.200}{hint}"
            )
        check_number("max_distance", self.max_distance, at_least=0, at_most=math.inf)

    async def recognize(self, audio: Audio) -> Hearing:
        """What was said. The event loop goes on meanwhile, and several can be heard at once.

        Raises:
            InvalidAudioError: sound that cannot be read.
            InvalidOptionError: a grammar that cannot be read, or has words that cannot be pronounced.
            CalipersError: the process that listens cannot be started, or died.
        """
        hearing: Hearing = await call_in_thread(self.recognize_sync, audio)
        return hearing

    def recognize_sync(self, audio: Audio) -> Hearing:
        """What was said, for code that does not await; see `recognize`."""
        if not isinstance(audio, Audio):
            raise InvalidAudioError(
                f"a recognizer hears an Audio, got {audio!r:.80}: Audio.load reads a file"
            )
        pcm = audio.convert(SAMPLE_RATE, channels=1, sample_width=2).pcm
        if not pcm.strip(b"\0"):
            return Hearing(accepted=False, text="", reason="there is only silence")
        said = _PAUSE + pcm + _PAUSE
        words = Vocabulary(self.grammar, pronunciations=tuple(self.pronunciations.items()))
        heard = decode(words, said)
        if not heard.text:
            return Hearing(accepted=False, text="", reason="no sentence fits what was heard")
        if self.grammar is None:
            return Hearing(accepted=True, text=heard.text, reason="any English is accepted")
        sounds = decode(Vocabulary(phones_only=True), said).phones
        distance = phone_distance(heard.phones, sounds)
        accepted = distance is not None and distance <= self.max_distance
        measured = "nothing was heard" if distance is None else f"the sounds are {distance:.2f} away from it"
        limit = f"at most {self.max_distance:g} is accepted"
        return Hearing(
            accepted=accepted,
            text=heard.text,
            reason=f"{heard.text!r} fits best, and {measured}: {limit}",
            distance=distance,
            sounds=" ".join(sounds),
            pronunciation=" ".join(heard.phones),
        )


def phone_distance(first: Sequence[str], second: Sequence[str]) -> float | None:
    """How far apart two pronunciations are; `None` if one of them is empty.

    A pronunciation is a list of phones in the ARPAbet, as recognizers write them: `K AO L`. The distance is the least number
    of phones to insert, to leave out or to replace, over the length of the shorter list: 0 for the same, around 1 for two
    that have nothing in common. Replacing a phone by one of its kind (a stop by a stop, a vowel by a vowel) counts half,
    because a recognizer mistakes it as easily.
    """
    if not first or not second:
        return None
    before = [float(place) for place in range(len(second) + 1)]
    for row, phone in enumerate(first, 1):
        current = [float(row)]
        for place, other in enumerate(second, 1):
            replaced = before[place - 1] + _replacement(phone, other)
            current.append(min(before[place] + 1, current[-1] + 1, replaced))
        before = current
    return before[-1] / min(len(first), len(second))


def _replacement(phone: str, other: str) -> float:
    if phone == other:
        return 0.0
    alike = _KINDS_OF.get(phone, frozenset()) & _KINDS_OF.get(other, frozenset())
    return _WITHIN_A_KIND if alike else 1.0
