"""How loud, and how much too loud."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.voice.audio import Audio
from calipers.voice.perturbations import Clip, Gain

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
