"""Laws of everything that can happen to a sound."""

import copy
import pickle
import sys
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError, MissingExtraError
from calipers.voice.audio import Audio
from calipers.voice.perturbations import (
    Babble,
    Band,
    Chain,
    Clip,
    Codec,
    Gain,
    Noise,
    PacketLoss,
    Perturbation,
    Pitch,
    Reverberation,
    Silence,
    Speed,
    Telephone,
    Tempo,
)
from calipers.voice.protocols import Perturbs

VOICES = [Audio.from_samples(0.3 * np.sin(np.arange(3000) * f), 16000) for f in (0.1, 0.2)]

SAMPLES_OF_EACH = {
    "white noise": Noise(10),
    "pink noise": Noise(0, color="pink"),
    "brown noise": Noise(-20, color="brown", seed=3),
    "babble": Babble(5, VOICES),
    "room": Reverberation(0.3),
    "band": Band(),
    "codec": Codec("alaw"),
    "telephone": Telephone(),
    "fast": Speed(1.7),
    "slow": Speed(0.6),
    "hurried": Tempo(1.7),
    "drawled": Tempo(0.6),
    "higher": Pitch(5),
    "lower": Pitch(-5),
    "louder": Gain(12),
    "clipped": Clip(6),
    "lossy": PacketLoss(0.4),
    "lossy in bursts": PacketLoss(0.4, burst=3, conceal=True),
    "silence around": Silence(0.01, 0.02),
    "a chain": Reverberation(0.2) + Noise(5) + Telephone("alaw"),
}
WITHOUT_EFFECT = {
    "no room": Reverberation(0),
    "as fast": Speed(1),
    "as hurried": Tempo(1),
    "as high": Pitch(0),
    "as loud": Gain(0),
    "no peak cut": Clip(0),
    "no loss": PacketLoss(0),
    "no loss in bursts": PacketLoss(0, burst=4, conceal=True),
    "no silence": Silence(),
    "nothing in a row": Chain(),
}
ABOUT_TIME = {"fast", "slow", "hurried", "drawled", "silence around"}


@st.composite
def sounds(draw):
    """Short sounds of any kind: empty, of one sample, stereo, of eight bits, silent, loud."""
    frames = draw(st.sampled_from([0, 1, 2, 3, 50, 700, 1500]))
    channels = draw(st.integers(1, 2))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    amplitude = draw(st.sampled_from([0.0, 0.01, 0.5, 1.0]))
    samples = amplitude * rng.uniform(-1, 1, (frames, channels))
    rate = draw(st.sampled_from([4000, 8000, 16000, 44100]))
    return Audio.from_samples(samples, rate, draw(st.sampled_from([1, 2, 3, 4])))


@pytest.mark.parametrize("name", SAMPLES_OF_EACH)
@settings(max_examples=min(25, settings().max_examples))
@given(sound=sounds())
def test_any_sound_of_any_kind_comes_out_as_a_sound_of_its_kind(name, sound):
    found = SAMPLES_OF_EACH[name].apply(sound)
    assert (found.sample_rate, found.channels, found.sample_width) == (
        *(sound.sample_rate, sound.channels, sound.sample_width),
    )
    assert np.isfinite(found.samples()).all()
    if name not in ABOUT_TIME:
        assert found.frames == sound.frames


@pytest.mark.parametrize("name", SAMPLES_OF_EACH)
@settings(max_examples=10)
@given(sound=sounds())
def test_the_same_value_does_the_same_to_the_same_sound(name, sound):
    perturbation = SAMPLES_OF_EACH[name]
    assert perturbation.apply(sound) == perturbation(sound) == copy.deepcopy(perturbation).apply(sound)


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
@settings(max_examples=min(25, settings().max_examples))
@given(sound=sounds())
def test_no_effect_changes_no_bit(name, sound):
    assert WITHOUT_EFFECT[name].apply(sound).digest == sound.digest


def voice(rate=16000):
    """A sound that is never silent, and of no simple period."""
    time = np.arange(rate) / rate
    return Audio.from_samples(
        0.3 * np.sin(2 * np.pi * 180 * time) * (1.2 + np.sin(7 * time))
        + 0.1 * np.sin(2 * np.pi * 1730 * time),
        rate,
    )


@pytest.mark.parametrize("name", SAMPLES_OF_EACH)
def test_every_kind_changes_a_voice(name):
    assert SAMPLES_OF_EACH[name].apply(voice()).digest != voice().digest


