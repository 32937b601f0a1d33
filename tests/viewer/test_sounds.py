"""Sound that a run kept."""

import base64
import struct
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.viewer.sounds import FoundSound, sound_file, sound_type, sounds_in
from calipers.voice.audio import Audio


def wave(width: int = 2, *, channels: int = 1) -> Audio:
    frames = [[0.25 * (n % 2), -0.5 * (n % 3 == 0)][:channels] for n in range(1_000)]
    return Audio.from_samples(frames, 8_000, sample_width=width)


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (wave().wav, "audio/wav"),
        (b"OggS" + bytes(99), "audio/ogg"),
        (b"fLaC" + bytes(99), "audio/flac"),
        (b"ID3\x04" + bytes(99), "audio/mpeg"),
        (b"\xff\xfb\x90\x00" + bytes(99), "audio/mpeg"),
        (b"\xff\xf3\x84\x00" + bytes(99), "audio/mpeg"),
        (b"\x00\x00\x00\x20ftypM4A " + bytes(99), "audio/mp4"),
        (b"\x1aE\xdf\xa3" + bytes(20) + b"webm" + bytes(99), "audio/webm"),
    ],
)
def test_a_sound_is_told_by_its_first_bytes_and_found_in_a_value(data: bytes, media_type: str) -> None:
    assert sound_type(data) == media_type
    text = base64.b64encode(data + bytes(300)).decode()
    raw = msgspec.json.encode({"a": [{"said": text}], "b": f"data:audio/x;rate=8000;base64,{text}"})
    found = list(sounds_in(raw, "output"))
    assert [(each.title, each.media_type) for each in found] == [
        ("output: said", media_type),
        ("output: b", media_type),
    ]
    assert all(each.data == data + bytes(300) for each in found)


@pytest.mark.parametrize(
    "data",
    [b"", b"RIFF1234AVI ", b"<svg onload=x>", b"\xff\xff\xff\xff", b"%PDF-1.7", b"PK\x03\x04", b"\x89PNG"],
)
def test_what_is_no_sound_is_none(data: bytes) -> None:
    assert sound_type(data) is None
    raw = msgspec.json.encode([base64.b64encode(data + b"<script>" * 99).decode()])
    assert list(sounds_in(raw, "output")) == []


@given(st.binary(max_size=300), st.integers(0, 60))
def test_a_broken_sound_has_no_waveform_and_harms_no_one(noise: bytes, cut: int) -> None:
    data = wave().wav[: len(wave().wav) - cut * 40]
    for broken in (noise, b"RIFF" + noise, data[:44] + noise, data[:20] + noise + data[20:]):
        facts = FoundSound("x", broken, "audio/wav").facts
        assert all(0 <= peak <= 1 for peak in facts["peaks"])


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2])
def test_a_waveform_shows_the_largest_deviation_of_each_stretch(width: int, channels: int) -> None:
    facts = FoundSound("x", wave(width, channels=channels).wav, "audio/wav").facts
    assert facts["seconds"] == 0.125
    assert len(facts["peaks"]) == 240
    assert max(facts["peaks"]) == pytest.approx(0.25 if channels == 1 else 0.5, abs=0.01)


def test_a_header_that_claims_more_than_there_is_is_not_believed() -> None:
    data = bytearray(wave().wav)
    data[40:44] = struct.pack("<I", 0xFFFFFFF0)
    assert FoundSound("x", bytes(data), "audio/wav").facts["seconds"] == 0.125


def test_only_a_file_that_is_called_by_its_digest_is_opened(tmp_path: Path) -> None:
    sound = wave()
    right = sound.save(tmp_path / "heard" / f"{sound.digest}.wav")
    wrong = sound.save(tmp_path / "heard" / f"{'0' * 64}.wav")
    (tmp_path / "heard" / f"{'1' * 64}.wav").mkdir()
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    link = tmp_path / f"{'2' * 64}.wav"
    link.symlink_to(secret)
    assert sound_file(str(right), []) == sound.wav
    assert sound_file(f"heard/{right.name}", [tmp_path]) == sound.wav
    for named in (
        str(wrong),
        str(wrong.parent / f"{'1' * 64}.wav"),
        str(secret),
        str(link),
        f"../{right.name}",
        "a\0.wav",
        "",
        "x" * 5_000,
        7,
        None,
    ):
        assert sound_file(named, [tmp_path]) is None
