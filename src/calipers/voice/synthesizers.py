"""A synthesizer that needs no key and no network: espeak-ng, which comes with `pip install 'calipers[voice]'`.

It sounds like a robot, and it is quick, small and repeatable: the same text, settings and version of the engine give the same
bytes. The engine is under the GNU General Public License, version 3; Calipers only calls it.

A voice is the name of a language or accent, such as `en-us`, `en-gb-x-rp` or `de`, with or without a variant: `en-us+f2`.
Recognizers differ a lot in how well they understand these voices; they understand the default well. Markup and commands in a
text are not obeyed, and control characters count as spaces.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from calipers.data.argument_checks import check_whole_number
from calipers.errors import InvalidOptionError
from calipers.process.user_code import call_in_thread

from .audio import Audio
from .espeak_engine import PARAMETERS, engine_version, speak, variant_names, voice_names

__all__ = ["EspeakSynthesizer"]

_RANGES = {"speed": (80, 450), "pitch": (0, 99), "pitch_range": (0, 99), "word_gap": (0, 500)}
_SHOWN = 80
_CLOSE_ONES = 4


@dataclass(frozen=True)
class EspeakSynthesizer:
    """Speaks text with espeak-ng.

    ```python
    audio = await EspeakSynthesizer().synthesize("turn on the kitchen lights")
    audio = EspeakSynthesizer("en-gb-x-rp+m3", speed=180).synthesize_sync("call anna")
    ```
    """

    voice: str = "en-us+f2"
    """The name of a voice, then a plus sign and a variant if wanted; see `voices` and `variants`."""
    speed: int = field(default=150, kw_only=True)
    """Words per minute, from 80 to 450."""
    pitch: int = field(default=50, kw_only=True)
    """How high the voice is, from 0 to 99."""
    pitch_range: int = field(default=50, kw_only=True)
    """How far the pitch moves, from 0 (monotonous) to 99."""
    word_gap: int = field(default=0, kw_only=True)
    """The pause between words, in hundredths of a second at the default speed, from 0 to 500."""

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            check_whole_number(name, getattr(self, name), at_least=low, at_most=high)

    def wrong_options(self) -> Iterator[tuple[str, str]]:
        """The voice, if the engine does not have it, and what is wrong with it."""
        try:
            self._checked_voice()
        except InvalidOptionError as error:
            yield "voice", str(error)

    async def synthesize(self, text: str) -> Audio:
        """The text as speech: 16 bits, one channel. The event loop goes on meanwhile.

        Raises:
            InvalidOptionError: nothing to say, or a voice that the engine does not have.
        """
        audio: Audio = await call_in_thread(self.synthesize_sync, text)
        return audio

    def synthesize_sync(self, text: str) -> Audio:
        """The text as speech, for code that does not await; see `synthesize`."""
        if not isinstance(text, str):
            raise InvalidOptionError(f"only text can be spoken, got {text!r}")
        spoken = "".join(" " if unicodedata.category(char) == "Cc" else char for char in text)
        if not spoken.strip():
            raise InvalidOptionError(
                f"there is nothing to say in {text!r}: Audio.silence makes silence of any length"
            )
        settings = {name: getattr(self, name) for name in PARAMETERS}
        frames, rate = speak(spoken, voice=self._checked_voice(), parameters=settings)
        if not frames.strip(b"\0"):
            raise InvalidOptionError(
                f"the voice {self.voice!r} has no words for {text[:_SHOWN]!r}: it made no sound"
            )
        return Audio.from_pcm(frames, sample_rate=rate)

    @staticmethod
    def voices() -> tuple[str, ...]:
        """The names of all voices: languages and accents."""
        return voice_names()

    @staticmethod
    def variants() -> tuple[str, ...]:
        """The names of all variants; any of them goes with any voice, after a plus sign."""
        return variant_names()

    def cache_key(self) -> dict[str, Any]:
        """All that the sound depends on, apart from the text: the settings and the version of the engine."""
        return {"engine": f"espeak-ng {engine_version()}", **vars(self)}

    def _checked_voice(self) -> str:
        """The voice in the engine's spelling: it takes an unknown variant for none, without a word."""
        if not isinstance(self.voice, str):
            raise InvalidOptionError(f"voice must be a name such as 'en-us+f2', got {self.voice!r}")
        name, plus, variant = self.voice.partition("+")
        _check_name("voice", name.lower(), self.voices(), whole=self.voice)
        if plus:
            _check_name("variant", variant, self.variants(), whole=self.voice)
        return f"{name.lower()}{plus}{variant}"


def _check_name(kind: str, name: str, known: tuple[str, ...], *, whole: str) -> None:
    if name in known:
        return
    folded = {each.lower(): each for each in known}
    longer = [each for each in folded if name and each.startswith(name.lower())]
    similar = get_close_matches(name.lower(), folded, n=_CLOSE_ONES, cutoff=0.5)
    # The names are codes of languages, of which most begin as the language does in English.
    code = [each for each in folded if each.partition("-")[0] == name[:2].lower()]
    close = [repr(folded[each]) for each in dict.fromkeys(longer + similar or code)][:_CLOSE_ONES]
    hint = f"close ones: {', '.join(close)}; " if close else ""
    raise InvalidOptionError(
        f"voice={whole!r}: espeak-ng has no {kind} {name!r} ({hint}`calipers voice voices` and "
        f"EspeakSynthesizer.{kind}s() list all)"
    )
