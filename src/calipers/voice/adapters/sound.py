"""Sound as the protocols want it: as a file or as frames, at their rate, whole or in pieces."""

import asyncio
from collections.abc import AsyncIterator, Iterator

from calipers.models.sound import Sound
from calipers.voice.audio import Audio


def as_file(audio: Audio, formats: tuple[str, ...]) -> Sound:
    """The file: as it is if its format is one of these, else a WAV file with one header."""
    if audio.format in formats and audio.format not in {"wav", "pcm"}:
        return Sound(audio.data, audio.format)
    return Sound(audio.wav, "wav")


def as_pcm(audio: Audio, sample_rate: int | None) -> Audio:
    """The sound as one channel of 16-bit frames; at its own rate if none is given."""
    return audio.convert(sample_rate, channels=1, sample_width=2)


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
