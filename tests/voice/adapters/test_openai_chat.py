"""OpenAI's chat completions with sound."""

import pytest

from calipers.errors import AgentReplyError
from calipers.testing import OpenAIServer, Reply
from calipers.voice.adapters import OpenAIAgent
from calipers.voice.audio import Audio

BOOK = {"name": "book", "parameters": {"type": "object", "properties": {"to": {"type": "string"}}}}


def test_the_request_is_the_documented_one(ask, audio, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-outside")
    with OpenAIServer() as server:
        agent = OpenAIAgent(
            "gpt-audio",
            base_url=server.url,
            tools=[BOOK],
            instructions="Be brief.",
            options={"temperature": 0},
        )
        ask(agent, audio)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-from-outside"
    body = request.json
    assert (body["model"], body["temperature"]) == ("gpt-audio", 0)
    assert body["tools"] == [{"type": "function", "function": BOOK}]
    system, user = body["messages"]
    assert system == {"role": "system", "content": "Be brief."}
    (part,) = user["content"]
    assert part["type"] == "input_audio"
    assert part["input_audio"]["format"] == "wav"
    assert request.audio == Audio(audio.wav), "frames without a header got one, at their own rate"


def test_a_text_is_a_plain_message(ask):
    with OpenAIServer() as server:
        ask(OpenAIAgent("m", base_url=server.url + "/"), "book LA")
    assert server.requests[0].json == {"model": "m", "messages": [{"role": "user", "content": "book LA"}]}


def test_without_a_key_none_is_sent_to_a_server_of_ones_own(ask, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with OpenAIServer() as server:
        ask(OpenAIAgent("m", base_url=server.url), "hi")
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(("form", "sent"), [("mp3", "mp3"), ("pcm", "wav")])
def test_only_the_formats_that_the_protocol_knows_are_sent(ask, form, sent):
    with OpenAIServer() as server:
        ask(OpenAIAgent("m", base_url=server.url), Audio(b"ID3\x04" + bytes(4000), form))
    part = server.requests[0].json["messages"][0]["content"][0]
    assert part["input_audio"]["format"] == sent


def test_an_error_that_comes_with_a_status_of_success_is_no_answer(ask):
    raw = {"error": {"message": "the provider is overloaded"}}
    with OpenAIServer(Reply(raw=raw)) as server, pytest.raises(AgentReplyError, match="overloaded"):
        ask(OpenAIAgent("m", base_url=server.url), "hi")


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_an_answer_that_was_broken_off_is_not_one_without_calls(ask, reason):
    raw = {"choices": [{"message": {"content": "I"}, "finish_reason": reason}]}
    with (
        OpenAIServer(Reply(raw=raw)) as server,
        pytest.raises(AgentReplyError, match=f"broken off.*{reason}"),
    ):
        ask(OpenAIAgent("m", base_url=server.url), "hi")
