"""A synthesizer heard through a perturbation."""

import asyncio
from dataclasses import dataclass, field

import pytest

from calipers.voice.audio import Audio
from calipers.voice.cache import AudioCache, CachedSynthesizer
from calipers.voice.perturbations import Chain, Gain, Perturbation, Silence
from calipers.voice.perturbations.perturbation import PerturbedSynthesizer
from calipers.voice.protocols import Synthesizer


@dataclass
class Speaker:
    said: list = field(default_factory=list, compare=False)

    def synthesize(self, text):
        self.said.append(text)
        return Audio(b"\0\x10" * len(text))


def say(synthesizer, text):
    return asyncio.run(synthesizer.synthesize(text))


def test_it_says_the_same_as_it_is_heard():
    voice = PerturbedSynthesizer(Speaker(), Gain(-6))
    assert isinstance(voice, Synthesizer)
    assert say(voice, "hello") == Gain(-6).apply(Audio(b"\0\x10" * 5))
    assert repr(voice) == "PerturbedSynthesizer(Speaker(said=['hello']), Gain(decibels=-6))"


@pytest.mark.parametrize("noisy_is_kept", [True, False])
def test_a_cache_keeps_what_is_inside_it(tmp_path, noisy_is_kept):
    speaker, cache = Speaker(), AudioCache(tmp_path)
    if noisy_is_kept:
        voice = CachedSynthesizer(PerturbedSynthesizer(speaker, Silence(1)), cache=cache)
    else:
        voice = PerturbedSynthesizer(CachedSynthesizer(speaker, cache=cache), Silence(1))
    assert say(voice, "hello") == say(voice, "hello")
    assert say(voice, "hello").frames == 24005
    assert speaker.said == ["hello"]
    assert (cache.bytes() > 24005) == noisy_is_kept


def test_a_cache_never_serves_what_was_heard_through_something_else(tmp_path):
    cache = AudioCache(tmp_path)
    ways = [Chain(), Gain(-6), Gain(-12), Gain(-6) + Silence(0.1), Silence(0.1) + Gain(-6)]
    found = [say(CachedSynthesizer(PerturbedSynthesizer(Speaker(), way), cache=cache), "hi") for way in ways]
    assert found == [way.apply(Audio(b"\0\x10" * 2)) for way in ways]
    assert cache.size() == len(ways)


def test_who_cannot_tell_is_not_cached(tmp_path):
    @dataclass(frozen=True)
    class Odd(Perturbation):
        kind = "odd"
        function: object = len

        def change(self, sound):
            return sound.samples()

    class Mute:
        def __init__(self):
            self.client = object()

        def synthesize(self, text):
            return Audio(b"ab")

    for voice in (PerturbedSynthesizer(Speaker(), Odd()), PerturbedSynthesizer(Mute(), Gain(1))):
        assert not CachedSynthesizer(voice, cache=AudioCache(tmp_path)).cacheable
        with pytest.warns(RuntimeWarning, match="is not cached"):
            say(CachedSynthesizer(voice, cache=AudioCache(tmp_path)), "hi")
    assert AudioCache(tmp_path).size() == 0


def test_what_goes_wrong_in_a_perturbation_is_told():
    class Broken(Perturbation):
        def apply(self, audio):
            raise ZeroDivisionError("by zero")

    with pytest.raises(ZeroDivisionError, match="by zero"):
        say(PerturbedSynthesizer(Speaker(), Broken()), "hi")
