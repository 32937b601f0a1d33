"""Other people talking."""

import numpy as np
import pytest

from calipers.errors import InvalidOptionError
from calipers.voice.audio import Audio
from calipers.voice.perturbations import Babble

RATE = 16000


def tone(frequency, *, seconds=1.0, amplitude=0.02, rate=RATE, channels=1):
    time = np.arange(round(rate * seconds)) / rate
    wave = amplitude * np.sin(2 * np.pi * frequency * time)[:, np.newaxis]
    return Audio.from_samples(wave.repeat(channels, 1), rate, 4)


REQUEST = tone(200)
OTHERS = [tone(500), tone(700, amplitude=0.5, seconds=0.31), tone(900, rate=22050, channels=2)]


def heard(audio):
    """Which of the tones are in a sound, by their frequencies."""
    spectrum = abs(np.fft.rfft(audio.samples()[:, 0]))
    return [f for f in (200, 500, 700, 900) if spectrum[round(f * audio.duration)] > spectrum.max() / 30]


@pytest.mark.parametrize("snr", [-5, 0, 10])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_voices_together_have_the_asked_ratio(snr, count):
    added = Babble(snr, OTHERS, count=count).apply(REQUEST).samples() - REQUEST.samples()
    measured = 10 * np.log10((REQUEST.samples() ** 2).mean() / (added**2).mean())
    assert measured == pytest.approx(snr, abs=0.01)


def test_all_voices_are_heard_equally_loud_whatever_their_kind():
    found = Babble(0, OTHERS).apply(REQUEST)
    assert heard(found) == [200, 500, 700, 900]
    added = (found.samples() - REQUEST.samples())[:, 0]
    spectrum = abs(np.fft.rfft(added))
    levels = [spectrum[f - 8 : f + 9].max() for f in (500, 700, 900)]
    assert max(levels) / min(levels) < 1.5


def test_so_many_speak_at_a_time_and_the_seed_chooses_who():
    found = [heard(Babble(0, OTHERS, count=1, seed=seed).apply(REQUEST)) for seed in range(12)]
    assert all(len(each) == 2 for each in found)
    assert {each[1] for each in found} == {500, 700, 900}


def test_a_sound_does_not_babble_with_itself():
    assert heard(Babble(0, [REQUEST, OTHERS[0]]).apply(REQUEST)) == [200, 500]
    with pytest.raises(InvalidOptionError, match="none of the 1 voices is audible and another"):
        Babble(0, [REQUEST]).apply(REQUEST)


def test_a_voice_that_says_nothing_is_no_voice():
    cancels = Audio.from_samples(np.array([[0.5, -0.5]] * 100), RATE)
    silent = [Audio.silence(1), Audio(b""), cancels, Audio.from_samples([0.1], 400_000)]
    with pytest.raises(InvalidOptionError, match="give more voices"):
        Babble(0, silent).apply(REQUEST)
    assert heard(Babble(0, [*silent, OTHERS[0]]).apply(REQUEST)) == [200, 500]


def test_voices_may_be_files_and_are_told_by_what_they_say(tmp_path):
    paths = [voice.save(tmp_path / f"{number}.wav") for number, voice in enumerate(OTHERS)]
    from_files, from_sounds = Babble(0, paths), Babble(0, OTHERS)
    assert from_files.apply(REQUEST) == from_sounds.apply(REQUEST)
    assert from_files.key() == from_sounds.key()
    before = from_files.key()
    OTHERS[1].save(paths[0])
    assert from_files.key() != before


def test_voices_of_any_iterable_are_kept_and_counted_when_shown():
    babble = Babble(0, (voice for voice in OTHERS))
    assert babble == Babble(0, OTHERS) == Babble(0, tuple(OTHERS))
    assert repr(babble) == "Babble(snr=0, voices=<3>, count=4, seed=0)"


def test_every_channel_hears_the_same_voices():
    stereo = REQUEST.convert(channels=2)
    added = Babble(0, OTHERS).apply(stereo).samples() - stereo.samples()
    assert np.corrcoef(added.T)[0, 1] == pytest.approx(1)
