"""Silence around a sound."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.voice.audio import Audio
from calipers.voice.perturbations import Silence

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
