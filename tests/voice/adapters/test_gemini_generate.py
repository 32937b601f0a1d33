"""Gemini's `generateContent` with sound."""

import pytest

from calipers.errors import AgentReplyError
from calipers.testing import GeminiServer, Reply
from calipers.voice.adapters import GeminiAgent
from calipers.voice.audio import Audio

BOOK = {"name": "book", "parameters": {"type": "object", "properties": {"to": {"type": "string"}}}}


@pytest.mark.parametrize("variable", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
def test_the_request_is_the_documented_one(ask, audio, monkeypatch, variable):
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.setenv(variable, "g-key-1")
    with GeminiServer() as server:
        agent = GeminiAgent(
            "gemini-2.5-flash",
            base_url=server.url,
            tools=[BOOK],
            instructions="Be brief.",
            options={"generationConfig": {"temperature": 0}},
        )
        ask(agent, audio)
    (request,) = server.requests
    assert request.path == "/v1beta/models/gemini-2.5-flash:generateContent"
    assert request.headers["x-goog-api-key"] == "g-key-1"
    body = request.json
    assert body["tools"] == [{"functionDeclarations": [BOOK]}]
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert body["generationConfig"] == {"temperature": 0}
    (content,) = body["contents"]
    assert content["role"] == "user"
    assert content["parts"][0]["inlineData"]["mimeType"] == "audio/wav"
    assert request.audio == Audio(audio.wav), "frames without a header got one, at their own rate"


def test_a_text_is_a_part_of_text_and_the_name_of_the_model_may_have_its_prefix(ask):
    with GeminiServer() as server:
        ask(GeminiAgent("models/gemini-x", base_url=server.url), "book LA")
    assert server.requests[0].path == "/v1beta/models/gemini-x:generateContent"
    assert server.requests[0].json == {"contents": [{"role": "user", "parts": [{"text": "book LA"}]}]}


@pytest.mark.parametrize(("form", "mime"), [("mp3", "audio/mp3"), ("ogg", "audio/ogg"), ("pcm", "audio/wav")])
def test_the_type_of_the_sound_is_told(ask, form, mime):
    with GeminiServer() as server:
        ask(GeminiAgent("m", base_url=server.url), Audio(bytes(400), form))
    assert server.requests[0].json["contents"][0]["parts"][0]["inlineData"]["mimeType"] == mime


def test_a_blocked_prompt_is_no_answer(ask):
    raw = {"promptFeedback": {"blockReason": "SAFETY"}}
    with (
        GeminiServer(Reply(raw=raw)) as server,
        pytest.raises(AgentReplyError, match="the prompt was blocked: SAFETY"),
    ):
        ask(GeminiAgent("m", base_url=server.url), "hi")
