"""The telephone line: a narrow band, and a codec."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from calipers.errors import InvalidOptionError
from calipers.voice import g711
from calipers.voice.audio import Audio
from calipers.voice.samples import resample

from .perturbation import Perturbation, check_number

if TYPE_CHECKING:
    from calipers.voice.samples import Samples

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
        check_number("low", self.low, least=0)
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

    law: g711.Law = "ulaw"
    """`ulaw` in North America and Japan, `alaw` elsewhere."""

    def __post_init__(self) -> None:
        _check_law("law", self.law)

    def change(self, sound: Audio) -> "Samples":
        """Round to the levels of the codec."""
        return _coded(sound.samples(), self.law)


@dataclass(frozen=True)
class Telephone(Perturbation):
    """A call over the old line: 300 to 3400 Hz, 8000 frames a second, G.711.

    The sound has its own sample rate again at the end, so that whatever follows does not see a difference.
    """

    kind = "telephone"

    codec: g711.Law | None = "ulaw"
    """The law of G.711, or `None` for the band alone."""

    def __post_init__(self) -> None:
        if self.codec is not None:
            _check_law("codec", self.codec)

    def change(self, sound: Audio) -> "Samples":
        """Send it over the line."""
        rate = sound.sample_rate
        line = resample(_band(sound.samples(), rate, 300.0, 3400.0), rate, _LINE_RATE)
        if self.codec is not None:
            line = _coded(line, self.codec)
        return _exactly(resample(line, _LINE_RATE, rate), sound.frames)


def _check_law(name: str, law: object) -> None:
    """Refuse what is no law of G.711.

    Raises:
        InvalidOptionError: so it is.
    """
    if law not in ("ulaw", "alaw"):
        raise InvalidOptionError(f"{name}={law!r} is no law of G.711: choose 'ulaw' or 'alaw'")


def _band(samples: "Samples", sample_rate: int, low: float, high: float) -> "Samples":
    """What lies in a band, without delay; a tenth of a second of silence keeps the end from reaching the beginning."""
    import numpy as np

    size = len(samples) + sample_rate // 10
    frequencies = np.fft.rfftfreq(size, 1 / sample_rate)
    outside = np.maximum(low - frequencies, frequencies - high) / _EDGE
    gain = np.cos(np.clip(outside, 0, 1) * np.pi / 2)[:, np.newaxis]
    kept: Samples = np.fft.irfft(np.fft.rfft(samples, size, axis=0) * gain, size, axis=0)[: len(samples)]
    return kept


def _coded(samples: "Samples", law: g711.Law) -> "Samples":
    """What a codec leaves of samples."""
    import numpy as np

    levels = np.clip(np.rint(samples * 32768), -32768, 32767).astype(np.int16)
    return g711.decode(g711.encode(levels, law), law) / 32768.0


def _exactly(samples: "Samples", count: int) -> "Samples":
    """So many frames: resampling to and fro may lose or win one."""
    import numpy as np

    return np.pad(samples, ((0, max(0, count - len(samples))), (0, 0)))[:count]
