"""A piece of sound as a value: bytes, how they are written, and what can be measured of them.

What counts:

- **The header wins.** Data labelled `wav` may begin with a WAV header or be bare frames. With a header, rate, channels and
  width are the header's; without one, they are the arguments'. A header is never put before a header.
- **Data labelled `wav` that begins like an MP3, Ogg or FLAC file is an error**: as bare frames it would be noise.
- **Compressed data stays as it is** (`mp3`, `ogg`, `flac`), so that an agent gets the original file. It is decoded to be measured.
- **A frame is one sample of every channel.** Frames are little-endian integers: unsigned for a width of one byte, signed
  for two, three and four. A last frame that is not whole is not counted.
- **Full scale is 1.0**: samples lie in [-1, 1), and loudness is the root mean square in decibels relative to it (dBFS),
  over all channels. Digital silence has no loudness.

numpy and soxr load when samples are first asked for, soundfile for compressed data; building an `Audio`, and reading and writing
WAV, need none of them. Where one is missing, `MissingExtraError` names the extra to install.
"""

import hashlib
import io
import math
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from calipers.data.argument_checks import check_number, check_whole_number
from calipers.errors import InvalidAudioError, MissingExtraError
from calipers.process.atomic_file import write_whole

from . import wav as wav_file
from .samples import as_samples, from_frames, mix, resample, to_frames

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from .samples import Samples

AudioFormat: TypeAlias = Literal["wav", "mp3", "pcm", "ogg", "flac"]
"""How the bytes of an `Audio` are written; `pcm` is frames without a header."""
CompressedFormat: TypeAlias = Literal["mp3", "ogg", "flac"]
"""A format that needs a codec to be heard."""

_LOSSLESS = {1: "PCM_S8", 2: "PCM_16", 3: "PCM_24", 4: "PCM_24"}
"""What FLAC calls samples of so many bytes; it has no 32 bits here."""
_FORMATS = get_args(AudioFormat)
_MAGIC = {b"ID3\x02": "mp3", b"ID3\x03": "mp3", b"ID3\x04": "mp3", b"OggS": "ogg", b"fLaC": "flac"}
_SUFFIXES: dict[str, AudioFormat] = {
    ".wav": "wav",
    ".pcm": "pcm",
    ".raw": "pcm",
    ".mp3": "mp3",
    ".ogg": "ogg",
    ".flac": "flac",
}


