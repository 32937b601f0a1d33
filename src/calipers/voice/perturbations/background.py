"""Sounds that are added: noise, and other people talking.

A file that says `babble: 5` names no voices, and which synthesizer says the prompts is known only when it runs. Until then it
is a `PromptBabble`; `said_by` gives it its voices. All prompts are said once, when the first sound is perturbed.
"""

import itertools
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from calipers.data.argument_checks import check_choice, check_whole_number
from calipers.errors import InvalidOptionError
from calipers.process.loop import run_sync
from calipers.voice.audio import Audio
from calipers.voice.cache import said
from calipers.voice.protocols import Synthesizer

from .perturbation import Chain, Perturbation, as_sound, at_ratio, check_decibels, power

if TYPE_CHECKING:
    import numpy as np

    from calipers.voice.samples import Samples

NoiseColor: TypeAlias = Literal["white", "pink", "brown"]
"""How power falls with frequency: not at all (a hiss), by 3 dB an octave (rain), by 6 dB (a rumble)."""

_SLOPES = {"white": 0.0, "pink": 0.5, "brown": 1.0}
"""By which power of the frequency the amplitude falls."""
_LOWEST = 20.0
"""Hertz below which noise is flat: it is not heard, and brown noise would be nothing else."""


@dataclass(frozen=True)
class Noise(Perturbation):
    """Noise, so loud that the sound is `snr` decibels above it; different in every channel.

    Both powers are those of the whole: pauses count, so the ratio during speech is a little higher. Silence has
    no power to compare with, and stays silent.
    """

    kind = "noise"

    snr: float
    """Power of the sound over that of the noise, in dB. At 20 one hears it, at 0 both are as loud."""
    color: NoiseColor = "white"
    """How power falls with frequency."""
    seed: int = 0
    """Which noise."""

    def __post_init__(self) -> None:
        check_decibels("snr", self.snr)
        check_whole_number("seed", self.seed)
        check_choice("color", self.color, get_args(NoiseColor))

    def change(self, sound: Audio) -> "Samples":
        """Add the noise."""
        import numpy as np

        samples = sound.samples()
        noise = self.rng(sound).standard_normal(samples.shape)
        if self.color != "white":
            count = len(samples)
            frequencies = np.fft.rfftfreq(count, 1 / sound.sample_rate)[:, np.newaxis]
            spectrum = np.fft.rfft(noise, axis=0) / np.maximum(frequencies, _LOWEST) ** _SLOPES[self.color]
            noise = np.fft.irfft(spectrum, count, axis=0)
        return at_ratio(samples, noise, self.snr)


@dataclass(frozen=True)
class Babble(Perturbation):
    """Voices in the background, so loud together that the sound is `snr` decibels above them.

    Each voice speaks over and over, from a place in its speech that the seed chooses, and all are equally loud. A sound
    does not babble with itself: a voice that is the sound itself is left out.
    """

    kind = "babble"

    snr: float
    """Power of the sound over that of all voices together, in dB."""
    voices: Sequence[Audio | str | os.PathLike[str]] = ()
    """What is said in the background, such as the audio of other prompts: sounds, or paths of files."""
    count: int = 4
    """How many speak at a time; the seed chooses who. Fewer where there are fewer."""
    seed: int = 0
    """Who speaks, and from where."""

    def __post_init__(self) -> None:
        check_decibels("snr", self.snr)
        check_whole_number("count", self.count, at_least=1)
        check_whole_number("seed", self.seed)
        listed = () if isinstance(self.voices, str | bytes | os.PathLike) else tuple(self.voices)
        object.__setattr__(self, "voices", listed or self.voices)
        if not listed:
            raise InvalidOptionError(
                f"voices={self.voices!r}: babble needs a list of sounds, or of paths of sounds"
            )
        for voice in listed:
            if not isinstance(voice, Audio | str | os.PathLike):
                raise InvalidOptionError(f"{voice!r} is not a voice: give an Audio, or the path of a file")

    def apply(self, audio: Audio) -> Audio:
        """Add the voices.

        Raises:
            InvalidOptionError: no voice is audible and another than the sound.
        """
        sound = as_sound(audio)
        import numpy as np

        if not sound.frames:
            return sound
        rng = self.rng(sound)
        order = (_sound(self.voices[index]) for index in rng.permutation(len(self.voices)))
        spoken = (_spoken(voice, sound) for voice in order if voice.digest != sound.digest)
        audible = itertools.islice((samples for samples in spoken if power(samples)), self.count)
        talking = [_talking(samples, sound, rng) for samples in audible]
        if not talking:
            raise InvalidOptionError(
                f"none of the {len(self.voices)} voices is audible and another than the sound itself: give more voices"
            )
        return sound.with_samples(at_ratio(sound.samples(), np.sum(talking, axis=0), self.snr))

    def __repr__(self) -> str:
        return f"Babble(snr={self.snr!r}, voices=<{len(self.voices)}>, count={self.count}, seed={self.seed})"

    def _key_options(self) -> dict[str, Any]:
        """The voices by what they say, wherever that is stored."""
        return {"voices": [_sound(voice).digest for voice in self.voices]}


