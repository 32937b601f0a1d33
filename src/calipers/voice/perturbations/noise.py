"""Steady noise at a signal-to-noise ratio."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from calipers.errors import InvalidOptionError
from calipers.voice.audio import Audio

from .perturbation import Perturbation, at_ratio, check_decibels, check_whole

if TYPE_CHECKING:
    from calipers.voice.samples import Samples

NoiseColor: TypeAlias = Literal["white", "pink", "brown"]
"""How power falls with frequency: not at all (a hiss), by 3 dB an octave (rain), by 6 dB (a rumble)."""

_SLOPES = {"white": 0.0, "pink": 0.5, "brown": 1.0}
"""By which power of the frequency the amplitude falls."""
_LOWEST = 20.0
"""Hertz below which noise is flat: nobody hears it, and brown noise would be nothing else."""


@dataclass(frozen=True)
class Noise(Perturbation):
    """Noise, so loud that the sound is `snr` decibels above it; different in every channel.

    Both powers are those of the whole: pauses count, so the ratio while somebody speaks is a little higher. Silence has
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
        check_whole("seed", self.seed)
        if self.color not in get_args(NoiseColor):
            raise InvalidOptionError(f"color={self.color!r} is none of {', '.join(get_args(NoiseColor))}")

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
