"""WAV files as they are found in the wild: where the sound is in one, and how its samples are written.

Python's own `wave` refuses much of what speech services send. This reader takes:

- streamed files, whose writer did not know the length: a data size of 0xFFFFFFFF, or of 0 where the size of the whole
  file is not the true one either; the sound is then the rest of the bytes;
- files that were cut short: the sound is what is there;
- `WAVE_FORMAT_EXTENSIBLE`, 64-bit files (RF64, BW64), chunks before and after the sound;
- integers of 1 to 4 bytes, floats of 4 and 8 bytes, A-law and µ-law.

What it writes is the plain 44-byte header for integers. A last frame that is not whole is no frame.
"""

import array
import struct
import sys
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from calipers.errors import InvalidAudioError

from .samples import ALAW, ULAW

Codec: TypeAlias = Literal["integer", "float", "alaw", "ulaw"]
"""How a sample is written: as an integer, a float, or one of the logarithmic bytes of telephones."""

_CODECS: dict[int, Codec] = {1: "integer", 3: "float", 6: "alaw", 7: "ulaw"}
_EXTENSIBLE = 0xFFFE
_UNKNOWN_SIZE = 0xFFFFFFFF
_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
"""The plain header, of 44 bytes."""
_WIDTHS: dict[Codec, tuple[int, ...]] = {"integer": (1, 2, 3, 4), "float": (4, 8), "alaw": (1,), "ulaw": (1,)}
"""The bytes that one stored sample may have."""
_DECODED_WIDTHS: dict[Codec, int] = {"float": 4, "alaw": 2, "ulaw": 2}
"""The bytes of the integer that holds a sample which is stored as something else."""


class Layout(NamedTuple):
    """Where the sound of a WAV file is, and how it is written."""

    codec: Codec
    sample_rate: int
    """Frames per second."""
    channels: int
    stored_width: int
    """Bytes of one sample in the file."""
    start: int
    """Where the first frame begins."""
    end: int
    """Where the last whole frame ends."""
    is_plain: bool = False
    """Whether the file is what would be written for its sound: integers behind the short header, and nothing else."""

    @property
    def sample_width(self) -> int:
        """Bytes of one sample as an integer, which is what `frames` gives."""
        return _DECODED_WIDTHS.get(self.codec, self.stored_width)


class _Chunk(NamedTuple):
    """One chunk of a RIFF file."""

    name: bytes
    start: int
    end: int


def is_wav(data: bytes) -> bool:
    """Whether data claims to be a RIFF file; `read_layout` says whether it is one of sound."""
    return data[:4] in {b"RIFF", b"RIFX", b"RF64", b"BW64"}


def header(length: int, *, sample_rate: int, channels: int, sample_width: int) -> bytes:
    """The 44 bytes before `length` bytes of integer frames."""
    if length > _UNKNOWN_SIZE - 37:
        raise InvalidAudioError(
            f"{length:,} bytes of sound are more than a WAV file can hold (4 GiB): save parts of it"
        )
    return _HEADER.pack(*_plain_fields(length, sample_rate, channels, sample_width))


def _plain_fields(length: int, sample_rate: int, channels: int, sample_width: int) -> tuple[bytes | int, ...]:
    """What stands in the plain header."""
    frame = channels * sample_width
    # Both follow from the other fields: readers, ours too, do without a number that is too large for its place.
    bytes_per_second = sample_rate * frame if sample_rate * frame <= 0xFFFF_FFFF else 0
    bytes_per_frame = frame if frame <= 0xFFFF else 0
    return (
        *(b"RIFF", 36 + length + length % 2, b"WAVE"),
        *(b"fmt ", 16, 1, channels, sample_rate, bytes_per_second, bytes_per_frame, sample_width * 8),
        *(b"data", length),
    )


def _plain_layout(data: bytes) -> Layout | None:
    """The layout of a file that is what would be written for its sound; `None` for every other."""
    if len(data) < _HEADER.size:
        return None
    found = _HEADER.unpack_from(data)
    channels, rate, frame, length = found[6], found[7], found[9], found[12]
    if not channels or not rate or not frame or length % frame:
        return None
    width, end = frame // channels, _HEADER.size + length
    written = found == _plain_fields(length, rate, channels, width) and data[end:] == b"\0" * (length % 2)
    if not written or end > len(data) or width not in _WIDTHS["integer"]:
        return None
    return Layout("integer", rate, channels, width, _HEADER.size, end, is_plain=True)


