"""An agent behind a WebSocket: streams, completion, and what the messages become."""

import base64
import sys

import pytest

from calipers.data.trace import ToolCall
from calipers.errors import (
    AgentConnectionError,
    AgentReplyError,
    AgentTimeoutError,
    InvalidOptionError,
    MissingExtraError,
)
from calipers.testing import Reply, WebSocketAgentServer
from calipers.voice.adapters import WebSocketAgent
from calipers.voice.audio import Audio
from calipers.voice.parsers import JsonResponseParser

BOOK, PAY = ToolCall("book", {"to": "LA"}), ToolCall("pay")
STREAM = [
    {"type": "partial", "text": "One moment."},
    {"type": "calls", "tool_calls": [{"name": "book", "arguments": {"to": "LA"}}]},
    b"\x00\x01\xff sound",
    {"type": "calls", "tool_calls": [{"name": "pay"}]},
    {"type": "done"},
]


def is_done(message):
    return isinstance(message, dict) and message.get("type") == "done"


# ---------------------------------------------------------------------- sending


def test_sound_travels_in_one_message_as_base64_of_a_wav_file(ask, audio):
    with WebSocketAgentServer() as server:
        ask(WebSocketAgent(server.url, headers={"X-Mode": "test"}), audio)
    (request,) = server.requests
    assert request.messages == [{"audio": base64.b64encode(audio.wav).decode(), "format": "wav"}]
    assert request.headers["x-mode"] == "test"
    assert request.audio == Audio(audio.wav)


def test_sound_may_travel_as_a_binary_message(ask, audio):
    with WebSocketAgentServer() as server:
        agent = WebSocketAgent(server.url, send="bytes")
        ask(agent, audio)
        ask(agent, "hello")
    assert [request.messages for request in server.requests] == [[audio.wav], ["hello"]]


@pytest.mark.parametrize("realtime", [False, True])
def test_sound_is_streamed_as_frames_with_a_last_message(ask, audio, realtime):
    with WebSocketAgentServer(until=is_done) as server:
        agent = WebSocketAgent(
            server.url,
            send="bytes",
            chunk_ms=50,
            realtime=realtime,
            sample_rate=16000,
            end_message={"type": "done"},
        )
        ask(agent, audio)
    *frames, last = server.requests[0].messages
    assert len(frames) > 2
    assert last == {"type": "done"}
    assert {len(piece) for piece in frames[:-1]} == {1600}
    assert b"".join(frames) == audio.convert(16000).pcm


def test_streamed_json_has_one_piece_in_each_message(ask, audio):
    with WebSocketAgentServer(until=is_done) as server:
        agent = WebSocketAgent(server.url, chunk_ms=100, audio_field="chunk", end_message={"type": "done"})
        ask(agent, audio)
    pieces = [message for message in server.requests[0].messages if "chunk" in message]
    assert {message["format"] for message in pieces} == {"pcm"}
    assert b"".join(base64.b64decode(message["chunk"]) for message in pieces) == audio.pcm


def test_a_function_gives_the_messages_itself(ask, audio):
    def messages(request):
        yield {"type": "hello"}
        yield request if isinstance(request, str) else request.pcm
        yield {"type": "done"}

    async def slowly(request):
        for message in messages(request):
            yield message

    for send in (messages, slowly):
        with WebSocketAgentServer(until=is_done) as server:
            agent = WebSocketAgent(server.url, send=send)
            ask(agent, audio)
            ask(agent, "hello")
        spoken, written = (request.messages for request in server.requests)
        assert spoken == [{"type": "hello"}, audio.pcm, {"type": "done"}]
        assert written == [{"type": "hello"}, "hello", {"type": "done"}]


def test_a_function_that_fails_while_sending_is_told_as_it_failed(ask):
    def messages(request):
        yield {"type": "hello"}
        raise KeyError("my own mistake")

    with WebSocketAgentServer(until=is_done) as server, pytest.raises(KeyError, match="my own mistake"):
        ask(WebSocketAgent(server.url, send=messages), "hi")


# ---------------------------------------------------------------------- completion


def test_the_first_message_is_the_answer_unless_told_otherwise(ask):
    with WebSocketAgentServer(Reply(raw=STREAM[1:])) as server:
        response = ask(WebSocketAgent(server.url), "hi")
    assert response.tool_calls == [BOOK]
    assert response.raw == STREAM[1]


def test_all_messages_count_until_the_one_that_completes(ask):
    with WebSocketAgentServer(Reply(raw=[*STREAM, {"tool_calls": [{"name": "late"}]}])) as server:
        response = ask(WebSocketAgent(server.url, is_complete=is_done), "hi")
    assert response.tool_calls == [BOOK, PAY]
    assert response.text == "One moment."
    assert response.raw == STREAM
    assert response.problems == []


def test_all_messages_count_until_the_server_closes(ask):
    with WebSocketAgentServer(Reply(raw=STREAM), closes=True) as server:
        response = ask(WebSocketAgent(server.url, is_complete="close"), "hi")
    assert response.tool_calls == [BOOK, PAY]


