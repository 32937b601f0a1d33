"""How a sentence is spoken: how fast, how high, how loud, and with how much silence around it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from calipers.data.argument_checks import check_number
from calipers.voice.audio import Audio
from calipers.voice.samples import resample

from .perturbation import Perturbation, as_sound, check_decibels

if TYPE_CHECKING:
    import numpy as np

    from calipers.voice.samples import Samples

_FRAME_SECONDS = 0.03
"""The length of the pieces that are laid over each other: two or more periods of any voice."""
_SEARCH_SECONDS = 0.01
"""How far a piece may be taken from where it is due: one period of a low voice."""
_FASTEST = 8
_HIGHEST = 24


@dataclass(frozen=True)
class Speed(Perturbation):
    """Faster and higher, or slower and lower, like a tape: the duration is divided by the factor."""

    kind = "speed"

    factor: float
    """How much faster: 1 is as it was, 2 half as long."""

    def __post_init__(self) -> None:
        check_number("factor", self.factor, at_least=1 / _FASTEST, at_most=_FASTEST)

    def change(self, sound: Audio) -> "Samples":
        """Play it at another speed."""
        return _played(sound.samples(), sound.sample_rate, round(sound.frames / self.factor))


@dataclass(frozen=True)
class Tempo(Perturbation):
    """Faster or slower at the same pitch: the duration is divided by the factor."""

    kind = "tempo"

    factor: float
    """How much faster: 1 is as it was, 2 half as long."""

    def __post_init__(self) -> None:
        check_number("factor", self.factor, at_least=1 / _FASTEST, at_most=_FASTEST)

    def change(self, sound: Audio) -> "Samples":
        """Take pieces at one pace and lay them out at another."""
        return _stretched(sound.samples(), sound.sample_rate, round(sound.frames / self.factor))


@dataclass(frozen=True)
class Pitch(Perturbation):
    """Higher or lower in the same time."""

    kind = "pitch"

    semitones: float
    """How much higher; 12 are an octave."""

    def __post_init__(self) -> None:
        check_number("semitones", self.semitones, at_least=-_HIGHEST, at_most=_HIGHEST)

    def change(self, sound: Audio) -> "Samples":
        """Stretch it, and play that faster."""
        longer = round(sound.frames * 2 ** (self.semitones / 12))
        stretched = _stretched(sound.samples(), sound.sample_rate, longer)
        return _played(stretched, sound.sample_rate, sound.frames)


def _played(samples: "Samples", sample_rate: int, count: int) -> "Samples":
    """The sound played so fast that it has `count` frames."""
    import numpy as np

    if count == len(samples) or not len(samples):
        return samples
    # The ratio of the counts, rather than the factor, ends at the last frame and not near it.
    found = resample(samples, sample_rate * len(samples) / max(count, 1), sample_rate)
    return np.pad(found, ((0, max(0, count - len(found))), (0, 0)))[:count]


def _stretched(samples: "Samples", sample_rate: int, count: int) -> "Samples":
    """The sound in `count` frames at its pitch, by WSOLA (Verhelst and Roelands, 1993).

    Pieces are laid over each other at an even pace. Each is taken from near where it is due, from where it best
    continues the piece before it.
    """
    import numpy as np

    hop = max(1, round(_FRAME_SECONDS * sample_rate / 2))
    reach = round(_SEARCH_SECONDS * sample_rate)
    if count == len(samples):
        return samples
    if len(samples) < 2 * (hop + reach):  # too short to have a pitch
        return _played(samples, sample_rate, count)
    window = np.hanning(2 * hop + 1)[:-1, np.newaxis]
    padded = np.pad(samples, ((hop + reach, 2 * hop + reach), (0, 0)))
    guide = padded.mean(axis=1)
    pace = len(samples) / count
    laid = np.zeros((count + 4 * hop, samples.shape[1]))
    at = reach  # where a piece begins in the padded sound; the middle of the first is the beginning of the sound
    for start in range(0, count + hop, hop):
        if start:
            earliest = round(min(start * pace, len(samples)))
            at = earliest + _best(guide, at + hop, earliest, 2 * reach + 1, hop)
        laid[start : start + 2 * hop] += padded[at : at + 2 * hop] * window
    return laid[hop : hop + count]


def _best(
    guide: "np.typing.NDArray[np.float64]", continues: int, first: int, choices: int, length: int
) -> int:
    """Which of so many places, from `first` on, is most like the place where the piece before continues."""
    import numpy as np

    wanted = guide[continues : continues + length]
    region = guide[first : first + choices + length - 1]
    likeness = np.correlate(region, wanted)
    energy = np.convolve(region**2, np.ones(length), "valid")
    return int(np.argmax(likeness / np.sqrt(energy + 1e-9)))


@dataclass(frozen=True)
class Gain(Perturbation):
    """Louder or quieter; what exceeds full scale clips."""

    kind = "gain"

    decibels: float
    """How much louder, in dB: 6 is about twice the amplitude."""

    def __post_init__(self) -> None:
        check_decibels("decibels", self.decibels)

    def change(self, sound: Audio) -> "Samples":
        """Make it louder."""
        return sound.samples() * 10 ** (self.decibels / 20)


@dataclass(frozen=True)
class Clip(Perturbation):
    """The peaks cut off, as by a microphone that is too near: the loudest `depth` decibels are missing."""

    kind = "clip"

    depth: float
    """How far below the peak the limit is, in dB. At 6 it shows in a plot, at 20 it is plain to hear."""

    def __post_init__(self) -> None:
        check_decibels("depth", self.depth, least=0)

    def change(self, sound: Audio) -> "Samples":
        """Cut the peaks."""
        samples = sound.samples()
        limit = float(abs(samples).max()) * 10 ** (-self.depth / 20)
        return samples.clip(-limit, limit)


@dataclass(frozen=True)
class Silence(Perturbation):
    """Silence before and after a sound, which itself stays as it is."""

    kind = "silence"

    before: float = 0.0
    """Seconds before the sound."""
    after: float = 0.0
    """Seconds after it."""

    def __post_init__(self) -> None:
        check_number("before", self.before, at_least=0, at_most=3600)
        check_number("after", self.after, at_least=0, at_most=3600)

    def apply(self, audio: Audio) -> Audio:
        """Put silence around the sound; around none, it is silence alone."""
        sound = as_sound(audio)
        before, after = (
            Audio.silence(
                seconds,
                sample_rate=sound.sample_rate,
                channels=sound.channels,
                sample_width=sound.sample_width,
            )
            for seconds in (self.before, self.after)
        )
        return Audio.join([before, sound, after])
