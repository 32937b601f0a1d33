"""One session for each event loop, which closes with it."""

import asyncio
import gc
import subprocess
import sys
import threading

import pytest

from calipers.models import http_sessions as sessions
from calipers.models.http_request import Request
from calipers.models.http_sessions import Session
from calipers.testing import HttpAgentServer, Reply


def request(url, content=b"{}"):
    return Request(url, "POST", None, content, timeout=20)


class CountingServer(HttpAgentServer):
    """Counts the connections that were opened."""

    connections = 0

    async def _serve(self, reader, writer):
        self.connections += 1
        await super()._serve(reader, writer)


def test_requests_of_one_loop_share_connections():
    async def main(server):
        for _ in range(5):
            await request(server.url).send()
        return server.connections

    with CountingServer(Reply(text="ok")) as server:
        assert asyncio.run(main(server)) == 1
        assert asyncio.run(main(server)) == 2, "another loop has connections of its own"


def test_as_many_connections_are_opened_as_requests_are_under_way():
    async def main(url):
        await asyncio.gather(*(request(url).send() for _ in range(150)))

    with CountingServer(Reply(text="ok", delay=0.2)) as server:
        asyncio.run(main(server.url))
        assert len(server.requests) == 150
        assert server.connections > 100


def test_nothing_stays_open_after_a_loop_has_ended():
    before = set(sessions._sessions)  # of loops that are kept open

    async def main(url):
        await asyncio.gather(*(request(url).send() for _ in range(5)))
        assert len(set(sessions._sessions) - before) == 1

    with HttpAgentServer(Reply(text="ok")) as server:
        for _ in range(3):
            asyncio.run(main(server.url))
            assert set(sessions._sessions) == before
            gc.collect()  # whatever was left open would be noticed here
    assert len(server.requests) == 15
    assert all(received.closed for received in server.requests)


def test_loops_in_different_threads_do_not_meet():
    found, before = {}, set(sessions._sessions)

    def work(url, name):
        found[name] = asyncio.run(request(url, name).send()).body

    with HttpAgentServer(lambda received: Reply(raw=received.body)) as server:
        threads = [threading.Thread(target=work, args=(server.url, name)) for name in (b"a", b"b", b"c")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {b"a": b"a", b"b": b"b", b"c": b"c"}
    assert set(sessions._sessions) == before


@pytest.mark.parametrize("end", ["loop.close()", "pass"], ids=["closed", "left"])
def test_a_loop_that_was_not_shut_down_is_no_reason_to_complain(end):
    code = f"""
import asyncio
from calipers.models import http_sessions as sessions
from calipers.models.http_request import Request
from calipers.testing import HttpAgentServer, Reply
with HttpAgentServer(Reply(text="ok")) as server:
    ask = lambda: Request(server.url, "POST", None, b"", timeout=20).send()
    for _ in range(2):
        loop = asyncio.new_event_loop()
        print(loop.run_until_complete(ask()).status)
        {end}
    print(asyncio.run(ask()).status, len(sessions._sessions))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    left = 0 if "close" in end else 2
    assert done.stdout == f"200\n200\n200 {left}\n"


def test_no_request_goes_on_with_the_cookies_of_another():
    class Baking(HttpAgentServer):
        async def _answer_one(self, reader, writer, taken):
            writer.write(b"HTTP/1.1 200 OK\r\nset-cookie: conversation=1\r\ncontent-length: 0\r\n\r\n")
            self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
            return True

    async def main(url):
        await request(url, b"").send()
        await request(url, b"").send()

    with Baking() as server:
        asyncio.run(main(server.url))
    assert len(server.requests) == 2
    assert "conversation" not in "".join(server.requests)


# ---------------------------------------------------------------------- proxies


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://agent.example/", "http://proxy:1"),
        ("https://agent.example/", "http://secure:2"),
        ("http://inside.example/", None),
        ("http://127.0.0.1:8000/", None),
        ("http://127.1.2.3/", None),
        ("http://localhost/", None),
        ("http://[::1]:80/", None),
    ],
)
def test_the_proxy_is_that_of_the_scheme_and_never_one_for_this_machine(monkeypatch, url, proxy):
    monkeypatch.setenv("NO_PROXY", "inside.example")
    monkeypatch.setenv("no_proxy", "inside.example")
    found = Session(None, {"http": "proxy:1", "https": "http://secure:2"}, None).proxy_for(url)
    assert found == proxy


def test_requests_go_by_the_proxy_of_the_environment(monkeypatch):
    with HttpAgentServer(Reply(text="by proxy")) as server:
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{server.port}")
        asyncio.run(request("http://agent.invalid/chat").send())
        asyncio.run(request(server.url).send())
    assert [received.path for received in server.requests] == ["http://agent.invalid/chat", "/agent"]