@pytest.mark.parametrize("name", SAMPLES_OF_EACH)
def test_every_kind_is_a_value(name):
    perturbation = SAMPLES_OF_EACH[name]
    assert isinstance(perturbation, Perturbs)
    assert perturbation == copy.deepcopy(perturbation) == pickle.loads(pickle.dumps(perturbation))
    assert hash(perturbation) == hash(copy.deepcopy(perturbation))
    assert perturbation.key() == copy.deepcopy(perturbation).key()
    if "Babble" not in repr(perturbation):
        assert eval(repr(perturbation)) == perturbation


def test_no_two_kinds_have_the_same_key():
    everything = SAMPLES_OF_EACH | WITHOUT_EFFECT
    assert len({each.key() for each in everything.values()}) == len(everything)


def test_compressed_sound_is_decoded_first(tmp_path):
    sound = Audio.load(voice().save(tmp_path / "a.flac"))
    assert Gain(-6).apply(sound) == Gain(-6).apply(voice())


def test_a_perturbation_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Noise(1).snr = 2


# ---------------------------------------------------------------------- chance


CHANCE = {
    "noise": Noise(5),
    "babble": Babble(5, VOICES),
    "room": Reverberation(0.3),
    "loss": PacketLoss(0.3),
    "chain": Gain(1) + Noise(5),
}


@pytest.mark.parametrize("name", CHANCE)
def test_another_seed_is_another_draw_and_zero_is_a_seed(name):
    perturbation = CHANCE[name]
    found = [perturbation.with_seed(seed).apply(voice()).digest for seed in (0, 1, -1, 2**70)]
    assert len(set(found)) == 4
    assert found[0] == perturbation.apply(voice()).digest
    assert len({perturbation.with_seed(seed).key() for seed in range(4)}) == 4


def test_where_chance_has_no_part_a_seed_changes_nothing():
    assert Telephone().with_seed(5) == Telephone()


@pytest.mark.parametrize("seed", [1.5, None, True, "1"], ids=repr)
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(InvalidOptionError, match="seed must be a whole number, got"):
        Noise(10, seed=seed)


def test_two_sounds_get_different_noise_and_two_levels_the_same():
    one, other = Gain(-20).apply(voice()), Gain(-21).apply(voice())

    def noise(sound, snr):
        added = Noise(snr).apply(sound.convert(sample_width=4)).samples() - sound.samples()
        return added[:, 0] / np.sqrt((added**2).mean())

    assert np.corrcoef(noise(one, 10), noise(one, 20))[0, 1] > 0.999
    assert abs(np.corrcoef(noise(one, 10), noise(other, 10))[0, 1]) < 0.1


def test_the_draws_of_a_seed_are_the_same_for_ever():
    assert Noise(3).rng().randint(1 << 30, size=3).tolist() == [548105884, 1003266375, 491351387]


# ---------------------------------------------------------------------- chains

parts = st.sampled_from([Noise(10), Gain(-3), Clip(3), PacketLoss(0.3), Silence(0.01), Chain(), Codec()])


@settings(max_examples=min(40, settings().max_examples))
@given(parts, parts, parts)
def test_it_does_not_matter_how_a_chain_is_put_together(one, two, three):
    sound = voice(8000)
    assert (one + two) + three == one + (two + three) == Chain(one, Chain(two, three))
    assert ((one + two) + three).key() == (one + (two + three)).key()
    assert ((one + two) + three).apply(sound) == three.apply(two.apply(one.apply(sound)))


def test_an_empty_chain_adds_nothing():
    assert (Chain() + Noise(1)).key() == Noise(1).key()
    assert Chain() + Chain() == Chain()


def test_order_matters():
    assert Gain(1) + Noise(1) != Noise(1) + Gain(1)
    assert (Gain(1) + Noise(1)).key() != (Noise(1) + Gain(1)).key()


def test_a_chain_reads_as_it_was_written():
    assert repr(Gain(1) + Clip(2)) == "Gain(decibels=1) + Clip(depth=2)"
    assert repr(Chain(Gain(1))) == "Chain(Gain(decibels=1))"
    assert (Gain(1) + Clip(2)).parts == (Gain(1), Clip(2))


def test_only_perturbations_add_up():
    with pytest.raises(InvalidOptionError, match="'noise' is not a perturbation"):
        Chain("noise")
    with pytest.raises(TypeError):
        _ = Noise(1) + "telephone"
    assert Noise(1) != "noise"
    assert Chain() != "noise"


# ---------------------------------------------------------------------- keys, levels, kinds of one's own


def test_numbers_that_are_equal_have_equal_keys():
    assert Noise(10).key() == Noise(10.0).key() == 'noise/1(color="white",seed=0,snr=10)'
    assert Noise(10) == Noise(10.0)


