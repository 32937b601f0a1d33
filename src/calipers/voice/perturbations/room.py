"""The room in which somebody speaks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from calipers.voice.audio import Audio

from .perturbation import Perturbation, check_decibels, check_number, check_whole, power, within_range

if TYPE_CHECKING:
    import numpy as np

    from calipers.voice.samples import Samples


@dataclass(frozen=True)
class Reverberation(Perturbation):
    """A room that answers: the sound itself, and then noise that dies away behind every part of it.

    The answer of the room is noise under an exponential decay (Polack's model of late reverberation, 1988), which is
    what large rooms come close to; there are no single echoes. A seed is a room, the same for every sound. The loudness
    of the whole stays as it was. What rings after the end of the sound is cut: put `Silence(after=…)` before, to hear it.
    """

    kind = "reverberation"

    rt60: float
    """Seconds in which the room becomes 60 dB quieter: 0.3 in a living room, 0.6 in an office, 2 in a church, 0 outdoors."""
    direct: float = 0.0
    """Power of the sound itself over that of the room's answer, in dB; lower is farther away."""
    seed: int = 0
    """Which room."""

    def __post_init__(self) -> None:
        check_number("rt60", self.rt60, least=0, most=60)
        check_decibels("direct", self.direct)
        check_whole("seed", self.seed)

    def change(self, sound: Audio) -> "Samples":
        """Let the room answer."""
        import numpy as np

        samples = sound.samples()
        heard = power(samples)
        room = self.response(sound.sample_rate)
        if len(room) == 1 or not heard:
            return samples
        size = len(samples) + len(room) - 1
        spectrum = np.fft.rfft(samples, size, axis=0) * np.fft.rfft(room, size)[:, np.newaxis]
        answered = np.fft.irfft(spectrum, size, axis=0)[: len(samples)]
        return within_range(answered * np.sqrt(heard / power(answered)))

    def response(self, sample_rate: int) -> "np.typing.NDArray[np.float64]":
        """What a single click in the room sounds like, until it is 60 dB quieter."""
        import numpy as np

        length = round(self.rt60 * sample_rate)
        click = np.zeros(length + 1)
        click[0] = 1.0
        if length:
            time = np.arange(1, length + 1) / sample_rate
            tail = self.rng().standard_normal(length) * 10 ** (-3 * time / self.rt60)
            click[1:] = tail / np.sqrt((tail**2).sum()) * 10 ** (-self.direct / 20)
        return click