@dataclass(frozen=True, repr=False)
class Audio:
    """A piece of sound: what a synthesizer makes and an agent hears.

    ```python
    audio = Audio.load("request.wav")
    audio.convert(sample_rate=16000, channels=1).save("for-the-agent.wav")
    ```

    Two are equal if their bytes and labels are; `digest` tells whether they sound the same.
    """

    data: bytes
    """The bytes, with or without a header."""
    format: AudioFormat = "wav"
    """How the bytes are written; `wav` also for bare frames."""
    sample_rate: int = 24000
    """Frames per second: the header's where the data has one. Of compressed data, what was claimed; see `decode`."""
    channels: int = 1
    """Samples per frame: the header's where the data has one. Of compressed data, what was claimed."""
    sample_width: int = 2
    """Bytes per sample: the header's where the data has one. Of compressed data, what was claimed."""
    _layout: wav_file.Layout | None = field(init=False, compare=False)
    """What the WAV header says, where there is one."""

    def __post_init__(self) -> None:
        if isinstance(self.data, bytearray | memoryview):
            object.__setattr__(self, "data", bytes(self.data))
        if not isinstance(self.data, bytes):
            raise InvalidAudioError(
                f"audio data are bytes, not {type(self.data).__name__}:"
                " Audio.from_samples takes numbers, Audio.load a path"
            )
        if self.format not in _FORMATS:
            raise InvalidAudioError(f"format={self.format!r} is not one of {', '.join(_FORMATS)}")
        layout = _layout_of(self.data) if self.format == "wav" else None
        object.__setattr__(self, "_layout", layout)
        if layout is None:
            _check_numbers(self.sample_rate, self.channels, self.sample_width)
        else:
            object.__setattr__(self, "sample_rate", layout.sample_rate)
            object.__setattr__(self, "channels", layout.channels)
            object.__setattr__(self, "sample_width", layout.sample_width)

    # ------------------------------------------------------------------ other ways to make one

    @classmethod
    def from_pcm(
        cls, pcm: bytes, *, sample_rate: int = 24000, channels: int = 1, sample_width: int = 2
    ) -> "Audio":
        """Bare frames, with a header put before them."""
        return cls(pcm, "pcm", sample_rate, channels, sample_width).decode()

    @classmethod
    def from_samples(cls, samples: "ArrayLike", sample_rate: int, sample_width: int = 2) -> "Audio":
        """Numbers in [-1, 1) as sound: one channel, or an array of frames by channels. Beyond full scale they clip.

        Raises:
            InvalidAudioError: values that are not finite numbers, or have more than two dimensions.
        """
        found = as_samples(samples)
        channels = found.shape[1]
        _check_numbers(sample_rate, channels, sample_width)
        pcm = to_frames(found, sample_width=sample_width)
        return cls.from_pcm(pcm, sample_rate=sample_rate, channels=channels, sample_width=sample_width)

    @classmethod
    def silence(
        cls, seconds: float, *, sample_rate: int = 24000, channels: int = 1, sample_width: int = 2
    ) -> "Audio":
        """Silence of so many seconds.

        Raises:
            InvalidOptionError: a duration that is negative or no number.
        """
        check_number("seconds", seconds, at_least=0)
        _check_numbers(sample_rate, channels, sample_width)
        sample = b"\x80" if sample_width == 1 else bytes(sample_width)
        pcm = sample * channels * round(seconds * sample_rate)
        return cls.from_pcm(pcm, sample_rate=sample_rate, channels=channels, sample_width=sample_width)

    @classmethod
    def join(cls, parts: "Iterable[Audio]") -> "Audio":
        """One after the other; `a + b` joins two.

        Raises:
            InvalidAudioError: no parts, or parts that differ in rate, channels or width.
        """
        found = [part.decode() for part in parts]
        if not found:
            raise InvalidAudioError("there is nothing to join, so the sample rate is unknown")
        first = found[0]
        for other in found:
            if other.with_pcm(b"") != first.with_pcm(b""):
                raise InvalidAudioError(
                    f"{other!r} cannot follow {first!r}: convert one of them to the other's kind"
                )
        return first.with_pcm(b"".join(part.pcm for part in found))

    def __add__(self, other: "Audio") -> "Audio":
        return Audio.join([self, other]) if isinstance(other, Audio) else NotImplemented

    def with_pcm(self, pcm: bytes) -> "Audio":
        """Other frames of the same rate, channels and width."""
        sound = self.decode()
        return Audio.from_pcm(
            pcm, sample_rate=sound.sample_rate, channels=sound.channels, sample_width=sound.sample_width
        )

    def with_samples(self, samples: "ArrayLike") -> "Audio":
        """Other samples at the same rate and width."""
        sound = self.decode()
        return Audio.from_samples(samples, sound.sample_rate, sample_width=sound.sample_width)

    def decode(self) -> "Audio":
        """The same sound as integer frames behind a plain WAV header, whose rate, channels and width are the true ones.

        Raises:
            InvalidAudioError: compressed data that is not what it is labelled.
        """
        return self._decoded or self

    @cached_property
    def _decoded(self) -> "Audio | None":
        """The sound decoded; `None` if this is it already."""
        if self.format == "mp3" or self.format == "ogg" or self.format == "flac":  # noqa: PLR1714 - checkers follow this
            found = decode_file(self.data, self.format)
            return Audio.from_samples(found.samples, found.sample_rate, sample_width=found.sample_width)
        whole = self.wav
        return None if self.format == "wav" and whole == self.data else Audio(whole)

    def convert(
        self,
        sample_rate: int | None = None,
        *,
        channels: int | None = None,
        sample_width: int | None = None,
    ) -> "Audio":
        """The same sound at another rate, width or number of channels; `None` keeps what is.

        Many channels become one by their mean, one becomes many by copying. A smaller width rounds.

        Raises:
            InvalidAudioError: an impossible rate or width, or many channels to other many.
        """
        sound = self.decode()
        rate = sound.sample_rate if sample_rate is None else sample_rate
        count = sound.channels if channels is None else channels
        width = sound.sample_width if sample_width is None else sample_width
        _check_numbers(rate, count, width)
        if (rate, count, width) == (sound.sample_rate, sound.channels, sound.sample_width):
            return sound
        found = sound.samples()
        if count < sound.channels:
            found = mix(found, count)
        found = mix(resample(found, sound.sample_rate, rate), count)
        return Audio.from_samples(found, rate, sample_width=width)

    # ------------------------------------------------------------------ what is heard

    @cached_property
    def pcm(self) -> bytes:
        """The frames, without a header."""
        if self._layout is not None:
            return wav_file.frames(self.data, self._layout)
        if self.format in {"wav", "pcm"}:
            return self.data[: len(self.data) - len(self.data) % (self.channels * self.sample_width)]
        return self.decode().pcm

    @property
    def wav(self) -> bytes:
        """The sound as the bytes of a WAV file."""
        if self.format not in {"wav", "pcm"}:
            return self.decode().wav
        if self._layout is not None and self._layout.is_plain:
            return self.data
        before = wav_file.header(
            len(self.pcm),
            sample_rate=self.sample_rate,
            channels=self.channels,
            sample_width=self.sample_width,
        )
        return b"".join((before, self.pcm, b"\0" * (len(self.pcm) % 2)))

    def samples(self) -> "Samples":
        """The sound as an array of float64 in [-1, 1), of frames by channels; it may be changed freely."""
        sound = self.decode()
        return from_frames(sound.pcm, channels=sound.channels, sample_width=sound.sample_width)

    @property
    def frames(self) -> int:
        """The number of frames."""
        sound = self.decode()
        return len(sound.pcm) // (sound.channels * sound.sample_width)

    @property
    def is_empty(self) -> bool:
        """Whether there is no frame at all. Compressed sound is not decoded to find out: without data it is empty."""
        if self._layout is not None:
            return self._layout.end <= self._layout.start
        return len(self.data) < (self.channels * self.sample_width if self.format in {"wav", "pcm"} else 1)

    @property
    def duration(self) -> float:
        """How long it lasts, in seconds."""
        return self.frames / self.decode().sample_rate

    @property
    def loudness(self) -> float | None:
        """The root mean square over all channels in dBFS, so 0 or less; `None` for digital silence and no sound."""
        found = self.samples()
        power = float((found**2).mean()) if found.size else 0.0
        return 10 * math.log10(power) if power else None

    @property
    def peak(self) -> float | None:
        """The largest magnitude of a sample, from 0 to 1; `None` for no sound."""
        found = self.samples()
        return float(abs(found).max()) if found.size else None

    @cached_property
    def digest(self) -> str:
        """A hash of the sound: rate, channels, width and frames, and nothing else of the header."""
        sound = self.decode()
        kind = f"{sound.sample_rate} {sound.channels} {sound.sample_width}\n"
        return hashlib.sha256(kind.encode() + sound.pcm).hexdigest()

    def plain_data(self) -> dict[str, object]:
        """What a stored report keeps of it; the sound itself is for a file."""
        return {"digest": self.digest, "duration": self.duration, "format": self.format}

    def __repr__(self) -> str:
        return (
            f"Audio(<{len(self.data)} bytes>, format={self.format!r}, sample_rate={self.sample_rate},"
            f" channels={self.channels}, sample_width={self.sample_width})"
        )

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the sound to a file, whole or not at all, and return its path; folders that are missing are made.

        The suffix says how: `.wav`; `.pcm` or `.raw` for bare frames; `.mp3`, `.ogg` or `.flac`, which need soundfile
        unless that is what the data is already.

        Raises:
            InvalidAudioError: an unknown suffix, or sound that the format cannot hold.
        """
        form = _format_of(path)
        if form == "wav":
            data = self.wav
        elif form == "pcm":
            data = self.pcm
        elif form == self.format:
            data = self.data
        else:
            sound = self.decode()
            data = encode_file(
                sound.samples(), form, sample_rate=sound.sample_rate, sample_width=sound.sample_width
            )
        write_whole(path, [data])
        return Path(path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        sample_rate: int = 24000,
        channels: int = 1,
        sample_width: int = 2,
    ) -> "Audio":
        """Read a file by its suffix. Rate, channels and width are for `.pcm` and `.raw`, which do not say.

        A compressed file keeps its bytes, and takes rate, channels and width from what they decode to.

        Raises:
            InvalidAudioError: an unknown suffix, or a file that is not what its suffix says.
        """
        form = _format_of(path)
        data = Path(path).read_bytes()
        try:
            if form == "pcm":
                return cls(data, form, sample_rate, channels, sample_width)
            if form == "wav":
                if not wav_file.is_wav(data):
                    raise InvalidAudioError(  # noqa: TRY301 - it gets the path below, as all others do
                        f"no WAV header; the data begins with {data[:8]!r}. Bare frames belong in a .pcm file"
                    )
                return cls(data)
            sound = cls(data, form).decode()
            return cls(data, form, sound.sample_rate, sound.channels, sound.sample_width)
        except InvalidAudioError as error:
            raise InvalidAudioError(f"{os.fspath(path)!r}: {error}") from error


def _format_of(path: str | os.PathLike[str]) -> AudioFormat:
    """The format that the suffix of a path stands for."""
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise InvalidAudioError(
            f"{os.fspath(path)!r} does not say what kind of sound it is: end it in {', '.join(_SUFFIXES)}"
        )
    return _SUFFIXES[suffix]


def _layout_of(data: bytes) -> wav_file.Layout | None:
    """What the WAV header says, if there is one."""
    if wav_file.is_wav(data):
        return wav_file.read_layout(data)
    if found := _MAGIC.get(data[:4]):
        raise InvalidAudioError(f"the data is labelled 'wav' and begins like {found}: say format={found!r}")
    return None


def _check_numbers(sample_rate: int, channels: int, sample_width: int) -> None:
    """Check the numbers of a sound: what a WAV header can hold, and a width of up to four bytes."""
    for name, value, most in (
        ("sample_rate", sample_rate, 0xFFFF_FFFF),
        ("channels", channels, 0xFFFF),
        ("sample_width", sample_width, 4),
    ):
        check_whole_number(name, value, at_least=1, at_most=most, error=InvalidAudioError)


# ---------------------------------------------------------------------- MP3, Ogg Vorbis and FLAC, by soundfile


class Decoded(NamedTuple):
    """The sound of a compressed file."""

    samples: "Samples"
    sample_rate: int
    sample_width: int
    """Bytes that hold a sample without loss of what the file has."""


def decode_file(data: bytes, form: CompressedFormat) -> Decoded:
    """The sound of a compressed file."""
    soundfile = _soundfile(f"reading {form}")
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            kind: Any = file.format.lower()
            samples = file.read(dtype="float64", always_2d=True)
            width = {"PCM_S8": 1, "PCM_24": 3}.get(file.subtype, 2)
            rate = int(file.samplerate)
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise InvalidAudioError(
            f"{len(data)} bytes labelled {form!r} cannot be decoded; they begin with {data[:8]!r}"
        ) from error
    if kind not in {form, "mpeg"}:
        raise InvalidAudioError(f"the data is labelled {form!r} and is {kind!r}: say so with format=")
    return Decoded(samples, rate, width)


def encode_file(samples: "Samples", form: CompressedFormat, *, sample_rate: int, sample_width: int) -> bytes:
    """Sound as a compressed file."""
    soundfile = _soundfile(f"writing {form}")
    subtype = {"mp3": "MPEG_LAYER_III", "ogg": "VORBIS", "flac": _LOSSLESS[sample_width]}[form]
    into = io.BytesIO()
    try:
        if not len(samples):
            raise ValueError("an empty file that is written cannot be read again")  # noqa: TRY301 - as all others below
        soundfile.write(into, samples, sample_rate, format=form.upper(), subtype=subtype)
    except (soundfile.LibsndfileError, RuntimeError, ValueError) as error:
        raise InvalidAudioError(
            f"{form} cannot hold {len(samples)} frames of {samples.shape[1]} channels at {sample_rate} Hz:"
            " convert the sound first, or save it as .wav"
        ) from error
    return into.getvalue()


def _soundfile(doing: str) -> ModuleType:
    """The library."""
    try:
        import soundfile  # type: ignore[import-untyped]
    except (ImportError, OSError) as error:
        raise MissingExtraError.of(f"{doing} sound", "audio-files") from error
    module: ModuleType = soundfile
    return module
