"""Pace, pitch, loudness and silence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.voice.audio import Audio
from calipers.voice.perturbations import Clip, Gain, Pitch, Silence, Speed, Tempo

RATE = 16000


def tone(frequency=220.0, seconds=1.0):
    time = np.arange(round(RATE * seconds)) / RATE
    return Audio.from_samples(0.4 * np.sin(2 * np.pi * frequency * time), RATE)


def pitch(audio):
    """The strongest frequency."""
    window = np.hanning(audio.frames)
    return (
        np.argmax(abs(np.fft.rfft(audio.samples()[:, 0] * window, 16 * audio.frames))) / 16 / audio.duration
    )


factors = st.floats(0.4, 2.5)


@settings(max_examples=min(20, settings().max_examples))
@given(factors)
def test_speed_divides_duration_and_multiplies_pitch(factor):
    found = Speed(factor).apply(tone())
    assert found.frames == round(RATE / factor)
    assert pitch(found) == pytest.approx(220 * factor, rel=0.01)


@settings(max_examples=min(20, settings().max_examples))
@given(factors)
def test_tempo_divides_duration_and_keeps_pitch(factor):
    found = Tempo(factor).apply(tone())
    assert found.frames == round(RATE / factor)
    assert pitch(found) == pytest.approx(220, rel=0.01)


@settings(max_examples=min(20, settings().max_examples))
@given(st.floats(-12, 12))
def test_pitch_changes_pitch_and_keeps_duration(semitones):
    found = Pitch(semitones).apply(tone())
    assert found.frames == RATE
    assert pitch(found) == pytest.approx(220 * 2 ** (semitones / 12), rel=0.015)


@pytest.mark.parametrize(
    "perturbation", [Speed(1.3), Speed(0.7), Tempo(1.3), Tempo(0.7), Pitch(4), Pitch(-4)], ids=repr
)
def test_loudness_stays(perturbation):
    assert perturbation.apply(tone()).loudness == pytest.approx(tone().loudness, abs=0.3)


@pytest.mark.parametrize("perturbation", [Speed(2), Tempo(2), Speed(0.5), Tempo(0.5), Pitch(3)], ids=repr)
def test_what_happens_in_the_middle_stays_in_the_middle(perturbation):
    samples = np.zeros(RATE)
    samples[7600:8400] = tone(seconds=0.05).samples()[:, 0]
    found = perturbation.apply(Audio.from_samples(samples, RATE)).samples()[:, 0] ** 2
    middle = (found * np.arange(len(found))).sum() / found.sum()
    assert middle / len(found) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("kind", [Speed, Tempo])
@pytest.mark.parametrize("frames", [0, 1, 2, 7, 799, 800, 801])
@pytest.mark.parametrize("factor", [0.125, 0.5, 3, 8])
def test_duration_is_divided_however_short(kind, frames, factor):
    sound = Audio.from_samples(0.1 * np.ones(frames), RATE)
    assert kind(factor).apply(sound).frames == round(frames / factor)


def test_channels_stay_together():
    both = np.repeat(tone().samples(), 2, axis=1)
    for perturbation in (Tempo(1.4), Pitch(3)):
        found = perturbation.apply(Audio.from_samples(both, RATE)).samples()
        assert (found[:, 0] == found[:, 1]).all()


@pytest.mark.parametrize("factor", [0.6, 1.5])
def test_a_tempo_begins_where_the_sound_begins(factor):
    found = Tempo(factor).apply(tone()).samples()[:40]
    assert found == pytest.approx(tone().samples()[:40], abs=0.05)


SOUND = Audio.from_samples(0.1 * np.sin(np.arange(4000) / 11), 8000, 4)


@given(st.floats(-60, 19))
def test_gain_changes_loudness_by_so_many_decibels(decibels):
    assert Gain(decibels).apply(SOUND).loudness == pytest.approx(SOUND.loudness + decibels, abs=0.01)


def test_gain_beyond_full_scale_clips():
    assert Gain(60).apply(SOUND).peak == 1.0


@given(st.floats(0, 80))
def test_a_clip_lowers_the_peak_by_so_many_decibels_and_leaves_what_is_below(depth):
    found = Clip(depth).apply(SOUND)
    limit = SOUND.peak * 10 ** (-depth / 20)
    assert found.peak == pytest.approx(limit, abs=1e-8)
    quiet = abs(SOUND.samples()) < limit
    assert (found.samples()[quiet] == SOUND.samples()[quiet]).all()


@given(st.floats(0, 40), st.floats(0, 40))
def test_clips_add_up(one, two):
    after_each_other = Clip(two).apply(Clip(one).apply(SOUND)).samples()
    assert np.allclose(after_each_other, Clip(one + two).apply(SOUND).samples(), rtol=1e-6, atol=1e-8)


def test_silence_stays_silent():
    assert Clip(6).apply(Audio.silence(1)) == Gain(6).apply(Audio.silence(1)) == Audio.silence(1)


seconds = st.floats(0, 0.5)


@given(before=seconds, after=seconds, width=st.sampled_from([1, 2, 3, 4]), channels=st.integers(1, 2))
def test_the_sound_stays_as_it_is_between_silence(before, after, width, channels):
    frame = channels * width
    sound = Audio(b"\x55" * 30 * frame, "pcm", 1000, channels, width)
    found = Silence(before, after).apply(sound)
    first = round(before * 1000) * frame
    assert found.frames == sound.frames + round(before * 1000) + round(after * 1000)
    assert found.pcm[first : first + len(sound.pcm)] == sound.pcm
    assert not found.samples()[: first // frame].any()
    assert not found.samples()[first // frame + 30 :].any()


def test_silence_around_nothing_is_silence():
    found = Silence(0.5, 0.25).apply(Audio(b"", sample_rate=8000))
    assert (found.duration, found.peak) == (pytest.approx(0.75), 0.0)
