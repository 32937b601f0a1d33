"""Servers on loopback: they start, stop, answer in turn, and keep what they received."""

import json
import socket
import threading
import urllib.request

import pytest

from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError
from calipers.testing import (
    GeminiLiveServer,
    GeminiServer,
    HttpAgentServer,
    LoopbackServer,
    OpenAIRealtimeServer,
    OpenAIServer,
    Reply,
    WebSocketAgentServer,
)

SERVERS = [
    HttpAgentServer,
    OpenAIServer,
    GeminiServer,
    WebSocketAgentServer,
    OpenAIRealtimeServer,
    GeminiLiveServer,
]


def post(url, body=b"{}"):
    request = urllib.request.Request(url, data=body, headers={"X-Test": "yes"}, method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.status, json.loads(answer.read())


@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_listens_on_a_port_of_its_own_until_the_end_of_its_block(kind):
    before = threading.active_count()
    with kind() as one, kind() as other:
        assert isinstance(one, LoopbackServer)
        assert one.port != other.port
        assert str(one.port) in one.url
        socket.create_connection(("127.0.0.1", one.port), timeout=5).close()
    assert threading.active_count() == before
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", one.port), timeout=5)


def test_a_server_may_be_started_again_but_not_twice_at_once():
    server = HttpAgentServer(Reply(text="hi"))
    for _ in range(2):
        with server:
            assert post(server.url)[1]["text"] == "hi"
            with pytest.raises(InvalidOptionError, match="running already"):
                server.__enter__()
    assert len(server.requests) == 2


def test_replies_come_in_turn_and_the_last_stays():
    with HttpAgentServer([Reply(text="one"), Reply(text="two")]) as server:
        assert [post(server.url)[1]["text"] for _ in range(3)] == ["one", "two", "two"]


def test_a_function_answers_by_what_was_received():
    with HttpAgentServer(lambda received: Reply(text=received.json["text"].upper())) as server:
        assert post(server.url, b'{"text": "abc"}')[1]["text"] == "ABC"


def test_a_function_that_fails_is_told_at_the_end_of_the_block():
    def reply(received):
        raise KeyError("what was I to say")

    def asked():
        with HttpAgentServer(reply) as server, pytest.raises(OSError, match="closed connection"):
            post(server.url)

    with pytest.raises(KeyError, match="what was I to say"):
        asked()


def test_a_request_is_kept_as_it_came():
    with HttpAgentServer() as server:
        post(server.url, b'{"audio": "AAAA", "format": "wav"}')
    (received,) = server.requests
    assert received.path == "/agent"
    assert received.headers["x-test"] == "yes"
    assert received.json == {"audio": "AAAA", "format": "wav"}
    assert received.audio.data == b"\0\0\0"


@pytest.mark.parametrize("raw", [{"a": 1}, '{"a": 1}', b'{"a": 1}'], ids=["json", "text", "bytes"])
def test_a_raw_reply_is_sent_as_it_is(raw):
    with OpenAIServer(Reply(raw=raw, status=202)) as server:
        assert post(server.url) == (202, {"a": 1})


def test_a_fault_is_one_of_those_that_there_are():
    with pytest.raises(InvalidOptionError, match="fault must be one of silence, stall"):
        Reply(fault="silense")


def test_a_server_without_replies_is_refused():
    with pytest.raises(InvalidOptionError, match="at least one Reply"):
        HttpAgentServer([])


def test_a_server_stops_while_clients_wait():
    with HttpAgentServer(Reply(fault="silence")) as server:
        client = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        client.sendall(b"POST /agent HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")
        while not server.requests:
            pass
    assert client.recv(10) == b""
    client.close()


def test_what_providers_answer_is_told_by_a_reply_alone():
    reply = Reply(calls=[ToolCall("book", {"to": "LA"})], text="Done.")
    with OpenAIServer(reply) as openai, GeminiServer(reply) as gemini:
        (choice,) = post(openai.url)[1]["choices"]
        (candidate,) = post(gemini.url)[1]["candidates"]
    (call,) = choice["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"to": "LA"}
    assert candidate["content"]["parts"] == [
        {"text": "Done."},
        {"functionCall": {"name": "book", "args": {"to": "LA"}}},
    ]


def test_a_reply_that_is_no_json_is_told_at_the_end_of_the_block():
    def asked():
        with (
            OpenAIServer(Reply(calls=[ToolCall("f", {"x": object()})])) as server,
            pytest.raises(OSError, match="closed connection"),
        ):
            post(server.url)

    with pytest.raises(TypeError, match="object"):
        asked()
