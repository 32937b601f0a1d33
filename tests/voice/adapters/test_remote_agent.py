"""What every adapter has: checks, and sound as the protocols want it."""

import asyncio
import base64
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.models.model_request import as_base64
from calipers.voice.adapters import (
    GeminiAgent,
    GeminiLiveAgent,
    HttpAgent,
    OpenAIAgent,
    OpenAIRealtimeAgent,
    WebSocketAgent,
)
from calipers.voice.adapters.http_agent import as_json_with
from calipers.voice.adapters.remote_agent import as_file, as_pcm, check_audio, check_text, paced, pieces
from calipers.voice.audio import Audio

MODELS = [OpenAIAgent, GeminiAgent, OpenAIRealtimeAgent, GeminiLiveAgent]
GOOD = [
    HttpAgent("http://localhost/agent"),
    WebSocketAgent("ws://localhost/agent"),
    *(model("m", api_key="a-key") for model in MODELS),
    *(model("m", base_url="http://localhost:8000/v1") for model in MODELS),
]


@pytest.mark.parametrize("agent", GOOD, ids=repr)
def test_what_can_work_is_not_found_wrong(agent):
    assert list(agent.wrong_options()) == []


def test_all_that_cannot_work_is_told_at_once():
    agent = WebSocketAgent(
        "http://localhost",
        timeout=0,
        open_timeout=math.nan,
        chunk_ms=-1,
        sample_rate=0.5,
        max_messages=0,
        end_message={"rate": math.inf},
    )
    wrong = dict(agent.wrong_options())
    assert sorted(wrong) == [
        "chunk_ms",
        "end_message",
        "max_messages",
        "open_timeout",
        "sample_rate",
        "timeout",
        "url",
    ]
    assert all(name in message for name, message in wrong.items())


@pytest.mark.parametrize("model", MODELS)
def test_a_model_needs_its_key_at_home_and_an_address_anywhere(model, monkeypatch):
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert [name for name, _ in model("m").wrong_options()] == ["api_key"]
    assert [name for name, _ in model("m", base_url="nowhere").wrong_options()] == ["base_url"]
    assert [name for name, _ in model("m", api_key="k", tools=["book"]).wrong_options()] == ["tools"]


def test_no_secret_is_told():
    (found,) = HttpAgent("ftp://user:pass-word@host/?token=tok-en").wrong_options()
    assert "pass-word" not in found[1]
    assert "tok-en" not in found[1]


def test_a_text_and_a_sound_go_to_their_own_methods():
    with pytest.raises(InvalidOptionError, match="for a text there is run_text"):
        check_audio("hello")
    with pytest.raises(InvalidOptionError, match="for sound there is run"):
        check_text(b"RIFF")


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, True, "10", [1]], ids=str)
def test_a_limit_of_time_is_a_positive_number(seconds, ask):
    with pytest.raises(InvalidOptionError, match="timeout must be"):
        ask(HttpAgent("http://127.0.0.1:1/", timeout=seconds), "hi")
    with pytest.raises(InvalidOptionError, match="timeout must be"):
        ask(WebSocketAgent("ws://127.0.0.1:1/", timeout=seconds), "hi")


@pytest.mark.parametrize("chunk_ms", [0, -5, 2.5, True, "20"])
def test_pieces_of_sound_have_a_length(ask, audio, chunk_ms):
    for agent in (
        WebSocketAgent("ws://127.0.0.1:1", chunk_ms=chunk_ms),
        OpenAIRealtimeAgent("m", base_url="ws://127.0.0.1:1", chunk_ms=chunk_ms),
        GeminiLiveAgent("m", base_url="ws://127.0.0.1:1", chunk_ms=chunk_ms),
    ):
        with pytest.raises(InvalidOptionError, match="chunk_ms must be a whole number from 1, got"):
            ask(agent, audio)


def test_an_agent_prints_what_was_set_and_hides_the_rest():
    assert repr(HttpAgent("http://me:pw@host/a?key=k")) == "HttpAgent(url='http://host/a')"
    agent = OpenAIAgent("gpt-audio", api_key="sk", headers={"a": "b"}, timeout=5.0)
    assert repr(agent) == "OpenAIAgent(model='gpt-audio', timeout=5.0)"


FRAMES = bytes(range(200))


@pytest.mark.parametrize(
    "audio",
    [Audio(FRAMES, "wav", 16000), Audio(FRAMES, "pcm", 16000), Audio.from_pcm(FRAMES, sample_rate=16000)],
    ids=["without a header", "bare frames", "with a header"],
)
def test_a_wav_file_has_one_header_and_says_its_rate(audio):
    data, form = as_file(audio, ("mp3",))
    assert form == "wav"
    assert data.count(b"RIFF") == 1
    assert Audio(data).sample_rate == 16000
    assert Audio(data).pcm == FRAMES


def test_a_compressed_file_is_sent_as_it_is_where_the_protocol_takes_it():
    assert as_file(Audio(b"ID3\x04...", "mp3"), ("mp3", "ogg")) == (b"ID3\x04...", "mp3")


def test_frames_have_the_rate_width_and_channel_of_the_protocol():
    audio = Audio(bytes(3 * 2 * 441), "pcm", 44100, channels=2, sample_width=3)
    found = as_pcm(audio, 24000)
    assert (found.sample_rate, found.channels, found.sample_width) == (24000, 1, 2)
    assert found.duration == pytest.approx(audio.duration, abs=0.001)


@given(st.integers(0, 5000), st.integers(1, 300), st.sampled_from([8000, 16000, 22050, 44100]))
def test_pieces_are_whole_frames_and_together_the_sound(frames, milliseconds, rate):
    pcm = bytes(index % 251 for index in range(2 * frames))
    found = list(pieces(Audio(pcm, "pcm", rate), milliseconds))
    assert b"".join(found) == pcm
    assert all(len(piece) % 2 == 0 and piece for piece in found)
    assert len({len(piece) for piece in found[:-1]}) <= 1


def test_real_time_changes_when_pieces_come_and_not_what_they_are():
    async def collected(*, realtime):
        return [piece async for piece in paced(Audio(FRAMES, "pcm", 16000), 2, realtime=realtime)]

    assert asyncio.run(collected(realtime=True)) == asyncio.run(collected(realtime=False))


@given(st.text(), st.binary(), st.dictionaries(st.text(), st.integers()))
def test_bytes_among_the_fields_of_a_json_object_are_base64_unless_a_field_has_their_name(name, data, fields):
    coded = base64.b64encode(data).decode()
    assert json.loads(as_json_with(name, data, fields)) == {name: coded, **fields}
    assert as_base64(data) == coded