def read_layout(data: bytes) -> Layout:
    """Where the sound of a WAV file is, and how it is written."""
    if (plain := _plain_layout(data)) is not None:
        return plain
    if data[:4] == b"RIFX":
        raise InvalidAudioError(
            "the WAV file is big-endian (RIFX), which is not read: convert it to a RIFF file"
        )
    if data[8:12] != b"WAVE":
        raise InvalidAudioError(f"the data begins like a WAV file and is not one: {data[:12]!r}")
    form: tuple[Codec, int, int, int] | None = None
    for chunk in _chunks(data):
        if chunk.name == b"fmt " and form is None:
            form = _read_format(data[chunk.start : chunk.end])
        elif chunk.name == b"data":
            if form is None:
                raise InvalidAudioError(
                    "the WAV file has no 'fmt ' chunk before its sound, so its rate is unknown"
                )
            codec, rate, channels, width = form
            frame = channels * width
            end = chunk.start + (chunk.end - chunk.start) // frame * frame
            return Layout(codec, rate, channels, width, chunk.start, end)
    missing = "'data'" if form else "'fmt '"
    raise InvalidAudioError(
        f"the WAV file of {len(data)} bytes has no {missing} chunk: it was cut short or is empty"
    )


def _chunks(data: bytes) -> Iterator[_Chunk]:
    """The chunks of a file in order; one that claims more than there is ends where the file ends."""
    whole = struct.unpack_from("<I", data, 4)[0] == len(data) - 8
    long_data = None
    at = 12
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        at += 8
        if name == b"ds64" and at + 16 <= len(data):
            long_data = struct.unpack_from("<Q", data, at + 8)[0]
        if name == b"data":
            if size == _UNKNOWN_SIZE and long_data:
                size = long_data
            elif size == _UNKNOWN_SIZE or (size == 0 and not whole):
                size = len(data) - at
        end = min(at + size, len(data))
        yield _Chunk(name, at, end)
        at = end + size % 2


def _read_format(chunk: bytes) -> tuple[Codec, int, int, int]:
    """Codec, frames per second, channels and bytes of a stored sample."""
    if len(chunk) < 16:
        raise InvalidAudioError(f"the 'fmt ' chunk of the WAV file has {len(chunk)} bytes, and needs 16")
    tag, channels, rate, _, frame, bits = struct.unpack_from("<HHIIHH", chunk)
    if tag == _EXTENSIBLE and len(chunk) >= 26:
        tag = struct.unpack_from("<H", chunk, 24)[0]
    codec = _CODECS.get(tag)
    if codec is None:
        raise InvalidAudioError(
            f"the WAV file is of format {tag:#06x}, which is not read: convert it to PCM (known: PCM, float, A-law, µ-law)"
        )
    if not channels or not rate:
        raise InvalidAudioError(f"the WAV file says {channels} channels at {rate} Hz: its header is damaged")
    # Twelve bits in two bytes are left-justified, so the width that counts is that of the container.
    width = frame // channels if frame and frame % channels == 0 else -(-bits // 8)
    if width not in _WIDTHS[codec]:
        raise InvalidAudioError(
            f"the WAV file says {width} bytes per sample of kind {codec!r}: its header is damaged"
        )
    return codec, rate, channels, width


def frames(data: bytes, layout: Layout) -> bytes:
    """The sound of a WAV file as little-endian integer frames of `layout.sample_width` bytes a sample.

    Floats become integers of 32 bits, clipped to full scale; a sample that is not a number is silence.
    """
    stored = data[layout.start : layout.end]
    match layout.codec:
        case "integer":
            return stored
        case "float":
            return _little(array.array("i", map(_integer, _floats(stored, layout.stored_width))))
        case "ulaw" | "alaw":
            levels = ULAW if layout.codec == "ulaw" else ALAW
            return _little(array.array("h", (levels[byte] for byte in stored)))


def _floats(stored: bytes, width: int) -> "array.array[float]":
    """The samples of a WAV file of floats."""
    found = array.array("f" if width == 4 else "d", stored)
    if sys.byteorder == "big":
        found.byteswap()
    return found


def _integer(sample: float) -> int:
    """A float sample as an integer of 32 bits. NaN, which compares with nothing, is silence."""
    if -1.0 <= sample <= 1.0:
        return min(round(sample * 0x8000_0000), 0x7FFF_FFFF)
    return 0x7FFF_FFFF if sample > 1.0 else -0x8000_0000 if sample < -1.0 else 0


def _little(values: "array.array[int]") -> bytes:
    """Integers as little-endian bytes."""
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()
