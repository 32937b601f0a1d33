"""Noise at a signal-to-noise ratio."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.voice.audio import Audio
from calipers.voice.perturbations import Gain, Noise, Silence


def tone(*, rate=16000, seconds=1.0, amplitude=0.05, channels=1):
    time = np.arange(round(rate * seconds)) / rate
    return Audio.from_samples(
        amplitude * np.sin(2 * np.pi * 300 * time)[:, np.newaxis].repeat(channels, 1), rate, 4
    )


def measured_ratio(clean, noisy):
    """Signal over noise in dB, where the noisy sound may be quieter as a whole: the gain is found by least squares."""
    signal, mixed = clean.samples(), noisy.samples()
    gain = (signal * mixed).sum() / (signal**2).sum()
    noise = mixed / gain - signal
    return 10 * np.log10((signal**2).mean() / (noise**2).mean())


@settings(max_examples=min(40, settings().max_examples))
@given(
    snr=st.floats(-5, 60),
    color=st.sampled_from(["white", "pink", "brown"]),
    seed=st.integers(),
    channels=st.integers(1, 2),
)
def test_the_measured_ratio_is_the_asked_one(snr, color, seed, channels):
    clean = tone(amplitude=0.02, channels=channels)
    noisy = Noise(snr, color=color, seed=seed).apply(clean)
    added = noisy.samples() - clean.samples()
    measured = 10 * np.log10((clean.samples() ** 2).mean() / (added**2).mean())
    assert measured == pytest.approx(snr, abs=0.01)


@pytest.mark.parametrize("snr", [-6, 0, 3])
@pytest.mark.parametrize("color", ["white", "pink", "brown"])
def test_a_mix_too_loud_is_made_quieter_as_a_whole(snr, color):
    clean = tone(amplitude=0.9)
    noisy = Noise(snr, color=color).apply(clean)
    assert noisy.peak == pytest.approx(1, abs=1e-6)
    assert (abs(noisy.samples()) > 0.999).sum() <= 2, "nothing is cut off"
    assert measured_ratio(clean, noisy) == pytest.approx(snr, abs=1.0)


@pytest.mark.parametrize(("color", "slope"), [("white", 0), ("pink", -3), ("brown", -6)])
def test_power_falls_with_frequency_as_the_color_says(color, slope):
    clean = tone(rate=32000, seconds=8)
    noise = (Noise(-10, color=color).apply(clean).samples() - clean.samples())[:, 0]
    spectrum = abs(np.fft.rfft(noise)) ** 2
    frequencies = np.fft.rfftfreq(len(noise), 1 / 32000)

    def level(low):
        return 10 * np.log10(spectrum[(frequencies >= low) & (frequencies < 2 * low)].mean())

    octaves = [level(low) for low in (100, 400, 800, 1600, 3200, 6400)]
    assert np.diff(octaves)[1:] == pytest.approx(slope, abs=0.7)
    assert octaves[1] - octaves[0] == pytest.approx(2 * slope, abs=1)


def test_channels_have_their_own_noise():
    clean = tone(channels=2)
    added = Noise(0).apply(clean).samples() - clean.samples()
    assert abs(np.corrcoef(added.T)[0, 1]) < 0.05


def test_silence_stays_silent():
    assert Noise(-20).apply(Audio.silence(1)).loudness is None


def test_noise_is_as_loud_over_a_pause_as_over_speech():
    padded = Silence(1).apply(tone())
    noisy = Noise(10).apply(padded).samples()
    assert np.std(noisy[:16000]) == pytest.approx(np.std(noisy[16000:] - tone().samples()), rel=0.05)


def test_a_louder_sound_has_louder_noise():
    quiet, loud = (Noise(10, seed=1).apply(Gain(gain).apply(tone())) for gain in (0, 20))
    assert loud.loudness - quiet.loudness == pytest.approx(20, abs=0.2)
