"""Models of providers, by our own requests and by the clients of their SDKs."""

import asyncio
from types import SimpleNamespace as Thing

import pytest

from calipers.data.trace import ToolCall
from calipers.errors import AgentConnectionError, AgentReplyError, AgentTimeoutError, InvalidOptionError
from calipers.voice.adapters import GeminiAgent, GeminiLiveAgent, OpenAIAgent, OpenAIRealtimeAgent
from calipers.voice.adapters.model_agent import ask_sdk


@pytest.mark.parametrize("kind", [OpenAIAgent, OpenAIRealtimeAgent, GeminiAgent, GeminiLiveAgent])
def test_a_provider_without_a_key_says_where_to_put_one(kind, monkeypatch, ask):
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(
        InvalidOptionError, match=r"set (OPENAI_API_KEY|GEMINI_API_KEY or GOOGLE_API_KEY), or give api_key"
    ):
        ask(kind("m"), "hi")


class APITimeoutError(Exception):
    pass


class APIConnectionError(Exception):
    pass


class RateLimitError(Exception):
    status_code = 429


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (APITimeoutError("slow"), AgentTimeoutError),
        (TimeoutError(), AgentTimeoutError),
        (APIConnectionError("refused"), AgentConnectionError),
        (RateLimitError("too many, sk-123456"), AgentReplyError),
        (TypeError("no such argument"), TypeError),
    ],
)
def test_the_errors_of_an_sdk_become_ours_where_the_agent_gave_no_answer(error, found):
    def ask():
        raise error

    with pytest.raises(found) as caught:
        asyncio.run(ask_sdk(ask, seconds=5, secrets=["sk-123456"]))
    assert type(caught.value) is found
    assert "sk-123456" not in str(caught.value)
    if found is AgentReplyError:
        assert caught.value.status == 429


def test_an_sdk_that_hangs_is_a_timeout():
    with pytest.raises(AgentTimeoutError):
        asyncio.run(ask_sdk(lambda: asyncio.sleep(60), seconds=0.05, secrets=[]))


class OpenAIClient:
    """As much of `openai.AsyncOpenAI` as the adapter uses."""

    def __init__(self):
        self.seen = []
        self.chat = Thing(completions=self)

    async def create(self, **body):
        self.seen.append(body)
        call = Thing(id="c1", function=Thing(name="book", arguments='{"to": "LA"}'))
        return Thing(
            choices=[Thing(message=Thing(content=None, tool_calls=[call]), finish_reason="tool_calls")]
        )


def test_a_client_of_openais_is_asked_instead(ask, audio):
    client = OpenAIClient()
    response = ask(OpenAIAgent("gpt-audio", client=client, options={"temperature": 0}), audio)
    assert response.tool_calls == [ToolCall("book", {"to": "LA"})]
    (body,) = client.seen
    assert (body["model"], body["temperature"]) == ("gpt-audio", 0)
    assert body["messages"][0]["content"][0]["type"] == "input_audio"


class GeminiClient:
    """As much of `google.genai.Client` as the adapter uses."""

    def __init__(self):
        self.seen = []
        self.aio = Thing(models=self)

    async def generate_content(self, *, model, contents, config):
        self.seen.append((model, contents, config))
        part = Thing(function_call=Thing(id=None, name="book", args={"to": "LA"}), text=None, thought=None)
        return Thing(
            candidates=[Thing(content=Thing(parts=[part]), finish_reason=None)], prompt_feedback=None
        )


def test_a_client_of_googles_is_asked_instead_and_gets_bytes(ask, audio):
    client = GeminiClient()
    agent = GeminiAgent("gemini-x", client=client, tools=[{"name": "book"}], options={"temperature": 0})
    assert ask(agent, audio).tool_calls == [ToolCall("book", {"to": "LA"})]
    ((model, contents, config),) = client.seen
    assert model == "gemini-x"
    sent = contents[0]["parts"][0]["inline_data"]
    assert (sent["mime_type"], sent["data"][:4]) == ("audio/wav", b"RIFF")
    assert config == {"tools": [{"functionDeclarations": [{"name": "book"}]}], "temperature": 0}