def test_a_line_that_breaks_is_no_proper_close(ask):
    reply = Reply(raw=STREAM, fault="disconnect")
    with WebSocketAgentServer(reply) as server, pytest.raises(AgentConnectionError) as caught:
        ask(WebSocketAgent(server.url, is_complete="close"), "hi")
    assert caught.value.response.text == "One moment."


def test_a_server_that_closes_before_the_answer_is_whole_has_hung_up(ask):
    early = WebSocketAgentServer(Reply(raw=STREAM[:2]), closes=True)
    with early as server, pytest.raises(AgentConnectionError, match=r"hung up .*with code 1000") as caught:
        ask(WebSocketAgent(server.url, is_complete=is_done), "hi")
    assert caught.value.response.tool_calls == [BOOK]
    assert caught.value.response.timed_out is False


def test_a_timeout_keeps_what_had_come(ask):
    with WebSocketAgentServer(Reply(raw=STREAM[:2])) as server, pytest.raises(AgentTimeoutError) as caught:
        ask(WebSocketAgent(server.url, is_complete=is_done, timeout=0.2), "hi")
    assert "2 messages had come" in str(caught.value)
    assert caught.value.response.tool_calls == [BOOK]
    assert caught.value.response.timed_out is True
    assert set(caught.value.response.timings) == {"opened", "sent", "first_message"}


def test_messages_without_an_end_are_an_error(ask):
    endless = WebSocketAgentServer(Reply(raw=[{"n": n} for n in range(50)]))
    with endless as server, pytest.raises(AgentReplyError, match="sent 20 messages and had not finished"):
        ask(WebSocketAgent(server.url, is_complete=is_done, max_messages=20), "hi")


def test_what_came_may_be_put_together_by_ones_own_rule(ask):
    pieces = ['{"tool_calls": [{"na', 'me": "book"}]}']
    with WebSocketAgentServer(Reply(raw=pieces), closes=True) as server:
        response = ask(WebSocketAgent(server.url, is_complete="close", aggregate="".join), "hi")
    assert response.tool_calls == [ToolCall("book")]


def test_snapshots_are_read_from_the_last_message(ask):
    raw = [
        {"tool_calls": [{"name": "book"}]},
        {"tool_calls": [{"name": "book"}, {"name": "pay"}]},
        {"type": "done"},
    ]
    parser = JsonResponseParser(merge="last")
    with WebSocketAgentServer(Reply(raw=raw)) as server:
        response = ask(WebSocketAgent(server.url, parser=parser, is_complete=is_done), "hi")
    assert response.tool_calls == [ToolCall("book"), PAY]


def test_when_things_happened_is_noted_in_order(ask, audio):
    with WebSocketAgentServer() as server:
        timings = ask(WebSocketAgent(server.url), audio).timings
    assert list(timings) == ["opened", "sent", "first_message", "done"]
    assert sorted(timings.values()) == list(timings.values())


def test_an_answer_may_come_before_the_request_is_over(ask):
    long = Audio(bytes(2 * 16000 * 60), "pcm", 16000)
    with WebSocketAgentServer(Reply(text="I heard enough.")) as server:
        agent = WebSocketAgent(server.url, send="bytes", chunk_ms=100, realtime=True)
        assert ask(agent, long).text == "I heard enough."


# ---------------------------------------------------------------------- options


def test_completion_is_one_of_the_words_or_a_function(ask):
    with pytest.raises(
        InvalidOptionError, match="is_complete, unless it is a function, must be one of first, close, got"
    ):
        ask(WebSocketAgent("ws://127.0.0.1:1", is_complete="done"), "hi")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"send": "binary"}, "send, unless it is a function, must be one of json, bytes, got 'binary'"),
        ({"realtime": True}, "say how long one is, such as chunk_ms=100"),
    ],
    ids=str,
)
def test_ways_to_send_that_are_none_are_refused(ask, options, says):
    agent = WebSocketAgent("ws://127.0.0.1:1", **options)
    with pytest.raises(InvalidOptionError, match=says):
        ask(agent, "hi")
    assert [says in why for _, why in agent.wrong_options()] == [True]


def test_options_of_the_library_are_passed_on(ask):
    with WebSocketAgentServer() as server:
        agent = WebSocketAgent(server.url, connect_options={"user_agent_header": "calipers-test"})
        ask(agent, "hi")
    assert server.requests[0].headers["user-agent"] == "calipers-test"


def test_a_server_of_something_else_is_told_apart(ask):
    from calipers.testing import HttpAgentServer

    with (
        HttpAgentServer() as server,
        pytest.raises(AgentReplyError, match="refused the connection with status 200"),
    ):
        ask(WebSocketAgent(server.url.replace("http", "ws")), "hi")


def test_a_missing_dependency_is_named(monkeypatch, ask):
    monkeypatch.setitem(sys.modules, "websockets.asyncio.client", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'calipers\[voice\]'"):
        ask(WebSocketAgent("ws://127.0.0.1:1"), "hi")


def test_a_message_that_is_too_large_is_told_as_such(ask):
    with (
        WebSocketAgentServer(Reply(text="x" * 5000)) as server,
        pytest.raises(AgentReplyError, match="sent an invalid message: code 1009"),
    ):
        ask(WebSocketAgent(server.url, connect_options={"max_size": 1000}), "hi")
