"""WAV files as they are found in the wild."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidAudioError
from calipers.voice import wav
from calipers.voice.audio import Audio
from calipers.voice.samples import ALAW, ULAW

FRAMES = b"\1\0\2\0\3\0\4\0"


def chunk(name, content, size=None):
    return (
        name
        + struct.pack("<I", len(content) if size is None else size)
        + content
        + b"\0" * (len(content) % 2)
    )


def fmt(tag=1, channels=1, rate=16000, width=2, bits=None):
    frame = channels * width
    return chunk(
        b"fmt ",
        struct.pack("<HHIIHH", tag, channels, rate, rate * frame, frame, width * 8 if bits is None else bits),
    )


def riff(*chunks, size=None, magic=b"RIFF"):
    content = b"WAVE" + b"".join(chunks)
    return magic + struct.pack("<I", len(content) if size is None else size) + content


def extensible(tag, width, valid_bits):
    guid = struct.pack("<H", tag) + bytes.fromhex("000000001000800000aa00389b71")
    body = struct.pack("<HHIIHH", 0xFFFE, 1, 16000, 16000 * width, width, width * 8)
    return chunk(b"fmt ", body + struct.pack("<HHI", 22, valid_bits, 4) + guid)


SAME_SOUND = {
    "plain": riff(fmt(), chunk(b"data", FRAMES)),
    "chunks around it": riff(
        chunk(b"LIST", b"INFO"), fmt(), chunk(b"fact", bytes(4)), chunk(b"data", FRAMES), chunk(b"id3 ", b"x")
    ),
    "an odd chunk before it": riff(fmt(), chunk(b"note", b"odd"), chunk(b"data", FRAMES)),
    "streamed, of unknown size": riff(fmt(), chunk(b"data", FRAMES, 0xFFFFFFFF), size=0xFFFFFFFF),
    "streamed, of unknown data": riff(fmt(), chunk(b"data", FRAMES, 0xFFFFFFFF)),
    "streamed, of size zero": riff(fmt(), chunk(b"data", FRAMES, 0), size=0),
    "streamed, as if empty": riff(fmt(), chunk(b"data", FRAMES, 0), size=36),
    "cut short": riff(fmt(), chunk(b"data", FRAMES, 1000), size=1036),
    "a size that lies": riff(fmt(), chunk(b"data", FRAMES), size=7),
    "half a frame more": riff(fmt(), b"data" + struct.pack("<I", 9) + FRAMES + b"\1"),
    "extensible": riff(extensible(1, 2, 16), chunk(b"data", FRAMES)),
    "twelve bits in sixteen": riff(fmt(bits=12), chunk(b"data", FRAMES)),
    "no frame size": riff(
        chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 16000, 0, 0, 16)), chunk(b"data", FRAMES)
    ),
    "64 bits": riff(
        chunk(b"ds64", struct.pack("<QQQI", 0, len(FRAMES), 4, 0)),
        fmt(),
        chunk(b"data", FRAMES, 0xFFFFFFFF) + chunk(b"LIST", b"INFO"),
        size=0xFFFFFFFF,
        magic=b"RF64",
    ),
    "broadcast of 64 bits": riff(fmt(), chunk(b"data", FRAMES), magic=b"BW64"),
}


@pytest.mark.parametrize("case", SAME_SOUND)
def test_the_sound_is_found(case):
    audio = Audio(SAME_SOUND[case])
    assert audio.pcm == FRAMES
    assert (audio.sample_rate, audio.channels, audio.sample_width) == (16000, 1, 2)
    assert audio.digest == Audio(FRAMES, "pcm", 16000).digest


def test_a_whole_file_without_sound_is_empty_even_with_chunks_after_it():
    assert Audio(riff(fmt(), chunk(b"data", b""), chunk(b"LIST", b"INFO"))).pcm == b""
    assert Audio(riff(fmt(), chunk(b"data", b""))).frames == 0


BROKEN = {
    "only the name": (b"RIFF", "begins like a WAV file and is not one"),
    "another RIFF file": (b"RIFF\4\0\0\0AVI LIST", "begins like a WAV file and is not one"),
    "big-endian": (b"RIFX\0\0\0\4WAVE", r"big-endian \(RIFX\)"),
    "no chunks": (riff(), "no 'fmt ' chunk"),
    "no sound": (riff(fmt()), "no 'data' chunk"),
    "half a chunk name": (riff(fmt()) + b"dat", "no 'data' chunk"),
    "sound before format": (riff(chunk(b"data", FRAMES), fmt()), "no 'fmt ' chunk before its sound"),
    "a short format": (riff(chunk(b"fmt ", b"abcd"), chunk(b"data", FRAMES)), "has 4 bytes, and needs 16"),
    "no channels": (riff(fmt(channels=0), chunk(b"data", FRAMES)), "0 channels at 16000 Hz"),
    "no rate": (riff(fmt(rate=0), chunk(b"data", FRAMES)), "1 channels at 0 Hz"),
    "five bytes": (riff(fmt(width=5), chunk(b"data", FRAMES)), "5 bytes per sample"),
    "half floats": (riff(fmt(tag=3, width=2), chunk(b"data", FRAMES)), "2 bytes per sample of kind 'float'"),
    "ADPCM": (riff(fmt(tag=2), chunk(b"data", FRAMES)), "format 0x0002, which is not read"),
    "extensible of nothing": (riff(fmt(tag=0xFFFE), chunk(b"data", FRAMES)), "format 0xfffe"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_wav_file_is_an_error_that_says_why(case):
    data, message = BROKEN[case]
    with pytest.raises(InvalidAudioError, match=message):
        Audio(data)


@pytest.mark.parametrize("name", SAME_SOUND)
def test_only_the_plain_file_is_plain(name):
    assert wav.read_layout(SAME_SOUND[name]).is_plain == (name == "plain")


@pytest.mark.parametrize(("rate", "channels", "width"), [(0xFFFF_FFFF, 1, 2), (8000, 0xFFFF, 4)])
def test_the_largest_numbers_have_a_header_too(rate, channels, width):
    sound = Audio(bytes(channels * width), "pcm", rate, channels, width)
    read = Audio(sound.wav)
    assert (read.sample_rate, read.channels, read.sample_width) == (rate, channels, width)
    assert read.pcm == sound.pcm


@given(st.binary(max_size=9), st.integers(1, 4), st.integers(1, 3), st.integers(0, 60), st.integers(0, 255))
def test_a_plain_file_is_what_would_be_written_for_its_sound(sound, width, channels, at, byte):
    audio = Audio(sound, "pcm", 8000, channels, width).decode()
    assert audio.wav is audio.data
    changed = bytearray(audio.data + b"\0")
    changed[min(at, len(changed) - 1)] = byte
    try:
        other = Audio(bytes(changed))
    except InvalidAudioError:
        return
    if other.wav is other.data:
        kind = {"channels": other.channels, "sample_width": other.sample_width}
        header = wav.header(len(other.pcm), sample_rate=other.sample_rate, **kind)
        assert other.data == header + other.pcm + b"\0" * (len(other.pcm) % 2)


@given(st.binary(max_size=80), st.sampled_from(sorted(SAME_SOUND)), st.integers(0, 60))
def test_any_bytes_are_a_sound_or_an_error_and_nothing_else(noise, case, at):
    data = SAME_SOUND[case][:at] + noise
    try:
        audio = Audio(data)
    except InvalidAudioError:
        return
    assert len(audio.pcm) % (audio.channels * audio.sample_width) == 0


@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize("form", ["plain", "extensible"])
def test_floats_become_integers_of_32_bits(width, form):
    values = [0.0, 0.5, -0.5, 1.0, -1.0, 7.5, -7.5, math.inf, -math.inf, math.nan, 2.0**-40]
    header = fmt(tag=3, width=width) if form == "plain" else extensible(3, width, width * 8)
    packed = struct.pack(f"<{len(values)}{'f' if width == 4 else 'd'}", *values)
    audio = Audio(riff(header, chunk(b"data", packed)))
    most = 2**31 - 1
    assert audio.sample_width == 4
    assert list(struct.unpack(f"<{len(values)}i", audio.pcm)) == [
        *(0, 2**30, -(2**30), most, -(2**31), most, -(2**31), most, -(2**31), 0, 0)
    ]
    assert Audio(audio.wav).digest == audio.digest


@pytest.mark.parametrize(("tag", "levels"), [(6, ALAW), (7, ULAW)], ids=["A-law", "µ-law"])
def test_telephone_bytes_become_integers_of_16_bits(tag, levels):
    audio = Audio(riff(fmt(tag=tag, width=1, rate=8000), chunk(b"data", bytes(range(256)))))
    assert (audio.sample_width, audio.frames, audio.sample_rate) == (2, 256, 8000)
    assert struct.unpack("<256h", audio.pcm) == levels


def test_an_odd_number_of_bytes_is_padded_and_not_counted():
    audio = Audio(b"abc", "pcm", 8000, 1, 1)
    assert len(audio.wav) == 48
    assert struct.unpack_from("<I", audio.wav, 4)[0] == 40
    assert Audio(audio.wav).pcm == b"abc"


def test_more_than_a_wav_file_holds_is_an_error():
    kind = {"sample_rate": 8000, "channels": 1, "sample_width": 2}
    assert len(wav.header(2**32 - 38, **kind)) == 44
    with pytest.raises(InvalidAudioError, match="more than a WAV file can hold"):
        wav.header(2**32, **kind)
