"""The telephone line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.voice.audio import Audio
from calipers.voice.g711 import ALAW, ULAW
from calipers.voice.perturbations import Band, Chain, Codec, Telephone


def hiss(rate=16000, seconds=1):
    return Audio.from_samples(0.1 * np.random.default_rng(1).standard_normal(rate * seconds), rate, 4)


def spectrum(audio):
    """The amplitudes of frequencies; a window keeps the ends of the sound from being heard as clicks."""
    return abs(np.fft.rfft(audio.samples()[:, 0] * np.hanning(audio.frames)))


def share(audio, low, high):
    """The share of power between two frequencies."""
    power = spectrum(audio) ** 2
    frequencies = np.fft.rfftfreq(audio.frames, 1 / audio.sample_rate)
    return power[(frequencies >= low) & (frequencies <= high)].sum() / power.sum()


@pytest.mark.parametrize("rate", [8000, 16000, 44100])
@pytest.mark.parametrize("line", [Telephone(None), Band()], ids=["telephone", "band"])
def test_nothing_is_left_outside_the_band(line, rate):
    found = line.apply(hiss(rate))
    assert share(found, 250, 3450) > 0.9999
    assert found.sample_rate == rate


@settings(max_examples=min(20, settings().max_examples))
@given(low=st.floats(0, 3000), width=st.floats(200, 4000))
def test_a_band_keeps_what_lies_in_it_and_cuts_the_rest(low, width):
    sound = hiss()
    found = Band(low, low + width).apply(sound)
    assert share(found, low - 60, low + width + 60) > 0.999
    before, after = spectrum(sound), spectrum(found)
    inside = slice(int(low) + 60, int(low + width) - 60)
    assert np.median(after[inside] / before[inside]) == pytest.approx(1, abs=0.05)


def test_a_tone_in_the_band_passes_in_its_place():
    time = np.arange(16000) / 16000
    tone = Audio.from_samples(0.5 * np.sin(2 * np.pi * 1000 * time), 16000)
    middle = slice(1000, -1000)
    for line in (Telephone(None), Band()):
        assert line.apply(tone).samples()[middle] == pytest.approx(tone.samples()[middle], abs=0.01)


@pytest.mark.parametrize(("law", "levels"), [("ulaw", ULAW), ("alaw", ALAW)])
def test_a_codec_leaves_the_levels_of_its_law(law, levels):
    found = Codec(law).apply(hiss().convert(sample_width=2))
    integers = np.frombuffer(found.pcm, "<i2")
    assert len(set(integers.tolist())) > 150
    assert set(integers.tolist()) <= set(levels)


@pytest.mark.parametrize("law", ["ulaw", "alaw"])
@pytest.mark.parametrize("amplitude", [0.9, 0.1, 0.01])
def test_the_noise_of_a_codec_is_far_below_the_sound_at_any_loudness(law, amplitude):
    sound = Audio.from_samples(amplitude * np.sin(np.arange(8000) / 7), 8000)
    error = Codec(law).apply(sound).samples() - sound.samples()
    assert 10 * np.log10((sound.samples() ** 2).mean() / (error**2).mean()) > 28


def test_coding_twice_is_coding_once():
    sound = hiss().convert(sample_width=2)
    assert Codec().apply(Codec().apply(sound)) == Codec().apply(sound)


def test_a_telephone_is_a_band_a_slower_rate_and_a_codec():
    sound = hiss(8000)
    assert Telephone("alaw").apply(sound) == Chain(Band(), Codec("alaw")).apply(sound).convert(8000)
    assert Telephone("alaw").apply(sound) != Telephone("ulaw").apply(sound)