def _sound(voice: Audio | str | os.PathLike[str]) -> Audio:
    """A voice as a sound."""
    return (voice if isinstance(voice, Audio) else Audio.load(voice)).decode()


def _spoken(voice: Audio, sound: Audio) -> "Samples":
    """The samples of a voice in one channel, at the rate of a sound."""
    return voice.convert(sound.sample_rate, channels=1).samples()


def _talking(samples: "Samples", sound: Audio, rng: "np.random.RandomState") -> "Samples":
    """A voice of loudness one that speaks as long as the sound lasts, from a random place on."""
    import numpy as np

    first = rng.randint(len(samples))
    turned = np.resize(np.roll(samples, -first, axis=0), (sound.frames, 1))
    return np.repeat(turned / np.sqrt(power(samples)), sound.channels, axis=1)


class PromptVoices:
    """Prompts as sounds, said when they are first needed."""

    def __init__(self, prompts: Sequence[str], synthesizer: Synthesizer) -> None:
        self.prompts = prompts
        self.synthesizer = synthesizer
        self._sounds: list[Audio] | None = None
        self._guard = threading.Lock()

    def sounds(self) -> list[Audio]:
        """The sounds. Others that ask meanwhile wait; call it in a thread that runs no event loop."""
        with self._guard:
            if self._sounds is None:
                self._sounds = run_sync(self._say)
            return self._sounds

    async def _say(self) -> list[Audio]:
        return [await said(self.synthesizer, prompt) for prompt in self.prompts]


@dataclass(frozen=True)
class PromptBabble(Perturbation):
    """Other prompts in the background, so loud together that the sound is `snr` decibels above them."""

    kind = "babble"

    snr: float
    """Power of the sound over that of all voices together, in dB."""
    count: int = 4
    """How many speak at a time."""
    seed: int = 0
    """Who speaks, and from where."""
    voices: PromptVoices | None = field(default=None, compare=False, repr=False)
    """Who says what; `None` until that is known."""

    def __post_init__(self) -> None:
        Babble(self.snr, ["any"], self.count, self.seed)  # it knows what can be

    def apply(self, audio: Audio) -> Audio:
        """Add the voices."""
        if self.voices is None:
            raise InvalidOptionError("no synthesizer says the prompts: give it with said_by()")
        return Babble(self.snr, self.voices.sounds(), self.count, self.seed).apply(audio)


def said_by(perturbation: Perturbation, voices: PromptVoices) -> Perturbation:
    """The same perturbation, with these voices wherever it babbles with prompts."""
    parts = [
        PromptBabble(part.snr, part.count, part.seed, voices) if isinstance(part, PromptBabble) else part
        for part in perturbation.parts
    ]
    return Chain(*parts)
