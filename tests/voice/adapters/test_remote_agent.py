"""The options of every adapter, and what is asked of it, are checked before anything is sent."""

import math

import pytest

from calipers.errors import InvalidOptionError
from calipers.voice.adapters import (
    GeminiAgent,
    GeminiLiveAgent,
    HttpAgent,
    OpenAIAgent,
    OpenAIRealtimeAgent,
    WebSocketAgent,
)
from calipers.voice.adapters.remote_agent import check_audio, check_text

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
        with pytest.raises(
            InvalidOptionError, match="chunk_ms must be a whole number of milliseconds above 0"
        ):
            ask(agent, audio)


def test_an_agent_prints_what_was_set_and_hides_the_rest():
    assert repr(HttpAgent("http://me:pw@host/a?key=k")) == "HttpAgent(url='http://host/a')"
    agent = OpenAIAgent("gpt-audio", api_key="sk", headers={"a": "b"}, timeout=5.0)
    assert repr(agent) == "OpenAIAgent(model='gpt-audio', timeout=5.0)"
