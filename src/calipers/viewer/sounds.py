"""Sound that a run kept: found in its values, told by its first bytes, and drawn as a waveform.

A value may hold a sound as base64. An attribute may name a file that `VoiceTask(keep_audio=FOLDER)` wrote: its name is the digest of the sound,
and it is opened only if that is so, since an attribute is data of others and may name any file.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from calipers.errors import InvalidAudioError
from calipers.voice.audio import Audio

PEAKS: Final = 240
"""Stretches of a waveform."""
_LARGEST: Final = 64 << 20
"""Bytes of a sound that is looked at."""
_BEGINNINGS: Final = b"UklGR|SUQz|T2dnU|ZkxhQ|GkXfo|//[I-Po-v]|AAAA[A-Za-z0-9+/]{2}Z0eX"
_ENCODED: Final = re.compile(
    rb'"(?:data:audio/[\w.+-]{1,40}(?:;[\w=.-]{1,40}){0,3},)?((?:'
    + _BEGINNINGS
    + rb")[A-Za-z0-9+/]{100,}={0,2})\""
)
_KEY: Final = re.compile(rb'"((?:[^"\\]|\\.){1,60})"\s*:\s*$')
_FILE: Final = re.compile(r"[0-9a-f]{64}\.wav")


class FoundSound(NamedTuple):
    """A sound."""

    title: str
    """Where it was found."""
    data: bytes
    media_type: str

    @property
    def facts(self) -> dict[str, Any]:
        """What it is and how it looks."""
        seconds, peaks = _drawn(self.data) if self.media_type == "audio/wav" else (None, [])
        return {"media_type": self.media_type, "seconds": seconds, "peaks": peaks}


def sound_type(data: bytes) -> str | None:
    """The media type of a sound by its first bytes; `None` if it is none that browsers play."""
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return "audio/wav"
    if data[:4] == b"OggS":
        return "audio/ogg"
    if data[:4] == b"fLaC":
        return "audio/flac"
    if data[:4] == b"\x1aE\xdf\xa3" and b"webm" in data[:64]:
        return "audio/webm"
    if data[4:8] == b"ftyp" and data[8:11] in {b"M4A", b"mp4", b"iso", b"M4B"}:
        return "audio/mp4"
    is_frame = (
        len(data) > 3 and data[0] == 0xFF and data[1] & 0xE6 in {0xE2, 0xE4, 0xE6} and data[2] >> 4 != 15
    )
    if data[:3] == b"ID3" or is_frame:
        return "audio/mpeg"
    return None


def sounds_in(raw: bytes, title: str) -> Iterator[FoundSound]:
    """The sounds in a value that is given as JSON, in order."""
    for found in _ENCODED.finditer(raw):
        try:
            data = base64.b64decode(found[1] + b"=" * (-len(found[1]) % 4))
        except binascii.Error:
            continue
        media_type = sound_type(data)
        if media_type is not None:
            yield FoundSound(_titled(raw, found.start(), title), data, media_type)


def _titled(raw: bytes, start: int, title: str) -> str:
    key = _KEY.search(raw[max(0, start - 80) : start])
    return title if key is None else f"{title}: {key[1].decode(errors='replace')}"


def sound_file(named: object, folders: Sequence[Path]) -> bytes | None:
    """The sound in the file that an attribute names; `None` if it names none, or the file is not what its name says.

    Args:
        named: the value of the attribute.
        folders: where a path that is not absolute may begin.
    """
    if not isinstance(named, str) or "\0" in named or len(named) > 4096:
        return None
    path = Path(named)
    if not _FILE.fullmatch(path.name):
        return None
    for folder in (Path(), *folders):
        try:
            place = folder / path
            if not place.is_file() or place.stat().st_size > _LARGEST:
                continue
            data = place.read_bytes()
            if sound_type(data) == "audio/wav" and Audio(data).digest == path.stem:
                return data
        except (OSError, ValueError, InvalidAudioError):
            continue
    return None


# ---------------------------------------------------------------------- waveforms


def _drawn(data: bytes) -> tuple[float | None, list[float]]:
    """How long a WAV file lasts, and its waveform; empty if it cannot be read."""
    try:
        sound = Audio(data)
        pcm, width, rate = sound.pcm, sound.sample_width, sound.sample_rate
        frames = len(pcm) // (sound.channels * width)
    except (InvalidAudioError, ValueError, OverflowError):
        return None, []
    if not frames or not rate:
        return None, []
    return round(frames / rate, 3), _peaks(pcm[: frames * sound.channels * width], width)


def _peaks(pcm: bytes, width: int) -> list[float]:
    """The largest deviation of each stretch of the sound, from 0 to 1."""
    import numpy as np

    if width == 1:
        levels = np.abs(np.frombuffer(pcm, dtype=np.uint8).astype(np.int16) - 128) / 128
    elif width == 3:  # its two larger bytes are enough for a drawing
        levels = _magnitude(
            np.frombuffer(pcm, dtype=np.uint8).reshape(-1, 3)[:, 1:].copy().view("<i2").ravel(), 15
        )
    else:
        levels = _magnitude(np.frombuffer(pcm, dtype="<i2" if width == 2 else "<i4"), 8 * width - 1)
    edges = np.linspace(0, len(levels), min(PEAKS, len(levels)), endpoint=False).astype(np.int64)
    return [round(min(float(each), 1.0), 3) for each in np.maximum.reduceat(levels, edges)]


def _magnitude(samples: Any, bits: int) -> Any:
    import numpy as np

    return np.abs(samples.astype(np.float32)) / np.float32(2**bits)
