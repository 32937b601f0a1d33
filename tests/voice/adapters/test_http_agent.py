"""An agent behind an HTTP address, and the bodies that it is sent."""

import sys
from email import message_from_bytes

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.data.trace import ToolCall
from calipers.errors import AgentReplyError, InvalidOptionError, MissingExtraError
from calipers.models.model_request import Sound
from calipers.testing import HttpAgentServer, Reply
from calipers.voice.adapters import HttpAgent
from calipers.voice.adapters.http_agent import as_form
from calipers.voice.audio import Audio
from calipers.voice.parsers import JsonResponseParser


def test_sound_travels_as_base64_of_a_wav_file(ask, audio):
    with HttpAgentServer() as server:
        ask(HttpAgent(server.url, extra_fields={"user": "u1"}, headers={"X-Mode": "test"}), audio)
    (request,) = server.requests
    assert set(request.json) == {"audio", "format", "user"}
    assert request.json["format"] == "wav"
    assert request.headers["x-mode"] == "test"
    assert request.audio == Audio(audio.wav)


def test_fields_have_the_names_they_are_given(ask, audio):
    with HttpAgentServer() as server:
        agent = HttpAgent(server.url, audio_field="data", format_field=None, text_field="query")
        ask(agent, audio)
        ask(agent, "hello")
    spoken, written = (request.json for request in server.requests)
    assert set(spoken) == {"data"}
    assert written == {"query": "hello"}


def test_sound_is_converted_to_the_rate_that_is_asked_for(ask, audio):
    with HttpAgentServer() as server:
        ask(HttpAgent(server.url, sample_rate=8000), audio)
    assert server.requests[0].audio.sample_rate == 8000


def test_a_compressed_file_is_sent_as_it_is(ask):
    with HttpAgentServer() as server:
        ask(HttpAgent(server.url), Audio(b"ID3\x04rest", "mp3"))
    assert server.requests[0].json["format"] == "mp3"
    assert server.requests[0].audio.data == b"ID3\x04rest"


def test_a_form_carries_the_sound_as_a_file(ask, audio):
    with HttpAgentServer(Reply(text="ok")) as server:
        agent = HttpAgent(server.url, body="multipart", extra_fields={"options": {"lang": "en"}})
        assert ask(agent, audio).text == "ok"
        assert ask(agent, "hello").text == "ok"
    spoken, written = server.requests
    for request in (spoken, written):
        assert request.headers["content-type"].startswith("multipart/form-data")
        assert b'{"lang":"en"}' in request.body
    assert b'name="audio"; filename="request.wav"' in spoken.body
    assert b"Content-Type: audio/wav" in spoken.body
    assert audio.wav in spoken.body
    assert b'name="text"\r\n\r\nhello' in written.body


def test_another_method_may_be_used(ask):
    asked = []

    def answer(request):
        asked.append(request.method)
        return httpx.Response(200, json={"tool_calls": []})

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    ask(HttpAgent("http://agent/", method="PUT", client=client), "hi")
    assert asked == ["PUT"]


def test_a_client_of_ones_own_reaches_an_application_in_the_same_process(ask, audio):
    async def application(scope, receive, send):
        await receive()
        body = b'{"tool_calls": [{"name": "book"}]}'
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    client = httpx.AsyncClient(transport=httpx.ASGITransport(application))
    assert ask(HttpAgent("http://app/", client=client), audio).tool_calls == [ToolCall("book")]


def test_other_shapes_of_answers_are_a_matter_of_the_parser(ask):
    raw = {"result": {"steps": [{"tool": "book", "input": {"to": "LA"}}]}}
    parser = JsonResponseParser(tool_calls_key="result.steps", name_key="tool", arguments_key="input")
    with HttpAgentServer(Reply(raw=raw)) as server:
        response = ask(HttpAgent(server.url, parser=parser), "hi")
    assert response.tool_calls == [ToolCall("book", {"to": "LA"})]
    assert response.raw == raw


@pytest.mark.parametrize("status", [201, 299])
def test_every_status_of_success_is_one(ask, status):
    with HttpAgentServer(Reply(text="ok", status=status)) as server:
        assert ask(HttpAgent(server.url), "hi").text == "ok"


def test_a_redirect_is_an_error_that_says_where_to(ask):
    def answer(request):
        return httpx.Response(307, headers={"location": "https://elsewhere/agent?token=abcdef"})

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    with pytest.raises(AgentReplyError, match=r"status 307 .*moved to https://elsewhere/agent$") as caught:
        ask(HttpAgent("http://agent/", client=client), "hi")
    assert caught.value.status == 307


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"5", b'"text"', b'{"x": NaN}', b"\xff\xfe"], ids=repr)
def test_a_body_without_an_object_is_no_answer(ask, body):
    with HttpAgentServer(Reply(raw=body)) as server, pytest.raises(AgentReplyError, match="no answer"):
        ask(HttpAgent(server.url), "hi")


def test_a_body_of_another_kind_is_refused(ask):
    with pytest.raises(InvalidOptionError, match="body must be one of json, multipart, got"):
        ask(HttpAgent("http://127.0.0.1:1/", body="xml"), "hi")


def test_a_missing_dependency_is_named(monkeypatch, ask):
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'calipers\[http\]'"):
        ask(HttpAgent("http://127.0.0.1:1/"), "hi")


def read(body, content_type):
    """Names, file names, types and values of the parts, by the reader of the standard library."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    return [
        (
            part.get_param("name", header="content-disposition"),
            part.get_filename(),
            part.get_content_type(),
            part.get_payload(decode=True),
        )
        for part in message_from_bytes(head + body).get_payload()
    ]


def test_a_form_holds_files_texts_and_json():
    fields = {"audio": Sound(b"RIFF", "wav"), "text": "hello", "options": {"n": 1}}
    assert read(*as_form(fields)) == [
        ("audio", "request.wav", "audio/wav", b"RIFF"),
        ("text", None, "text/plain", b"hello"),
        ("options", None, "text/plain", b'{"n":1}'),
    ]


def test_a_name_cannot_end_its_own_quotes():
    body, _ = as_form({'a"; filename="b\r\nX-Evil: 1': "v"})
    assert b'name="a%22; filename=%22b%0D%0AX-Evil: 1"\r\n\r\nv' in body


@given(st.binary(max_size=200))
def test_any_bytes_come_through(data):
    body, content_type = as_form({"audio": Sound(data, "wav"), "text": "after"})
    boundary = content_type.partition("boundary=")[2].encode()
    first, second = body.split(b"--" + boundary)[1:3]
    assert first.partition(b"\r\n\r\n")[2] == data + b"\r\n"
    assert second.endswith(b"\r\n\r\nafter\r\n")
