"""What users hand in, refused before anything is said, with the way out."""

import re

import pytest

from calipers.errors import InvalidAudioError, InvalidOptionError
from calipers.voice import Audio, PerturbedSynthesizer, VoiceTask
from calipers.voice.adapters import HttpAgent, OpenAIAgent, WebSocketAgent
from calipers.voice.demo import OfflineAgent
from calipers.voice.parsers import JsonResponseParser
from calipers.voice.perturbations import Noise
from calipers.voice.recognition import Recognizer
from calipers.voice.synthesizers import EspeakSynthesizer


def hears(audio):
    return []


URL = "http://localhost:8000/chat"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: VoiceTask(OfflineAgent),
            "is a class: give one of its objects as the agent, such as OfflineAgent()",
        ),
        (
            lambda: VoiceTask(hears, EspeakSynthesizer()),
            "a function becomes an agent with @calipers.voice.agent",
        ),
        (
            lambda: VoiceTask(OfflineAgent(), EspeakSynthesizer(), perturbation={"noise": 10}),
            "calipers.voice.perturbations.from_spec(...) makes one of a name or plain data",
        ),
        (lambda: VoiceTask(OfflineAgent(), EspeakSynthesizer("english")), "espeak-ng has no voice 'english'"),
        (lambda: VoiceTask(OfflineAgent(), keep_audio=3), "keep_audio is True, False or a folder, got 3"),
        (lambda: VoiceTask(OfflineAgent(), keep_audio="/dev/null"), "a file is in the way"),
        (
            lambda: PerturbedSynthesizer(Noise(10), EspeakSynthesizer()),
            "is not a valid synthesizer: it has no method",
        ),
        (lambda: PerturbedSynthesizer(EspeakSynthesizer(), Noise), "is a class: give one of its objects"),
        (lambda: Noise.levels(10), "levels takes a list of values, as in Noise.levels([...]), got 10"),
        (lambda: Noise.levels("10"), "levels takes a list of values"),
        (lambda: Recognizer(5), "grammar must be a text in the JSpeech Grammar Format, or None, got 5"),
        (lambda: Recognizer(OfflineAgent().grammar), "give its jsgf"),
        (
            lambda: JsonResponseParser(tool_calls_key=3),
            "tool_calls_key must be a text, got 3",
        ),
        (lambda: JsonResponseParser(merge="every"), "merge must be one of all, first, last, got 'every'"),
    ],
)
def test_what_cannot_work_is_refused_at_once(make, says):
    with pytest.raises(InvalidOptionError, match=re.escape(says)):
        make()


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        (HttpAgent("localhost:8000"), "got 'localhost:8000'"),
        (HttpAgent(None), "the url must be the address of an agent"),
        (HttpAgent(URL, timeout="5"), "timeout must be a number of seconds above 0, or None, got '5'"),
        (HttpAgent(URL, parser="json"), "names are for files: give an object"),
        (HttpAgent(URL, parser=JsonResponseParser), "give one of its objects as the parser"),
        (HttpAgent(URL, headers=["a"]), "headers must be a mapping from names to texts, or None, got a list"),
        (HttpAgent(URL, headers={"a": 3}), "headers maps texts to texts, got int for 'a'"),
        (HttpAgent(URL, extra_fields=3), "extra_fields must be a mapping from names to values"),
        (HttpAgent(URL, body="xml"), "body must be one of json, multipart, got 'xml'"),
        (WebSocketAgent("ws://localhost", send="binary"), "must be one of json, bytes, got 'binary'"),
        (OpenAIAgent(None, base_url=URL), "model must be a text that is not empty, got None"),
        (OpenAIAgent("m", base_url=URL, options=3), "options must be a mapping"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_an_adapter_that_can_never_work_is_refused_once_and_not_at_every_prompt(agent, says):
    with pytest.raises(InvalidOptionError, match=re.escape(says)):
        VoiceTask(agent)


def test_all_that_is_wrong_with_an_adapter_is_told_and_no_secret():
    agent = HttpAgent("localhost:8000", timeout=0, headers={"Authorization": b"secret"})
    with pytest.raises(InvalidOptionError) as caught:
        VoiceTask(agent)
    message = str(caught.value)
    assert all(part in message for part in ("the url", "timeout must be", "headers maps"))
    assert "secret" not in message
    assert "url='localhost:8000'" in repr(agent)


@pytest.mark.parametrize("sound", ["a.wav", None, b"RIFF"], ids=repr)
def test_a_perturbation_changes_sounds_and_nothing_else(sound):
    with pytest.raises(InvalidAudioError, match=r"Audio\.load reads a file"):
        Noise(10).apply(sound)
    assert Noise(10).apply(Audio.silence(0.1)).frames > 0
