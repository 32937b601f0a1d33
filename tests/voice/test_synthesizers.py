"""A synthesizer without key or network: what it says, what it refuses, and what tells it from others."""

import asyncio
import dataclasses
import pickle
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.voice.audio import Audio
from calipers.voice.cache_key import identity
from calipers.voice.protocols import Synthesizer
from calipers.voice.synthesizers import EspeakSynthesizer

SENTENCE = "turn on the kitchen lights"


@pytest.fixture(scope="module")
def audio():
    return EspeakSynthesizer().synthesize_sync(SENTENCE)


def test_it_is_a_synthesizer(audio):
    assert isinstance(EspeakSynthesizer(), Synthesizer)
    assert asyncio.run(EspeakSynthesizer().synthesize(SENTENCE)) == audio


def test_it_gives_sound_of_sixteen_bits_and_one_channel(audio):
    assert (audio.format, audio.channels, audio.sample_width) == ("wav", 1, 2)
    assert 1 < audio.duration < 3
    assert audio.loudness > -40


def test_the_event_loop_goes_on_while_it_speaks():
    async def count_turns():
        speaking = asyncio.ensure_future(EspeakSynthesizer().synthesize(SENTENCE * 20))
        turns = 0
        while not speaking.done():
            turns += 1
            await asyncio.sleep(0)
        return turns

    assert asyncio.run(count_turns()) > 1


@pytest.mark.parametrize(
    "other",
    [
        EspeakSynthesizer("en-us+f5"),
        EspeakSynthesizer("en-us"),
        EspeakSynthesizer(speed=149),
        EspeakSynthesizer(pitch=51),
        EspeakSynthesizer(pitch_range=60),
        EspeakSynthesizer(word_gap=5),
    ],
    ids=repr,
)
def test_every_setting_changes_the_sound_and_what_a_cache_knows_it_by(other, audio):
    assert other.synthesize_sync(SENTENCE) != audio
    assert identity(other) != identity(EspeakSynthesizer())


def test_more_words_a_minute_take_less_time():
    slow, fast = (EspeakSynthesizer(speed=speed).synthesize_sync(SENTENCE) for speed in (100, 300))
    assert slow.duration > 1.5 * fast.duration


def test_what_a_cache_knows_it_by_is_the_same_in_every_process():
    program = (
        "from calipers.voice.cache_key import identity\n"
        "from calipers.voice.synthesizers import EspeakSynthesizer\n"
        "print(identity(EspeakSynthesizer(pitch=40)), end='')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == identity(EspeakSynthesizer(pitch=40))
    assert EspeakSynthesizer().cache_key()["engine"].startswith("espeak-ng ")


def test_it_compares_prints_and_travels_as_a_value():
    made = EspeakSynthesizer("de", speed=120)
    assert pickle.loads(pickle.dumps(made)) == made == dataclasses.replace(made)
    assert "voice='de'" in repr(made)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("speed", 79),
        ("speed", 451),
        ("speed", 150.0),
        ("speed", True),
        ("speed", None),
        ("pitch", -1),
        ("pitch", 100),
        ("pitch", float("nan")),
        ("pitch_range", "50"),
        ("word_gap", 501),
    ],
)
def test_a_setting_out_of_its_range_is_refused(name, value):
    with pytest.raises(InvalidOptionError, match=f"{name} must be a whole number from"):
        EspeakSynthesizer(**{name: value})


@pytest.mark.parametrize(
    ("voice", "said"),
    [
        (
            "en-gb",
            r"no voice 'en-gb' \(close ones: 'en-gb-.*`calipers voice voices` and EspeakSynthesizer.voices\(\) list all",
        ),
        ("en-usa", "no voice 'en-usa' .*'en-us'"),
        ("en-us+f9", r"no variant 'f9' .*'f5'.*EspeakSynthesizer.variants\(\) list all"),
        ("english", r"no voice 'english' \(close ones: 'en-"),
        ("en-us+alex", "no variant 'alex' .*'Alex'"),
        ("en-us+", "no variant ''"),
        ("", "no voice ''"),
        ("../../lang/gmw/en-US", "no voice '../../lang/gmw/en-us'"),
        ("fo", "no voice 'fo'"),
        (None, "voice must be a name"),
    ],
)
def test_an_unknown_voice_is_refused_with_those_that_are_close(voice, said):
    with pytest.raises(InvalidOptionError, match=said):
        EspeakSynthesizer(voice).synthesize_sync("hello")


def test_voices_and_variants_go_together_in_any_case_of_the_voice():
    assert "en-us" in EspeakSynthesizer.voices()
    assert {"f2", "Alex"} <= set(EspeakSynthesizer.variants())
    assert EspeakSynthesizer("EN-US+f2").synthesize_sync("hi") == EspeakSynthesizer().synthesize_sync("hi")
    assert EspeakSynthesizer("fr+Mr serious").synthesize_sync("bonjour").duration > 0.2


@pytest.mark.parametrize("text", ["", "  \n", "\0", "\x01\x02", "..."])
def test_where_there_is_nothing_to_say_it_says_so(text):
    with pytest.raises(InvalidOptionError, match=r"nothing to say|made no sound"):
        EspeakSynthesizer().synthesize_sync(text)


@pytest.mark.parametrize("text", [None, 3, b"hello", ["hello"]])
def test_only_text_is_spoken(text):
    with pytest.raises(InvalidOptionError, match="only text can be spoken"):
        EspeakSynthesizer().synthesize_sync(text)


def test_a_zero_byte_does_not_end_the_sentence():
    spoken = EspeakSynthesizer().synthesize_sync
    assert spoken("hello\0world") == spoken("hello world")


def test_commands_hidden_in_a_text_are_not_obeyed():
    spoken = EspeakSynthesizer().synthesize_sync
    assert spoken("\x0150S hello there") == spoken(" 50S hello there"), "a rate of 50 would take longer"
    assert spoken("<break time='5s'/>").duration < 5


def test_a_very_long_text_is_spoken_to_its_end():
    assert EspeakSynthesizer().synthesize_sync(f"{SENTENCE}. " * 200).duration > 200


@settings(max_examples=min(40, settings().max_examples))
@given(st.text(min_size=1, max_size=40))
def test_any_text_is_spoken_or_refused_and_always_the_same(text):
    def outcome():
        try:
            return EspeakSynthesizer().synthesize_sync(text)
        except InvalidOptionError as error:
            return str(error)

    first = outcome()
    assert outcome() == first
    assert isinstance(first, str | Audio)


def test_it_never_prints(capfd):
    for text in ["hello", "漢字 Ω ü 🙂", "привет", "a\ud800", "a" * 500]:
        EspeakSynthesizer().synthesize_sync(text)
    assert capfd.readouterr() == ("", "")


def test_a_cancelled_synthesis_leaves_the_engine_usable(audio):
    async def cancel_then_speak():
        long = asyncio.ensure_future(EspeakSynthesizer().synthesize(SENTENCE * 50))
        await asyncio.sleep(0)
        long.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long
        return await EspeakSynthesizer().synthesize(SENTENCE)

    assert asyncio.run(cancel_then_speak()) == audio


def test_without_the_engine_the_error_names_the_extra():
    program = (
        "import sys; sys.modules['espeakng_loader'] = None\n"
        "from calipers.voice.synthesizers import EspeakSynthesizer\n"
        "try: EspeakSynthesizer().synthesize_sync('hello')\n"
        "except ImportError as error: print(error, end='')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'calipers[voice]'" in done.stdout