def test_levels_are_perturbations_by_their_first_option():
    assert Noise.levels([20, 0], color="pink") == {20: Noise(20, "pink"), 0: Noise(0, "pink")}
    assert PacketLoss.levels([0.1]) == {0.1: PacketLoss(0.1)}


@dataclass(frozen=True)
class Mute(Perturbation):
    kind = "mute"

    seconds: Any

    def change(self, sound):
        samples = sound.samples()
        samples[: round(self.seconds * sound.sample_rate)] = 0
        return samples


def test_a_kind_of_ones_own_is_a_dataclass_with_a_method():
    half = Mute(0.5).apply(voice())
    assert not half.samples()[:8000].any()
    assert (half.samples()[8000:] == voice().samples()[8000:]).all()
    assert Mute(0.5).key() == "mute/1(seconds=0.5)"
    assert (Mute(0.5) + Gain(1)).parts == (Mute(0.5), Gain(1))


def test_an_option_that_is_not_plain_has_no_key():
    with pytest.raises(InvalidOptionError, match="cannot be told from others"):
        Mute(object()).key()


def test_a_kind_that_does_nothing_says_so():
    with pytest.raises(NotImplementedError, match="Perturbation does not say what happens"):
        Perturbation().apply(voice())


WRONG = {
    "text": (lambda: Noise("10"), "snr must be a number from -200 to 200, got '10'"),
    "nan": (lambda: Noise(float("nan")), "snr must be a number from -200 to 200, got nan"),
    "infinity": (lambda: Noise(float("inf")), "snr must be a number from -200 to 200, got inf"),
    "true": (lambda: Gain(True), "decibels must be a number from -200 to 200, got True"),
    "too many decibels": (lambda: Gain(5000), "decibels must be a number from -200 to 200, got 5000"),
    "a color": (lambda: Noise(1, color="blue"), "color must be one of white, pink, brown, got 'blue'"),
    "no voices": (lambda: Babble(1), r"voices=\(\): babble needs a list"),
    "a single path": (lambda: Babble(1, "a.wav"), "voices='a.wav': babble needs a list"),
    "a number for a voice": (lambda: Babble(1, [3]), "3 is not a voice"),
    "no speakers": (lambda: Babble(1, VOICES, count=0), "count must be a whole number from 1, got 0"),
    "a negative room": (lambda: Reverberation(-1), "rt60 must be a number from 0 to 60, got -1"),
    "an endless room": (lambda: Reverberation(1e9), "from 0 to 60, got 1000000000"),
    "a band without width": (lambda: Band(3000, 300), "low=3000 must be below high=300"),
    "an unknown law": (lambda: Codec("g729"), "law must be one of ulaw, alaw, got 'g729'"),
    "an unknown codec": (lambda: Telephone("opus"), "codec must be one of ulaw, alaw, or None, got 'opus'"),
    "no speed": (lambda: Speed(0), "factor must be a number from 0.125 to 8, got 0"),
    "backwards": (lambda: Tempo(-1), "factor must be a number from 0.125 to 8, got -1"),
    "too high": (lambda: Pitch(100), "semitones must be a number from -24 to 24, got 100"),
    "a negative depth": (lambda: Clip(-1), "depth must be a number from 0 to 200, got -1"),
    "more than all": (lambda: PacketLoss(1.1), "rate must be a number from 0 to 1, got 1.1"),
    "no packet": (lambda: PacketLoss(0.1, packet=0), "packet must be a number above 0, got 0"),
    "bursts below one": (lambda: PacketLoss(0.1, burst=0.5), "burst must be a number from 1, got 0.5"),
    "bursts that cannot be": (lambda: PacketLoss(0.9, burst=2), "make the bursts longer"),
    "a text for a truth": (
        lambda: PacketLoss(0.1, conceal="yes"),
        "conceal must be True or False, got 'yes'",
    ),
    "silence before time": (lambda: Silence(-1), "before must be a number from 0 to 3,600, got -1"),
    "silence without end": (
        lambda: Silence(after=1e9),
        "after must be a number from 0 to 3,600, got 1000000000.0",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_option_that_cannot_be_is_an_error_that_shows_it(case):
    make, message = WRONG[case]
    with pytest.raises(InvalidOptionError, match=message):
        make()


@pytest.mark.parametrize("perturbation", [Noise(10), Chain(Noise(10))], ids=["alone", "in a chain"])
def test_without_numpy_it_is_said_what_to_install(monkeypatch, perturbation):
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'calipers\[voice\]'"):
        perturbation.apply(Audio.silence(0.1))
