"""Noise and voices in the background."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.voice.audio import Audio
from calipers.voice.perturbations import Babble, Gain, Noise, Silence
from calipers.voice.perturbations.background import PromptBabble, PromptVoices, said_by


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


RATE = 16000


def babble_tone(frequency, *, seconds=1.0, amplitude=0.02, rate=RATE, channels=1):
    time = np.arange(round(rate * seconds)) / rate
    wave = amplitude * np.sin(2 * np.pi * frequency * time)[:, np.newaxis]
    return Audio.from_samples(wave.repeat(channels, 1), rate, 4)


REQUEST = babble_tone(200)
OTHERS = [
    babble_tone(500),
    babble_tone(700, amplitude=0.5, seconds=0.31),
    babble_tone(900, rate=22050, channels=2),
]


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


PROMPTS = ("set lamp red", "set door open", "be quiet")


class Counting:
    def __init__(self, voice):
        self.voice = voice
        self.said = []

    async def synthesize(self, text):
        self.said.append(text)
        return self.voice.synthesize(text)


def test_the_prompts_are_said_once_by_the_synthesizer_of_the_test(voice):
    speaker = Counting(voice)
    babble = said_by(Gain(0) + PromptBabble(5, count=2, seed=3), PromptVoices(PROMPTS, speaker))
    sound = voice.synthesize(PROMPTS[0])
    expected = Babble(5, [voice.synthesize(each) for each in PROMPTS], 2, 3).apply(sound)
    with ThreadPoolExecutor(8) as pool:
        heard = list(pool.map(babble.apply, [sound] * 16))
    assert all(each == expected for each in heard)
    assert speaker.said == list(PROMPTS)


def test_another_draw_is_another_babble_with_the_same_voices(voice):
    speaker = Counting(voice)
    babble = said_by(PromptBabble(5, count=1), PromptVoices(PROMPTS, speaker))
    sound = voice.synthesize("and now something else")
    assert len({babble.with_seed(seed).apply(sound).digest for seed in range(8)}) > 1
    assert speaker.said == list(PROMPTS)


def test_until_they_are_said_nothing_can_be_heard(voice):
    with pytest.raises(InvalidOptionError, match="no synthesizer says the prompts"):
        PromptBabble(5).apply(voice.synthesize("x"))


@pytest.mark.parametrize(
    "options", [{"snr": "loud"}, {"snr": 3, "count": 0}, {"snr": 3, "seed": 0.5}], ids=str
)
def test_options_that_babble_refuses_are_refused(options):
    with pytest.raises(InvalidOptionError):
        PromptBabble(**options)


def test_two_are_equal_by_what_they_do_and_not_by_who_speaks(voice):
    assert said_by(PromptBabble(5), PromptVoices(PROMPTS, voice)).parts == (PromptBabble(5),)
