"""What a recognizer hears, and what it accepts."""

import asyncio
import pickle
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidAudioError, InvalidOptionError
from calipers.voice.audio import Audio
from calipers.voice.recognition import Recognizer, phone_distance
from calipers.voice.synthesizers import EspeakSynthesizer

GRAMMAR = """#JSGF V1.0;
grammar home;
public <request> = turn (on | off) the (kitchen | bedroom) lights | call (anna | david) | cancel the timer;
"""
COMMANDS = ["turn on the kitchen lights", "turn off the bedroom lights", "call david", "cancel the timer"]


@cache
def say(text):
    return EspeakSynthesizer().synthesize_sync(text)


@pytest.fixture(scope="module")
def recognizer():
    return Recognizer(GRAMMAR)


@pytest.mark.parametrize("text", COMMANDS)
def test_a_command_is_heard_and_accepted(recognizer, text):
    hearing = recognizer.recognize_sync(say(text))
    assert (hearing.text, hearing.accepted) == (text, True)
    assert 0 < hearing.distance <= 0.6
    assert hearing.sounds
    assert hearing.pronunciation
    assert f"{hearing.distance:.2f} away" in hearing.reason


def test_what_fits_a_grammar_but_does_not_sound_like_it_is_not_accepted(recognizer):
    audio = say("the weather was lovely and we went for a walk")
    doubted, believed = recognizer.recognize_sync(audio), Recognizer(GRAMMAR, max_distance=float("inf"))
    assert not doubted.accepted
    assert believed.recognize_sync(audio).accepted is bool(doubted.text)


def test_a_limit_of_zero_accepts_only_what_was_heard_to_the_letter():
    hearing = Recognizer(GRAMMAR, max_distance=0).recognize_sync(say("call david"))
    assert (hearing.text, hearing.accepted) == ("call david", False)
    assert "at most 0 is accepted" in hearing.reason


@pytest.mark.parametrize(
    "form",
    [
        {"sample_rate": 48000},
        {"sample_rate": 44100, "channels": 2},
        {"sample_rate": 16000, "sample_width": 4},
        {"sample_width": 3, "channels": 2},
    ],
    ids=str,
)
def test_any_rate_width_and_number_of_channels_will_do(recognizer, form):
    assert recognizer.recognize_sync(say("call david").convert(**form)).text == "call david"


@pytest.mark.parametrize("seconds", [0, 0.001, 2])
def test_silence_is_not_speech(seconds):
    for recognizer in (Recognizer(GRAMMAR), Recognizer()):
        hearing = recognizer.recognize_sync(Audio.silence(seconds))
        assert (hearing.text, hearing.accepted) == ("", False)
        assert "silence" in hearing.reason


def test_without_a_grammar_it_writes_down_english():
    hearing = Recognizer().recognize_sync(say("last night i dreamed about the sea"))
    assert hearing.accepted
    assert "last night" in hearing.text


def test_many_at_once_hear_what_each_would_hear_alone(recognizer):
    async def at_once():
        return await asyncio.gather(*(recognizer.recognize(say(text)) for text in COMMANDS))

    alone = [recognizer.recognize_sync(say(text)) for text in COMMANDS]
    assert asyncio.run(at_once()) == alone


def test_one_that_was_cancelled_does_not_disturb_the_next(recognizer):
    async def cancelled_then_heard():
        first = asyncio.ensure_future(recognizer.recognize(say("cancel the timer")))
        await asyncio.sleep(0)
        first.cancel()
        return await recognizer.recognize(say("call david"))

    assert asyncio.run(cancelled_then_heard()).text == "call david"


def test_it_is_a_value(recognizer):
    assert pickle.loads(pickle.dumps(recognizer)) == recognizer == Recognizer(GRAMMAR)
    assert recognizer != Recognizer(GRAMMAR, max_distance=0.5)


def test_a_word_can_be_taught():
    grammar = "#JSGF V1.0;\ngrammar a;\npublic <a> = open the frobnicator | close the window;"
    with pytest.raises(InvalidOptionError, match="cannot pronounce 'frobnicator'"):
        Recognizer(grammar).recognize_sync(say("open the frobnicator"))
    taught = Recognizer(grammar, pronunciations={"frobnicator": "F R AA B N IH K EY T ER"})
    assert taught.recognize_sync(say("open the frobnicator")).accepted


@pytest.mark.parametrize("limit", [-0.1, float("nan"), "0.6", None, True])
def test_a_limit_that_is_no_number_from_zero_up_is_refused(limit):
    with pytest.raises(InvalidOptionError, match="max_distance must be a number from 0, got"):
        Recognizer(GRAMMAR, max_distance=limit)


@pytest.mark.parametrize("wrong", [None, b"\0\0", "request.wav"])
def test_only_audio_can_be_heard(recognizer, wrong):
    with pytest.raises(InvalidAudioError, match="a recognizer hears an Audio"):
        recognizer.recognize_sync(wrong)


PHONES = st.lists(st.sampled_from("AA ER IY P T CH S Z M NG L W".split()), min_size=1, max_size=12)  # noqa: SIM905


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ("K AO L", "K AO L", 0),
        ("K AO L", "T AO L", 0.5 / 3),
        ("K AO L", "S AO L", 1 / 3),
        ("K AO L", "K AO", 1 / 2),
        ("K AO L", "K AO L Z", 1 / 3),
        ("ER", "R", 0.5),
        ("ER", "IY", 0.5),
        ("R", "IY", 1),
        ("??", "R", 1),
        ("K", "AA AA AA", 3),
    ],
)
def test_the_distance_counts_what_must_be_changed(first, second, distance):
    assert phone_distance(first.split(), second.split()) == pytest.approx(distance)


@pytest.mark.parametrize(("first", "second"), [([], []), ([], ["K"]), (["K"], [])])
def test_nothing_can_be_said_of_silence(first, second):
    assert phone_distance(first, second) is None


@given(PHONES, PHONES)
def test_it_is_the_same_both_ways_and_never_less_than_the_difference_of_lengths(first, second):
    distance = phone_distance(first, second)
    assert distance == phone_distance(second, first)
    shorter = min(len(first), len(second))
    assert abs(len(first) - len(second)) / shorter <= distance <= max(len(first), len(second)) / shorter


@given(PHONES, PHONES)
def test_only_the_same_sounds_are_at_no_distance(first, second):
    assert (phone_distance(first, second) == 0) is (first == second)
