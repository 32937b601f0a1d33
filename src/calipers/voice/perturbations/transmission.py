"""The way from the speaker to the agent: a room, a telephone line, a network that loses packets."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from calipers.data.argument_checks import check_choice, check_flag, check_number, check_whole_number
from calipers.errors import InvalidOptionError
from calipers.voice.audio import Audio
from calipers.voice.samples import Law, decode_g711, encode_g711, resample

from .perturbation import Perturbation, check_decibels, power, within_range

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        check_number("rt60", self.rt60, at_least=0, at_most=60)
        check_decibels("direct", self.direct)
        check_whole_number("seed", self.seed)

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


_LINE_RATE = 8000
"""Frames per second of a telephone line."""
_EDGE = 50.0
"""Hertz in which a band fades out beyond each of its limits."""


@dataclass(frozen=True)
class Band(Perturbation):
    """Only what lies between two frequencies; the rest is gone 50 Hz further out."""

    kind = "band"

    low: float = 300.0
    """The lower limit in Hz."""
    high: float = 3400.0
    """The upper limit in Hz."""

    def __post_init__(self) -> None:
        check_number("low", self.low, at_least=0)
        check_number("high", self.high, above=0)
        if self.low >= self.high:
            raise InvalidOptionError(f"low={self.low!r} must be below high={self.high!r}")

    def change(self, sound: Audio) -> "Samples":
        """Cut the rest."""
        return _band(sound.samples(), sound.sample_rate, self.low, self.high)


@dataclass(frozen=True)
class Codec(Perturbation):
    """The sound in the 256 levels of G.711, at its own sample rate."""

    kind = "codec"

    law: Law = "ulaw"
    """`ulaw` in North America and Japan, `alaw` elsewhere."""

    def __post_init__(self) -> None:
        check_choice("law", self.law, get_args(Law))

    def change(self, sound: Audio) -> "Samples":
        """Round to the levels of the codec."""
        return _coded(sound.samples(), self.law)


@dataclass(frozen=True)
class Telephone(Perturbation):
    """A call over the old line: 300 to 3400 Hz, 8000 frames a second, G.711.

    The sound has its own sample rate again at the end, so that whatever follows does not see a difference.
    """

    kind = "telephone"

    codec: Law | None = "ulaw"
    """The law of G.711, or `None` for the band alone."""

    def __post_init__(self) -> None:
        check_choice("codec", self.codec, get_args(Law), or_none=True)

    def change(self, sound: Audio) -> "Samples":
        """Send it over the line."""
        rate = sound.sample_rate
        line = resample(_band(sound.samples(), rate, 300.0, 3400.0), rate, _LINE_RATE)
        if self.codec is not None:
            line = _coded(line, self.codec)
        return _exactly(resample(line, _LINE_RATE, rate), sound.frames)


def _band(samples: "Samples", sample_rate: int, low: float, high: float) -> "Samples":
    """What lies in a band, without delay; a tenth of a second of silence keeps the end from reaching the beginning."""
    import numpy as np

    size = len(samples) + sample_rate // 10
    frequencies = np.fft.rfftfreq(size, 1 / sample_rate)
    outside = np.maximum(low - frequencies, frequencies - high) / _EDGE
    gain = np.cos(np.clip(outside, 0, 1) * np.pi / 2)[:, np.newaxis]
    kept: Samples = np.fft.irfft(np.fft.rfft(samples, size, axis=0) * gain, size, axis=0)[: len(samples)]
    return kept


def _coded(samples: "Samples", law: Law) -> "Samples":
    """What a codec leaves of samples."""
    import numpy as np

    levels = np.clip(np.rint(samples * 32768), -32768, 32767).astype(np.int16)
    return decode_g711(encode_g711(levels, law), law) / 32768.0


def _exactly(samples: "Samples", count: int) -> "Samples":
    """So many frames: resampling there and back may lose or gain one."""
    import numpy as np

    return np.pad(samples, ((0, max(0, count - len(samples))), (0, 0)))[:count]


_FADE = 0.5
"""What remains of the amplitude each time a packet is repeated."""


@dataclass(frozen=True)
class PacketLoss(Perturbation):
    """A network that loses packets: what was in them is silence, or a fading repetition of the last one that arrived.

    With `burst`, losses come in runs by Gilbert's model (1960): a line that is good or bad, and changes from one to the
    other by chance. Without, each packet is lost or not for itself.
    """

    kind = "packet_loss"

    rate: float
    """The share of packets that is lost in the long run, from 0 to 1."""
    burst: float | None = None
    """How many packets in a row are lost on average, 1 or more; `None` for independent losses."""
    packet: float = 0.02
    """The length of a packet in seconds."""
    conceal: bool = False
    """Whether the receiver repeats the last packet, at half the amplitude each time, instead of silence."""
    seed: int = 0
    """Which packets."""

    def __post_init__(self) -> None:
        check_number("rate", self.rate, at_least=0, at_most=1)
        check_number("packet", self.packet, above=0)
        check_whole_number("seed", self.seed)
        if self.burst is not None:
            check_number("burst", self.burst, at_least=1)
            if self.rate > self.burst / (self.burst + 1):
                raise InvalidOptionError(
                    f"rate={self.rate!r} cannot come in bursts of {self.burst!r} on average, as at least one packet"
                    " arrives between two of them: make the bursts longer"
                )
        check_flag("conceal", self.conceal)

    def change(self, sound: Audio) -> "Samples":
        """Lose packets."""
        import numpy as np

        samples = sound.samples()
        size = max(1, round(self.packet * sound.sample_rate))
        starts = range(0, len(samples), size)
        heard = np.zeros_like(samples[:size])
        for start, lost in zip(starts, self.losses(len(starts), self.rng(sound)), strict=True):
            packet = samples[start : start + size]
            if not lost:
                heard = packet.copy()
            else:
                heard = heard * (_FADE if self.conceal else 0.0)
                packet[:] = heard[: len(packet)]
        return samples

    def losses(self, count: int, rng: "np.random.RandomState") -> "NDArray[np.bool_]":
        """Which of so many packets are lost."""
        import numpy as np

        chances = rng.random_sample(count)
        if self.burst is None or self.rate == 0:
            return np.asarray(chances < self.rate)
        found = np.empty(count, dtype=np.bool_)
        # The line goes bad so often that it is bad the asked share of the time, and stays so for a burst.
        goes_bad, stays_bad = self.rate / (1 - self.rate) / self.burst, 1 - 1 / self.burst
        bad = self.rate
        for index, chance in enumerate(chances):
            found[index] = chance < bad
            bad = stays_bad if found[index] else goes_bad
        return found
