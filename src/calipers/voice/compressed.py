"""MP3, Ogg Vorbis and FLAC, read and written by `soundfile` where the extra `audio-files` is installed."""

import io
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from calipers.errors import InvalidAudioError, MissingExtraError

if TYPE_CHECKING:
    from .samples import Samples

CompressedFormat: TypeAlias = Literal["mp3", "ogg", "flac"]
"""A format that needs a codec to be heard."""

_LOSSLESS = {1: "PCM_S8", 2: "PCM_16", 3: "PCM_24", 4: "PCM_24"}
"""What FLAC calls samples of so many bytes; it knows no 32 bits here."""


class Decoded(NamedTuple):
    """The sound of a compressed file."""

    samples: "Samples"
    sample_rate: int
    sample_width: int
    """Bytes that hold a sample without loss of what the file has."""


def decode(data: bytes, form: CompressedFormat) -> Decoded:
    """The sound of a compressed file.

    Raises:
        InvalidAudioError: the data is not what it is labelled.
        MissingExtraError: soundfile is not installed.
    """
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


def encode(samples: "Samples", form: CompressedFormat, *, sample_rate: int, sample_width: int) -> bytes:
    """Sound as a compressed file.

    Raises:
        InvalidAudioError: sound that the format cannot hold, such as none, or a sample rate that MP3 does not know.
        MissingExtraError: soundfile is not installed.
    """
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
    """The module, for its absence is an error that names the extra.

    Raises:
        MissingExtraError: it is not installed, or its library is missing.
    """
    try:
        import soundfile  # type: ignore[import-untyped]
    except (ImportError, OSError) as error:
        raise MissingExtraError.of(f"{doing} sound", "audio-files") from error
    module: ModuleType = soundfile
    return module
