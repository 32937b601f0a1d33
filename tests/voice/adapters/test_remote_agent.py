"""What every adapter tells of its options before it is asked anything."""

import math

import pytest

from calipers.voice.adapters import (
    GeminiAgent,
    GeminiLiveAgent,
    HttpAgent,
    OpenAIAgent,
    OpenAIRealtimeAgent,
    WebSocketAgent,
)

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
