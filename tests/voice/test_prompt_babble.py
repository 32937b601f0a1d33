"""The other prompts of a test in the background."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from calipers.errors import InvalidOptionError
from calipers.voice.perturbations import Babble, Gain
from calipers.voice.perturbations.babble import PromptBabble, PromptVoices, said_by

PROMPTS = ("set lamp red", "set door open", "be quiet")


class Counting:
    def __init__(self, voice):
        self.voice = voice
        self.said = []

    async def synthesize(self, text):
        self.said.append(text)
        return self.voice.synthesize(text)


def test_the_prompts_are_said_once_by_whoever_says_the_test(voice):
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


def test_until_somebody_says_them_nothing_can_be_heard(voice):
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
