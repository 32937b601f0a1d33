"""The room in which somebody speaks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.voice.audio import Audio
from calipers.voice.perturbations import Reverberation, Silence

RATE = 16000


def decay_time(response):
    """RT60 by Schroeder's backward integration, from the fall between -5 and -25 dB."""
    remaining = np.cumsum(response[::-1] ** 2)[::-1]
    level = 10 * np.log10(remaining / remaining[0])
    start, end = np.argmax(level <= -5), np.argmax(level <= -25)
    return 3 * (end - start) / RATE


@pytest.mark.parametrize("rt60", [0.2, 0.5, 1.5])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_room_dies_away_in_the_asked_time(rt60, seed):
    tail = Reverberation(rt60, seed=seed).response(RATE)[1:]
    assert decay_time(tail) == pytest.approx(rt60, rel=0.1)


@settings(max_examples=min(20, settings().max_examples))
@given(direct=st.floats(-20, 40), rt60=st.floats(0.05, 1))
def test_the_sound_itself_is_so_far_above_the_answer(direct, rt60):
    response = Reverberation(rt60, direct=direct).response(RATE)
    assert 10 * np.log10(response[0] ** 2 / (response[1:] ** 2).sum()) == pytest.approx(direct, abs=1e-6)


def click():
    samples = np.zeros(RATE)
    samples[100] = 0.5
    return Audio.from_samples(samples, RATE, 4)


def test_what_is_heard_of_a_click_is_the_answer_of_the_room():
    room = Reverberation(0.3)
    heard = room.apply(click()).samples()[100:, 0]
    response = room.response(RATE)
    assert np.corrcoef(heard[: len(response)], response)[0, 1] == pytest.approx(1)
    assert not Reverberation(0.3).apply(click()).samples()[:100].round(6).any(), "nobody hears it before"


@settings(max_examples=min(20, settings().max_examples))
@given(rt60=st.floats(0.01, 2), seed=st.integers())
def test_loudness_stays(rt60, seed):
    speech = Audio.from_samples(0.05 * np.sin(np.arange(RATE) / 9) * np.sin(np.arange(RATE) / 2000), RATE, 4)
    assert Reverberation(rt60, seed=seed).apply(speech).loudness == pytest.approx(speech.loudness, abs=0.01)


def test_a_seed_is_one_room_for_every_sound():
    room = Reverberation(0.3)
    early = room.apply(click())
    late = room.apply(Silence(0.25).apply(click()))
    assert early.samples()[100:5000] == pytest.approx(late.samples()[4100:9000], abs=1e-6)


def test_silence_after_a_sound_lets_the_room_ring():
    short = Audio.from_samples(0.5 * np.sin(np.arange(1600) / 5), RATE)
    rung = (Silence(after=0.5) + Reverberation(0.5)).apply(short)
    assert abs(rung.samples()[2000:4000]).max() > 0.01
    assert Reverberation(0.5).apply(short).frames == 1600


def test_silence_stays_silent():
    assert Reverberation(1).apply(Audio.silence(0.1)).loudness is None
