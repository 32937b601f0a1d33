"""Sound as the protocols want it: with a header or without, at their rate, whole or in pieces."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from calipers.voice.audio import Audio

from .request import as_json

try:  # some thirty times as fast, which tells where many requests are under way
    from pybase64 import b64encode
except ImportError:
    from base64 import b64encode  # type: ignore[assignment]

MIME_TYPES = {
    "wav": "audio/wav",
    "pcm": "audio/wav",
    "mp3": "audio/mp3",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
}
"""By the format of an `Audio`; bare frames travel behind a WAV header."""


def as_file(audio: Audio, formats: tuple[str, ...]) -> tuple[bytes, str]:
    """The bytes of a file and their format: as it is if that is one of these, else a WAV file with one header."""
    if audio.format in formats and audio.format not in {"wav", "pcm"}:
        return audio.data, audio.format
    return audio.wav, "wav"


def as_pcm(audio: Audio, sample_rate: int | None) -> Audio:
    """The sound as one channel of 16-bit frames; at its own rate if none is given."""
    return audio.convert(sample_rate, channels=1, sample_width=2)


def text_of(data: bytes) -> str:
    """Bytes as base64, which is how JSON carries them."""
    return b64encode(data).decode("ascii")


def as_json_with(name: str, data: bytes, fields: Mapping[str, Any]) -> bytes:
    """A JSON object of bytes, as base64, and of further fields, which win where they have the same name.

    It is put together by hand: a serializer would look through, and copy, a long text that needs no escapes.
    """
    if name in fields:
        return as_json(fields)
    more = b"," if fields else b""
    return b"".join((b"{", as_json(name), b':"', b64encode(data), b'"', more, as_json(fields)[1:]))


def pieces(audio: Audio, milliseconds: int) -> Iterator[bytes]:
    """The frames of a sound in pieces of this length; the last may be shorter."""
    frames = max(1, audio.sample_rate * milliseconds // 1000)
    size = frames * audio.channels * audio.sample_width
    pcm = audio.pcm
    for start in range(0, len(pcm), size):
        yield pcm[start : start + size]


async def paced(audio: Audio, milliseconds: int, *, realtime: bool) -> AsyncIterator[bytes]:
    """The pieces of a sound, as fast as they can be sent, or each when a speaker would have said it."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    for number, piece in enumerate(pieces(audio, milliseconds), 1):
        if realtime:
            await asyncio.sleep(start + number * milliseconds / 1000 - loop.time())
        yield piece
