"""MP3, Ogg Vorbis and FLAC."""

import numpy as np
import pytest

from calipers.errors import InvalidAudioError
from calipers.voice.audio import Audio, decode_file, encode_file

SAMPLES = 0.5 * np.sin(np.arange(8000) / 10)[:, np.newaxis]
FORMATS = ["mp3", "ogg", "flac"]


def encoded(form, samples=SAMPLES, *, rate=16000, width=2):
    return encode_file(samples, form, sample_rate=rate, sample_width=width)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("channels", [1, 2])
def test_sound_comes_back(form, channels):
    found = decode_file(encoded(form, SAMPLES.repeat(channels, axis=1)), form)
    assert found.sample_rate == 16000
    assert found.samples.shape == (8000, channels)
    assert np.corrcoef(found.samples[:, 0], SAMPLES[:, 0])[0, 1] > 0.99


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("data", [b"", b"no sound at all", bytes(1000)], ids=["nothing", "text", "zeros"])
def test_what_cannot_be_decoded_is_an_error_that_shows_its_beginning(form, data):
    with pytest.raises(InvalidAudioError, match=f"labelled '{form}' cannot be decoded; they begin with"):
        decode_file(data, form)


@pytest.mark.parametrize(("form", "label"), [("ogg", "mp3"), ("flac", "ogg"), ("mp3", "flac")])
def test_a_wrong_label_is_an_error(form, label):
    with pytest.raises(InvalidAudioError, match=f"labelled '{label}' and is '{form}'"):
        decode_file(encoded(form), label)


@pytest.mark.parametrize(
    ("form", "samples", "rate"),
    [("mp3", SAMPLES, 7000), *((form, SAMPLES[:0], 16000) for form in FORMATS)],
    ids=["a rate that MP3 does not know", "no mp3", "no ogg", "no flac"],
)
def test_what_a_format_cannot_hold_is_an_error_that_names_the_way_out(form, samples, rate):
    with pytest.raises(InvalidAudioError, match=f"{form} cannot hold .*: convert the sound first"):
        encoded(form, samples, rate=rate)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_flac_loses_nothing(width):
    audio = Audio.from_samples(SAMPLES, 16000, width)
    assert Audio(encoded("flac", audio.samples(), width=width), "flac").digest == audio.digest
