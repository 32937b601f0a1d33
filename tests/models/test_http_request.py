"""One request over HTTP, by any client, and every way in which it may fail."""

import asyncio
import gc
import math
import sys
import traceback

import aiohttp
import httpx
import pytest

from calipers.data.argument_checks import check_seconds
from calipers.errors import (
    AgentConnectionError,
    AgentReplyError,
    AgentTimeoutError,
    InvalidOptionError,
    MissingExtraError,
)
from calipers.models.http_request import Reply as Answer
from calipers.models.http_request import Request, as_json, check_address
from calipers.testing import HttpAgentServer, Reply

KEY = "sk-very-secret-key"
CLIENTS = {"own": lambda: None, "aiohttp": aiohttp.ClientSession, "httpx": httpx.AsyncClient}


@pytest.fixture(params=CLIENTS)
def send(request):
    """Send a request by each kind of client, in an event loop of its own."""

    def send(url, *, method="POST", headers=None, content=b"{}", timeout=20.0):
        async def sent():
            asked = Request(url, method, headers, content, timeout=timeout, api_key=KEY)
            client = CLIENTS[request.param]()
            try:
                return await asked.send(client)
            finally:
                if client is not None:
                    await (client.aclose if hasattr(client, "aclose") else client.close)()

        return asyncio.run(sent())

    return send


def test_what_is_sent_and_what_comes_back_is_the_same_by_every_client(send):
    def answer(received):
        return Reply(status=201, raw=received.body + received.headers["content-type"].encode())

    with HttpAgentServer(answer) as server:
        reply = send(server.url, content="größer".encode(), headers={"X-Own": "1"})
    assert reply[:3] == (201, "Created", "größerapplication/json".encode())
    assert reply.headers["content-type"] == "application/json"
    assert server.requests[0].headers["x-own"] == "1"


@pytest.mark.parametrize("name", ["Content-Type", "content-type"])
def test_headers_win_over_what_the_content_says(send, name):
    with HttpAgentServer() as server:
        send(server.url, headers={name: "text/plain"})
    assert server.requests[0].headers["content-type"] == "text/plain"


@pytest.mark.parametrize(
    ("headers", "sent"), [({}, "Basic bWU6cEBzcw=="), ({"authorization": "Bearer abc"}, "Bearer abc")]
)
def test_who_asks_is_said_by_a_header_or_else_by_the_address(send, headers, sent):
    with HttpAgentServer() as server:
        send(server.url.replace("http://", "http://me:p%40ss@"), headers=headers)
    assert server.requests[0].headers["authorization"] == sent


def test_hours_of_sound_may_be_sent(send):
    """Warnings are errors in these tests, and aiohttp warns of large bodies in one piece."""
    with HttpAgentServer() as server:
        send(server.url, content=bytes(range(256)) * 20_000)
    assert server.requests[0].body == bytes(range(256)) * 20_000


@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        ("silence", AgentTimeoutError, "127.0.0.1:{port}/agent did not answer within 0.2 s"),
        ("stall", AgentTimeoutError, "127.0.0.1:{port}/agent did not answer within 0.2 s"),
        ("disconnect", AgentConnectionError, "127.0.0.1:{port}/agent hung up before it had answered: "),
    ],
)
def test_no_answer_is_an_error_that_says_why(send, fault, kind, message):
    reply = Reply(text="x" * 100, fault=fault)
    with HttpAgentServer(reply) as server, pytest.raises(kind) as caught:
        send(f"{server.url}?key={KEY}", timeout=0.2 if kind is AgentTimeoutError else 20)
    assert message.format(port=server.port) in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_no_server_at_the_address_is_an_error_that_asks_whether_the_agent_runs(send):
    with HttpAgentServer() as server:
        pass
    pattern = rf"cannot connect to http://127.0.0.1:{server.port}/agent \(.+\): is the agent running\?"
    with pytest.raises(AgentConnectionError, match=pattern):
        send(server.url)


def test_what_speaks_no_http_is_an_error_of_the_connection(send):
    class Rude(HttpAgentServer):
        async def _answer_one(self, reader, writer, taken):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"220 mail.example ESMTP ready\r\n")
            return False

    with Rude() as server, pytest.raises(AgentConnectionError) as caught:
        send(f"{server.url}?key={KEY}", content=b"")
    assert f"{server.url} hung up before it had answered: " in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "headers",
    [{"Authorization": f"Bearer {KEY}\n"}, {"X-Number": 5}],
    ids=["line", "number"],
)
def test_what_cannot_be_sent_is_refused_and_no_key_is_shown(send, headers):
    with HttpAgentServer() as server:
        with pytest.raises(
            InvalidOptionError, match=r"the request to http://.*/agent cannot be sent: ."
        ) as caught:
            send(server.url, headers=headers)
        assert server.requests == []
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_a_redirect_is_not_followed(send):
    class Moved(HttpAgentServer):
        async def _answer_one(self, reader, writer, taken):
            await reader.readuntil(b"\r\n\r\n")
            where = f"location: http://127.0.0.1:{self.port}/other?token=abcdef\r\n"
            writer.write(f"HTTP/1.1 307 Temporary Redirect\r\n{where}content-length: 0\r\n\r\n".encode())
            return True

    with Moved() as server:
        reply = send(server.url, content=b"")
    refusal = Request(server.url, "POST", None, b"").refusal(reply)
    assert refusal.status == 307
    assert str(refusal) == (
        f"{server.url} answered with status 307 Temporary Redirect: "
        f"it has moved to http://127.0.0.1:{server.port}/other"
    )


