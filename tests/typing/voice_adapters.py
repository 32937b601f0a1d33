# pyright: reportUnnecessaryTypeIgnoreComment=true
"""What type checkers infer about adapters and parsers of voice agents. This code is never run."""

from typing import Any, assert_type

from calipers.data.trace import ToolCall
from calipers.testing import OpenAIServer, Received, Reply, WebSocketAgentServer
from calipers.voice.adapters import (
    GeminiAgent,
    GeminiLiveAgent,
    HttpAgent,
    OpenAIAgent,
    OpenAIRealtimeAgent,
    WebSocketAgent,
)
from calipers.voice.audio import Audio
from calipers.voice.parsers import AnthropicResponseParser, JsonResponseParser, OpenAIResponseParser
from calipers.voice.protocols import Agent, ResponseParser, TextAgent
from calipers.voice.response import AgentResponse

TOOLS = [{"name": "book", "parameters": {"type": "object"}}]

hearing: list[Agent] = [
    HttpAgent("http://127.0.0.1/"),
    WebSocketAgent("ws://127.0.0.1/", chunk_ms=20, is_complete=lambda message: message == "end"),
    OpenAIAgent("m", tools=TOOLS, options={"temperature": 0}),
    OpenAIRealtimeAgent("m", tools=TOOLS, turn_detection={"type": "server_vad"}),
    GeminiAgent("m", tools=TOOLS),
    GeminiLiveAgent("m", automatic_detection=False),
]
reading: list[TextAgent] = [HttpAgent("http://127.0.0.1/"), GeminiLiveAgent("m")]
parsers: list[ResponseParser] = [
    OpenAIResponseParser(),
    AnthropicResponseParser(),
    JsonResponseParser(merge="last"),
]


class MyParser:
    def parse(self, raw: Any) -> AgentResponse:
        return AgentResponse([ToolCall("f")], raw=raw)


async def ask(audio: Audio) -> None:
    response = await HttpAgent("http://127.0.0.1/", parser=MyParser()).run(audio)
    assert_type(response, AgentResponse)
    assert_type(response.tool_calls, list[ToolCall])
    assert_type(response.text, str | None)


def messages(request: Audio | str) -> list[Any]:
    return [request if isinstance(request, str) else request.pcm, {"type": "end"}]


def reply(received: Received) -> Reply:
    return Reply(calls=[ToolCall("f")], text=received.path)


WebSocketAgent("ws://127.0.0.1/", send=messages)
WebSocketAgent("ws://127.0.0.1/", send="text")  # type: ignore[arg-type]
JsonResponseParser(merge="some")  # type: ignore[arg-type]
Reply(fault="explosion")  # type: ignore[arg-type]

with OpenAIServer(reply) as server, WebSocketAgentServer([Reply()], closes=True) as other:
    assert_type(server, OpenAIServer)
    assert_type(server.url, str)
    assert_type(other.requests, list[Received])