def test_a_cancelled_request_closes_its_connection():
    async def cancelled(server):
        asked = asyncio.create_task(Request(server.url, "POST", None, b"").send())
        while not server.requests:
            await asyncio.sleep(0.005)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        while not server.requests[0].closed:
            await asyncio.sleep(0.005)

    with HttpAgentServer(Reply(fault="silence")) as server:
        asyncio.run(asyncio.wait_for(cancelled(server), 20))
    gc.collect()


# ---------------------------------------------------------------------- clients of users


def test_the_settings_of_a_users_session_do_not_get_in_the_way():
    async def main(server):
        limit = aiohttp.ClientTimeout(total=0.2)
        async with aiohttp.ClientSession(raise_for_status=True, timeout=limit) as client:
            asked = Request(server.url, "POST", None, b"")
            assert (await asked.send(client)).status == 500
            with pytest.raises(AgentTimeoutError, match="did not answer in time"):
                await asked.send(client)
            assert not client.closed

    with HttpAgentServer([Reply(fault="error"), Reply(fault="silence")]) as server:
        asyncio.run(main(server))


def test_an_httpx_client_needs_no_aiohttp(monkeypatch):
    async def main():
        transport = httpx.MockTransport(lambda request: httpx.Response(200, text="mock"))
        async with httpx.AsyncClient(transport=transport) as client:
            return await Request("http://agent/", "POST", None, b"").send(client)

    monkeypatch.setitem(sys.modules, "aiohttp", None)
    assert asyncio.run(main()).text == "mock"
    with pytest.raises(MissingExtraError, match=r"pip install 'calipers\[http\]'"):
        asyncio.run(Request("http://agent/", "POST", None, b"").send())


def test_a_client_that_is_none_is_refused():
    with pytest.raises(InvalidOptionError, match="client must be an httpx"):
        asyncio.run(Request("http://agent/", "POST", None, b"").send(object()))


# ---------------------------------------------------------------------- answers


@pytest.mark.parametrize(
    ("charset", "text"), [("latin-1", "Ã¼"), (None, "ü"), ("utf-8", "ü"), ("klingon", "ü"), ("ascii", "��")]
)
def test_text_is_read_as_the_server_says_and_else_as_utf8(charset, text):
    assert Answer(200, "OK", "ü".encode(), charset).text == text


def test_the_charset_is_that_of_the_answer(send):
    class Old(HttpAgentServer):
        async def _answer_one(self, reader, writer, taken):
            await reader.readuntil(b"\r\n\r\n")
            head = (
                b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=latin-1\r\ncontent-length: 1\r\n\r\n"
            )
            writer.write(head + b"\xfc")
            return True

    with Old() as server:
        assert send(server.url, content=b"").text == "ü"


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_every_status_of_success_is_one(status):
    assert Request("http://agent", "POST", None, b"").refusal(Answer(status, "", b"")) is None


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(503, "Service Unavailable", b"try later"), "status 503 Service Unavailable: try later"),
        (Answer(500, "", b""), "status 500: without a word"),
        (Answer(302, "Found", b""), "status 302 Found: without a word"),
        (
            Answer(304, "Not Modified", b"", None, {"location": "http://x/?k=1"}),
            "304 Not Modified: it has moved to http://x/",
        ),
        (
            Answer(401, "Unauthorized", f"no such key: {KEY}".encode()),
            "401 Unauthorized: no such key: [redacted]",
        ),
        (Answer(400, "Bad Request", b"x" * 10_000), "Bad Request: " + "x" * 500 + "…"),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Answer) else "",
)
def test_every_other_status_is_a_refusal_in_its_own_words(answer, message):
    refusal = Request("http://agent/chat?key=1", "POST", None, b"", api_key=KEY).refusal(answer)
    assert isinstance(refusal, AgentReplyError)
    assert refusal.status == answer.status
    assert str(refusal).startswith("http://agent/chat answered with status ")
    assert str(refusal).endswith(message)


# ---------------------------------------------------------------------- addresses and times


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000",
        "ftp://host",
        "http://",
        "http://host:port/",
        "http://a\nb",
        "http://[::1",
        None,
        3,
    ],
    ids=repr,
)
def test_what_is_no_address_is_refused_before_anything_is_sent(url):
    with pytest.raises(InvalidOptionError, match="url must be the address of an agent"):
        check_address(url)
    with pytest.raises(InvalidOptionError, match="url must be the address of an agent"):
        asyncio.run(Request(url, "POST", None, b"").send())


def test_an_address_that_is_refused_shows_no_password():
    with pytest.raises(InvalidOptionError) as caught:
        check_address(f"ftp://me:{KEY}@host/path?key={KEY}")
    assert "'ftp://host/path'" in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, True, "10", [1]], ids=str)
def test_a_limit_of_time_is_a_positive_number(seconds):
    with pytest.raises(
        InvalidOptionError, match=r"limit must be a (finite )?number of seconds above 0, or None"
    ):
        check_seconds("limit", seconds)
    with pytest.raises(InvalidOptionError, match="timeout must be"):
        asyncio.run(Request("http://agent", "POST", None, b"", timeout=seconds).send())


def test_no_limit_is_a_limit_too():
    check_seconds("limit", None)
    check_seconds("limit", 0.001)


def test_bytes_travel_as_base64():
    assert as_json({"audio": b"\x00\xff", "text": "ü"}) == '{"audio":"AP8=","text":"ü"}'.encode()


@pytest.mark.parametrize(
    "wrong", [object(), {"text": "\ud800"}, {(1, 2): 3}], ids=["object", "surrogate", "key"]
)
def test_what_json_cannot_hold_is_refused(wrong):
    with pytest.raises(InvalidOptionError, match="cannot be sent as JSON"):
        as_json(wrong)
